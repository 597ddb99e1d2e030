/**
 * The container image, built for real: from the runtime that runs this test as a stand-in for the official one, since
 * nothing is pulled. Then what is in it, and what it does: as nobody, without capabilities, on a root that is read-only.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { missingPrograms } from '../src/programs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const INTERPRETER = '/lib64/ld-linux-x86-64.so.2'

const BUDGET_APP_BYTES = 8 * 1024 * 1024
const BUDGET_LAYERS_BYTES = 45 * 1024 * 1024
const BUDGET_START_CPU_MS = 150
const BUDGET_IDLE_BYTES = 60 * 1024 * 1024

function whyNot(): string | undefined {
  if (process.versions.bun !== undefined) return 'the image has Node.js; it is built and tried under Node.js only'
  if (process.getuid?.() !== 0) return 'building and running an image needs root here'
  if (process.arch !== 'x64' || process.platform !== 'linux') return 'the stand-in is made for Linux on x64'
  return missingPrograms('buildah', 'runc', 'skopeo')
}

const reason = whyNot()
if (reason !== undefined) process.stderr.write(`skipped: the container image: ${reason}\n`)

const work = mkdtempSync(join(tmpdir(), 'prexy-image-'))
const storage = ['--root', join(work, 'storage'), '--runroot', join(work, 'run'), '--storage-driver', 'vfs']
const TAG = 'localhost/prexy:test'
let rootfs = ''
let container = ''

function buildah(...args: readonly string[]): string {
  return execFileSync('buildah', [...storage, ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 16 * 1024 * 1024,
  }).trim()
}

/** A root with a Node.js and what it is linked with: all that the first stage needs. */
function makeStandIn(): void {
  const folder = join(work, 'stand-in')
  const programs = [realpathSync(process.execPath)]
  const libraries = execFileSync(INTERPRETER, ['--list', programs[0]], { encoding: 'utf8' })
  for (const path of [INTERPRETER, ...[...libraries.matchAll(/=> (\/\S+)/g)].map((match) => match[1])]) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    cpSync(realpathSync(path), join(folder, path))
  }
  mkdirSync(join(folder, 'usr/local/bin'), { recursive: true })
  mkdirSync(join(folder, 'tmp'))
  cpSync(programs[0], join(folder, 'usr/local/bin/node'))
  const made = buildah('from', 'scratch')
  buildah('add', '-q', made, folder, '/')
  buildah('config', '--env', 'PATH=/usr/local/bin', made)
  buildah('commit', '-q', made, 'localhost/stand-in')
  buildah('rm', made)
}

function build(tag: string): void {
  const base = '--build-arg=NODE_IMAGE=localhost/stand-in'
  buildah('build', '--timestamp', '0', base, '-f', 'deploy/Containerfile', '-t', tag, '.')
}

function digestOf(tag: string): string {
  const [image]: { Digest?: string; digest?: string }[] = JSON.parse(buildah('images', '--json', tag))
  return image.digest ?? image.Digest ?? ''
}

interface Entry {
  readonly path: string
  readonly mode: number
  readonly kind: 'file' | 'folder' | 'link'
  readonly bytes: number
}

function* walk(folder: string, below = ''): Generator<Entry> {
  for (const name of readdirSync(join(folder, below))) {
    const path = join(below, name)
    const { mode, size } = lstatSync(join(folder, path))
    const stats = lstatSync(join(folder, path))
    const kind = stats.isSymbolicLink() ? 'link' : stats.isDirectory() ? 'folder' : 'file'
    yield { path, mode, kind, bytes: size }
    if (kind === 'folder') yield* walk(folder, path)
  }
}

describe.skipIf(reason !== undefined)('the container image', () => {
  beforeAll(async () => {
    execFileSync(process.execPath, ['tools/run.mjs', 'package'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] })
    makeStandIn()
    build(TAG)
    container = buildah('from', TAG)
    rootfs = buildah('mount', container)
  }, 120_000)

  afterAll(() => {
    if (container !== '') buildah('umount', container)
    rmSync(work, { recursive: true, force: true })
  })

  test('runs as nobody, and says how it is started and stopped', () => {
    const { OCIv1 }: { OCIv1: { config: Record<string, unknown> } } = JSON.parse(
      buildah('inspect', '--type', 'image', TAG),
    )
    expect(OCIv1.config).toMatchObject({
      User: '65532:65532',
      Entrypoint: ['/usr/bin/node', '/app/bin/prexy.mjs'],
      StopSignal: 'SIGTERM',
      ExposedPorts: { '8080/tcp': {}, '9901/tcp': {} },
    })
    expect(JSON.stringify(OCIv1.config.Env ?? [])).not.toMatch(/token|secret|password|key=/i)
  })

  test('holds no shell, no package manager, nothing setuid, nothing that others may write', () => {
    const entries = [...walk(rootfs)]
    const names = entries.map(({ path }) => basename(path))
    const unwanted = [
      'sh',
      'bash',
      'dash',
      'busybox',
      'apt',
      'apt-get',
      'dpkg',
      'apk',
      'npm',
      'npx',
      'corepack',
      'curl',
      'wget',
      'perl',
      'python3',
    ]
    expect(names.filter((name) => unwanted.includes(name))).toEqual([])
    expect(entries.filter(({ mode, kind }) => kind === 'file' && (mode & 0o6000) !== 0)).toEqual([])
    expect(entries.filter(({ mode, kind }) => kind !== 'link' && (mode & 0o022) !== 0)).toEqual([])
    const programs = entries.filter(
      ({ path, mode, kind }) => kind === 'file' && (mode & 0o111) !== 0 && !path.startsWith('lib'),
    )
    expect(programs.map(({ path }) => path).sort()).toEqual(['app/bin/prexy.mjs', 'usr/bin/node'])
  })

  test('holds its licences and a bill of materials', () => {
    const bill: { components: { name: string; version: string; licenses: object[] }[] } = JSON.parse(
      readFileSync(join(rootfs, 'app/sbom.cdx.json'), 'utf8'),
    )
    const texts = readFileSync(join(rootfs, 'app/THIRD-PARTY-LICENSES.txt'), 'utf8')
    expect(bill.components.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['commander', 'pino', 'ws', 'yaml', 'zod']),
    )
    for (const { name, version } of bill.components) expect(texts).toContain(`${name} ${version} (`)
    expect(statSync(join(rootfs, 'app/LICENSE')).size).toBeGreaterThan(500)
  })

  test('is small', () => {
    const bytesBelow = (folder: string): number =>
      [...walk(join(rootfs, folder))].reduce((sum, { bytes }) => sum + bytes, 0)
    const app = bytesBelow('app')
    const archive = join(work, 'image')
    execFileSync('skopeo', [
      'copy',
      '-q',
      '--dest-compress-format',
      'zstd',
      '--dest-compress-level',
      '12',
      `containers-storage:[vfs@${join(work, 'storage')}+${join(work, 'run')}]${TAG}`,
      `oci:${archive}:prexy`,
    ])
    const layers = readdirSync(join(archive, 'blobs/sha256')).reduce(
      (sum, name) => sum + statSync(join(archive, 'blobs/sha256', name)).size,
      0,
    )
    process.stderr.write(
      `the image: ${(app / 1e6).toFixed(1)} MB beside the runtime, ${(layers / 1e6).toFixed(1)} MB to pull\n`,
    )
    expect(app).toBeLessThanOrEqual(BUDGET_APP_BYTES)
    expect(layers).toBeLessThanOrEqual(BUDGET_LAYERS_BYTES)
  }, 60_000)

  test('is the same when it is built again', () => {
    build('localhost/prexy:again')
    expect(digestOf('localhost/prexy:again')).toBe(digestOf(TAG))
  }, 60_000)

  test('serves on a read-only root as nobody without capabilities, and drains when told to stop', async () => {
    const origin = createServer((_, response) => response.setHeader('Content-Type', 'text/plain').end('Acme'))
    origin.listen(0, '127.0.0.1')
    await once(origin, 'listening')
    const address = origin.address()
    const originPort = typeof address === 'object' && address !== null ? address.port : 0
    const settings = join(work, 'settings')
    mkdirSync(settings)
    writeFileSync(
      join(settings, 'prexy.yaml'),
      `listen: 127.0.0.1:0\nupstream: http://127.0.0.1:${originPort}\nrules: [{text: Acme, with: Zenith}]\nadmin: {listen: 0}\n`,
    )
    const bundle = join(work, 'bundle')
    mkdirSync(bundle)
    writeFileSync(join(bundle, 'config.json'), JSON.stringify(runtimeConfig(settings)))
    const name = `prexy-test-${process.pid}`
    const child = spawn('runc', ['--root', join(work, 'runc'), 'run', '--bundle', bundle, name], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    try {
      const [, site, pid] = await toldBy(child, /listening on (http:\/\/\S+?)\/[^]*admin on \S+/, name)
      expect(await (await fetch(site)).text()).toBe('Zenith')
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      expect(/^Uid:\t(\d+)/m.exec(status)?.[1]).toBe('65532')
      expect(/^CapEff:\t(\d+)/m.exec(status)?.[1]).toMatch(/^0+$/)
      expect(/^NoNewPrivs:\t(\d)/m.exec(status)?.[1]).toBe('1')
      const resident = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) * 1024
      const ticks = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
      const cpuMs = (Number(ticks[11]) + Number(ticks[12])) * 10
      process.stderr.write(
        `the image: ${cpuMs} ms CPU to the first page, ${(resident / 1e6).toFixed(0)} MB then (budgets ${BUDGET_START_CPU_MS} ms, ${(BUDGET_IDLE_BYTES / 1e6).toFixed(0)} MB)\n`,
      )
      const ended = once(child, 'exit')
      execFileSync('runc', ['--root', join(work, 'runc'), 'kill', name, 'SIGTERM'])
      expect(await ended).toEqual([0, null])
    } finally {
      // Of a container that did not end as it should; of one that did there is nothing left to delete.
      spawnSync('runc', ['--root', join(work, 'runc'), 'delete', '--force', name], { stdio: 'ignore' })
      child.kill('SIGKILL')
      origin.close()
    }
  }, 60_000)
})

/** What it says once `pattern` fits, and the process that says it as the host knows it. */
async function toldBy(child: ChildProcess, pattern: RegExp, name: string): Promise<readonly string[]> {
  let text = ''
  const found = await new Promise<RegExpExecArray>((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const match = pattern.exec(text)
      if (match !== null) resolve(match)
    })
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${text}`)))
  })
  const state: { pid: number } = JSON.parse(
    execFileSync('runc', ['--root', join(work, 'runc'), 'state', name], { encoding: 'utf8' }),
  )
  return [...found, String(state.pid)]
}

/** As the runtime of an orchestrator would have it: OCI runtime specification 1.0. */
function runtimeConfig(settings: string): object {
  const none: readonly string[] = []
  return {
    ociVersion: '1.0.2',
    root: { path: rootfs, readonly: true },
    process: {
      terminal: false,
      user: { uid: 65_532, gid: 65_532 },
      args: ['/usr/bin/node', '/app/bin/prexy.mjs', 'serve', '/etc/prexy'],
      env: ['NODE_ENV=production'],
      cwd: '/etc/prexy',
      capabilities: { bounding: none, effective: none, inheritable: none, permitted: none, ambient: none },
      rlimits: [{ type: 'RLIMIT_NOFILE', hard: 1_024, soft: 1_024 }],
      noNewPrivileges: true,
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      {
        destination: '/dev',
        type: 'tmpfs',
        source: 'tmpfs',
        options: ['nosuid', 'strictatime', 'mode=755', 'size=65536k'],
      },
      { destination: '/etc/prexy', type: 'bind', source: settings, options: ['rbind', 'ro'] },
    ],
    linux: { namespaces: [{ type: 'pid' }, { type: 'ipc' }, { type: 'uts' }, { type: 'mount' }] },
  }
}

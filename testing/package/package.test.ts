/**
 * The npm package as users get it: packed, installed from its archive into an empty folder without a network, and run by
 * each runtime there from a folder that has nothing of this repository above it.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findProgram, missingPrograms } from '../src/programs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const reason =
  process.versions.bun === undefined
    ? missingPrograms('node', 'npm')
    : 'the run under Node.js tries it with every runtime, Bun too'
if (reason !== undefined) process.stderr.write(`skipped: the packed package: ${reason}\n`)

/** Runtimes that are always there, and those of the benchmarks where they are installed. */
const runtimes = new Map<string, string>()
for (const [name, path] of [
  ['node', findProgram('node')],
  ['bun', join(ROOT, 'node_modules/.bin/bun')],
  ['node of bench/runtimes', join(ROOT, 'bench/runtimes/node_modules/.bin/node')],
] as const) {
  if (path !== undefined && existsSync(path)) runtimes.set(name, path)
  else process.stderr.write(`skipped: the packed package under ${name}: it is not installed\n`)
}

const work = mkdtempSync(join(tmpdir(), 'prexy-package-'))
const prefix = join(work, 'prefix')
const installed = join(prefix, 'lib/node_modules/prexy')
const command = join(prefix, 'bin/prexy')
const elsewhere = join(work, 'elsewhere')
const env = { HOME: join(work, 'home'), PATH: '', TMPDIR: work }

function run(runtime: string, args: readonly string[], input = ''): { status: number | null; stdout: string } {
  const { status, stdout, stderr } = spawnSync(runtime, [command, ...args], {
    cwd: elsewhere,
    env,
    input,
    encoding: 'utf8',
    timeout: 20_000,
  })
  if (status !== 0) process.stderr.write(stderr)
  return { status, stdout }
}

function* filesBelow(folder: string): Generator<string> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (lstatSync(path).isDirectory()) yield* filesBelow(path)
    else yield path
  }
}

function startOf(path: string): string {
  const bytes = Buffer.alloc(4)
  const file = openSync(path, 'r')
  readSync(file, bytes)
  closeSync(file)
  return bytes.toString('latin1')
}

describe.skipIf(reason !== undefined)('the packed package', () => {
  beforeAll(() => {
    for (const folder of [prefix, elsewhere, env.HOME]) mkdirSync(folder)
    const source = join(work, 'package')
    const write =
      'const { writePackage } = await import("./tools/package.mjs"); await writePackage(process.cwd(), process.argv[1])'
    execFileSync(process.execPath, ['--input-type=module', '-e', write, source], { cwd: ROOT, stdio: 'pipe' })
    execFileSync('npm', ['pack', '--silent', '--pack-destination', work, source], { cwd: work, stdio: 'pipe' })
    const archive = readdirSync(work).find((name) => name.endsWith('.tgz')) ?? 'no archive'
    execFileSync(
      'npm',
      ['install', '-g', '--prefix', prefix, '--offline', '--no-audit', '--no-fund', join(work, archive)],
      { cwd: elsewhere, stdio: 'pipe' },
    )
  }, 120_000)

  afterAll(() => rmSync(work, { recursive: true, force: true }))

  test('brings no dependencies, no scripts of installation and no runtime', () => {
    const manifest: Record<string, unknown> = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    expect(manifest).not.toHaveProperty('dependencies')
    expect(manifest).not.toHaveProperty('scripts')
    expect(existsSync(join(installed, 'node_modules'))).toBe(false)
    expect(readdirSync(join(prefix, 'lib/node_modules'))).toEqual(['prexy'])
    expect([...filesBelow(installed)].filter((path) => startOf(path) === '\x7fELF')).toEqual([])
  })

  describe.each([...runtimes])('under %s', (_, runtime) => {
    test('says its version', () => {
      const { version }: { version: string } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
      const { status, stdout } = run(runtime, ['--version'])
      expect(status).toBe(0)
      expect(stdout).toContain(version)
    })

    test('replaces in standard input', () => {
      expect(run(runtime, ['replace', '--text', 'Acme', '--with', 'Zenith'], 'Acme & Acme\n')).toEqual({
        status: 0,
        stdout: 'Zenith & Zenith\n',
      })
    })

    test('hunts with the rules that it comes with', () => {
      copyFileSync(join(ROOT, 'docs/examples/shop-access.log'), join(elsewhere, 'shop-access.log'))
      const { stdout } = run(runtime, ['hunt', 'shop-access.log'])
      expect(stdout).toContain('Secret file delivered')
      expect(stdout).toContain('Lookup of Log4j (Log4Shell)')
    })

    test('serves a page, rewritten, and stops when told to', async () => {
      const origin = createServer((_request, response) => {
        response.setHeader('Content-Type', 'text/plain').end('Acme')
      })
      origin.listen(0, '127.0.0.1')
      await once(origin, 'listening')
      const address = origin.address()
      if (address === null || typeof address === 'string') throw new Error('the origin has no port')
      const settings = join(elsewhere, 'prexy.yaml')
      writeFileSync(
        settings,
        `listen: 127.0.0.1:0\nupstream: http://127.0.0.1:${address.port}\nrules: [{text: Acme, with: Zenith}]\n`,
      )
      const child = spawn(runtime, [command, 'serve', settings], {
        cwd: elsewhere,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const ended = once(child, 'exit')
      try {
        expect(await (await fetch(await siteOf(child))).text()).toBe('Zenith')
        child.kill('SIGTERM')
        expect(await ended).toEqual([0, null])
      } finally {
        child.kill('SIGKILL')
        origin.closeAllConnections()
        origin.close()
      }
    })
  })
})

/** The address that it says it listens on. */
function siteOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let told = ''
    const read = (chunk: Buffer): void => {
      told += chunk.toString()
      const found = /listening on (http:\/\/[^\s,]+)/.exec(told)
      if (found !== null) resolve(found[1])
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${told}`)))
  })
}

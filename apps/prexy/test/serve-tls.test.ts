/** The built command line with certificates in files: what `check` says of them, and what becomes of them when they change. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { makeCertificate, type TestCertificate } from '@prexy/testing/certificates'
import { missingPrograms } from '@prexy/testing/programs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runPrexy, startPrexy, waitFor } from './run-prexy.ts'

const missing = missingPrograms('openssl')
if (missing !== undefined) process.stdout.write(`serve-tls: left out: ${missing}\n`)

const folder = mkdtempSync(join(tmpdir(), 'prexy-serve-tls-'))
const path = join(folder, 'prexy.yaml')
let origin: Server
let originUrl = ''

beforeAll(async () => {
  origin = createServer((_request, response) => {
    response.end('ok')
  })
  await new Promise<void>((resolve) => {
    origin.listen(0, '127.0.0.1', resolve)
  })
  const address = origin.address()
  if (typeof address === 'object' && address !== null) originUrl = `http://127.0.0.1:${address.port}`
})
afterAll(() => {
  origin.closeAllConnections()
  origin.close()
  rmSync(folder, { recursive: true })
})

function put(name: string, { cert, key }: TestCertificate): void {
  writeFileSync(join(folder, `${name}.pem`), cert)
  writeFileSync(join(folder, `${name}.key`), key, { mode: 0o600 })
}

const configOf = (tls: string): string => `listen:
  address: 127.0.0.1:0
  tls:
${tls}
upstream: ${originUrl}
log: off
`
const entry = (cert: string, key: string): string => `      - { certFile: ${cert}.pem, keyFile: ${key}.key }`

describe.skipIf(missing !== undefined)('check', () => {
  test.each([
    ['a pair', [entry('a', 'a')], ['prexy.yaml: ok']],
    [
      'a key of another, and a file that is none',
      [entry('a', 'b'), entry('none', 'none')],
      ['prexy.yaml:6:21: listen.tls.certificates[1].certFile: ', 'there is no such file'],
    ],
    [
      'a key of another',
      [entry('a', 'a'), entry('a', 'b')],
      ['prexy.yaml:6:37: listen.tls.certificates[1].keyFile: the key is not that of the first certificate'],
    ],
    ['one that has ended', [entry('ended', 'ended')], ['warning: listen.tls.certificates[0].certFile: expired on 20']],
    ['one that soon ends', [entry('soon', 'soon')], ['warning: listen.tls.certificates[0].certFile: expires on 20']],
  ])('%s', async (_name, entries, expected) => {
    put('a', makeCertificate(['a.example']))
    put('b', makeCertificate(['b.example']))
    put('ended', makeCertificate(['a.example'], { days: -1 }))
    put('soon', makeCertificate(['a.example'], { days: 3 }))
    writeFileSync(path, configOf(['    certificates:', ...entries].join('\n')))
    const { stdout, stderr } = await runPrexy(['check', path])
    for (const text of expected) expect(stdout + stderr).toContain(text)
  })
})

function handshake(port: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => resolve(socket))
    socket.once('error', reject)
  })
}

function ask(socket: TLSSocket): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1')))
    socket.once('error', reject)
    socket.write('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')
  })
}

async function serialShown(port: number): Promise<string> {
  const socket = await handshake(port)
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}

test.skipIf(missing !== undefined)(
  'new certificates are served after SIGHUP, a broken pair is not',
  { timeout: 60_000 },
  async () => {
    put('a', makeCertificate(['a.example']))
    writeFileSync(path, configOf(['    certificates:', entry('a', 'a')].join('\n')))
    const child: ChildProcessWithoutNullStreams = startPrexy(['serve', path], { XDG_RUNTIME_DIR: folder })
    try {
      const [, text] = await waitFor(child.stderr, /listening on https:\/\/127\.0\.0\.1:(\d+)/)
      const port = Number(text)
      const first = await serialShown(port)
      const open = await handshake(port)
      const failures: unknown[] = []
      let isOver = false
      const load = (async () => {
        while (!isOver) await serialShown(port).catch((error: unknown) => failures.push(error))
      })()

      put('a', makeCertificate(['a.example']))
      const served = waitFor(child.stderr, /SIGHUP: the new configuration is served/)
      child.kill('SIGHUP')
      await served
      const second = await serialShown(port)
      expect(second).not.toBe(first)
      expect(await ask(open)).toContain('200 OK')

      writeFileSync(join(folder, 'a.key'), makeCertificate(['a.example']).key)
      const refused = waitFor(
        child.stderr,
        /the old one stays\n.+keyFile: the key is not that of the first certificate/,
      )
      child.kill('SIGHUP')
      await refused
      expect(await serialShown(port)).toBe(second)
      isOver = true
      await load
      expect(failures).toEqual([])
      open.destroy()
    } finally {
      child.kill('SIGKILL')
    }
  },
)

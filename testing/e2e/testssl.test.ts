/** The listener before testssl.sh and the openssl of the system, which know what a server should no longer speak. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CertificateStore, readCertificate } from '@prexy/net/certificates'
import { type RunningProxy, startProxy } from '@prexy/proxy/start-proxy'
import { issueCertificate } from '@prexy/testing/issued-certificates'
import { findProgram, missingPrograms } from '@prexy/testing/programs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** testssl.sh opens some hundred connections from a shell: 20 s where nobody else uses the machine. */
const PATIENCE_MS = 100_000

const missing = missingPrograms('openssl')
let proxy: RunningProxy
let folder = ''

interface Ended {
  /** Undefined: it was ended because it took too long. */
  readonly code: number | undefined
  readonly output: string
}

async function run(program: string, args: readonly string[], input: string | undefined, ms: number): Promise<Ended> {
  // In a group of its own: testssl.sh leaves processes behind when it is ended.
  const child = spawn(program, args, { stdio: 'pipe', detached: true, cwd: folder })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }, ms)
  const code = await new Promise<number>((resolve) => {
    child.once('close', (status) => resolve(status ?? -1))
  })
  clearTimeout(timer)
  return { code: isLate ? undefined : code, output }
}

beforeAll(async () => {
  if (missing !== undefined) return
  folder = mkdtempSync(join(tmpdir(), 'prexy-testssl-'))
  const { cert, key } = issueCertificate({ names: 'DNS:localhost,IP:127.0.0.1' })
  proxy = await startProxy({
    listen: [{ host: '127.0.0.1', port: 0, tls: { certificates: new CertificateStore([readCertificate(cert, key)]) } }],
    routes: [{ name: 'all', answer: { kind: 'respond', status: 200, fields: [], body: Buffer.from('hello') } }],
  })
})

afterAll(async () => {
  if (missing !== undefined) return
  await proxy.stop(0)
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(missing !== undefined)(`openssl s_client${missing === undefined ? '' : `: ${missing}`}`, () => {
  const client = async (...args: readonly string[]): Promise<string> => {
    const to = `127.0.0.1:${proxy.address.port}`
    const { output } = await run('openssl', ['s_client', '-connect', to, ...args], 'Q\n', PATIENCE_MS)
    return output
  }

  test.each([
    ['TLS 1.3', ['-tls1_3'], /New, TLSv1\.3, Cipher is TLS_/],
    ['TLS 1.2 with forward secrecy', ['-tls1_2'], /New, TLSv1\.2, Cipher is ECDHE-/],
    ['HTTP/2 by ALPN', ['-alpn', 'h2,http/1.1'], /ALPN protocol: h2/],
    ['HTTP/1.1 by ALPN', ['-alpn', 'http/1.1'], /ALPN protocol: http\/1\.1/],
    ['secure renegotiation', ['-tls1_2'], /Secure Renegotiation IS supported/],
    ['no compression', ['-tls1_2'], /Compression: NONE/],
  ])('is given %s', async (_name, args, expected) => {
    expect(await client(...args)).toMatch(expected)
  })

  test.each([
    ['TLS 1.1', ['-tls1_1', '-cipher', 'ALL:@SECLEVEL=0']],
    ['TLS 1.0', ['-tls1', '-cipher', 'ALL:@SECLEVEL=0']],
    ['CBC', ['-tls1_2', '-cipher', 'ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA']],
    ['no forward secrecy', ['-tls1_2', '-cipher', 'AES128-GCM-SHA256']],
    ['no authentication', ['-tls1_2', '-cipher', 'aNULL:eNULL:@SECLEVEL=0']],
    ['a protocol that is none', ['-alpn', 'spdy/3']],
  ])('is refused %s', async (_name, args) => {
    expect(await client(...args)).not.toMatch(/Cipher is (?!\(NONE\))/)
  })
})

const program = findProgram('testssl') ?? findProgram('testssl.sh')
const reason =
  program === undefined
    ? 'not found through PATH; on Debian: apt-get install testssl.sh'
    : 'bun' in process.versions
      ? 'once is enough, and the run under Node has it'
      : missing

test.skipIf(reason !== undefined)(
  `testssl.sh finds no protocol that is too old${reason === undefined ? '' : `: ${reason}`}`,
  async ({ skip }) => {
    const found = join(folder, 'found.json')
    const args = ['--quiet', '--warnings', 'off', '--color', '0', '--ip', 'one', '-p', '--jsonfile', found]
    const to = `127.0.0.1:${proxy.address.port}`
    const { code, output } = await run(program ?? '', [...args, to], undefined, PATIENCE_MS)
    if (code === undefined) skip(`it took more than ${PATIENCE_MS / 1_000} s, so the machine is too busy for it`)
    const rows: readonly { readonly id: string; readonly severity: string; readonly finding: string }[] = JSON.parse(
      readFileSync(found, 'utf8'),
    )
    if (rows.length === 0) throw new Error(`testssl.sh found nothing:\n${output}`)
    const findings = new Map(rows.map(({ id, finding }) => [id, finding]))
    for (const id of ['SSLv2', 'SSLv3', 'TLS1', 'TLS1_1']) expect([id, findings.get(id)]).toEqual([id, 'not offered'])
    expect(findings.get('TLS1_2')).toBe('offered')
    expect(findings.get('TLS1_3')).toMatch(/^offered/)
    expect(findings.get('ALPN_HTTP2')).toBe('h2')
    const severe = rows.filter(({ severity }) => ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL', 'FATAL'].includes(severity))
    expect(severe).toEqual([])
  },
  PATIENCE_MS + 20_000,
)

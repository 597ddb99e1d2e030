import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { type IssuedCertificate, issueCertificate } from '@prexy/testing/issued-certificates'
import { plainResponse, startRawOrigin } from '@prexy/testing/raw-origin'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UpstreamConfig, UpstreamServerConfig } from '../src/proxy-config.ts'
import { type Setup, setUp } from './harness.ts'

const authority = issueCertificate({ names: 'DNS:authority.test', signs: true })
const stranger = issueCertificate({ names: 'DNS:stranger.test', signs: true })
const names = 'DNS:origin.test,IP:127.0.0.1'
const good = issueCertificate({ names, authority })
const pairs: Readonly<Record<string, IssuedCertificate>> = {
  good,
  expired: issueCertificate({ names, authority, from: '20200101000000Z', to: '20200201000000Z' }),
  future: issueCertificate({ names, authority, from: '20400101000000Z', to: '20400201000000Z' }),
  otherName: issueCertificate({ names: 'DNS:other.test', authority }),
  selfSigned: issueCertificate({ names }),
  ofStranger: issueCertificate({ names, authority: stranger }),
}
const ours = issueCertificate({ names: 'DNS:prexy.test', authority })
const oursOfStranger = issueCertificate({ names: 'DNS:prexy.test', authority: stranger })

const servers = new Map<string, Server>()

/** Answers with the name that it was told. */
async function startTls(name: string, pair: IssuedCertificate, asksForCertificate: boolean): Promise<void> {
  const client = asksForCertificate ? { requestCert: true, rejectUnauthorized: true, ca: authority.cert } : {}
  const server = createServer({ ...pair, ...client }, (request, response) => {
    const { socket } = request
    const told = 'servername' in socket && typeof socket.servername === 'string' ? socket.servername : 'no name'
    response.end(told)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  servers.set(name, server)
}

beforeAll(async () => {
  for (const [name, pair] of Object.entries(pairs)) await startTls(name, pair, false)
  await startTls('asking', good, true)
})

afterAll(() => {
  for (const server of servers.values()) {
    server.closeAllConnections()
    server.close()
  }
})

function portOf(name: string): number {
  const address = servers.get(name)?.address()
  if (typeof address !== 'object' || address === null) throw new Error(`${name} does not listen`)
  return address.port
}

function setUpTls(
  port: number,
  tls: UpstreamConfig['tls'],
  server: Partial<UpstreamServerConfig> = {},
): Promise<Setup> {
  return setUp({
    script: async () => {},
    upstream: {
      servers: [{ host: '127.0.0.1', port, tls: true, ...server }],
      ...(tls === undefined ? {} : { tls }),
    },
    config: { resolve: (_host, done) => done(undefined, ['127.0.0.1']) },
  })
}

const ca = authority.cert

describe('an https upstream', () => {
  it.each([
    { what: 'of our authority, by name', server: 'good', host: 'origin.test', told: 'origin.test' },
    { what: 'of our authority, by address', server: 'good', host: '127.0.0.1', told: 'no name' },
    {
      what: 'under another name',
      server: 'otherName',
      host: '127.0.0.1',
      tls: { serverName: 'other.test' },
      told: 'other.test',
    },
    {
      what: 'that is not checked',
      server: 'selfSigned',
      host: 'x.test',
      tls: { insecureAcceptAnyCertificate: true },
      told: 'x.test',
    },
  ])('$what answers over one kept connection', async ({ server, host, tls, told }) => {
    await using setup = await setUpTls(portOf(server), { ca, ...tls }, { host })
    const client = await setup.connect()
    for (let i = 0; i < 3; i++) {
      const { status, body } = await client.get('/')
      expect([status, body.toString().replace(/^(false|null|undefined)$/, 'no name')]).toEqual([200, told])
    }
  })

  it.each([
    { server: 'expired', host: 'origin.test', why: 'its certificate has expired' },
    { server: 'future', host: 'origin.test', why: 'its certificate is not valid yet' },
    { server: 'good', host: 'wrong.test', why: 'its certificate is for another name' },
    { server: 'otherName', host: '127.0.0.1', why: 'its certificate is for another name' },
    { server: 'selfSigned', host: 'origin.test', why: 'its certificate is self-signed' },
    { server: 'ofStranger', host: 'origin.test', why: 'the authority of its certificate is not known' },
    { server: 'good', host: 'origin.test', trust: 'runtime', why: 'the authority of its certificate is not known' },
    {
      server: 'good',
      host: 'origin.test',
      tls: { serverName: 'wrong.test' },
      why: 'its certificate is for another name',
    },
  ])('$server as $host is refused: $why', async ({ server, host, trust, tls, why }) => {
    await using setup = await setUpTls(portOf(server), { ...(trust === 'runtime' ? {} : { ca }), ...tls }, { host })
    const response = await (await setup.connect()).get('/secret')
    expect([response.status, response.body.toString()]).toEqual([
      502,
      expect.stringContaining('No secure connection to the upstream server can be made.'),
    ])
    const { outcome, detail, upstreamAttempts } = await setup.event(1)
    expect([outcome, upstreamAttempts]).toEqual(['upstream-connect-failed', 1])
    expect(detail).toContain(`TLS: ${why}`)
  })

  it('that asks for a certificate is shown ours', async () => {
    await using setup = await setUpTls(portOf('asking'), { ca, ...ours })
    // It lets nobody in without one, as the next rows show.
    expect((await (await setup.connect()).get('/')).status).toBe(200)
  })

  it.each([
    { what: 'and gets none', tls: {} },
    { what: 'and gets one of another authority', tls: oursOfStranger },
  ])('that asks for a certificate $what is 502, and the event says why', async ({ tls }) => {
    await using setup = await setUpTls(portOf('asking'), { ca, ...tls })
    expect((await (await setup.connect()).get('/')).status).toBe(502)
    const { outcome, detail } = await setup.event(1)
    expect(outcome).toMatch(/^upstream-(connect-failed|aborted)$/)
    expect(detail).not.toBe(undefined)
  })

  it('that asks for a certificate by an alert of TLS 1.3 says so in the event', async () => {
    // OpenSSL's own server, because that of Node sends none.
    const folder = mkdtempSync(join(tmpdir(), 'prexy-tls-'))
    for (const [name, text] of Object.entries({ cert: good.cert, key: good.key, ca })) {
      writeFileSync(join(folder, name), text)
    }
    const asks = ['-Verify', '1', '-verify_return_error', '-CAfile', 'ca', '-cert', 'cert', '-key', 'key']
    const server = spawn('openssl', ['s_server', '-accept', '127.0.0.1:0', '-www', ...asks], { cwd: folder })
    const port = await new Promise<number>((resolve) => {
      let told = ''
      server.stdout.setEncoding('latin1').on('data', (text: string) => {
        told += text
        const found = /ACCEPT 127\.0\.0\.1:(\d+)/.exec(told)
        if (found !== null) resolve(Number(found[1]))
      })
    })
    await using setup = await setUpTls(port, { ca })
    expect((await (await setup.connect()).get('/')).status).toBe(502)
    const { outcome, detail } = await setup.event(1)
    expect([outcome, detail]).toEqual([
      'upstream-connect-failed',
      expect.stringContaining('TLS: it asks for a certificate of ours; name it with certFile and keyFile'),
    ])
    server.kill()
    rmSync(folder, { recursive: true })
  })

  it('that speaks no TLS is 502', async () => {
    await using plain = await startRawOrigin(async (connection) => {
      await connection.send(plainResponse('plain'))
    })
    await using setup = await setUpTls(plain.port, { ca })
    expect((await (await setup.connect()).get('/')).status).toBe(502)
    expect((await setup.event(1)).outcome).toBe('upstream-connect-failed')
    expect(plain.requests).toEqual([])
  })

  it('whose handshake does not end is 504 after upstreamTlsMs', async () => {
    await using silent = await startRawOrigin(async (connection) => {
      await connection.ended
    })
    await using setup = await setUp({
      script: async () => {},
      upstream: { servers: [{ host: '127.0.0.1', port: silent.port, tls: true }] },
      config: { timeouts: { upstreamTlsMs: 500, upstreamConnectMs: 60_000 } },
    })
    expect((await (await setup.connect()).get('/')).status).toBe(504)
    expect((await setup.event(1)).detail).toBe('upstreamTlsMs passed')
  })

  it('is shaken hands with more briefly the second time', async () => {
    const reused: boolean[] = []
    const server = createTlsServer({ ...good }, (socket) => {
      reused.push(socket.isSessionReused())
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok')
      })
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    await using setup = await setUpTls((server.address() as AddressInfo).port, { ca })
    const client = await setup.connect()
    for (let i = 0; i < 3; i++) expect((await client.get('/')).body.toString()).toBe('ok')
    expect(reused).toEqual([false, true, true])
    server.close()
  })

  it('refuses to start with a certificate and a key that do not belong together', async () => {
    await expect(setUpTls(1, { ca, cert: good.cert, key: ours.key })).rejects.toThrow(/key/i)
  })

  it('takes large bodies both ways', async () => {
    const server = createServer(good, (request, response) => {
      request.pipe(response)
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    await using setup = await setUpTls((server.address() as AddressInfo).port, { ca })
    const client = await setup.connect()
    const body = Buffer.alloc(3_000_000, 'prexy ')
    const sent = client.send(
      Buffer.concat([Buffer.from(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`), body]),
    )
    const response = await client.readResponse()
    await sent
    expect(response.body.equals(body)).toBe(true)
    server.closeAllConnections()
    server.close()
  })
})

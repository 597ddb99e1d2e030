import { gzipSync } from 'node:zlib'
import type { OriginConnection } from '@prexy/testing/raw-origin'
import { expect, it } from 'vitest'
import { setUp } from './harness.ts'

/**
 * What the client may see: a final status with a whole body, `broken` (a body that visibly ends early, or no response),
 * and never anything else. `reused`: whether the upstream connection may serve the next request.
 */
interface Kind {
  readonly name: string
  /** Octets, or what to do; the connection stays open unless `ending` says otherwise. */
  readonly send: string | Uint8Array | ((connection: OriginConnection) => Promise<void>)
  readonly ending?: 'end' | 'reset'
  readonly method?: string
  readonly sees: readonly (number | 'broken')[]
  readonly body?: string
  readonly reused?: boolean
  /** Nothing is wrong with it for who does not look into the body. */
  readonly withRulesOnly?: true
}

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`
const lines = (count: number): string => Array.from({ length: count }, (_, i) => `X-${i}: y\r\n`).join('')
const drip = (piece: string, count: number) => async (connection: OriginConnection) => {
  for (let i = 0; i < count && !connection.socket.destroyed; i++) await connection.send(piece)
}

const kinds: readonly Kind[] = [
  {
    name: 'length longer than body',
    send: `${OK}Content-Length: 10\r\n\r\nshort`,
    ending: 'end',
    sees: ['broken', 502],
  },
  {
    name: 'body longer than length',
    send: `${OK}Content-Length: 2\r\n\r\nokEXTRA`,
    sees: [200],
    body: 'ok',
    reused: false,
  },
  {
    name: 'a second response appended',
    send: `${OK}Content-Length: 2\r\n\r\nok${OK}Content-Length: 4\r\n\r\nevil`,
    sees: [200],
    body: 'ok',
    reused: false,
  },
  {
    name: 'chunked, no last chunk',
    send: `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n`,
    ending: 'end',
    sees: ['broken', 502],
  },
  {
    name: 'chunked, cut in a chunk',
    send: `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nok`,
    ending: 'end',
    sees: ['broken', 502],
  },
  {
    name: 'chunked, cut before trailers end',
    send: `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n`,
    ending: 'end',
    sees: ['broken', 502],
  },
  { name: 'bad chunk size', send: `${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n`, sees: ['broken', 502] },
  { name: 'negative chunk size', send: `${OK}Transfer-Encoding: chunked\r\n\r\n-2\r\nok\r\n`, sees: ['broken', 502] },
  {
    name: 'huge chunk size',
    send: `${OK}Transfer-Encoding: chunked\r\n\r\n${'f'.repeat(40)}\r\nok\r\n`,
    sees: ['broken', 502],
  },
  {
    name: 'chunk without CR LF',
    send: `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nokXX0\r\n\r\n`,
    sees: ['broken', 502],
  },
  {
    name: 'endless chunk extension',
    send: `${OK}Transfer-Encoding: chunked\r\n\r\n2;${'x'.repeat(1_000_000)}\r\nok\r\n0\r\n\r\n`,
    sees: ['broken', 502],
  },
  {
    name: 'length and chunked',
    send: `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    sees: [502],
  },
  { name: 'two equal lengths', send: `${OK}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`, sees: [502] },
  { name: 'two different lengths', send: `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`, sees: [502] },
  { name: 'a list of lengths', send: `${OK}Content-Length: 2, 2\r\n\r\nok`, sees: [502] },
  { name: 'a negative length', send: `${OK}Content-Length: -2\r\n\r\nok`, sees: [502] },
  { name: 'a length with a sign', send: `${OK}Content-Length: +2\r\n\r\nok`, sees: [502] },
  { name: 'a huge length', send: `${OK}Content-Length: 99999999999999999999\r\n\r\nok`, sees: [502] },
  { name: 'transfer coding foo', send: `${OK}Transfer-Encoding: foo\r\n\r\nok`, ending: 'end', sees: [502] },
  { name: 'transfer coding gzip', send: `${OK}Transfer-Encoding: gzip\r\n\r\nok`, ending: 'end', sees: [502] },
  {
    name: 'transfer coding gzip, chunked',
    send: `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    sees: [502],
  },
  { name: 'chunked twice', send: `${OK}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`, sees: [502] },
  { name: 'obs-fold', send: `${OK}X: a\r\n b\r\nContent-Length: 0\r\n\r\n`, sees: [502] },
  { name: 'bare LF', send: 'HTTP/1.1 200 OK\nContent-Length: 0\n\n', sees: [502] },
  { name: 'bare CR', send: `${OK}X: a\rb\r\nContent-Length: 0\r\n\r\n`, sees: [502] },
  { name: 'NUL in a value', send: `${OK}X: a\0b\r\nContent-Length: 0\r\n\r\n`, sees: [502] },
  { name: 'space before the colon', send: `${OK}Content-Length : 0\r\n\r\n`, sees: [502] },
  { name: 'a line without colon', send: `${OK}nonsense\r\n\r\n`, sees: [502] },
  { name: 'status 099', send: 'HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n', sees: [502] },
  { name: 'status 600', send: 'HTTP/1.1 600 X\r\nContent-Length: 0\r\n\r\n', sees: [600], reused: true },
  { name: 'status 999', send: 'HTTP/1.1 999 X\r\nContent-Length: 2\r\n\r\nok', sees: [999], body: 'ok', reused: true },
  { name: 'status of two digits', send: 'HTTP/1.1 20 OK\r\n\r\n', sees: [502] },
  { name: 'HTTP/2.0', send: 'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n', sees: [200] },
  {
    name: 'HTTP/1.0 until close',
    send: 'HTTP/1.0 200 OK\r\n\r\nok',
    ending: 'end',
    sees: [200],
    body: 'ok',
    reused: false,
  },
  { name: 'not HTTP', send: 'SSH-2.0-OpenSSH_9.2p1\r\n', sees: [502] },
  {
    name: 'a reason of 30 KB',
    send: `HTTP/1.1 200 ${'x'.repeat(30_000)}\r\nContent-Length: 2\r\n\r\nok`,
    sees: [200, 502],
  },
  { name: 'a control octet in the reason', send: 'HTTP/1.1 200 a\x01b\r\nContent-Length: 0\r\n\r\n', sees: [200, 502] },
  {
    name: '100 unasked',
    send: `HTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 2\r\n\r\nok`,
    sees: [200],
    body: 'ok',
    reused: true,
  },
  { name: '103 without end', send: drip('HTTP/1.1 103 Early Hints\r\n\r\n', 20_000), sees: [502] },
  {
    name: '101 unasked',
    send: 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    sees: [502],
  },
  {
    name: '204 with a body',
    send: 'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok',
    sees: [204, 502],
    reused: false,
  },
  {
    name: '304 with a length',
    send: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n',
    sees: [304],
    reused: true,
  },
  {
    name: '304 with a body',
    send: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nok',
    sees: [304],
    reused: false,
  },
  { name: 'HEAD with a body', method: 'HEAD', send: `${OK}Content-Length: 2\r\n\r\nok`, sees: [200], reused: false },
  { name: '205 with a body', send: 'HTTP/1.1 205 Reset\r\nContent-Length: 2\r\n\r\nok', sees: [205], body: '' },
  { name: '3,000 fields', send: `${OK}${lines(3_000)}Content-Length: 0\r\n\r\n`, sees: [502] },
  { name: 'a field of 100 KB', send: `${OK}X: ${'y'.repeat(100_000)}\r\nContent-Length: 0\r\n\r\n`, sees: [502] },
  { name: 'a head without end', send: drip('X-Field: value\r\n', 20_000), sees: [502] },
  {
    name: 'trailers without end',
    send: async (connection) => {
      await connection.send(`${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n`)
      await drip('X-Field: value\r\n', 20_000)(connection)
    },
    sees: ['broken', 502],
  },
  {
    name: 'framing in trailers',
    send: `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nContent-Length: 9\r\n\r\n`,
    sees: [200, 'broken', 502],
  },
  {
    name: 'chunks of one octet',
    send: `${OK}Transfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(5_000)}0\r\n\r\n`,
    sees: [200],
    body: 'x'.repeat(5_000),
    reused: true,
  },
  {
    name: 'no reason and no space',
    send: 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok',
    sees: [200],
    body: 'ok',
    reused: true,
  },
  { name: 'two spaces before the status', send: 'HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n', sees: [502] },
  { name: 'a tab before the status', send: 'HTTP/1.1\t200 OK\r\nContent-Length: 0\r\n\r\n', sees: [502] },
  { name: 'a tab behind the status', send: 'HTTP/1.1 200\tOK\r\nContent-Length: 0\r\n\r\n', sees: [502] },
  { name: 'a status with a sign', send: 'HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n', sees: [502] },
  { name: 'a status of four digits', send: 'HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n', sees: [502] },
  { name: 'a status of 000', send: 'HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n', sees: [502] },
  { name: 'a lower-case version', send: 'http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', sees: [502] },
  { name: 'HTTP/3.0', send: 'HTTP/3.0 200 OK\r\nContent-Length: 0\r\n\r\n', sees: [502] },
  { name: 'HTTP/0.9', send: '<html>hello</html>\r\n', ending: 'end', sees: [502] },
  { name: 'TLS', send: Buffer.from([21, 3, 1, 0, 2, 2, 70]), sees: [502] },
  { name: 'HTTP/2 frames', send: Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 255, 255]), sees: [502] },
  { name: 'an empty line before the status line', send: `\r\n${OK}Content-Length: 0\r\n\r\n`, sees: [502] },
  { name: 'octets of an older response before it', send: `k${OK}Content-Length: 0\r\n\r\n`, sees: [502] },
  { name: 'a request', send: 'GET / HTTP/1.1\r\nHost: a\r\n\r\n', sees: [502] },
  { name: 'NUL in the status line', send: 'HTTP/1.1 200 O\0K\r\nContent-Length: 0\r\n\r\n', sees: [502] },
  { name: 'an empty name', send: `${OK}: a\r\nContent-Length: 0\r\n\r\n`, sees: [502] },
  { name: 'a name above US-ASCII', send: `${OK}X\xe9: a\r\nContent-Length: 0\r\n\r\n`, sees: [502] },
  { name: 'a name with a space', send: `${OK}X Y: a\r\nContent-Length: 0\r\n\r\n`, sees: [502] },
  { name: 'a space before the first field', send: `${OK} X: a\r\nContent-Length: 0\r\n\r\n`, sees: [502] },
  {
    name: 'a value above US-ASCII',
    send: `${OK}X: \xe9\r\nContent-Length: 2\r\n\r\nok`,
    sees: [200],
    body: 'ok',
    reused: true,
  },
  { name: 'an empty length', send: `${OK}Content-Length:\r\n\r\nok`, sees: [502] },
  { name: 'a hexadecimal length', send: `${OK}Content-Length: 0x2\r\n\r\nok`, sees: [502] },
  { name: 'a length with a fraction', send: `${OK}Content-Length: 2.0\r\n\r\nok`, sees: [502] },
  {
    name: 'a length with zeros before it',
    send: `${OK}Content-Length: 002\r\n\r\nok`,
    sees: [200],
    body: 'ok',
    reused: true,
  },
  { name: 'a negative length of a 304', send: 'HTTP/1.1 304 X\r\nContent-Length: -2\r\n\r\n', sees: [502] },
  {
    name: 'chunked in HTTP/1.0',
    send: 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    sees: [502],
  },
  { name: 'chunked in quotes', send: `${OK}Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`, sees: [502] },
  {
    name: 'two lines of chunked',
    send: `${OK}${'Transfer-Encoding: chunked\r\n'.repeat(2)}\r\n0\r\n\r\n`,
    sees: [502],
  },
  { name: 'an empty transfer coding', send: `${OK}Transfer-Encoding:\r\n\r\nok`, ending: 'end', sees: [502] },
  { name: 'a chunk size behind a space', send: `${CHUNKED} 2\r\nok\r\n0\r\n\r\n`, sees: ['broken', 502] },
  { name: 'a chunk size before a space', send: `${CHUNKED}2 \r\nok\r\n0\r\n\r\n`, sees: ['broken', 502] },
  { name: 'a chunk size with 0x', send: `${CHUNKED}0x2\r\nok\r\n0\r\n\r\n`, sees: ['broken', 502] },
  { name: 'a chunk size that a LF ends', send: `${CHUNKED}2\nok\r\n0\r\n\r\n`, sees: ['broken', 502] },
  { name: 'a chunk that a LF ends', send: `${CHUNKED}2\r\nok\n0\r\n\r\n`, sees: ['broken', 502] },
  { name: 'a last chunk that LF LF ends', send: `${CHUNKED}2\r\nok\r\n0\n\n`, sees: ['broken', 502] },
  { name: 'a chunk extension with LF', send: `${CHUNKED}2;\nx\r\nok\r\n0\r\n\r\n`, sees: ['broken', 502] },
  { name: 'a chunk extension with an open quote', send: `${CHUNKED}2;a="\r\nok\r\n0\r\n\r\n`, sees: ['broken', 502] },
  { name: 'chunks of 2^53', send: `${CHUNKED}20000000000000\r\nok\r\n0\r\n\r\n`, sees: ['broken', 502] },
  { name: 'a trailer with NUL', send: `${CHUNKED}2\r\nok\r\n0\r\nX: \0\r\n\r\n`, sees: ['broken', 502] },
  { name: 'a trailer that folds', send: `${CHUNKED}2\r\nok\r\n0\r\nX: a\r\n b\r\n\r\n`, sees: ['broken', 502] },
  { name: 'a trailer without colon', send: `${CHUNKED}2\r\nok\r\n0\r\nnonsense\r\n\r\n`, sees: ['broken', 502] },
  { name: 'a response for a trailer', send: `${CHUNKED}2\r\nok\r\n0\r\n${OK}\r\n`, sees: ['broken', 502] },
  { name: '65 trailers', send: `${CHUNKED}2\r\nok\r\n0\r\n${lines(65)}\r\n`, sees: ['broken', 502] },
  {
    name: '100 with a body',
    send: `HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n\r\nok${OK}Content-Length: 0\r\n\r\n`,
    sees: [502],
  },
  { name: '100, and nothing more', send: 'HTTP/1.1 100 Continue\r\n\r\n', ending: 'end', sees: [502] },
  { name: '103, and a reset', send: 'HTTP/1.1 103 Early Hints\r\n\r\n', ending: 'reset', sees: [502] },
  {
    name: 'an interim status nobody knows',
    send: `HTTP/1.1 199 What\r\n\r\n${OK}Content-Length: 2\r\n\r\nok`,
    sees: [200],
    body: 'ok',
    reused: true,
  },
  {
    name: '16 interim responses',
    send: `${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(16)}${OK}Content-Length: 2\r\n\r\nok`,
    sees: [200],
    body: 'ok',
    reused: true,
  },
  {
    name: '17 interim responses',
    send: `${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(17)}${OK}Content-Length: 2\r\n\r\nok`,
    sees: [502],
  },
  { name: '103 with 300 fields', send: `HTTP/1.1 103 Early Hints\r\n${lines(300)}\r\n`, sees: [502] },
  {
    name: '304 in chunks',
    send: 'HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    sees: [304],
    reused: false,
  },
  {
    name: '204 in chunks',
    send: 'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    sees: [204],
    reused: false,
  },
  { name: 'HEAD in chunks', method: 'HEAD', send: `${CHUNKED}2\r\nok\r\n0\r\n\r\n`, sees: [200], reused: false },
  { name: 'HEAD, and a close', method: 'HEAD', send: `${OK}\r\n`, ending: 'end', sees: [200], reused: false },
  { name: 'a 407', send: 'HTTP/1.1 407 X\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n', sees: [502] },
  {
    name: 'Connection: close, and a connection that stays',
    send: `${OK}Connection: close\r\nContent-Length: 2\r\n\r\nok`,
    sees: [200],
    body: 'ok',
    reused: false,
  },
  {
    name: 'Connection that names the length',
    send: `${OK}Connection: content-length\r\nContent-Length: 2\r\n\r\nok`,
    sees: [200],
    body: 'ok',
    reused: true,
  },
  {
    name: 'Upgrade on a 200',
    send: `${OK}Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nok`,
    sees: [200],
    body: 'ok',
    reused: true,
  },
  {
    name: 'two media types',
    send: `${OK}Content-Type: text/html\r\nContent-Type: image/png\r\nContent-Length: 2\r\n\r\nok`,
    sees: [200],
    body: 'ok',
    reused: true,
  },
  {
    name: 'an answer, and a reset in the same packet',
    send: `${OK}Content-Length: 2\r\n\r\nok`,
    ending: 'reset',
    sees: [200, 'broken', 502],
  },
  { name: 'an immediate close', send: '', ending: 'end', sees: [502] },
  { name: 'an immediate reset', send: '', ending: 'reset', sees: [502] },
  { name: 'a reset within the head', send: OK, ending: 'reset', sees: [502] },
  { name: 'a reset within the body', send: `${OK}Content-Length: 9\r\n\r\nok`, ending: 'reset', sees: ['broken', 502] },
  { name: 'a reset at the end of a body until close', send: `${OK}\r\nok`, ending: 'reset', sees: ['broken', 502] },
  {
    name: 'gzip that is none',
    send: `${OK}Content-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok`,
    sees: [502],
    withRulesOnly: true,
  },
  {
    name: 'gzip cut by the length',
    send: Buffer.concat([
      Buffer.from(`${OK}Content-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: 15\r\n\r\n`),
      gzipSync('nothing to see here').subarray(0, 15),
    ]),
    sees: [502, 'broken'],
    withRulesOnly: true,
  },
  {
    name: 'Set-Cookie with control octets',
    send: `${OK}Set-Cookie: a=\x7fb\r\nContent-Length: 0\r\n\r\n`,
    sees: [200, 502],
  },
]

for (const rules of [[], [{ text: 'never there', with: 'x' }]]) {
  const applicable = kinds.filter((kind) => rules.length > 0 || kind.withRulesOnly === undefined)
  it.concurrent.each(applicable.map((kind) => [kind.name, kind] as const))(
    `%s${rules.length > 0 ? ', with rules' : ''}`,
    async (_name, kind) => {
      await using setup = await setUp({
        rules,
        script: async (connection) => {
          for (let n = 0; (await connection.readRequest()) !== undefined; n++) {
            if (connection.number > 1 || n > 0) {
              await connection.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext')
              continue
            }
            if (typeof kind.send === 'function') await kind.send(connection)
            else await connection.send(kind.send)
            if (kind.ending !== undefined) connection[kind.ending]()
          }
        },
      })
      const client = await setup.connect()
      const method = kind.method ?? 'GET'
      await client.send(`${method} / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n`)
      let seen: number | 'broken'
      let body = ''
      try {
        let response = await client.readResponse(method)
        while (response.status < 200) response = await client.readResponse(method)
        seen = response.complete ? response.status : 'broken'
        if (response.complete) body = response.body.toString()
      } catch {
        seen = 'broken'
      }
      expect(kind.sees).toContain(seen)
      expect(kind.body ?? body).toBe(body)
      // The process lives, and whoever comes next gets what was meant for them.
      const next = await (await setup.connect()).get('/next')
      expect([next.status, next.body.toString()]).toEqual([200, 'next'])
      expect(kind.reused ?? setup.origin.connections === 1).toBe(setup.origin.connections === 1)
      expect((await setup.event(1)).outcome === 'completed').toBe(typeof seen === 'number' && seen !== 502)
    },
  )
}

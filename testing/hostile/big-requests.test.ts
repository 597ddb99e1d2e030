/**
 * Things that are too big, from just within a limit to far beyond it, alone and from many clients at once: each is
 * answered with the status of its limit, and the proxy's memory stays what it was.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PrexyServer, startPrexyServer } from '@prexy/testing/prexy-server'
import { noProcessMemory, processMemory } from '@prexy/testing/process-memory'
import { connectRawClient, type RawClient } from '@prexy/testing/raw-client'
import { plainResponse, type RawOrigin, startRawOrigin } from '@prexy/testing/raw-origin'
import { afterAll, beforeAll, expect, test } from 'vitest'

const long = process.env['PREXY_LONG'] === '1'
const KB = 1_024
const MB = 1_048_576

/** As in the configuration below. Unit: bytes. */
const MAX_BODY_BYTES = MB

const H = 'Host: a.example\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n'
/** Octets of `X: …` without value and line end. */
const FIELD_BYTES = 5

interface BigRequest {
  readonly name: string
  readonly status: number
  /** Sent one after the other until there is an answer. */
  readonly parts: readonly (string | Uint8Array)[]
}

/** A request that must fit where `fits`, and else is answered with `status`. */
const big = (name: string, fits: boolean, status: number, ...parts: (string | Uint8Array)[]): BigRequest => ({
  name,
  status: fits ? 200 : status,
  parts,
})

const get = (fields: string | Uint8Array, target = '/'): (string | Uint8Array)[] => [
  `GET ${target} HTTP/1.1\r\n${H}`,
  fields,
  '\r\n',
]
const post = (fields: string, ...body: (string | Uint8Array)[]): (string | Uint8Array)[] => [
  `POST / HTTP/1.1\r\n${H}${fields}\r\n`,
  ...body,
]
const letters = (bytes: number): Buffer => Buffer.alloc(bytes, 'a')
const field = (bytes: number): Buffer =>
  Buffer.concat([Buffer.from('X: '), letters(bytes - FIELD_BYTES), Buffer.from('\r\n')])
const LIMITS = { header: 32_768 - H.length - 2, target: 8_192, extension: 16_384, trailer: 8_192 - 2 }

const REQUESTS: readonly BigRequest[] = [
  ...[KB, 10 * KB, LIMITS.header, LIMITS.header + 1, 100 * KB, MB, 10 * MB].map((bytes) =>
    big(`a header of ${bytes} octets`, bytes <= LIMITS.header, 431, ...get(field(bytes))),
  ),
  ...[1, 100, 127, 128, 1_000, 10_000, 100_000].map((count) =>
    big(`${count} headers`, count <= 127, 431, ...get('X: y\r\n'.repeat(count))),
  ),
  ...[100 * KB, 10 * MB].map((bytes) => big(`a name of ${bytes} octets`, false, 431, ...get(letters(bytes)))),
  ...[KB, LIMITS.target, LIMITS.target + 1, 100 * KB, 10 * MB].map((bytes) =>
    big(
      `a target of ${bytes} octets`,
      bytes <= LIMITS.target,
      414,
      'GET /',
      letters(bytes - 1),
      ` HTTP/1.1\r\n${H}\r\n`,
    ),
  ),
  big('a URI of 1 MB', false, 414, 'GET http://a.example/', letters(MB), ` HTTP/1.1\r\n${H}\r\n`),
  big('a query of 1 MB', false, 414, 'GET /?', letters(MB), ` HTTP/1.1\r\n${H}\r\n`),
  big('a method of 10 MB', false, 501, letters(10 * MB), ` / HTTP/1.1\r\n${H}\r\n`),
  big('a version of 1 MB', false, 400, 'GET / HTTP/1.', Buffer.alloc(MB, '1'), `\r\n${H}\r\n`),
  big('1 MB of empty lines', false, 400, Buffer.alloc(MB, '\r\n')),
  big('a Host of 1 MB', false, 431, 'GET / HTTP/1.1\r\nHost: ', letters(MB), '\r\n\r\n'),
  big('a cookie of 20 KB', true, 431, ...get(`Cookie: ${'a=b; '.repeat(4_000)}c=d\r\n`)),
  big('a cookie of 1 MB', false, 431, ...get(`Cookie: ${'a=b; '.repeat(200_000)}c=d\r\n`)),
  big('1,000 cookies', false, 431, ...get('Cookie: a=b\r\n'.repeat(1_000))),
  big('a Connection that names 11,000 fields', false, 431, ...get(`Connection: ${'x, '.repeat(11_000)}y\r\n`)),
  big('a Connection that names 9,000 fields', true, 431, ...get(`Connection: ${'x, '.repeat(9_000)}y\r\n`)),
  ...[MAX_BODY_BYTES, MAX_BODY_BYTES + 1, 100 * MB].map((bytes) =>
    big(
      `a body of ${bytes} octets`,
      bytes <= MAX_BODY_BYTES,
      413,
      ...post(`Content-Length: ${bytes}\r\n`, letters(Math.min(bytes, 10 * MB))),
    ),
  ),
  big('a body in chunks within the limit', true, 413, ...post(CHUNKED, '100000\r\n', letters(MB), '\r\n0\r\n\r\n')),
  big('a chunk beyond the limit', false, 413, ...post(CHUNKED, '100001\r\n', letters(MB))),
  big(
    'chunks beyond the limit',
    false,
    413,
    ...post(CHUNKED, Buffer.from(`400\r\n${'a'.repeat(KB)}\r\n`.repeat(2 * KB))),
  ),
  ...[KB, LIMITS.extension - 1, LIMITS.extension, MB].map((bytes) =>
    big(
      `a chunk extension of ${bytes} octets`,
      bytes < LIMITS.extension,
      413,
      ...post(CHUNKED, '1;', letters(bytes), '\r\na\r\n0\r\n\r\n'),
    ),
  ),
  big('chunk extensions of 1 MB in all', false, 413, ...post(CHUNKED, `1;${'x'.repeat(98)}\r\na\r\n`.repeat(10_000))),
  ...[KB, LIMITS.trailer, LIMITS.trailer + 1, 100 * KB, MB].map((bytes) =>
    big(
      `a trailer of ${bytes} octets`,
      bytes <= LIMITS.trailer,
      431,
      ...post(CHUNKED, '1\r\na\r\n0\r\n', field(bytes), '\r\n'),
    ),
  ),
  ...[64, 65, 10_000].map((count) =>
    big(`${count} trailers`, count <= 64, 431, ...post(CHUNKED, '1\r\na\r\n0\r\n', 'X: y\r\n'.repeat(count), '\r\n')),
  ),
]

let folder = ''
let origin: RawOrigin
let prexy: PrexyServer

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'prexy-big-'))
  origin = await startRawOrigin(async (connection) => {
    for (let request = await connection.readRequest(); request?.complete; request = await connection.readRequest()) {
      await connection.send(plainResponse('seen'))
    }
    connection.end()
  })
  const file = join(folder, 'prexy.yaml')
  const limits = `{request: {maxBodyBytes: ${MAX_BODY_BYTES}}}`
  writeFileSync(file, `listen: 127.0.0.1:0\nupstream: http://127.0.0.1:${origin.port}\nlimits: ${limits}\nlog: off\n`)
  prexy = await startPrexyServer(['serve', file])
})
afterAll(async () => {
  const exit = await prexy.stop()
  await origin.close()
  rmSync(folder, { recursive: true })
  expect(exit).toBe(0)
})

/** Sends as much of the parts as the proxy takes before it answers. */
async function sendParts(client: RawClient, parts: BigRequest['parts']): Promise<void> {
  for (const part of parts) {
    const octets = typeof part === 'string' ? Buffer.from(part, 'latin1') : part
    for (let at = 0; at < octets.length; at += 65_536) {
      if (client.reader.receivedBytes > 0 || client.socket.destroyed) return
      await client.send(octets.subarray(at, at + 65_536))
    }
  }
}

async function statusOf({ parts }: BigRequest): Promise<number> {
  const client = await connectRawClient(prexy.port)
  const [response] = await Promise.all([client.readResponse(), sendParts(client, parts)])
  client.destroy()
  return response.status
}

test.each(REQUESTS)('$name: $status', async (request) => {
  expect(await statusOf(request)).toBe(request.status)
})

/** `npm test` lets each come twice, from 20 clients; the long run 40 times. */
const ROUNDS = long ? 40 : 2
const MAX_GROWTH_MIB = 64

test(`all of them again, ${ROUNDS} times, from 20 clients at once, leave the memory flat`, {
  timeout: 300_000,
}, async (context) => {
  if (noProcessMemory !== undefined) return context.skip(noProcessMemory)
  const runAll = async (rounds: number): Promise<void> => {
    const queue = Array.from({ length: rounds }, () => REQUESTS)
      .flat()
      .values()
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        for (const request of queue)
          expect([request.name, await statusOf(request)]).toEqual([request.name, request.status])
      }),
    )
  }
  await runAll(1)
  const settled = processMemory(prexy.pid, 'VmHWM')
  await runAll(ROUNDS)
  const growth = processMemory(prexy.pid, 'VmHWM') - settled
  console.log(
    `big requests: ${REQUESTS.length} kinds, ${ROUNDS} times: ${settled.toFixed(0)} MiB, ${growth.toFixed(1)} more`,
  )
  expect(growth).toBeLessThan(MAX_GROWTH_MIB)
})

test('200 heads that never end cost no more than their limit each', async (context) => {
  if (noProcessMemory !== undefined) return context.skip(noProcessMemory)
  const before = processMemory(prexy.pid, 'VmRSS')
  const clients = await Promise.all(Array.from({ length: 200 }, () => connectRawClient(prexy.port)))
  const head = Buffer.concat([Buffer.from(`GET /${'a'.repeat(8_000)} HTTP/1.1\r\n${H}`), field(32_000)])
  // In pieces, so that what came before is kept each time.
  for (let at = 0; at < head.length; at += 1_000) {
    await Promise.all(clients.map((client) => client.send(head.subarray(at, at + 1_000))))
  }
  const other = await connectRawClient(prexy.port)
  expect((await other.get('/')).status).toBe(200)
  const growth = processMemory(prexy.pid, 'VmRSS') - before
  for (const client of [...clients, other]) client.destroy()
  console.log(`big requests: 200 heads of 40 KB that never end: ${growth.toFixed(1)} MiB`)
  // The copy of a head grows by doubling.
  expect(growth).toBeLessThan((200 * 2 * 64 * KB) / MB + MAX_GROWTH_MIB)
})

/**
 * Compressed bodies that are far larger than they look, through the command line with a limit of 32 MB. What counts is
 * octets: what a client gets of a bomb, and what the process holds.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as zlib from 'node:zlib'
import { type PrexyServer, startPrexyServer } from '@prexy/testing/prexy-server'
import { noProcessMemory, processMemory } from '@prexy/testing/process-memory'
import { connectRawClient, type RawResponse } from '@prexy/testing/raw-client'
import { type RawOrigin, startRawOrigin } from '@prexy/testing/raw-origin'
import { afterAll, beforeAll, expect, test } from 'vitest'

const MB = 1_048_576
/** As in the configuration below. Unit: bytes. */
const MAX_DECODED_BYTES = 32 * MB

interface Bomb {
  readonly name: string
  readonly coding: string
  /** Sent one after the other, the one in the middle `times` times. */
  readonly parts: readonly [first: Uint8Array, middle: Uint8Array, last: Uint8Array]
  readonly times: number
  /** Each octet of the coded body in a chunk of its own. */
  readonly singly?: true
  /** What arrives, where it is no bomb once it is decoded one time. */
  readonly text?: Uint8Array
}

const NOTHING = new Uint8Array(0)
const SMALL = Buffer.from('<p>small</p>')
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
/** 1 MB of zeros as deflate data that more may follow, in about 1 KB. */
const MEGABYTE = zlib.deflateRawSync(Buffer.alloc(MB), { finishFlush: zlib.constants.Z_FULL_FLUSH })
const EMPTY_BLOCKS = Buffer.alloc(50_000, Buffer.from([0, 0, 0, 0xff, 0xff]))
const zeros = Buffer.alloc(64 * MB)
const nestedGzip = zlib.gzipSync(zlib.gzipSync(zeros))
const fast = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }
const plainBrotli = zlib.brotliCompressSync(zeros, fast)
const nestedBrotli = zlib.brotliCompressSync(plainBrotli, fast)

const whole = (name: string, coding: string, body: Uint8Array, text?: Uint8Array): Bomb => ({
  name,
  coding,
  parts: [body, NOTHING, NOTHING],
  times: 0,
  ...(text === undefined ? {} : { text }),
})

interface ZstdFunctions {
  readonly zstdCompressSync?: (input: Uint8Array) => Buffer
}
/** Newer than the type declarations in use. */
const { zstdCompressSync }: Pick<typeof zlib, 'gzipSync'> & ZstdFunctions = zlib
const zstdBombs: readonly Bomb[] =
  zstdCompressSync === undefined
    ? []
    : [
        whole('zstd of 64 MB', 'zstd', zstdCompressSync(zeros)),
        {
          name: 'zstd of 1,000 frames of 1 MB',
          coding: 'zstd',
          parts: [NOTHING, zstdCompressSync(zeros.subarray(0, MB)), NOTHING],
          times: 1_000,
        },
        // The descriptor asks for 3.75 TB of window.
        whole('zstd with a window of terabytes', 'zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0xff, 3, 0, 0, 0])),
        {
          name: 'zstd of 5,000 empty frames',
          coding: 'zstd',
          parts: [NOTHING, zstdCompressSync(NOTHING), NOTHING],
          times: 5_000,
        },
      ]
if (zstdBombs.length === 0) console.log('bombs: this runtime has no zstd, its four did not run')

const BOMBS: readonly Bomb[] = [
  { name: 'gzip of 1 GB', coding: 'gzip', parts: [GZIP_HEADER, MEGABYTE, NOTHING], times: 1_024 },
  { name: 'deflate of 1 GB', coding: 'deflate', parts: [Buffer.from([0x78, 0x9c]), MEGABYTE, NOTHING], times: 1_024 },
  { name: 'raw deflate of 1 GB', coding: 'deflate', parts: [NOTHING, MEGABYTE, NOTHING], times: 1_024 },
  whole('br of 64 MB in a hundred octets', 'br', plainBrotli),
  {
    name: 'gzip of 1,000 members of 1 MB',
    coding: 'gzip',
    parts: [NOTHING, zlib.gzipSync(zeros.subarray(0, MB)), NOTHING],
    times: 1_000,
  },
  {
    name: 'gzip of 5,000 empty members',
    coding: 'gzip',
    parts: [NOTHING, zlib.gzipSync(NOTHING), NOTHING],
    times: 5_000,
  },
  {
    name: 'gzip of 64 MB, each octet in a chunk',
    coding: 'gzip',
    parts: [zlib.gzipSync(zeros), NOTHING, NOTHING],
    times: 0,
    singly: true,
  },
  whole('gzip within gzip', 'gzip', nestedGzip, zlib.gunzipSync(nestedGzip)),
  whole('br within br', 'br', nestedBrotli, zlib.brotliDecompressSync(nestedBrotli)),
  whole('gzip within gzip that says so', 'gzip, gzip', nestedGzip, nestedGzip),
  {
    name: '10 MB of gzip that decode to nothing',
    coding: 'gzip',
    parts: [GZIP_HEADER, EMPTY_BLOCKS, Buffer.from([1, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0])],
    times: 200,
    text: NOTHING,
  },
  {
    name: 'gzip with a file name of 10 MB',
    coding: 'gzip',
    parts: [
      Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]),
      Buffer.alloc(50_000, 'n'),
      Buffer.concat([Buffer.alloc(1), zlib.gzipSync(SMALL).subarray(10)]),
    ],
    times: 200,
    text: SMALL,
  },
  ...zstdBombs,
]

let folder = ''
let origin: RawOrigin
let prexy: PrexyServer

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'prexy-bombs-'))
  origin = await startRawOrigin(async (connection) => {
    const request = await connection.readRequest()
    const bomb = BOMBS[Number(request?.target.slice(1))]
    const framing = bomb.singly ? 'Transfer-Encoding: chunked\r\n' : ''
    await connection.send(
      `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: ${bomb.coding}\r\n${framing}Connection: close\r\n\r\n`,
    )
    const [first, middle, last] = bomb.parts
    if (bomb.singly) {
      const chunks = Buffer.concat(
        [...first].flatMap((octet) => [Buffer.from('1\r\n'), Buffer.of(octet), Buffer.from('\r\n')]),
      )
      await connection.send(Buffer.concat([chunks, Buffer.from('0\r\n\r\n')]))
    } else {
      await connection.send(first)
      for (let i = 0; i < bomb.times && !connection.socket.destroyed; i++) await connection.send(middle)
      await connection.send(last)
    }
    connection.end()
  })
  const file = join(folder, 'prexy.yaml')
  const rules = 'rules: [{text: never there, with: x}]'
  writeFileSync(
    file,
    `listen: 127.0.0.1:0\nupstream: http://127.0.0.1:${origin.port}\nlimits: {maxDecodedBytes: ${MAX_DECODED_BYTES}}\nlog: off\n${rules}\n`,
  )
  prexy = await startPrexyServer(['serve', file])
})
afterAll(async () => {
  const exit = await prexy.stop()
  await origin.close()
  rmSync(folder, { recursive: true })
  expect(exit).toBe(0)
})

async function ask(bomb: number, accepted: string): Promise<RawResponse | 'broken'> {
  const client = await connectRawClient(prexy.port)
  await client.send(`GET /${bomb} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${accepted}\r\n\r\n`)
  const response = await client.readResponse().catch(() => 'broken' as const)
  client.destroy()
  return response
}

/** What is wrong with what the client got. */
function wrongWith({ text, coding }: Bomb, response: RawResponse | 'broken'): string | undefined {
  if (response === 'broken') return text === undefined ? undefined : 'broken'
  const { status, complete, body } = response
  if (text !== undefined) {
    if (!complete || status !== 200) return `status ${status}, ${complete ? 'whole' : 'broken'}`
    const decoded =
      response.value('content-encoding') === 'gzip' && coding !== 'gzip, gzip' ? zlib.gunzipSync(body) : body
    return decoded.equals(text) ? undefined : `${decoded.length} octets of something else`
  }
  if (status === 200 && complete) return 'whole'
  if (status !== 200 && status !== 502) return `status ${status}`
  return body.length <= MAX_DECODED_BYTES ? undefined : `${body.length} octets`
}

test.each(BOMBS.map((bomb, n) => ({ ...bomb, n })))('$name', { timeout: 120_000 }, async (bomb) => {
  for (const accepted of ['identity', 'gzip']) {
    if (bomb.coding === 'br' && bomb.text !== undefined && accepted === 'gzip') continue
    expect([accepted, wrongWith(bomb, await ask(bomb.n, accepted))]).toEqual([accepted, undefined])
  }
})

/** `npm test` asks for each from two clients at once, the long run from six. */
const CLIENTS = process.env['PREXY_LONG'] === '1' ? 6 : 2
const MAX_GROWTH_MIB = 96

test(`all of them for ${CLIENTS} clients at once leave the memory flat`, { timeout: 300_000 }, async (context) => {
  if (noProcessMemory !== undefined) return context.skip(noProcessMemory)
  const before = processMemory(prexy.pid, 'VmHWM')
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (const [n, bomb] of BOMBS.entries()) {
        expect([bomb.name, wrongWith(bomb, await ask(n, 'identity'))]).toEqual([bomb.name, undefined])
      }
    }),
  )
  const growth = processMemory(prexy.pid, 'VmHWM') - before
  console.log(
    `bombs: ${BOMBS.length}, for ${CLIENTS} clients at once: ${before.toFixed(0)} MiB, ${growth.toFixed(1)} more`,
  )
  expect(growth).toBeLessThan(MAX_GROWTH_MIB)
})

/**
 * A zstd body with an octet that is wrong or missing. The reference is the runtime's own decoder in one call: what it
 * refuses never ends well here, and what it takes comes out as it says. With a checksum no wrong octet goes unseen.
 */
import * as zlib from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { CONTENT_CODINGS, ContentDecoder } from '../src/content-decoder.ts'

interface ZstdSync {
  readonly zstdCompressSync?: (body: Uint8Array, options: { params: Record<number, number> }) => Buffer
  readonly zstdDecompressSync?: (coded: Uint8Array) => Buffer
}
const { zstdCompressSync, zstdDecompressSync }: typeof zlib & ZstdSync = zlib
const missing = CONTENT_CODINGS.includes('zstd')
  ? undefined
  : 'zstd: not in this runtime, its corrupt bodies did not run'
if (missing !== undefined) console.log(missing)

/** ZSTD_c_checksumFlag of zstd.h. */
const CHECKSUM = 201

function make(body: Uint8Array, checksum: 0 | 1): Buffer {
  if (zstdCompressSync === undefined) throw new Error('this runtime has no zstd')
  return Buffer.from(zstdCompressSync(body, { params: { [CHECKSUM]: checksum } }))
}

function decode(pieces: readonly Uint8Array[]): Promise<Buffer | 'fault'> {
  return new Promise((resolve) => {
    const output: Uint8Array[] = []
    const decoder = new ContentDecoder('zstd', 1_000_000, {
      onOutput: (chunk) => output.push(Buffer.from(chunk)),
      onIdle() {},
      onEnd: (trailing) => resolve(trailing === 0 ? Buffer.concat(output) : 'fault'),
      onFault: () => resolve('fault'),
    })
    for (const piece of pieces) decoder.write(piece)
    decoder.end()
  })
}

function reference(coded: Uint8Array): Buffer | 'fault' {
  try {
    return Buffer.from(zstdDecompressSync?.(coded) ?? [])
  } catch {
    return 'fault'
  }
}

const page = Buffer.from(Array.from({ length: 60 }, (_, i) => `<p>line ${(i * 7_919) % 61} of a page</p>\n`).join(''))

describe.runIf(missing === undefined).each([0, 1] as const)('a zstd body, checksum %s', (checksum) => {
  it('whose octets are wrong is refused or is what the runtime says, whole or cut', async () => {
    const coded = make(page, checksum)
    let refused = 0
    for (let at = 0; at < coded.length; at++) {
      for (const mask of [0x01, 0x80, 0xff]) {
        const wrong = Buffer.from(coded)
        wrong[at] ^= mask
        const expected = reference(wrong)
        for (const pieces of [[wrong], [wrong.subarray(0, at), wrong.subarray(at)]]) {
          const got = await decode(pieces)
          if (got === 'fault') refused++
          else expect([at, mask, got.equals(Buffer.from(expected))]).toEqual([at, mask, true])
          if (checksum === 1 && got !== 'fault') expect([at, mask, got.equals(page)]).toEqual([at, mask, true])
        }
      }
    }
    expect(refused).toBeGreaterThan(coded.length)
  })

  it('that lacks an octet never ends well', async () => {
    const coded = make(page, checksum)
    for (let at = 0; at < coded.length; at++) {
      expect([at, await decode([coded.subarray(0, at), coded.subarray(at + 1)])]).toEqual([at, 'fault'])
    }
  })
})

/**
 * Content codings for bodies that are wholly in hand: one synchronous call instead of trips to the thread pool.
 *
 * node:zlib has no public synchronous streaming call, so this path is for bodies that arrived in one piece.
 */

import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  crc32,
  deflateSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
} from 'node:zlib'
import type { ContentCoding } from './content-decoder.ts'
import { ENCODER_LEVELS } from './content-encoder.ts'
import { GzipHeaderReader } from './gzip-header.ts'
import { encodeZstdWhole } from './zstd.ts'

/**
 * Decodes a whole body. Undefined when it is not one clean unit of coded data of at most `maxDecodedBytes`: truncated,
 * corrupt, several members, trailing junk, a coding without a synchronous path, or too long. The streaming decoder then
 * tells which.
 */
export function decodeWhole(coding: ContentCoding, body: Uint8Array, maxDecodedBytes: number): Uint8Array | undefined {
  const options = { maxOutputLength: maxDecodedBytes, info: true }
  try {
    switch (coding) {
      case 'gzip': {
        const header = new GzipHeaderReader()
        const headerBytes = header.read(body)
        if (header.state !== 'done' || body.length < headerBytes + 8) return undefined
        const data = body.subarray(headerBytes, body.length - 8)
        const output = wholeOutput(inflateRawSync(data, options), data.length)
        const trailer = new DataView(body.buffer, body.byteOffset + body.length - 8, 8)
        if (output === undefined || trailer.getUint32(0, true) !== crc32(output)) return undefined
        return trailer.getUint32(4, true) === output.length ? output : undefined
      }
      case 'deflate': {
        if (body.length < 2) return undefined
        const zlibFormat = (body[0] & 0x0f) === 8 && ((body[0] << 8) | body[1]) % 31 === 0
        return wholeOutput(zlibFormat ? inflateSync(body, options) : inflateRawSync(body, options), body.length)
      }
      case 'br':
        return wholeOutput(brotliDecompressSync(body, options), body.length)
      case 'zstd':
        return undefined
    }
  } catch {
    // The streaming decoder meets the same fault again and names it.
    return undefined
  }
}

/** With `info`, node:zlib returns the output and the engine, which knows how much input it took. */
function wholeOutput(result: unknown, inputBytes: number): Uint8Array | undefined {
  if (typeof result !== 'object' || result === null || !('buffer' in result) || !('engine' in result)) return undefined
  const { buffer, engine } = result
  if (typeof engine !== 'object' || engine === null || !('bytesWritten' in engine)) return undefined
  return buffer instanceof Uint8Array && engine.bytesWritten === inputBytes ? buffer : undefined
}

/** Encodes a whole body. */
export function encodeWhole(
  coding: ContentCoding,
  body: Uint8Array,
  level: number = ENCODER_LEVELS[coding],
): Uint8Array {
  switch (coding) {
    case 'gzip':
      return gzipSync(body, { level })
    case 'deflate':
      return deflateSync(body, { level })
    case 'br':
      return brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: level } })
    case 'zstd':
      return encodeZstdWhole(body, level)
  }
}

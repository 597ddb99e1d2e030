/** zstd, which node:zlib has since Node 22.15 and which is absent before. */

import * as zlib from 'node:zlib'

interface ZstdOptions {
  readonly chunkSize?: number
  readonly flush?: number
  readonly params?: Readonly<Record<number, number>>
}

/** What newer type declarations of node:zlib say; the ones in use are those of the oldest supported Node. */
interface ZstdFunctions {
  readonly createZstdDecompress?: (options: ZstdOptions) => zlib.BrotliDecompress
  readonly createZstdCompress?: (options: ZstdOptions) => zlib.BrotliCompress
  readonly zstdCompressSync?: (input: Uint8Array, options: ZstdOptions) => Uint8Array
}

const runtime: typeof zlib & ZstdFunctions = zlib
const { createZstdDecompress, createZstdCompress, zstdCompressSync } = runtime

/** ZSTD_e_flush and ZSTD_c_compressionLevel of zstd.h; node:zlib names them only where it has zstd. */
const ZSTD_FLUSH = 1
const ZSTD_COMPRESSION_LEVEL = 100
/** ZSTD_d_windowLogMax: RFC 9659 §3 asks for windows of 8 MB at most, and more would be the sender's memory attack. */
const ZSTD_WINDOW_LOG_MAX = 100

export const hasZstd: boolean = createZstdDecompress !== undefined && createZstdCompress !== undefined

export function createZstdDecoder(outputBytes: number): zlib.BrotliDecompress {
  if (createZstdDecompress === undefined) throw new Error('this runtime has no zstd')
  return createZstdDecompress({ chunkSize: outputBytes, params: { [ZSTD_WINDOW_LOG_MAX]: 23 } })
}

export function createZstdEncoder(level: number, outputBytes: number): zlib.BrotliCompress {
  if (createZstdCompress === undefined) throw new Error('this runtime has no zstd')
  return createZstdCompress({
    chunkSize: outputBytes,
    flush: ZSTD_FLUSH,
    params: { [ZSTD_COMPRESSION_LEVEL]: level },
  })
}

export function encodeZstdWhole(body: Uint8Array, level: number): Uint8Array {
  if (zstdCompressSync === undefined) throw new Error('this runtime has no zstd')
  return zstdCompressSync(body, { params: { [ZSTD_COMPRESSION_LEVEL]: level } })
}

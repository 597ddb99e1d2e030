/** What tokenizing can take, known before any body is seen. */
import { MAX_TABLE_BYTES, PIECE_BYTES } from './tokenizer.ts'

const MIB = 1_048_576
/** The last block of the cache, begun when there was a byte left, and what rows leave free at the ends of blocks. */
const TABLE_OVERHANG_BYTES = 2 * MIB
const MATCH_BYTES = 16
/** Matches that a piece can add before it is handed out: an empty one and another at each byte. */
const MATCHES_PER_PIECE = 2 * PIECE_BYTES + 64
/** A record names each group twice at most and five numbers per match; it is kept once outside of the cache. */
const BYTES_PER_INSTRUCTION = 256

/**
 * Bytes of WebAssembly memory that a rule set takes at most, for all of its bodies together and however long they are:
 * `compiledBytes` is what it takes when it has been compiled, `instructions` the size of its program. Not for
 * `compat: nginx`, whose limit is looked at where a write ends.
 *
 * Memory that has grown too small is not given back. Windows of text take twice what is held, the pending matches and
 * a piece, twice that because they double, and as much again for those before. Matches take their sixteen bytes
 * eight times: half of the list may have been handed out, it doubles, and those before stay.
 */
export function memoryBound(compiledBytes: number, instructions: number, maxHeldBytes: number): number {
  const windows = 4 * (3 * maxHeldBytes + 2 * PIECE_BYTES)
  const matches = 8 * MATCH_BYTES * (maxHeldBytes + MATCHES_PER_PIECE)
  const tables = MAX_TABLE_BYTES + TABLE_OVERHANG_BYTES + BYTES_PER_INSTRUCTION * (instructions + 64)
  return compiledBytes + windows + matches + tables
}

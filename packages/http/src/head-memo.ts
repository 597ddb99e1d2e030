/**
 * Header sections that came before, and what was made of them. Clients repeat theirs from request to request, and so do
 * origins for what is asked for often: a section that comes again octet for octet is not parsed and judged again, and
 * what was worked out of it can be found by the object that it became.
 *
 * Bounded: at most `SLOTS` sections of at most `MAX_SECTION_BYTES`. A section is kept when it comes the second time,
 * since most that come once never come again.
 */

const SLOTS = 256
/** A longer section is parsed each time. Unit: bytes. */
const MAX_SECTION_BYTES = 1_024
/** FNV-1a. */
const HASH_OFFSET = 0x811c9dc5
const HASH_PRIME = 0x01000193
const LINE_END = 0x0d0a
const SECTION_END = 0x0d0a0d0a

interface Entry<Parsed> {
  readonly octets: Uint8Array
  readonly parsed: Parsed
}

export class HeadMemo<Parsed extends object> {
  readonly #entries: (Entry<Parsed> | undefined)[] = new Array<Entry<Parsed> | undefined>(SLOTS).fill(undefined)
  /** By slot, the hash of the section that was looked for and not found last. */
  readonly #missed: Int32Array = new Int32Array(SLOTS)
  #slot = 0
  /** Octets of the section that was looked for last; 0 if its end was not there. */
  length = 0
  /** Whether the section that was looked for last, and not found, should be given to `keep`. */
  wantsIt = false

  /** What was made of the section at `chunk[start]`, which was compared octet for octet; undefined if it is not known. */
  find(chunk: Uint8Array, start: number): Parsed | undefined {
    const limit = Math.min(chunk.length, start + MAX_SECTION_BYTES)
    let hash = HASH_OFFSET
    // A section follows the end of a line, or begins with what is not empty.
    let last = LINE_END
    let at = start
    while (at < limit && last !== SECTION_END) {
      const octet = chunk[at++]
      hash = Math.imul(hash ^ octet, HASH_PRIME)
      last = (last << 8) | octet
    }
    this.length = last === SECTION_END ? at - start : 0
    this.wantsIt = false
    if (this.length === 0) return undefined
    const slot = (hash ^ (hash >>> 16)) & (SLOTS - 1)
    const entry = this.#entries[slot]
    if (entry !== undefined && isAt(entry.octets, chunk, start, at)) return entry.parsed
    this.wantsIt = this.#missed[slot] === hash
    this.#missed[slot] = hash
    this.#slot = slot
    return undefined
  }

  /** Keeps what was made of the section at `chunk[start]`, which was the last to be looked for. */
  keep(chunk: Uint8Array, start: number, parsed: Parsed): void {
    // Not `slice`, which copies nothing of a Buffer.
    this.#entries[this.#slot] = { octets: Uint8Array.from(chunk.subarray(start, start + this.length)), parsed }
  }
}

function isAt(octets: Uint8Array, chunk: Uint8Array, start: number, end: number): boolean {
  if (octets.length !== end - start) return false
  for (let at = 0; at < octets.length; at++) if (octets[at] !== chunk[start + at]) return false
  return true
}

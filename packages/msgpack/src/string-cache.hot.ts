/**
 * Strings by their bytes, so that what occurs again (a key, a host, a method) is neither decoded nor kept twice.
 *
 * A direct-mapped table: a string has one place, given by its length and three of its words, and whoever comes last has
 * it. INVARIANT: a place's string is what its bytes in `arena` decode to; a hit compares all bytes.
 *
 * SECURITY: a lookup costs one hash and at most one comparison of {@link MAX_CACHED_BYTES} bytes, whatever was looked up
 * before. Keys that collide on purpose only push each other out, which costs what having no cache costs.
 */
import { decodeText } from './text.hot.ts'

/** The engine has a table of its own for strings of one character. */
export const MIN_CACHED_BYTES = 2
export const MAX_CACHED_BYTES = 128
const PLACES_BITS = 14
export const CACHE_PLACES: number = 1 << PLACES_BITS

/** @internal Two megabytes of bytes, and the strings; allocated when first used. */
export class StringCache {
  /** By place; and how often the place changed hands. */
  strings: string[] = []
  readonly versions: Uint32Array = new Uint32Array(CACHE_PLACES)
  readonly sizes: Uint8Array = new Uint8Array(CACHE_PLACES)
  /** Of {@link MAX_CACHED_BYTES} bytes for each place, as little-endian words. */
  arena: Int32Array = new Int32Array(0)
  /** Strings found so far. */
  hits = 0

  /** The text of `size` bytes at `start`, see {@link locate}. */
  read(bytes: Uint8Array, view: DataView, start: number, size: number): string {
    const place = this.locate(bytes, view, start, size)
    return this.strings[place]
  }

  /**
   * The place that now has the text of `size` bytes at `start`, {@link MIN_CACHED_BYTES} to {@link MAX_CACHED_BYTES} of
   * them. `view` spans `bytes`.
   */
  locate(bytes: Uint8Array, view: DataView, start: number, size: number): number {
    if (this.arena.length === 0) this.allocate()
    let first: number
    let middle = 0
    let tail: number
    if (size >= 4) {
      first = view.getInt32(start, true)
      middle = view.getInt32(start + ((size - 4) >> 1), true)
      tail = view.getInt32(start + size - 4, true)
    } else {
      first = bytes[start] | (bytes[start + 1] << 8)
      tail = size === 3 ? first | (bytes[start + 2] << 16) : first
    }
    let hash = Math.imul(first ^ Math.imul(tail, 0x85ebca6b) ^ Math.imul(middle + size, 0xc2b2ae35), 0x9e3779b1)
    hash = hash >>> (32 - PLACES_BITS)
    const arena = this.arena
    const base = hash * (MAX_CACHED_BYTES >> 2)
    const words = (size - 1) >> 2
    if (this.sizes[hash] === size && arena[base + words] === tail) {
      let word = 0
      while (word < words && arena[base + word] === view.getInt32(start + word * 4, true)) word++
      if (word === words) {
        this.hits++
        return hash
      }
    }
    // The last word overlaps the one before it, so that nothing beyond the string is read.
    for (let word = 0; word < words; word++) arena[base + word] = view.getInt32(start + word * 4, true)
    arena[base + words] = tail
    this.sizes[hash] = size
    this.strings[hash] = decodeText(bytes, start, start + size)
    this.versions[hash]++
    return hash
  }

  allocate(): void {
    this.arena = new Int32Array(CACHE_PLACES * (MAX_CACHED_BYTES >> 2))
    this.strings = new Array<string>(CACHE_PLACES).fill('')
  }
}

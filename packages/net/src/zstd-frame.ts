/**
 * Where a zstd frame ends (RFC 8878 §3.1), found by walking its block headers: node:zlib takes a truncated frame for a
 * complete one, and it does not say where in its input a frame ended.
 */

const MAGIC = 0xfd2fb528
/** The low four bits of a skippable frame's magic number are free. */
const SKIPPABLE_MAGIC = 0x184d2a50

const DICTIONARY_ID_BYTES = [0, 1, 2, 4]
const CONTENT_SIZE_BYTES = [0, 2, 4, 8]

type Part = 'magic' | 'descriptor' | 'header' | 'block-header' | 'block' | 'checksum' | 'skippable-size' | 'skippable'

export class ZstdFrameReader {
  state: 'more' | 'done' | 'invalid' = 'more'
  /** Octets read of this frame. */
  length = 0
  #part: Part = 'magic'
  /** Octets of the current part still to come. */
  #left = 4
  /** The little-endian number that the current part makes, where it is one. */
  #value = 0
  #factor = 1
  #checksum = false
  #lastBlock = false

  /** False while what was read may still turn out to be no frame. */
  get beyondMagic(): boolean {
    return this.#part !== 'magic'
  }

  reset(): void {
    this.state = 'more'
    this.length = 0
    this.#enter('magic', 4)
  }

  /** Returns how many octets belong to the frame; `state` says whether it is complete. */
  read(chunk: Uint8Array): number {
    let at = 0
    while (at < chunk.length && this.state === 'more') {
      if (
        this.#part === 'block' ||
        this.#part === 'skippable' ||
        this.#part === 'header' ||
        this.#part === 'checksum'
      ) {
        const used = Math.min(this.#left, chunk.length - at)
        at += used
        this.#left -= used
      } else {
        this.#value += chunk[at++] * this.#factor
        this.#factor *= 256
        this.#left--
        if (this.#part === 'magic' && !this.#beginsMagic()) this.state = 'invalid'
      }
      if (this.#left === 0 && this.state === 'more') this.#endPart()
    }
    this.length += at
    return at
  }

  /** Whether what was read of a magic number may go on to be one. */
  #beginsMagic(): boolean {
    return this.#value === MAGIC % this.#factor || this.#value - (this.#value % 16) === SKIPPABLE_MAGIC % this.#factor
  }

  #enter(part: Part, bytes: number): void {
    this.#part = part
    this.#left = bytes
    this.#value = 0
    this.#factor = 1
    if (bytes === 0) this.#endPart()
  }

  #endPart(): void {
    switch (this.#part) {
      case 'magic':
        if (this.#value === MAGIC) this.#enter('descriptor', 1)
        else this.#enter('skippable-size', 4)
        return
      case 'descriptor': {
        const single = (this.#value >> 5) & 1
        const sizeFlag = this.#value >> 6
        this.#checksum = (this.#value & 4) !== 0
        const sizeBytes = sizeFlag === 0 ? single : CONTENT_SIZE_BYTES[sizeFlag]
        this.#enter('header', 1 - single + DICTIONARY_ID_BYTES[this.#value & 3] + sizeBytes)
        return
      }
      case 'block-header': {
        this.#lastBlock = (this.#value & 1) === 1
        const type = (this.#value >> 1) & 3
        const size = this.#value >> 3
        if (type === 3) this.state = 'invalid'
        else this.#enter('block', type === 1 ? 1 : size)
        return
      }
      case 'header':
        this.#enter('block-header', 3)
        return
      case 'block':
        if (!this.#lastBlock) this.#enter('block-header', 3)
        else if (this.#checksum) this.#enter('checksum', 4)
        else this.state = 'done'
        return
      case 'skippable-size':
        this.#enter('skippable', this.#value)
        return
      case 'checksum':
      case 'skippable':
        this.state = 'done'
        return
    }
  }
}

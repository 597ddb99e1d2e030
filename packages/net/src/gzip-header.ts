/** The header of a gzip member (RFC 1952 §2.3), read in pieces of any size, nothing of it kept. */

const FHCRC = 2
const FEXTRA = 4
const FNAME = 8
const FCOMMENT = 16
const RESERVED = 0xe0

const FIXED_BYTES = 10

export class GzipHeaderReader {
  state: 'more' | 'done' | 'invalid' = 'more'
  /** Octets read of this header. */
  length = 0
  #flags = 0
  /** Fields still to come, as flag bits. */
  #pending = 0
  /** Octets of FEXTRA's data or of FHCRC still to come. */
  #left = 0
  /** Octets of FEXTRA's own length still to come. */
  #lengthLeft = 0

  reset(): void {
    this.state = 'more'
    this.length = 0
    this.#pending = 0
    this.#left = 0
  }

  /** Returns how many octets belong to the header; `state` says whether it is complete. */
  read(chunk: Uint8Array): number {
    for (let at = 0; at < chunk.length; at++) {
      this.#octet(chunk[at])
      if (this.state === 'invalid') return at
      this.length++
      if (this.state === 'done') return at + 1
    }
    return chunk.length
  }

  #octet(octet: number): void {
    const at = this.length
    if (at < FIXED_BYTES) {
      const expected = at === 0 ? octet === 0x1f : at === 1 ? octet === 0x8b : at === 2 ? octet === 8 : true
      if (!expected || (at === 3 && (octet & RESERVED) !== 0)) {
        this.state = 'invalid'
        return
      }
      if (at === 3) this.#flags = octet
      if (at === FIXED_BYTES - 1) {
        this.#pending = this.#flags & (FEXTRA | FNAME | FCOMMENT | FHCRC)
        this.#beginField()
      }
      return
    }
    if ((this.#pending & FEXTRA) !== 0) {
      if (this.#lengthLeft > 0) {
        this.#left |= this.#lengthLeft === 2 ? octet : octet << 8
        this.#lengthLeft--
      } else {
        this.#left--
      }
      if (this.#lengthLeft === 0 && this.#left === 0) this.#endField(FEXTRA)
    } else if ((this.#pending & FNAME) !== 0) {
      if (octet === 0) this.#endField(FNAME)
    } else if ((this.#pending & FCOMMENT) !== 0) {
      if (octet === 0) this.#endField(FCOMMENT)
    } else if (--this.#left === 0) {
      this.#endField(FHCRC)
    }
  }

  #endField(flag: number): void {
    this.#pending &= ~flag
    this.#beginField()
  }

  #beginField(): void {
    if (this.#pending === 0) this.state = 'done'
    this.#left = this.#pending === FHCRC ? 2 : 0
    this.#lengthLeft = 2
  }
}

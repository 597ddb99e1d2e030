/**
 * Rules over a body in another encoding than UTF-8: the body's form (see `@prexy/bytes/text-form`) goes through the rule
 * set's own rewriter, and what comes out goes back.
 *
 *     body -- reader -- form -- rules -- form -- writer -- body
 *
 * What the rules do not touch comes out octet for octet, whatever it is. `maxHeldBytes` counts octets of the form, which
 * is UTF-8 for every character.
 */
import type { ByteSink } from '@prexy/bytes/sink'
import {
  type FormReader,
  formRoom,
  type FormWriter,
  octetRoom,
  type TextForm,
  type Unencodable,
} from '@prexy/bytes/text-form'
import type { Rewriter } from './rewriter.ts'

/** Octets of the body that are read at a time. */
const PIECE_BYTES = 4_096

const NOTHING = new Uint8Array(0)

export class CharsetRewriter implements Rewriter {
  readonly #inner: Rewriter
  readonly #reader: FormReader
  readonly #writer: FormWriter
  readonly #sink: ByteSink
  /** The form of one piece; what the rules have not taken of it is `#waiting`. */
  readonly #form = new Uint8Array(formRoom(PIECE_BYTES))
  #waiting: Uint8Array = NOTHING
  readonly #encoded = new Uint8Array(octetRoom(formRoom(PIECE_BYTES)))
  #readerDone = false
  #writerDone = false
  #blocked = false

  /** `open` makes the rewriter of the form. */
  constructor(form: TextForm, unencodable: Unencodable, sink: ByteSink, open: (sink: ByteSink) => Rewriter) {
    this.#sink = sink
    this.#reader = form.openReader()
    this.#writer = form.openWriter(unencodable)
    this.#inner = open({ write: (piece) => this.#encode(piece) })
  }

  /** Characters of replacements that the encoding lacks: references in markup, left out elsewhere. */
  get unencodable(): number {
    return this.#writer.unencodable
  }

  get heldBytes(): number {
    return this.#inner.heldBytes + this.#reader.keptBytes
  }

  get heldBytesAtMost(): number {
    return this.#inner.heldBytesAtMost + this.#reader.keptBytes
  }

  get hits(): Readonly<Uint32Array> {
    return this.#inner.hits
  }

  get overflows(): number {
    return this.#inner.overflows
  }

  get blocked(): boolean {
    return this.#blocked || this.#waiting.length > 0 || this.#inner.blocked
  }

  write(chunk: Uint8Array): number {
    this.#blocked = false
    if (!this.#giveWaiting()) return 0
    let taken = 0
    while (taken < chunk.length) {
      const end = Math.min(taken + PIECE_BYTES, chunk.length)
      const length = this.#reader.read(chunk.subarray(taken, end), this.#form)
      taken = end
      this.#waiting = this.#form.subarray(0, length)
      if (!this.#giveWaiting()) break
    }
    return taken
  }

  /** False while the sink has asked for a pause. */
  #giveWaiting(): boolean {
    // Also with nothing waiting, so that output which a pause held back goes on.
    if (this.#waiting.length === 0 && !this.#inner.blocked) return true
    this.#waiting = this.#waiting.subarray(this.#inner.write(this.#waiting))
    return this.#waiting.length === 0 && !this.#inner.blocked && !this.#blocked
  }

  end(): boolean {
    this.#blocked = false
    if (!this.#giveWaiting()) return false
    if (!this.#readerDone) {
      this.#readerDone = true
      this.#waiting = this.#form.subarray(0, this.#reader.finish(this.#form))
      if (!this.#giveWaiting()) return false
    }
    if (!this.#inner.end()) return false
    if (!this.#writerDone) {
      this.#writerDone = true
      const length = this.#writer.finish(this.#encoded)
      if (length > 0) this.#blocked = !this.#sink.write(this.#encoded.subarray(0, length))
    }
    return !this.#blocked
  }

  abandon(): void {
    this.#waiting = NOTHING
    this.#inner.abandon()
  }

  #encode(piece: Uint8Array): boolean {
    const room = octetRoom(piece.length)
    // A long replacement, or much text that was held, is not paid for until the body's end.
    const encoded = room <= this.#encoded.length ? this.#encoded : new Uint8Array(room)
    const length = this.#writer.write(piece, encoded)
    if (length === 0) return true
    if (this.#sink.write(encoded.subarray(0, length))) return true
    this.#blocked = true
    return false
  }
}

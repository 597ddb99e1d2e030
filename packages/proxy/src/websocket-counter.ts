/**
 * Counts the messages of a WebSocket from the octets that go by (RFC 6455 §5.2), one way. Frames are not kept and payloads
 * not looked at, but for the code of a close frame.
 */
import type { WebSocketSide } from '@prexy/events/recorded-event'

const TEXT = 1
const BINARY = 2
const CLOSE = 8
const LAST_CONTROL = 10

export class WebSocketCounter {
  #bytes = 0
  #textMessages = 0
  #binaryMessages = 0
  #controlFrames = 0
  #closeCode: number | undefined = undefined
  #broken = false
  /** The frame's head, as far as it is there; 14 octets at most. */
  readonly #head: number[] = []
  #payloadLeft = 0
  /** Place in the payload of a close frame whose code is not read yet; then its octets. */
  #closeAt = -1
  readonly #mask: number[] = []

  get counts(): WebSocketSide {
    return {
      bytes: this.#bytes,
      textMessages: this.#textMessages,
      binaryMessages: this.#binaryMessages,
      controlFrames: this.#controlFrames,
      ...(this.#closeCode === undefined ? {} : { closeCode: this.#closeCode }),
      ...(this.#broken ? { broken: true } : {}),
    }
  }

  /** Octets in their order, borrowed. O(frames). */
  push(octets: Uint8Array): void {
    this.#bytes += octets.length
    let at = 0
    while (at < octets.length && !this.#broken) {
      if (this.#payloadLeft > 0) {
        if (this.#closeAt >= 0 && this.#closeAt < 2) this.#readCloseCode(octets[at++])
        else at += this.#skip(octets.length - at)
        continue
      }
      this.#head.push(octets[at++])
      if (this.#head.length >= 2 && this.#head.length === headBytes(this.#head)) this.#beginPayload()
    }
  }

  #skip(available: number): number {
    const skipped = Math.min(available, this.#payloadLeft)
    this.#payloadLeft -= skipped
    return skipped
  }

  #beginPayload(): void {
    const head = this.#head
    const opcode = head[0] & 0x0f
    const isMasked = head[1] >= 0x80
    const lengthEnd = head.length - (isMasked ? 4 : 0)
    let length = head[1] & 0x7f
    if (length > 125) length = head.slice(2, lengthEnd).reduce((sum, octet) => sum * 256 + octet, 0)
    this.#mask.length = 0
    if (isMasked) this.#mask.push(...head.slice(lengthEnd))
    head.length = 0
    this.#payloadLeft = length
    this.#closeAt = opcode === CLOSE && length >= 2 ? 0 : -1
    // RFC 6455 §5.2: continuations belong to the message that was counted with its first frame.
    if (opcode === TEXT) this.#textMessages++
    else if (opcode === BINARY) this.#binaryMessages++
    else if (opcode >= CLOSE && opcode <= LAST_CONTROL) this.#controlFrames++
    else if (opcode !== 0) this.#broken = true
  }

  #readCloseCode(octet: number): void {
    const plain = octet ^ (this.#mask[this.#closeAt] ?? 0)
    this.#closeCode = this.#closeAt === 0 ? plain * 256 : (this.#closeCode ?? 0) + plain
    this.#closeAt++
    this.#payloadLeft--
  }
}

function headBytes(head: readonly number[]): number {
  const length = head[1] & 0x7f
  const lengthBytes = length === 126 ? 2 : length === 127 ? 8 : 0
  return 2 + lengthBytes + (head[1] >= 0x80 ? 4 : 0)
}

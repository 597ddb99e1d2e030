/** Recordings for the inspector's bench: exchanges as prexy records them, heads included, the same bytes every time. */
import { encode } from '@prexy/msgpack/encode'
import { FrameBuilder } from '@prexy/record/frame-builder'
import { encodeHeader } from '@prexy/record/segment-header'
import { exchange } from './event-document.ts'
import { mulberry32 } from './random.ts'

const RUN = '0bad1dea'
const SALT = 0x5eed_1dea
const TYPES = ['text/html; charset=utf-8', 'application/json', 'image/webp', 'text/css', 'text/javascript'] as const

/** Encoded events, one MessagePack map each, numbered from `first`; ten a second of the recording's time per client. */
export function* recordedExchanges(count: number, first = 1): Generator<Uint8Array, void, undefined> {
  const random = mulberry32(first)
  let startedAtMs = Date.UTC(2026, 11, 1, 8) + first * 10
  for (let sequence = first; sequence < first + count; sequence++) {
    startedAtMs += random() % 20
    const event = exchange(sequence, startedAtMs, random)
    const type = TYPES[random() % TYPES.length]
    yield encode(
      {
        ...event,
        kind: 'exchange',
        run: RUN,
        sequence,
        client: `198.51.${random() % 200}.${random() % 250}`,
        request: { minorVersion: 1, fields: ['host', event.host ?? '', 'accept-encoding', 'gzip, br'] },
        response: { status: event.status, fields: ['content-type', type] },
      },
      { ignoreUndefined: true },
    ).slice()
  }
}

/** The same events as a segment, in frames with checksums, and one after the other as any decoder takes them. */
export function recordingOf(count: number): { readonly segment: Uint8Array; readonly plain: Uint8Array } {
  const segment = new Bytes()
  const plain = new Bytes()
  segment.add(encodeHeader({ run: RUN, number: 1, session: 'bench', createdAtMs: 0, salt: SALT }))
  let frame = new FrameBuilder()
  let sequence = 1
  for (const event of recordedExchanges(count)) {
    plain.add(event)
    if (!frame.fits(event.length)) {
      segment.add(frame.close().sealed(segment.length, SALT))
      frame = new FrameBuilder()
    }
    frame.add(event, sequence, sequence)
    sequence++
  }
  if (frame.count > 0) segment.add(frame.close().sealed(segment.length, SALT))
  return { segment: segment.whole(), plain: plain.whole() }
}

class Bytes {
  #bytes = new Uint8Array(1_048_576)
  length = 0

  add(more: Uint8Array): void {
    const end = this.length + more.length
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#bytes.length))
      larger.set(this.#bytes)
      this.#bytes = larger
    }
    this.#bytes.set(more, this.length)
    this.length = end
  }

  whole(): Uint8Array {
    return this.#bytes.subarray(0, this.length)
  }
}

/** Compressed input as what it was. */
import { CONTENT_CODINGS, ContentDecoder } from '@prexy/net/content-decoder'
import type { Coding } from './sniff.ts'

/** Why compressed input cannot be read, or not to its end. */
export class CodingError extends Error {
  override readonly name: string = 'CodingError'
}

const FAULTS = {
  truncated: 'the compressed data ends too early',
  corrupt: 'the compressed data is damaged',
  'too-long': 'the compressed data is too long',
  'too-many-members': 'the file has more than 1,024 compressed members',
} as const

/** Says why this runtime cannot decode, or nothing. */
export function missingCoding(coding: Coding): string | undefined {
  if (CONTENT_CODINGS.includes(coding)) return undefined
  return `it is compressed with ${coding}, which this runtime does not have; Node has it since 22.15, Bun since 1.3`
}

/** Decoded pieces, each of which is the receiver's. Throws a {@link CodingError} behind what could be decoded. */
export async function* decodeBytes(
  coding: Coding,
  input: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const missing = missingCoding(coding)
  if (missing !== undefined) throw new CodingError(missing)
  const pieces: Uint8Array[] = []
  let isOver = false
  let isIdle = true
  let fault: string | undefined
  let wake: (() => void) | undefined
  const notify = (): void => {
    wake?.()
    wake = undefined
  }
  const decoder = new ContentDecoder(coding, Number.POSITIVE_INFINITY, {
    onOutput(chunk) {
      pieces.push(chunk)
      decoder.pause()
      notify()
    },
    onIdle() {
      isIdle = true
      notify()
    },
    onEnd() {
      isOver = true
      notify()
    },
    onFault(found) {
      fault = FAULTS[found]
      isOver = true
      notify()
    },
  })
  const source = input[Symbol.asyncIterator]()
  let isInputOver = false
  try {
    for (;;) {
      const piece = pieces.shift()
      if (piece !== undefined) {
        yield piece
        continue
      }
      if (isOver) break
      if (isIdle && !isInputOver) {
        const next = await source.next()
        if (next.done === true) {
          isInputOver = true
          decoder.end()
        } else {
          isIdle = false
          // The decoder keeps what it is given, and chunks are borrowed.
          decoder.write(Buffer.from(next.value))
        }
      }
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      decoder.resume()
      await woken
    }
  } finally {
    decoder.close()
    await source.return?.()
  }
  if (fault !== undefined) throw new CodingError(fault)
}

/** One question a line in, one answer a line out: how programs in any language drive the engine. */
import type { Readable, Writable } from 'node:stream'
import { once } from 'node:events'

/** A line longer than this is refused unread. */
const MAX_LINE_BYTES = 256 * 1024 * 1024

/** Thrown for a line that cannot be understood. */
export class QuestionError extends Error {}

/**
 * Answers every line of `input` with one line, in order. Each answer is handed to the system before the next question
 * is read, so a slow reader slows the writer down. `refuse` answers what `answer` threw.
 */
export async function answerLines(
  input: Readable,
  output: Writable,
  answer: (question: unknown) => unknown,
  refuse: (error: unknown) => unknown,
  maxLineBytes: number = MAX_LINE_BYTES,
): Promise<void> {
  for await (const line of linesOf(input, maxLineBytes)) {
    let reply: unknown
    try {
      if (line === undefined) throw new QuestionError(`the line is longer than ${maxLineBytes} bytes`)
      reply = answer(parseLine(line))
    } catch (error) {
      reply = refuse(error)
    }
    if (!output.write(`${JSON.stringify(reply)}\n`)) await once(output, 'drain')
  }
}

function parseLine(line: Uint8Array): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(line)
  } catch {
    throw new QuestionError('the line is not UTF-8')
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new QuestionError(`the line is no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The lines without their ends; undefined for one that is too long. A last line need not be ended. */
async function* linesOf(input: Readable, maxLineBytes: number): AsyncGenerator<Uint8Array | undefined> {
  let parts: Uint8Array[] = []
  let length = 0
  const take = (): Uint8Array | undefined => {
    const line = length > maxLineBytes ? undefined : Buffer.concat(parts)
    parts = []
    length = 0
    return line
  }
  for await (const chunk of input as AsyncIterable<Uint8Array>) {
    let from = 0
    for (;;) {
      const end = chunk.indexOf(0x0a, from)
      const part = chunk.subarray(from, end < 0 ? chunk.length : end)
      length += part.length
      if (length <= maxLineBytes) parts.push(part)
      else parts = []
      if (end < 0) break
      yield take()
      from = end + 1
    }
  }
  if (length > 0) yield take()
}

import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { answerLines, QuestionError } from '../src/json-lines.ts'

const refuse = (error: unknown): unknown => {
  if (error instanceof QuestionError) return { refused: error.message }
  throw error
}

async function answersTo(chunks: readonly string[], maxLineBytes?: number): Promise<string[]> {
  const output = new PassThrough()
  const collected = text(output)
  await answerLines(
    Readable.from(chunks.map((chunk) => Buffer.from(chunk))),
    output,
    (question) => question,
    refuse,
    maxLineBytes,
  )
  output.end()
  return (await collected).trimEnd().split('\n')
}

test('a line that is too long is refused, however it comes, and the next one is read', async () => {
  const refused = '{"refused":"the line is longer than 8 bytes"}'
  expect(await answersTo(['"123456"\n"1234567"\n1\n'], 8)).toEqual(['"123456"', refused, '1'])
  expect(await answersTo([...'"1234567"\n1\n'], 8)).toEqual([refused, '1'])
  expect(await answersTo(['"1234567', '8901234567890"'], 8)).toEqual([refused])
})

test('the next question waits until the answer before was taken', async () => {
  const output = new PassThrough({ highWaterMark: 1 })
  let asked = 0
  const answer = (question: unknown): unknown => {
    asked++
    return question
  }
  const done = answerLines(Readable.from([Buffer.from('1\n2\n3\n')]), output, answer, refuse)
  output.once('readable', () => expect(asked).toBe(1))
  expect(await Promise.all([done.then(() => output.end()), text(output)])).toContain('1\n2\n3\n')
})

test('a fault that is no question’s is not hidden', async () => {
  const fault = new TypeError('ours')
  const failing = answerLines(
    Readable.from([Buffer.from('1\n')]),
    new PassThrough(),
    () => {
      throw fault
    },
    refuse,
  )
  await expect(failing).rejects.toBe(fault)
})

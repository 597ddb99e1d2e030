import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { copyLines, MAX_LINE_BYTES } from '../src/line-copy.ts'

async function copied(write: (a: PassThrough, b: PassThrough) => void): Promise<string> {
  const target = new PassThrough({ highWaterMark: 1_000_000 })
  const [a, b] = [new PassThrough(), new PassThrough()]
  copyLines(a, target)
  copyLines(b, target)
  write(a, b)
  a.end()
  b.end()
  await Promise.all([once(a, 'end'), once(b, 'end')])
  target.end()
  let text = ''
  for await (const chunk of target) text += String(chunk)
  return text
}

test('lines of two processes never mix, however they were cut', async () => {
  const text = await copied((a, b) => {
    for (let number = 0; number < 200; number++) {
      const line = `a${number} ${'x'.repeat(number)}\n`
      for (let at = 0; at < line.length; at += 7) {
        a.write(line.slice(at, at + 7))
        b.write(at % 2 === 0 ? 'bbb' : `b\nb`)
      }
    }
  })
  for (const line of text.trim().split('\n')) expect(line).toMatch(/^(?:a\d+ x*|b+)$/)
  expect(text.match(/^a/gm)).toHaveLength(200)
})

test('a line without an end ends with its process, and an endless one is cut', async () => {
  expect(await copied((a) => a.write('half a line'))).toBe('half a line\n')
  const long = await copied((a) => {
    for (let bytes = 0; bytes <= MAX_LINE_BYTES; bytes += 1_024) a.write('x'.repeat(1_024))
  })
  expect(long.trim().length).toBeGreaterThan(MAX_LINE_BYTES)
  expect(long).toMatch(/^x+\n$/)
})

/** A byte order mark is copied, is not seen by rules, and minds a sink that pauses. */
import { expect, test } from 'vitest'
import { compileRuleSet } from '../src/rule-set.ts'

/** Rewrites a body byte by byte or whole into a sink that asks for a pause after every chunk. */
function rewrite(rules: Parameters<typeof compileRuleSet>[0], body: readonly number[], size: number): string {
  const output: number[] = []
  let paused = false
  const rewriter = compileRuleSet(rules).createRewriter({
    write(chunk) {
      expect(paused).toBe(false)
      output.push(...chunk)
      paused = true
      return false
    },
  })
  for (let at = 0; at < body.length; ) {
    const chunk = Uint8Array.from(body.slice(at, at + size))
    let taken = 0
    do {
      taken += rewriter.write(chunk.subarray(taken))
      paused = false
    } while (taken < chunk.length || rewriter.blocked)
    at += chunk.length
  }
  while (!rewriter.end()) paused = false
  return String.fromCharCode(...output)
}

const MARK = [0xef, 0xbb, 0xbf]

test.each([1, 2, 3, 4, 100])('in chunks of %i bytes', (size) => {
  const start = [{ regex: '^', with: '<' }]
  expect(rewrite(start, [...MARK, 0x61], size)).toBe('\xef\xbb\xbf<a')
  expect(rewrite(start, MARK, size)).toBe('\xef\xbb\xbf<')
  expect(rewrite(start, MARK.slice(0, 2), size)).toBe('<\xef\xbb')
  expect(rewrite(start, [0xef, 0xbb, 0x61], size)).toBe('<\xef\xbba')
  expect(rewrite([{ text: 'a', with: 'b' }], [0xef, 0x61, ...MARK], size)).toBe('\xefb\xef\xbb\xbf')
})

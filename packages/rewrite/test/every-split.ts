/** Runs a rule set over a body cut in every way that a table can afford, and gives what all of them agree on. */
import { decodeUtf8, encodeUtf8 } from '@prexy/bytes/utf8'
import { expect } from 'vitest'
import type { RewriterInit, RuleSet } from '../src/rewriter.ts'

export function rewriteBytes(
  set: RuleSet,
  body: Uint8Array,
  init: RewriterInit = {},
  sizes: readonly number[] = [body.length],
): Uint8Array {
  const output: number[] = []
  const rewriter = set.createRewriter(
    {
      write(chunk) {
        output.push(...chunk)
        return true
      },
    },
    init,
  )
  let at = 0
  for (const size of sizes) {
    rewriter.write(body.subarray(at, at + size))
    at += size
  }
  expect(at).toBe(body.length)
  expect(rewriter.end()).toBe(true)
  return Uint8Array.from(output)
}

/** The output, which must be the same for the whole body, for single bytes and for every cut in two. */
export function rewriteEverySplit(set: RuleSet, body: Uint8Array, init: RewriterInit = {}): Uint8Array {
  const whole = rewriteBytes(set, body, init)
  const single = new Array<number>(body.length).fill(1)
  expect(rewriteBytes(set, body, init, single), 'byte by byte').toEqual(whole)
  for (let cut = 1; cut < body.length; cut++) {
    expect(rewriteBytes(set, body, init, [cut, body.length - cut]), `cut at ${cut}`).toEqual(whole)
  }
  return whole
}

export function rewriteText(set: RuleSet, body: string, init: RewriterInit = {}): string {
  return decodeUtf8(rewriteEverySplit(set, encodeUtf8(body), init))
}

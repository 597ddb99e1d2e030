/** A sink that asks for a pause gets nothing before it is asked again, however long the replacements are. */
import { expect, test } from 'vitest'
import { compileRuleSet } from '../src/rule-set.ts'

const LONG = 70_000
const encoder = new TextEncoder()

test.each<[string, string, string]>([
  ['a long replacement that is the same for every match', '<', '#'.repeat(LONG)],
  ['a long group', 'x([^y]*)y', '<$1>'],
  ['a long match that is written twice', 'x[^y]*y', '$&$&'],
  ['long text that is made by a filter', 'x([^y]*)y', '${1|upper}'],
  ['long text between matches', 'x[^y]*z|y', '-$&'],
])('%s', (_, regex, replacement) => {
  const rules = compileRuleSet([{ regex, with: replacement }], { maxHeldBytes: 1_000_000 })
  const page = `${'<p>'.repeat(9)}x${'a'.repeat(LONG)}y<p>x${'b'.repeat(LONG / 2)}y<p>`
  const rewrite = (pauses: boolean): string => {
    const decoder = new TextDecoder()
    let output = ''
    let paused = false
    const rewriter = rules.createRewriter({
      write(chunk) {
        expect(paused).toBe(false)
        output += decoder.decode(chunk, { stream: true })
        paused = pauses
        return !paused
      },
    })
    for (let rest = encoder.encode(page); rest.length > 0; ) {
      paused = false
      rest = rest.subarray(rewriter.write(rest))
    }
    do paused = false
    while (!rewriter.end())
    return output
  }
  const whole = rewrite(false)
  expect(whole).not.toBe(page)
  expect(rewrite(true) === whole).toBe(true)
})

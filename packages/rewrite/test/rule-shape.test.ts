/** What plain JavaScript may hand over is refused with a reason. */
import { describe, expect, test } from 'vitest'
import { compileRuleSet } from '../src/rule-set.ts'
import { RuleSetError } from '../src/rules.ts'

/** Rules as they come from a file or from code that no compiler has seen. */
function problemsOf(json: string): readonly string[] {
  try {
    compileRuleSet(JSON.parse(json))
    return []
  } catch (error) {
    if (!(error instanceof RuleSetError)) throw error
    return error.problems.map(({ rule, field, message }) => `${rule}.${field}: ${message}`)
  }
}

test.each([
  ['[null]', ['0.: a rule is an object']],
  ['["x"]', ['0.: a rule is an object']],
  ['[{}]', ['0.: the rule says nothing to look for']],
  ['[{"text":"a"}]', ['0.with: with is no text']],
  ['[{"text":1,"with":2}]', ['0.text: text is no text', '0.with: with is no text']],
  ['[{"text":"a","with":"b"},{"domain":"a.example"}]', ['1.to: to is no text']],
  ['[{"text":"a","with":"b","flag":"i"}]', ["0.flag: a text rule has no field 'flag'"]],
  ['[{"regex":"a","with":"b","__proto__":{}}]', ["0.__proto__: a regex rule has no field '__proto__'"]],
  ['[{"insert":"before","at":"</head>"}]', ['0.with: with is no text']],
  ['[{"insert":"fter","at":"</head>","with":""}]', ['0.insert: there is no insert "fter"']],
  ['[{"insert":1,"at":"</head>","with":""}]', ['0.insert: insert is no text']],
  ['[{"domain":"a.example","to":"b.example","subdomains":"all"}]', ['0.subdomains: there is no subdomains "all"']],
  ['[{"text":"a","with":"b","keepCase":"yes"}]', ['0.keepCase: there is no keepCase "yes"']],
  ['[{"text":"a","with":"b","once":1}]', ['0.once: there is no once 1']],
  ['[{"regex":"a","with":"b","flags":1}]', ['0.flags: flags is no text']],
])('%s', (json, expected) => {
  expect(problemsOf(json)).toEqual(expected)
})

describe('options', () => {
  test.each([
    ['{"priority":"x"}', 'priority is one of first, longest'],
    ['{"mode":"x"}', 'mode is one of text, octet'],
    ['{"overflow":"x"}', 'overflow is one of skip, passthrough, abort'],
    ['{"flush":true}', "there is no option 'flush'; options are priority, mode, compat, overflow, maxHeldBytes"],
    ['{"maxHeldBytes":3}', 'maxHeldBytes is a whole number of bytes from 4 to 16777216'],
    ['{"maxHeldBytes":16777217}', 'maxHeldBytes is a whole number of bytes from 4 to 16777216'],
    ['{"maxHeldBytes":2147483648}', 'maxHeldBytes is a whole number of bytes from 4 to 16777216'],
  ])('%s', (json, message) => {
    expect(() => compileRuleSet([], JSON.parse(json))).toThrow(new RangeError(message))
  })
})

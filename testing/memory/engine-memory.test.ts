/** A rule set's memory stays below the bound that docs/rules.md gives, whatever its bodies are. */
import { memoryBound } from '@prexy/regex/memory-bound'
import { expect, test } from 'vitest'
import { ADVERSARIAL_CASES } from '../src/adversarial.ts'
import { watch } from '../src/count-steps.ts'

const MIB = 1_048_576

function boundOf({ tokenizer }: ReturnType<typeof watch>, maxHeldBytes: number): number {
  const { automaton, kernel } = tokenizer
  return memoryBound(kernel.memory.buffer.byteLength, automaton.program.instructions.length, maxHeldBytes)
}

const attacks = ADVERSARIAL_CASES.filter(({ options }) => options.compat === undefined)

test.each(attacks)('$name: ten bodies stay below the bound', ({ rules, options, body }) => {
  const maxHeldBytes = 256
  const watched = watch(rules, { ...options, maxHeldBytes })
  const bound = boundOf(watched, maxHeldBytes)
  const bytes = body(1_500)
  for (let i = 0; i < 10; i++) expect(watched.run(bytes, 400).memoryBytes).toBeLessThanOrEqual(bound)
})

const HELD = MIB / 8
const HOLDERS = ['a long look for an end that never comes', 'nested ends', 'text held between dropped matches']

test.each(HOLDERS)('%s: 128 KiB may be held, and half a mebibyte is read', (name) => {
  const attack = ADVERSARIAL_CASES.find((each) => each.name === name)
  if (attack === undefined) throw new Error(`the corpus has no "${name}"`)
  const watched = watch(attack.rules, { maxHeldBytes: HELD })
  const bound = boundOf(watched, HELD)
  const bytes = attack.body(MIB / 2)
  const once = watched.run(bytes, 65_536)
  // The limit was met: what may be held was.
  expect(once.overflows).toBeGreaterThan(0)
  expect(once.memoryBytes).toBeLessThanOrEqual(bound)
  // What one body needed is there for the next.
  expect(watched.run(bytes, 65_536).memoryBytes).toBe(once.memoryBytes)
})

test('the bound says what it is for the defaults', () => {
  expect(Math.ceil(memoryBound(MIB, 1_000, 65_536) / MIB)).toBe(45)
})

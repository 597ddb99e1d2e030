/**
 * Each file of golden/ is a question as one line of JSON, a line `----`, and what `prexy debug pattern` or `prexy debug
 * trace` prints. UPDATE_GOLDEN=1 writes the second half anew; not in CI.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import type { RewriteOptions } from '@prexy/config/config-schema'
import { describeEntries } from '../src/debug-pattern.ts'
import { MAX_TRACED_BYTES, readTraced, traceEntries } from '../src/debug-trace.ts'
import { addRuleOptions } from '../src/rule-options.ts'
import { runPrexy } from './run-prexy.ts'

const FOLDER = join(import.meta.dirname, 'golden')
const SEPARATOR = '----\n'
const update = process.env.UPDATE_GOLDEN === '1'
if (update && process.env.CI !== undefined) throw new Error('UPDATE_GOLDEN is for people, not for CI')

interface Question {
  readonly command: 'pattern' | 'trace'
  readonly rules: readonly string[]
  readonly options?: RewriteOptions
  readonly text?: string
}

async function answer({ command, rules, options = {}, text = '' }: Question): Promise<string> {
  const program = new Command()
  const collector = addRuleOptions(program, '')
  program.parse([...rules], { from: 'user' })
  collector.finish()
  if (command === 'pattern') return await describeEntries(collector.entries, options)
  return await traceEntries(collector.entries, options, new TextEncoder().encode(text))
}

describe('goldens', () => {
  const files = readdirSync(FOLDER)

  test.each(files)('%s', async (file) => {
    const path = join(FOLDER, file)
    const content = readFileSync(path, 'utf8')
    const cut = content.indexOf(`\n${SEPARATOR}`) + 1
    const input = content.slice(0, cut)
    const question: Question = JSON.parse(input)
    const actual = await answer(question)
    if (update) writeFileSync(path, `${input}${SEPARATOR}${actual}`)
    expect(actual).toBe(update ? actual : content.slice(cut + SEPARATOR.length))
  })
})

test('a text that is too long for a trace is refused before it is read to its end', async () => {
  let reads = 0
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; reads < 1_000; reads++) yield new Uint8Array(4_096)
  }
  const text = await readTraced(endless())
  expect(reads).toBe(MAX_TRACED_BYTES / 4_096)
  const entries = [
    {
      kind: 'rule' as const,
      rule: {
        kind: 'text' as const,
        pattern: 'a',
        with: 'b',
        flags: undefined,
        once: false,
        max: undefined,
        subdomains: undefined,
        keepCase: false,
        at: undefined,
        between: undefined,
      },
    },
  ]
  await expect(traceEntries(entries, {}, text)).rejects.toThrow(
    'the text is too long; a trace takes 16384 bytes at most',
  )
})

test('the commands themselves', async () => {
  const [pattern, trace, none, wrong] = await Promise.all([
    runPrexy(['debug', 'pattern', '--text', 'ab']),
    runPrexy(['debug', 'trace', '--text', 'a', '--with', 'b'], 'xa'),
    runPrexy(['debug', 'pattern']),
    runPrexy(['debug', 'trace', '--regex', 'a(', 'x']),
  ])
  expect([pattern.code, pattern.stderr]).toEqual([0, ''])
  expect(pattern.stdout).toContain('rule 1: text ab\n  tree\n    ab\n')
  expect([trace.code, trace.stdout.split('\n').at(-2)]).toEqual([0, '     2  end                 held 0'])
  expect([none.code, none.stderr]).toEqual([2, "prexy: no rules; add --regex 'a+b', or --rules rules.yaml\n"])
  expect([wrong.code, wrong.stderr.split('\n')[0]]).toEqual([
    2,
    'prexy: --regex: the group has no closing parenthesis; write \\( for a parenthesis',
  ])
})

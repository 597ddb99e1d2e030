import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { formatSigmaProblem } from '../src/problem.ts'
import { readRuleFile } from '../src/rule.ts'
import { compileRules, listPlaceholders } from '../src/rule-set.ts'
import { MAX_RULE_FILE_CHARACTERS } from '../src/source-tree.ts'
import { compile, ruleAround } from './rules-of.ts'

const FOLDER = fileURLToPath(new URL('./broken', import.meta.url))

/** UPDATE_GOLDEN=1 writes what is said now. */
test.each(readdirSync(FOLDER).filter((name) => name.endsWith('.yaml')))('what is said of broken/%s', (name) => {
  const { documents, problems } = readRuleFile(readFileSync(join(FOLDER, name), 'utf8'), name)
  const set = compileRules(documents, { placeholders: new Map() })
  const used = set.rules.map(({ title }) => title).join(', ')
  const said = [...problems, ...set.problems].map((problem) => `${formatSigmaProblem(problem)}\n`).join('')
  const golden = join(FOLDER, name.replace(/yaml$/, 'golden'))
  const text = `${said}used: ${used}\n`
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(golden, text)
  expect(text).toBe(readFileSync(golden, 'utf8'))
})

test('a file that is too long is not read', () => {
  const { documents, problems } = readRuleFile(`# ${'x'.repeat(MAX_RULE_FILE_CHARACTERS)}`, 'f.yml')
  expect(documents).toEqual([])
  expect(problems.map(formatSigmaProblem)).toEqual([
    `f.yml:1: the file is longer than ${MAX_RULE_FILE_CHARACTERS} characters; split it`,
  ])
})

test('an anchor bomb is refused', () => {
  const lines = ['a: &a [x, x, x, x, x, x, x, x, x, x]']
  for (let n = 1; n < 12; n++) {
    const [own, before] = [String.fromCharCode(97 + n), String.fromCharCode(96 + n)]
    lines.push(`${own}: &${own} [${Array(10).fill(`*${before}`).join(', ')}]`)
  }
  const { problems } = readRuleFile(lines.join('\n'), 'f.yml')
  expect(problems.map(({ message }) => message)).toEqual(['aliases expand to more than 10000 values'])
})

test('deep nesting is refused', () => {
  const { problems } = readRuleFile(`a: ${'['.repeat(100)}x${']'.repeat(100)}`, 'f.yml')
  expect(problems.map(({ message }) => message)).toEqual(['values are nested more than 64 deep'])
})

test('placeholders that rules ask for are listed', () => {
  const yaml = ruleAround("s:\n  A|expand: ['%Servers%', '%A%-%B%', '\\%no%']\n  C: '%D%'\ncondition: s")
  expect(listPlaceholders(readRuleFile(yaml, 'f.yml').documents)).toEqual(['A', 'B', 'Servers'])
})

test('what a rule says of itself', () => {
  const [info] = compile(`title: T
id: 1-2
name: n
status: Test
level: HIGH
description: |
  two
  lines
author: a
date: 2026-01-02
modified: 2026-01-03
references: [r]
tags: [attack.t1, x]
fields: F
falsepositives: [none]
details: 'x %F%'
custom: {a: b}
logsource: {category: c}
detection: {s: {A: 1}, condition: s}
`).set.rules
  expect(info).toEqual({
    title: 'T',
    id: '1-2',
    name: 'n',
    status: 'test',
    level: 'high',
    description: 'two\nlines\n',
    author: 'a',
    date: '2026-01-02',
    modified: '2026-01-03',
    references: ['r'],
    tags: ['attack.t1', 'x'],
    fields: ['F'],
    falsepositives: ['none'],
    custom: new Map([['details', 'x %F%']]),
    file: 'rule.yml',
    line: 1,
  })
})

import { Command } from 'commander'
import { expect, test } from 'vitest'
import { addRuleOptions, ruleFromOptions } from '../src/rule-options.ts'

/** What the options say, in their order: rules, and names of files. */
function rulesOf(args: readonly string[]): unknown[] {
  const command = new Command()
  const rules = addRuleOptions(command)
  command.parse(args, { from: 'user' })
  rules.finish()
  return rules.entries.map((entry) => (entry.kind === 'file' ? entry.path : ruleFromOptions(entry.rule)))
}

test.each<[what: string, args: string[], rules: unknown[]]>([
  ['text', ['--text', 'a', '--with', 'b'], [{ text: 'a', with: 'b' }]],
  ['a pattern', ['--regex', 'a+', '--with', '$&'], [{ regex: 'a+', with: '$&' }]],
  ['a host name', ['--domain', 'a.example', '--with', 'b.example'], [{ domain: 'a.example', to: 'b.example' }]],
  [
    'several, in their order',
    ['--text', 'a', '--with', 'b', '--regex', 'c', '--with', 'd', '--text', 'e', '--with', 'f'],
    [
      { text: 'a', with: 'b' },
      { regex: 'c', with: 'd' },
      { text: 'e', with: 'f' },
    ],
  ],
  [
    'what is said of the rule before',
    ['--text', 'a', '--flags', 'i', '--with', 'b', '--once', '--text', 'c', '--with', 'd', '--max', '3'],
    [
      { text: 'a', with: 'b', flags: 'i', once: true },
      { text: 'c', with: 'd', max: 3 },
    ],
  ],
  [
    'names below',
    ['--domain', 'a', '--with', 'b', '--subdomains', 'keep'],
    [{ domain: 'a', to: 'b', subdomains: 'keep' }],
  ],
  [
    'files in between',
    ['--text', 'a', '--with', 'b', '--rules', 'x', '--rules', 'y', '--text', 'c', '--with', 'd'],
    [{ text: 'a', with: 'b' }, 'x', 'y', { text: 'c', with: 'd' }],
  ],
  [
    'values that look like options',
    ['--text', '--with', '--with', '--text', '--text=-', '--with=-x'],
    [
      { text: '--with', with: '--text' },
      { text: '-', with: '-x' },
    ],
  ],
  [
    'nothing instead',
    ['--text', 'a', '--with', '', '--text', 'b', '--with='],
    [
      { text: 'a', with: '' },
      { text: 'b', with: '' },
    ],
  ],
  [
    'a snippet at a tag, and a text in its case',
    ['--insert', 'before', '--at', '</head>', '--with', 'x', '--once', '--text', 'a', '--keep-case', '--with', 'b'],
    [
      { insert: 'before', at: '</head>', with: 'x', once: true },
      { text: 'a', with: 'b', keepCase: true },
    ],
  ],
  ['none', [], []],
])('%s', (_what, args, rules) => {
  expect(rulesOf(args)).toEqual(rules)
})

test.each<[args: string[], message: string]>([
  [['--insert', 'before', '--with', 'x'], "--insert before has no --at; add --at and a tag, like --at '</head>'"],
  [['--text', 'a', '--at', '<b>', '--with', 'x'], '--at is for --insert, not for --text'],
  [['--regex', 'a', '--keep-case', '--with', 'x'], '--keep-case is for --text, not for --regex'],
  [['--at', '<b>'], '--at stands alone; put it after the --text, --regex, --domain or --insert it is for'],
])('%j is refused', (args, message) => {
  expect(() => rulesOf(args)).toThrow(message)
})

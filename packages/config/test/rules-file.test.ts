import { describe, expect, test } from 'vitest'
import { configFromValue, loadConfig, loadRules, textAsFile } from '../src/load.ts'
import { formatProblem } from '../src/problem.ts'
import { MAX_RULE_TEXT_CHARACTERS } from '../src/rule-schema.ts'

describe('a rules file', () => {
  test('is the list that rules takes', () => {
    expect(loadRules('- {text: a, with: b}\n- {regex: c, with: d, types: text/html}\n', 'r.yaml').value).toEqual([
      { text: 'a', with: 'b' },
      { regex: 'c', with: 'd', types: ['text/html'] },
    ])
  })

  test.each([
    ['rules: []\n', 'r.yaml:1:1: expected a list, got a mapping'],
    ['- {text: a, wiht: b}\n', 'r.yaml:1:13: [0].wiht: unknown key; did you mean with?'],
  ])('%j', (yaml, problem) => {
    const { value, problems } = loadRules(yaml, 'r.yaml')
    expect(value).toBeUndefined()
    expect(problems.map(formatProblem)).toEqual([problem])
  })

  test('that is empty is a mistake, as for a configuration; an empty list is none', () => {
    expect(loadRules('# none yet\n', 'r.yaml').problems.map(formatProblem)).toEqual([
      'r.yaml:1:1: is empty, expected a list; write [] for an empty list',
    ])
    expect(loadRules('[]\n', 'r.yaml')).toMatchObject({ value: [], problems: [] })
  })

  test('well-formed rules beside faulty ones are still there to be compiled', () => {
    const { ruleLists } = loadRules('- {text: a}\n- {regex: "(", with: b}\n', 'r.yaml')
    expect(ruleLists.map(({ rules, places }) => ({ rules, paths: places.map(({ path }) => path) }))).toEqual([
      { rules: [{ regex: '(', with: 'b' }], paths: [[1]] },
    ])
  })

  test('a text has a longest length', () => {
    const most = 'x'.repeat(MAX_RULE_TEXT_CHARACTERS)
    expect(loadRules(`- {text: a, with: ${most}}`, 'r.yaml').problems).toEqual([])
    expect(loadRules(`- {text: a, with: ${most}x}`, 'r.yaml').problems.map(formatProblem)).toEqual([
      'r.yaml:1:19: [0].with: is longer than 1048576 characters',
    ])
  })
})

test('a byte order mark at the start of a file is no part of it', () => {
  expect(loadConfig('prexy.yaml', textAsFile('\ufeffupstream: http://a\n', 'prexy.yaml')).problems).toEqual([])
})

test('lines may end in CR LF', () => {
  const { problems } = loadConfig(
    'prexy.yaml',
    textAsFile('upstream: http://a\r\nrules:\r\n  - text: a\r\n    wit: b\r\n', 'prexy.yaml'),
  )
  expect(problems.map(formatProblem)).toEqual(['prexy.yaml:4:5: rules[0].wit: unknown key; did you mean with?'])
})

test('a configuration that is no file is checked the same, without places', () => {
  expect(configFromValue({ upstream: 'ftp://a', lisen: 1 }).problems).toEqual([
    {
      path: 'upstream',
      message: '"ftp://a" is no address of an upstream',
      hint: 'write it like http://127.0.0.1:9000',
    },
    { path: 'lisen', message: 'unknown key', hint: 'did you mean listen?' },
  ])
})

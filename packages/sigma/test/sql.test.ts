/** Conditions as SQL: what is written, and that no text of a rule gets out of its literal. Engines run them in packages/hunt. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Expression } from '../src/expression.ts'
import { readRuleFile } from '../src/rule.ts'
import { compileRules, restrictDetectors } from '../src/rule-set.ts'
import { Matcher } from '../src/matcher.hot.ts'
import { routeRefusal, sqlCondition, SqlLists } from '../src/sql-condition.ts'
import { CLICKHOUSE, DUCKDB, type SqlDialect } from '../src/sql-dialect.ts'
import { compile, eventOf, ruleAround } from './rules-of.ts'

function expressionOf(detection: string): Expression {
  const { documents } = readRuleFile(ruleAround(detection), 'rule.yml')
  const found: Expression[] = []
  const set = compileRules(documents, { placeholders: new Map(), onDetector: (expression) => found.push(expression) })
  expect(set.problems).toEqual([])
  return found[0]
}

function written(detection: string, dialect: SqlDialect = CLICKHOUSE): string {
  const lists = new SqlLists(dialect)
  const result = sqlCondition(expressionOf(detection), dialect, lists)
  if ('refusal' in result) return `refused: ${result.refusal}`
  const defined = result.lists.map((name) => lists.definition(name)).map(([name, text]) => [name, text] as const)
  // Short enough to be read: a list is its column and field.
  return defined.reduce((sql, [name, text]) => {
    const parts =
      /'((?:[^'\\]|\\.|'')*)'.*?(texts|folded|numbers|addresses)\b|\((texts|folded|numbers|addresses),.*?'(.*?)'/.exec(
        text,
      )
    return sql.replaceAll(name, `${parts?.[2] ?? parts?.[3]}:${parts?.[1] ?? parts?.[4]}`)
  }, result.condition)
}

function selection(item: string): string {
  return `s:\n  ${item}\ncondition: s`
}

describe('conditions', () => {
  test.each<[string, string]>([
    ['F: Value', "has(folded:F, 'value')"],
    ['F: [a, b, A]', "hasAny(folded:F, ['a', 'b'])"],
    ['F|contains: ab', "arrayExists(v_ -> (position(v_, 'ab') > 0), folded:F)"],
    ['F|contains: [a.b, c]', "arrayExists(v_ -> match(v_, '(?:a\\\\.b|c)'), folded:F)"],
    ['F|startswith|cased: Ab', "arrayExists(v_ -> startsWith(v_, 'Ab'), texts:F)"],
    ['F|endswith: [\\a.exe, /b]', "arrayExists(v_ -> match(v_, '(?:\\\\\\\\a\\\\.exe\\\\z|\\\\/b\\\\z)'), folded:F)"],
    [
      'F: a?b*c',
      "arrayExists(v_ -> match(v_, '\\\\Aa[\\\\x00-\u{10ffff}]b(?:[\\\\x00-\u{10ffff}])*c\\\\z'), folded:F)",
    ],
    ["F: ''", "has(folded:F, '')"],
    ["F: '*'", 'arrayExists(v_ -> (1 = 1), folded:F)'],
    [
      'F|re: é?[^a-z]$',
      "arrayExists(v_ -> match(v_, '(?:é)?[\\\\x00-\\\\`\\\\{-\ud7ff\ue000-\u{10ffff}](?:\\\\n)?\\\\z'), texts:F)",
    ],
    ['F|re: \\x41\\x00', "arrayExists(v_ -> match(v_, 'A[\\\\x00]'), texts:F)"],
    ['F|gte: 7', 'arrayExists(v_ -> NOT isNaN(v_) AND v_ >= toFloat64(7), numbers:F)'],
    [
      'F|cidr: 10.128.0.0/9',
      "arrayExists(v_ -> length(v_) = 8 AND v_ >= '0a800000' AND v_ <= '0affffff', addresses:F)",
    ],
    [
      'F|cidr: fe80::/10',
      "arrayExists(v_ -> length(v_) = 32 AND v_ >= 'fe800000000000000000000000000000' AND v_ <= 'febfffffffffffffffffffffffffffff', addresses:F)",
    ],
    ['F|exists: false', "(NOT has(names, 'F'))"],
    ['F: null', 'empty(folded:F)'],
    ['F|neq: a', "(NOT has(folded:F, 'a'))"],
    ['F|fieldref: G', 'hasAny(folded:F, folded:G)'],
    [
      'F|contains|all: [a, b]',
      "(arrayExists(v_ -> (position(v_, 'a') > 0), folded:F) AND arrayExists(v_ -> (position(v_, 'b') > 0), folded:F))",
    ],
    ['F|hour: 3', 'refused: parts of dates are not compared in SQL'],
    ['F|re: a$b?', 'refused: a pattern has an end or begin of a line that RE2 sees otherwise'],
    ['F|re|m: ^', 'refused: a pattern has an end or begin of a line that RE2 sees otherwise'],
    ['F|re|m: ^a$', "arrayExists(v_ -> match(v_, '(?m:^)a(?m:$)'), texts:F)"],
  ])('%s', (item, sql) => {
    expect(written(selection(item))).toBe(sql)
  })

  test('keywords are looked for in the whole event', () => {
    expect(written("k: [one, 'two words']\ncondition: k")).toBe("match(text_folded, '(?:one|two words)')")
  })

  test('halves of pairs are refused, and so are log sources of nothing', () => {
    expect(written(selection('"F": "a\\ud83d"'))).toBe('refused: a text of it has half of a surrogate pair')
    expect(routeRefusal({ category: 'c', product: undefined })).toBeUndefined()
    expect(routeRefusal({ category: '' })).toMatch(/log source/)
  })

  test('alternatives of many texts are several patterns', () => {
    const texts = Array.from({ length: 130 }, (_, index) => `w${index}x`)
    const sql = written(selection(`F|contains: [${texts.join(', ')}]`))
    expect(sql.match(/match\(/g)?.length).toBe(3)
    const long = Array.from({ length: 4 }, (_, index) => `${index}${'y'.repeat(1_500)}`)
    expect(written(selection(`F|contains: [${long.join(', ')}]`)).match(/match\(/g)?.length).toBe(2)
  })
})

/** Reads one literal as ClickHouse does; undefined when the text is more than that. */
function clickHouseLiteral(sql: string): string | undefined {
  const match = /^'((?:[^'\\]|\\[^])*)'$/.exec(sql)
  return match?.[1].replace(/\\(?:x([0-9a-f]{2})|([^]))/g, (_, hex: string | undefined, one: string) =>
    hex === undefined ? one : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

/** And one of DuckDB, or several with NUL between them. */
function duckDbLiteral(sql: string): string | undefined {
  const parts = sql.replace(/^\((.*)\)$/s, '$1').split(' || chr(0) || ')
  const texts = parts.map((part) => /^'((?:[^']|'')*)'$/.exec(part)?.[1].replaceAll("''", "'"))
  return texts.includes(undefined) ? undefined : texts.join('\0')
}

test('no text gets out of its literal', () => {
  const text = fc.string({
    unit: fc.constantFrom(
      "'",
      '\\',
      '"',
      '`',
      '\0',
      '\n',
      ';',
      '-',
      '/',
      '*',
      '$',
      '{',
      'é',
      '😀',
      'x',
      '0',
      ' ',
      '|',
      ')',
    ),
  })
  fc.assert(
    fc.property(text, (value) => {
      expect(clickHouseLiteral(CLICKHOUSE.text(value))).toBe(value)
      // What separates the parts is told from a text that has the same characters by its quotes.
      if (!value.includes("' || chr(0) || '")) expect(duckDbLiteral(DUCKDB.text(value))).toBe(value)
    }),
    { numRuns: 1_000 },
  )
})

test('a set with some of its detectors finds what those find', () => {
  const { set } = compile(
    ['a', 'b', 'c']
      .map((value) => `title: ${value}\nlogsource: {category: c}\ndetection: {s: {F|contains: ${value}}, condition: s}`)
      .join('\n---\n'),
  )
  const found: number[] = []
  new Matcher(restrictDetectors(set, [0, 2])).detect(eventOf({ F: 'abc' }), (signal) => found.push(signal))
  expect(found).toEqual([0, 2])
})

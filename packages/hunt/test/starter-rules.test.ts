/** The rules that come with prexy: each with events that it is for, and events that it is not for. */
import { readFileSync } from 'node:fs'
import { Matcher } from '@prexy/sigma/matcher.hot'
import { readRuleFile } from '@prexy/sigma/rule'
import { describe, expect, test } from 'vitest'
import type { HuntEvent } from '../src/hunt-event.ts'
import { createJsonReader } from '../src/json-event.ts'
import { isJsonObject, parseJson } from '../src/json-records.ts'
import { compileLogFormat } from '../src/log-format.ts'
import { chooseRules, EVERY_RULE, findRules } from '../src/rule-files.ts'
import { STARTER_RULES } from '../src/starter-rules.ts'
import { createLineReader } from '../src/web-log.ts'

interface Case {
  readonly title: string
  /** Sequences of lines, of combined format or JSON, each of which the rule matches. */
  readonly match: readonly (readonly string[])[]
  /** Those that it does not match. */
  readonly other: readonly (readonly string[])[]
}

const parseCases: (text: string) => Readonly<Record<string, Case>> = JSON.parse
const cases = parseCases(readFileSync(new URL('starter-events.json', import.meta.url), 'utf8'))
const { texts } = findRules([STARTER_RULES])
const rules = texts.flatMap(({ file, text }) => readRuleFile(text, file).documents.map(({ info }) => info))

const readLine = createLineReader(compileLogFormat('combined'), 'access-log')
const readJson = createJsonReader({ map: undefined, logsource: undefined })

function eventOf(line: string): HuntEvent {
  const value = line.startsWith('{') ? parseJson(line) : undefined
  const event = isJsonObject(value) ? readJson(value) : readLine(line)
  if (event === undefined) throw new Error(`not read: ${line}`)
  return event
}

/** Titles of the rules that match one of the lines. */
function titlesOf(lines: readonly string[], ids: readonly string[]): readonly string[] {
  const { set, reported } = chooseRules(texts, { ...EVERY_RULE, ids })
  const found = new Set<string>()
  const matcher = new Matcher(set)
  const take = ({ rule }: { rule: (typeof rules)[number] }): void => {
    if (reported.has(rule)) found.add(rule.title)
  }
  for (const line of lines) matcher.match(eventOf(line), take)
  matcher.finish(take)
  return [...found]
}

test('are at least thirty, without a problem, with an id, a level, a description and tags each', () => {
  const { problems } = chooseRules(texts, EVERY_RULE)
  expect(problems).toEqual([])
  expect(rules.length).toBeGreaterThanOrEqual(30)
  for (const { title, id, level, description, tags } of rules) {
    const facts = [title, id?.length, level === undefined, description === undefined, tags.length > 0]
    expect(facts).toEqual([title, 36, false, false, true])
  }
})

test('have a case each', () => {
  expect(Object.keys(cases).toSorted()).toEqual(rules.map(({ id }) => id ?? '').toSorted())
})

describe.each(rules.map(({ id, title }) => [title, id ?? ''] as const))('%s', (title, id) => {
  test.each(cases[id].match.map((lines) => [lines[0], lines] as const))('matches %s', (_, lines) => {
    expect(titlesOf(lines, [id])).toEqual([title])
  })
  test.each(cases[id].other.map((lines) => [lines[0], lines] as const))('does not match %s', (_, lines) => {
    expect(titlesOf(lines, [id])).toEqual([])
  })
})

test('say nothing of ordinary requests', () => {
  const ordinary = [
    'GET / HTTP/1.1',
    'GET /index.html?utm_source=news&utm_medium=mail HTTP/1.1',
    'GET /search?q=select+a+union+of+students HTTP/1.1',
    "GET /books/o'reilly?id=17&sort=price HTTP/2.0",
    'POST /cart/add HTTP/1.1',
    'GET /static/app.9f3c2.js HTTP/1.1',
    'GET /wp-content/uploads/2026/11/photo.jpg HTTP/1.1',
    'GET /api/v1/users/42?fields=name,email HTTP/1.1',
    'GET /a%20b/c%C3%A9.html HTTP/1.1',
  ].map(
    (request) => `192.0.2.1 - - [30/Nov/2026:12:00:00 +0000] "${request}" 200 100 "https://a.example/" "Mozilla/5.0"`,
  )
  expect(titlesOf(ordinary, [])).toEqual([])
})

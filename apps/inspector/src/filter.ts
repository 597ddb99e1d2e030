/**
 * The filter language. Terms stand beside each other and all must hold: `status:>=400 host:shop.* -path:/static "two words"`.
 *
 *     term  = ['-'] ( field ':' value *( ',' value ) / text )
 *     value = [ '>=' / '<=' / '>' / '<' ] number [ unit ] / pattern / '"' text '"'
 *
 * A minus sign turns a term around; values with a comma between them are alternatives.
 */

import { LEVELS } from '@prexy/sigma/levels'

export type FieldKind = 'text' | 'prefix' | 'number' | 'duration' | 'size' | 'rule' | 'body' | 'hit' | 'level'

export interface FieldInfo {
  readonly name: string
  readonly kind: FieldKind
  readonly help: string
}

export const FIELDS: readonly FieldInfo[] = [
  { name: 'status', kind: 'number', help: 'status:404, status:>=400, status:5xx' },
  { name: 'method', kind: 'text', help: 'method:POST' },
  { name: 'host', kind: 'text', help: 'host:shop.*' },
  { name: 'path', kind: 'prefix', help: 'what the target begins with: path:/static; with * a pattern' },
  { name: 'route', kind: 'text', help: 'name of a route' },
  { name: 'rule', kind: 'rule', help: 'number of a rule that replaced something: rule:3' },
  { name: 'type', kind: 'text', help: 'media type of the response: type:text/*' },
  { name: 'outcome', kind: 'text', help: 'how it ended: outcome:client-aborted' },
  { name: 'reason', kind: 'text', help: 'why rules did not run: reason:not-text' },
  { name: 'treatment', kind: 'text', help: 'treatment:rewritten' },
  { name: 'dur', kind: 'duration', help: 'dur:>200ms; us, ms or s' },
  { name: 'size', kind: 'size', help: 'octets sent to the client: size:>100kb' },
  { name: 'client', kind: 'text', help: 'address of the client' },
  { name: 'upstream', kind: 'text', help: 'server that was asked' },
  { name: 'kind', kind: 'text', help: 'exchange, websocket, gap or application' },
  { name: 'source', kind: 'text', help: 'application that told an event' },
  { name: 'hit', kind: 'hit', help: 'title or id of a rule of the hunt: hit:*injection*, hit:*' },
  { name: 'level', kind: 'level', help: 'of a hit: level:>=high; of an event of an application: level:warn,error' },
  { name: 'body', kind: 'body', help: 'text in a body: body:"UA-"' },
]

export interface TextPattern {
  test(value: string): boolean
}

export type TermTest =
  | { readonly kind: 'text'; readonly field: string; readonly pattern: TextPattern }
  /** Any of the ranges, ends included. */
  | { readonly kind: 'number'; readonly field: string; readonly from: number; readonly to: number }
  | { readonly kind: 'rule'; readonly rule: number }
  | { readonly kind: 'hit'; readonly pattern: TextPattern }
  /** Ranks of levels of rules, ends included. */
  | { readonly kind: 'level'; readonly from: number; readonly to: number }
  | { readonly kind: 'body'; readonly text: string }
  | { readonly kind: 'any'; readonly text: string }

export interface Term {
  readonly negated: boolean
  /** One of them has to hold. */
  readonly tests: readonly TermTest[]
}

export interface FilterProblem {
  /** Places in the filter, in UTF-16 units. */
  readonly start: number
  readonly end: number
  readonly message: string
  readonly hint: string
}

export type ParsedFilter =
  | { readonly kind: 'filter'; readonly terms: readonly Term[] }
  | { readonly kind: 'problem'; readonly problem: FilterProblem }

class ProblemFound extends Error {
  readonly problem: FilterProblem
  constructor(problem: FilterProblem) {
    super(problem.message)
    this.problem = problem
  }
}

export function parseFilter(text: string): ParsedFilter {
  const terms: Term[] = []
  let at = 0
  try {
    while (at < text.length) {
      if (/\s/.test(text[at])) {
        at++
        continue
      }
      const { term, end } = parseTerm(text, at)
      terms.push(term)
      at = end
    }
  } catch (error) {
    if (error instanceof ProblemFound) return { kind: 'problem', problem: error.problem }
    throw error
  }
  return { kind: 'filter', terms }
}

function parseTerm(text: string, start: number): { term: Term; end: number } {
  const negated = text[start] === '-' && start + 1 < text.length && !/\s/.test(text[start + 1])
  let at = negated ? start + 1 : start
  const name = /^[A-Za-z]+(?=:)/.exec(text.slice(at))?.[0]
  if (name === undefined) {
    const { value, end } = readValue(text, at, false)
    return { term: { negated, tests: [{ kind: 'any', text: value }] }, end }
  }
  const field = FIELDS.find((info) => info.name === name.toLowerCase())
  if (field === undefined) {
    const like = FIELDS.find((info) => info.name.startsWith(name[0].toLowerCase()))
    fail(
      at,
      at + name.length,
      `there is no field "${name}"`,
      `${like === undefined ? '' : `did you mean ${like.name}? `}To search for the text put it in quotes: "${name}:"`,
    )
  }
  at += name.length + 1
  const tests: TermTest[] = []
  for (;;) {
    const { value, end } = readValue(text, at, true)
    if (value === '') fail(start, Math.max(end, at), `${field.name}: lacks a value`, `for example ${field.help}`)
    tests.push(testOf(field, value, at, end))
    at = end
    if (text[at] !== ',') break
    at++
  }
  return { term: { negated, tests }, end: at }
}

function readValue(text: string, start: number, isList: boolean): { value: string; end: number } {
  if (text[start] === '"') {
    let value = ''
    for (let at = start + 1; at < text.length; at++) {
      if (text[at] === '\\' && at + 1 < text.length) value += text[++at]
      else if (text[at] === '"') return { value, end: at + 1 }
      else value += text[at]
    }
    fail(start, text.length, 'the quote is not closed', 'end the text with "')
  }
  let end = start
  while (end < text.length && !/\s/.test(text[end]) && !(isList && text[end] === ',')) end++
  return { value: text.slice(start, end), end }
}

function testOf({ name, kind }: FieldInfo, value: string, start: number, end: number): TermTest {
  switch (kind) {
    case 'text':
      return { kind: 'text', field: name, pattern: globPattern(value, false) }
    case 'prefix':
      return { kind: 'text', field: name, pattern: globPattern(value, !value.includes('*')) }
    case 'body':
      return { kind: 'body', text: value }
    case 'hit':
      return { kind: 'hit', pattern: globPattern(value, false) }
    case 'level':
      return levelTest(name, value, start, end)
    case 'rule': {
      if (!/^[1-9]\d{0,5}$/.test(value))
        fail(start, end, 'a rule is a number from 1', 'rule:3 is the third of its route')
      return { kind: 'rule', rule: Number(value) - 1 }
    }
    default:
      return { kind: 'number', field: name, ...rangeOf(kind, value, start, end) }
  }
}

/** A level of Sigma, alone or with all above or below; else a level of applications, whose names are others. */
function levelTest(field: string, value: string, start: number, end: number): TermTest {
  const [, sign = '', level = ''] = /^(>=|<=|>|<)?(.*)$/.exec(value.toLowerCase()) ?? []
  const rank = LEVELS.findIndex((known) => known === level)
  if (rank >= 0) {
    const from = sign === '>' ? rank + 1 : sign.startsWith('<') ? 0 : rank
    const to = sign === '<' ? rank - 1 : sign.startsWith('>') ? LEVELS.length - 1 : rank
    return { kind: 'level', from, to }
  }
  if (sign !== '') fail(start, end, `"${level}" is no level of rules`, `there are ${LEVELS.join(', ')}`)
  return { kind: 'text', field, pattern: globPattern(value, false) }
}

const UNITS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  number: { '': 1 },
  duration: { us: 1, '': 1_000, ms: 1_000, s: 1_000_000 },
  size: { '': 1, b: 1, kb: 1_000, kib: 1_024, mb: 1_000_000, mib: 1_048_576 },
}

function rangeOf(kind: string, value: string, start: number, end: number): { from: number; to: number } {
  const hundreds = kind === 'number' ? /^([1-9])xx$/i.exec(value)?.[1] : undefined
  if (hundreds !== undefined) return { from: Number(hundreds) * 100, to: Number(hundreds) * 100 + 99 }
  const parts = /^(>=|<=|>|<|=)?(\d+(?:\.\d+)?)([a-z]*)$/i.exec(value)
  const units = UNITS[kind]
  if (parts === null) fail(start, end, `"${value}" is no number`, 'write >=400, <20 or 404')
  const factor = Object.hasOwn(units, parts[3].toLowerCase()) ? units[parts[3].toLowerCase()] : undefined
  if (factor === undefined)
    fail(
      end - parts[3].length,
      end,
      `"${parts[3]}" is no unit here`,
      `write one of ${Object.keys(units)
        .filter((unit) => unit !== '')
        .join(', ')}`,
    )
  const number = Number(parts[2]) * factor
  const tiny = 1e-9
  switch (parts[1]) {
    case '>':
      return { from: number + Math.max(tiny, number * 1e-12), to: Infinity }
    case '>=':
      return { from: number, to: Infinity }
    case '<':
      return { from: -Infinity, to: number - Math.max(tiny, number * 1e-12) }
    case '<=':
      return { from: -Infinity, to: number }
    default:
      return { from: number, to: number }
  }
}

/**
 * `*` stands for any characters, in any case; `isPrefix`: without any, what values begin with. Linear in the value, which strangers chose: parts are looked for one behind the
 * other, and none is looked for again.
 */
function globPattern(glob: string, isPrefix: boolean): TextPattern {
  const parts = glob.toLowerCase().split(/\*+/)
  if (parts.length <= 2) {
    // PERF: a third of the time, and with one star at most linear, too.
    const escaped = parts.map((part) => part.replaceAll(/[\\^$.|?+()[\]{}/-]/g, String.raw`\$&`))
    return new RegExp(`^${escaped.join('[^]*')}${isPrefix ? '' : '$'}`, 'i')
  }
  const last = parts.pop() ?? ''
  return {
    test(value) {
      const lower = value.toLowerCase()
      let at = parts[0].length
      if (!lower.startsWith(parts[0])) return false
      for (const part of parts.slice(1)) {
        const found = lower.indexOf(part, at)
        if (found < 0) return false
        at = found + part.length
      }
      return lower.length - at >= last.length && lower.endsWith(last)
    },
  }
}

function fail(start: number, end: number, message: string, hint: string): never {
  throw new ProblemFound({ start, end, message, hint })
}

export interface Completion {
  /** Takes the place of `[start, end)` of the filter. */
  readonly start: number
  readonly end: number
  readonly text: string
  readonly help: string
}

/** What may stand at the caret; `valuesOf` gives what a field has been seen with. */
export function completionsAt(
  text: string,
  caret: number,
  valuesOf: (field: string) => readonly string[],
): readonly Completion[] {
  let start = caret
  while (start > 0 && !/\s/.test(text[start - 1])) start--
  if (text[start] === '-') start++
  const word = text.slice(start, caret)
  if (word.includes('"')) return []
  const colon = word.indexOf(':')
  if (colon < 0) {
    return FIELDS.filter(({ name }) => word !== '' && name.startsWith(word.toLowerCase())).map(({ name, help }) => ({
      start,
      end: caret,
      text: `${name}:`,
      help,
    }))
  }
  const field = word.slice(0, colon).toLowerCase()
  const from = start + Math.max(colon, word.lastIndexOf(',')) + 1
  const begun = text.slice(from, caret).toLowerCase()
  return valuesOf(field)
    .filter((value) => value.toLowerCase().startsWith(begun) && value.toLowerCase() !== begun)
    .slice(0, 12)
    .map((value) => ({ start: from, end: caret, text: quotedValue(value), help: '' }))
}

/** As it stands in a filter. */
export function quotedValue(value: string): string {
  return /[\s",]/.test(value) ? `"${value.replaceAll(/[\\"]/g, String.raw`\$&`)}"` : value
}

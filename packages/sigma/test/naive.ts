/**
 * A second evaluator, as plain as can be and from the specification alone: one rule, one event, one value at a time. It
 * shares no code with the package. What is case-insensitive is left to JavaScript's `iu` regular expressions.
 */
import type { Fields } from './rules-of.ts'

export type NaiveValue = string | number | boolean | null
export type NaiveItem = Readonly<Record<string, NaiveValue | readonly NaiveValue[]>>
export type NaiveSelection = NaiveItem | readonly (NaiveItem | string)[]

export type NaiveCondition =
  | string
  | { readonly not: NaiveCondition }
  | { readonly and: readonly NaiveCondition[] }
  | { readonly or: readonly NaiveCondition[] }
  | { readonly of: 'all' | '1'; readonly prefix: string }

export interface NaiveRule {
  readonly selections: Readonly<Record<string, NaiveSelection>>
  readonly condition: NaiveCondition
}

export function writeCondition(condition: NaiveCondition): string {
  if (typeof condition === 'string') return condition
  if ('not' in condition) return `not (${writeCondition(condition.not)})`
  if ('and' in condition) return `(${condition.and.map(writeCondition).join(' and ')})`
  if ('or' in condition) return `(${condition.or.map(writeCondition).join(' or ')})`
  return `${condition.of} of ${condition.prefix}*`
}

export function naiveMatches(rule: NaiveRule, fields: Fields, text: string): boolean {
  const selected = (name: string): boolean => naiveSelection(rule.selections[name], fields, text)
  const holds = (condition: NaiveCondition): boolean => {
    if (typeof condition === 'string') return selected(condition)
    if ('not' in condition) return !holds(condition.not)
    if ('and' in condition) return condition.and.every(holds)
    if ('or' in condition) return condition.or.some(holds)
    const names = Object.keys(rule.selections).filter((name) => name.startsWith(condition.prefix))
    return condition.of === 'all' ? names.every(selected) : names.some(selected)
  }
  return holds(rule.condition)
}

function naiveSelection(selection: NaiveSelection, fields: Fields, text: string): boolean {
  if (isList(selection)) {
    return selection.some((part) => {
      return typeof part === 'string' ? patternOf(anchor(part, ['contains']), 'iu').test(text) : naiveMap(part, fields)
    })
  }
  return naiveMap(selection, fields)
}

function isList(selection: NaiveSelection): selection is readonly (NaiveItem | string)[] {
  return Array.isArray(selection)
}

function naiveMap(map: NaiveItem, fields: Fields): boolean {
  return Object.entries(map).every(([key, value]) => {
    const [field, ...modifiers] = key.split('|')
    const wanted = (Array.isArray(value) ? value : [value]) as readonly NaiveValue[]
    const tests = wanted.map((one) => naiveValue(field, modifiers, one, fields))
    const result = modifiers.includes('all') ? tests.every(Boolean) : tests.some(Boolean)
    return modifiers.includes('neq') ? !result : result
  })
}

function naiveValue(field: string, modifiers: readonly string[], wanted: NaiveValue, fields: Fields): boolean {
  const given = Object.hasOwn(fields, field) ? fields[field] : undefined
  const list = given === undefined ? [] : Array.isArray(given) ? given : [given]
  if (wanted === null) return list.every((value) => value === null)
  if (modifiers.includes('exists')) return list.length > 0 === wanted
  const texts = list.filter((value) => value !== null).map(String)
  const flags = modifiers.includes('cased') ? 'u' : 'iu'
  if (modifiers.includes('fieldref')) {
    const other = Object.hasOwn(fields, String(wanted)) ? fields[String(wanted)] : undefined
    const others = (other === undefined ? [] : Array.isArray(other) ? other : [other]).filter((value) => value !== null)
    return texts.some((text) =>
      others.some((value) => patternOf(anchor(escapeAll(String(value)), modifiers), flags).test(text)),
    )
  }
  for (const [name, compare] of [
    ['lt', (a: number, b: number) => a < b],
    ['gte', (a: number, b: number) => a >= b],
  ] as const) {
    if (modifiers.includes(name)) {
      return texts.some((text) => /^-?\d+(\.\d+)?$/.test(text) && compare(Number(text), Number(wanted)))
    }
  }
  if (modifiers.includes('re')) {
    const regex = new RegExp(String(wanted), modifiers.includes('i') ? 'iu' : 'u')
    return texts.some((text) => regex.test(text))
  }
  const forms = modifiers.includes('windash') ? dashForms(String(wanted)) : [String(wanted)]
  return forms.some((form) => texts.some((text) => patternOf(anchor(form, modifiers), flags).test(text)))
}

/** The wildcards go behind what is escaped, so a `\` at the end is written `\\` first. */
function anchor(value: string, modifiers: readonly string[]): string {
  const before = modifiers.includes('contains') || modifiers.includes('endswith') ? '*' : ''
  const after = modifiers.includes('contains') || modifiers.includes('startswith') ? '*' : ''
  let backslashes = 0
  while (value[value.length - 1 - backslashes] === '\\') backslashes++
  return before + (after !== '' && backslashes % 2 === 1 ? `${value}\\` : value) + after
}

function escapeAll(text: string): string {
  return text.replace(/[\\*?]/g, '\\$&')
}

function dashForms(value: string): string[] {
  const at = value.search(/(?<!\w)[-/](?=\w)/)
  if (at < 0) return [value]
  const rest = dashForms(`x${value.slice(at + 1)}`).map((form) => form.slice(1))
  return ['-', '/', '–', '—', '―'].flatMap((dash) => rest.map((form) => value.slice(0, at) + dash + form))
}

function patternOf(value: string, flags: string): RegExp {
  let source = ''
  for (let at = 0; at < value.length; at++) {
    const [one, two] = [value[at], value[at + 1]]
    if (one === '\\' && (two === '*' || two === '?' || two === '\\')) {
      source += `\\${two}`
      at++
    } else if (one === '*') source += '[^]*'
    else if (one === '?') source += '[^]'
    else source += /[\\^$.|()[\]{}+/-]/.test(one) && one !== '-' ? `\\${one}` : one
  }
  return new RegExp(`^(?:${source})$`, flags)
}

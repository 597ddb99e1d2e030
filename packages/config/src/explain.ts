/** Turns what the schema found into sentences a person can act on. */
import { z } from 'zod'
import { nearMiss } from './near-miss.ts'
import { type ConfigPath, formatPath } from './problem.ts'
import { ENTRY_KINDS, RULE_KINDS, ruleEntrySchema, ruleSchema } from './rule-schema.ts'

export interface Explanation {
  readonly path: ConfigPath
  /** Whether the key itself is at fault, so that the position is the key's. */
  readonly atKey: boolean
  readonly message: string
  readonly hint: string | undefined
  /** The known key that an unknown one was probably meant to be. */
  readonly meant: string | undefined
}

type Issue = z.core.$ZodIssue
type Schema = z.core.$ZodType

/** Everything that `schema` has against `value`, with paths that begin with `base`. */
export function explainAgainst(schema: Schema, value: unknown, base: ConfigPath = []): Explanation[] {
  const result = z.safeParse(schema, value)
  if (result.success) return []
  return withoutEchoes(result.error.issues.flatMap((issue) => explainIssue(schema, issue, value, base)))
}

function explainIssue(schema: Schema, issue: Issue, root: unknown, base: ConfigPath): Explanation[] {
  const path = [...base, ...issue.path.filter((step) => typeof step !== 'symbol')]
  const value = valueAt(root, issue.path)
  const at = schemaAt(schema, issue.path, root)
  const one = (message: string, hint?: string): Explanation[] => [found(path, message, hint)]
  switch (issue.code) {
    case 'invalid_union':
      return explainUnion(at, value, path)
    case 'unrecognized_keys': {
      // A union whose other members are out of the question hands on what the remaining one says.
      const kinds = kindsOf(at)
      if (kinds !== undefined && issue.keys.some((key) => Object.hasOwn(kinds, key)))
        return explainRule(kinds, value, path)
      const mapping = kinds === undefined ? at : schemaOfRule(kinds, value)
      const known = mapping === undefined ? [] : knownKeys(mapping)
      return issue.keys.map((key) => {
        const meant = nearMiss(key, known)
        let hint = `known here: ${known.join(', ')}`
        if (key === '<<') hint = 'merge keys are not read: write the fields out'
        else if (meant !== undefined) hint = suggestion(meant)
        return { path: [...path, key], atKey: true, message: 'unknown key', hint, meant }
      })
    }
    case 'invalid_key': {
      const [message, hint] = splitHint(issue.issues[0].message)
      return [{ path, atKey: true, message: `${shown(path.at(-1))} ${message}`, hint, meant: undefined }]
    }
    case 'invalid_type': {
      const wanted = nounFor(issue.expected)
      if (value === undefined) return one(MISSING, `add it: ${String(path.at(-1))}: ${sampleFor(at)}`)
      if (value === null) return one(`is empty, expected ${wanted}`, EMPTY_HINTS[issue.expected])
      if (issue.expected === 'string' && (typeof value === 'number' || typeof value === 'boolean')) {
        return one(`expected ${wanted}, got ${nounOf(value)}`, `put it in quotes: '${String(value)}'`)
      }
      if (typeof value === 'string') {
        const plain = withoutQuotes(at, value)
        if (plain !== undefined) return [quoted(path, plain)]
        const number = withoutUnit(value, String(path.at(-1)))
        if (number !== undefined) return one(`expected ${wanted}, got a text`, `write the number alone: ${number}`)
      }
      return one(`expected ${wanted}, got ${nounOf(value)}`)
    }
    case 'invalid_value': {
      const choices = issue.values.map(String)
      const near = typeof value === 'string' ? nearMiss(value, choices) : undefined
      if (value === null) return one(`is empty, expected one of ${choices.join(', ')}`)
      if (value === undefined) return one(MISSING, `add one of ${choices.join(', ')}`)
      return one(
        `${shown(value)} is not one of ${choices.join(', ')}`,
        near === undefined ? undefined : suggestion(near),
      )
    }
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array') return one('must not be empty')
      return one(`${shown(value)} is too small, the least is ${String(issue.minimum)}`)
    case 'too_big':
      if (issue.origin === 'string') return one(`is longer than ${issue.maximum} characters`)
      return one(`${shown(value)} is too large, the most is ${issue.maximum}`)
    case 'invalid_format': {
      const number = withoutQuotes(at, value)
      if (number !== undefined) return [quoted(path, number)]
      const [message, hint] = splitHint(issue.message)
      return one(`${shown(value)} ${message}`, hint)
    }
    default:
      return one(...splitHint(issue.message))
  }
}

function explainUnion(union: Schema | undefined, value: unknown, path: ConfigPath): Explanation[] {
  const kinds = kindsOf(union)
  if (kinds !== undefined) return explainRule(kinds, value, path)
  if (!(union instanceof z.ZodUnion)) return [found(path, 'has no known form')]
  const fitting = value === null ? [] : union.options.filter((option) => takesKindOf(option, value))
  if (fitting.length === 0) {
    const nouns = [...new Set(union.options.flatMap(nounsOf))]
    const wanted = `expected ${nouns.join(' or ')}`
    return [found(path, value === null ? `is empty, ${wanted}` : `${wanted}, got ${nounOf(value)}`)]
  }
  return explainAgainst(fitting[0], value, path)
}

/** The schemas of rules by the field that tells their kind. */
type RuleKinds = Readonly<Record<string, Schema>>

function kindsOf(schema: Schema | undefined): RuleKinds | undefined {
  if (schema === ruleSchema) return RULE_KINDS
  return schema === ruleEntrySchema ? ENTRY_KINDS : undefined
}

function explainRule(kinds: RuleKinds, value: unknown, path: ConfigPath): Explanation[] {
  const kindNames = Object.keys(kinds)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const message = value === null ? 'is an empty rule' : `expected a rule, got ${nounOf(value)}`
    return [found(path, message, 'write it like {text: a, with: b}')]
  }
  const keys = Object.keys(value)
  const named = keys.filter((key) => Object.hasOwn(kinds, key))
  if (named.length > 1) {
    return [found(path, `has ${named.join(' and ')} at once`, 'make a rule of each')]
  }
  if (named.length === 1) return explainAgainst(kinds[named[0]], value, path)
  for (const key of keys) {
    const near = nearMiss(key, kindNames)
    if (near !== undefined) return explainAgainst(kinds[near], value, path)
  }
  return [found(path, 'says nothing to look for', `add one of ${kindNames.join(', ')}`)]
}

/** A missing field that an unknown key was meant to be is one mistake, not two. */
function withoutEchoes(explanations: readonly Explanation[]): Explanation[] {
  const meant = new Set<string>()
  for (const { path, meant: key } of explanations) {
    if (key !== undefined) meant.add(formatPath([...path.slice(0, -1), key]))
  }
  return explanations.filter((one) => one.message !== MISSING || !meant.has(formatPath(one.path)))
}

const MISSING = 'is missing'

const EMPTY_HINTS: Readonly<Record<string, string | undefined>> = {
  string: "write '' for an empty text",
  array: 'write [] for an empty list',
}

function found(path: ConfigPath, message: string, hint?: string): Explanation {
  return { path, atKey: false, message, hint, meant: undefined }
}

function suggestion(near: string): string {
  return `did you mean ${near}?`
}

function splitHint(message: string): [message: string, hint: string | undefined] {
  const cut = message.indexOf('; ')
  return cut < 0 ? [message, undefined] : [message.slice(0, cut), message.slice(cut + 2)]
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  let value = root
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Reflect.get(value, step)
  }
  return value
}

/** The schema that stands at `path`, of a rule the one of its kind; undefined where nothing is known. */
function schemaAt(root: Schema, path: readonly PropertyKey[], rootValue: unknown): Schema | undefined {
  let schema: Schema | undefined = unwrapped(root)
  for (const [index, step] of path.entries()) {
    const kinds = kindsOf(schema)
    if (kinds !== undefined) schema = schemaOfRule(kinds, valueAt(rootValue, path.slice(0, index)))
    else if (schema !== undefined)
      schema = membersOf(schema).find(typeof step === 'number' ? isArray : isMapping) ?? schema
    if (schema instanceof z.ZodObject) {
      const shape: Readonly<Record<PropertyKey, Schema>> = schema.shape
      schema = Object.hasOwn(shape, step) ? shape[step] : undefined
    } else if (schema instanceof z.ZodArray) schema = schema.element
    else if (schema instanceof z.ZodRecord) schema = schema.valueType
    else return undefined
    if (schema === undefined) return undefined
    schema = unwrapped(schema)
  }
  return schema
}

/** What a union is made of, unions inside it, too; anything else is its only member. */
function membersOf(schema: Schema): Schema[] {
  const inner = unwrapped(schema)
  return inner instanceof z.ZodUnion ? inner.options.flatMap(membersOf) : [inner]
}

function isArray(schema: Schema): boolean {
  return schema instanceof z.ZodArray
}

function isMapping(schema: Schema): boolean {
  return schema instanceof z.ZodObject || schema instanceof z.ZodRecord
}

function knownKeys(schema: Schema): string[] {
  return membersOf(schema).flatMap((member) => (member instanceof z.ZodObject ? Object.keys(member.shape) : []))
}

/** The number in a text of digits where `schema` takes that number, but no such text. */
function withoutQuotes(schema: Schema | undefined, value: unknown): number | undefined {
  if (schema === undefined || typeof value !== 'string' || !/^\d{1,15}$/.test(value)) return undefined
  const number = Number(value)
  return membersOf(schema).some((member) => z.safeParse(member, number).success) ? number : undefined
}

function quoted(path: ConfigPath, number: number): Explanation {
  return found(path, 'is a text, expected a number', `write it without quotes: ${number}`)
}

function schemaOfRule(kinds: RuleKinds, value: unknown): Schema | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const kind = Object.keys(value).find((key) => Object.hasOwn(kinds, key))
  return kind === undefined ? undefined : kinds[kind]
}

/** The schema below defaults and optionals. */
export function unwrapped(schema: Schema): Schema {
  let inner = schema
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodExactOptional || inner instanceof z.ZodReadonly) {
    inner = inner.def.innerType
  }
  return inner
}

function takesKindOf(schema: Schema, value: unknown): boolean {
  return nounsOf(schema).includes(nounOf(value))
}

function nounsOf(schema: Schema): string[] {
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodUnion) return inner.options.flatMap(nounsOf)
  return [nounFor(inner._zod.def.type)]
}

function nounFor(type: string): string {
  switch (type) {
    case 'string':
    case 'enum':
      return 'a text'
    case 'int':
    case 'number':
      return 'a whole number'
    case 'boolean':
      return 'true or false'
    case 'array':
      return 'a list'
    default:
      return 'a mapping'
  }
}

function nounOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  switch (typeof value) {
    case 'string':
      return 'a text'
    case 'number':
      return Number.isInteger(value) ? 'a whole number' : 'a number with a fraction'
    case 'boolean':
      return 'true or false'
    default:
      return 'a mapping'
  }
}

function sampleFor(schema: Schema | undefined): string {
  if (schema === undefined) return '...'
  switch (schema._zod.def.type) {
    case 'string':
      return "'...'"
    case 'array':
      return '[...]'
    default:
      return '...'
  }
}

const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000 }
const BYTES: Readonly<Record<string, number>> = { b: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }

/** What `10s` or `64k` would be in the unit that the name of the field `key` ends in. */
function withoutUnit(text: string, key: string): number | undefined {
  const match = /^(\d{1,12})\s*([a-z]{1,3})$/i.exec(text)
  if (match === null) return undefined
  const unit = match[2].toLowerCase()
  const factor = key.endsWith('Ms')
    ? MILLISECONDS[unit]
    : key.endsWith('Bytes')
      ? BYTES[unit.replace(/(?<=.)i?b$/, '')]
      : undefined
  return factor === undefined ? undefined : Number(match[1]) * factor
}

/** The value as it would stand in YAML, cut to a length that fits a line. */
function shown(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

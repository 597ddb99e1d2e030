/**
 * Values of detection items, turned by their modifiers into tests: appendix "Sigma Modifiers" of the specification
 * 2.1.0. Modifiers are applied from left to right, each to what the one before it made.
 */
import { type ParsedPattern, PatternError } from '@prexy/regex/ast'
import { parsePattern } from '@prexy/regex/parse'
import { compileProgram } from '@prexy/regex/program'
import { DATE_PARTS, type DatePart } from './date-part.ts'
import { base64Of, base64Offsets, utf16Octets, utf8Octets } from './encodings.ts'
import { allOf, anyOf, type Expression, type Predicate, type ReferenceTest, type RegexFlags } from './expression.ts'
import { foldCase } from './fold.ts'
import { type Network, parseNetwork } from './network.ts'
import { type ComparisonOperator, ORDER_OPERATORS, type OrderOperator } from './numeric.ts'
import { ANY_TEXT, joinParts, type Pattern, parsePatternText, type PatternPart, plainText } from './pattern.ts'
import type { Placeholders } from './placeholders.ts'
import { SigmaFault } from './problem.ts'
import type { SourceScalar } from './source-tree.ts'

/** Texts that one value may become by `windash`, `base64offset` and `expand`. */
export const MAX_VALUE_FORMS = 20_000

/** Other names of modifiers: those of the reference implementation and of Hayabusa. */
const ALIASES: ReadonlyMap<string, readonly string[]> = new Map([
  ['wide', ['utf16le']],
  ['ignorecase', ['i']],
  ['multiline', ['m']],
  ['dotall', ['s']],
  ['equalsfield', ['fieldref']],
  ['endswithfield', ['fieldref', 'endswith']],
])

/** Every modifier that the specification has, in its order. */
export const MODIFIERS: readonly string[] = [
  'all',
  'startswith',
  'endswith',
  'contains',
  'exists',
  'cased',
  'neq',
  'windash',
  're',
  'i',
  'm',
  's',
  'base64',
  'base64offset',
  'utf16le',
  'utf16be',
  'utf16',
  'wide',
  'lt',
  'lte',
  'gt',
  'gte',
  ...DATE_PARTS,
  'cidr',
  'expand',
  'fieldref',
]

/** A value on its way through the modifiers. */
type Draft =
  | {
      readonly kind: 'text'
      readonly parts: Pattern
      readonly cased: boolean
      /** Characters are octets of an encoding. */
      readonly octets: boolean
      /** As it is written in the rule, for `re`. */
      readonly written: string
    }
  | { readonly kind: 'number'; readonly value: number; readonly texts: readonly string[] }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'null' }
  | { readonly kind: 'regex'; readonly source: string; readonly flags: RegexFlags }
  | { readonly kind: 'network'; readonly network: Network }
  | { readonly kind: 'exists'; readonly value: boolean }
  | { readonly kind: 'reference'; readonly other: string; readonly test: ReferenceTest; readonly cased: boolean }
  | {
      readonly kind: 'compare'
      readonly part: DatePart | undefined
      readonly operator: ComparisonOperator
      readonly value: number
    }

type TextDraft = Extract<Draft, { kind: 'text' }>

export interface ItemContext {
  readonly placeholders: Placeholders
  /** Where the item's key stands. */
  readonly keyAt: number
  warn(at: number, message: string): void
}

/**
 * The test of `field|modifiers: values`. The field is undefined for keywords. Throws a `SigmaFault` for what the
 * specification does not allow and for what cannot be evaluated as it is meant.
 */
export function readItem(
  field: string | undefined,
  modifiers: readonly string[],
  values: readonly SourceScalar[],
  context: ItemContext,
): Expression {
  const names = modifiers.flatMap((name) => ALIASES.get(name) ?? [name])
  for (const name of names) {
    if (!MODIFIERS.includes(name)) throw new SigmaFault(context.keyAt, `there is no modifier "${name}"`)
  }
  for (const value of values) {
    if (value.kind === 'null' && (values.length > 1 || names.length > 0 || field === undefined)) {
      const what =
        field === undefined ? 'a keyword' : names.length > 0 ? 'a value with modifiers' : 'one of several values'
      throw new SigmaFault(value.at, `null cannot be ${what}`, 'make it a search identifier of its own: `Field: null`')
    }
  }
  const valueNames = names.filter((name) => name !== 'all' && name !== 'neq')
  const tests = values.map((value) => {
    let forms: readonly Draft[] = [draftOf(value, names.includes('re'))]
    valueNames.forEach((name, index) => {
      forms = forms.flatMap((form) =>
        applyModifier(form, name, { value, field, before: valueNames.slice(0, index), context }),
      )
      if (forms.length > MAX_VALUE_FORMS) {
        throw new SigmaFault(value.at, `the value becomes more than ${MAX_VALUE_FORMS} texts`)
      }
    })
    if (forms.length === 0) throw new SigmaFault(value.at, 'a placeholder of the value has an empty list')
    return anyOf(forms.map((form) => finish(form, field, value.at)))
  })
  if (names.includes('all') && values.length === 1) context.warn(context.keyAt, '"all" is for lists of several values')
  const linked = names.includes('all') ? allOf(tests) : anyOf(tests)
  return names.includes('neq') ? { kind: 'not', part: linked } : linked
}

function draftOf(value: SourceScalar, isRegex: boolean): Draft {
  if (isRegex || value.kind === 'text') {
    const parts = isRegex ? joinParts([value.text]) : parsePatternText(value.text)
    return { kind: 'text', parts, cased: false, octets: false, written: value.text }
  }
  switch (value.kind) {
    case 'number': {
      const number = Number(value.text)
      const canonical = /^[+-]?\d+$/.test(value.text) ? String(BigInt(value.text.replace('+', ''))) : String(number)
      return { kind: 'number', value: number, texts: [...new Set([canonical, value.text])] }
    }
    case 'boolean':
      return { kind: 'boolean', value: value.text.toLowerCase() === 'true' }
    case 'null':
      return { kind: 'null' }
  }
}

interface Step {
  readonly value: SourceScalar
  readonly field: string | undefined
  /** Modifiers that were applied before, without those of lists. */
  readonly before: readonly string[]
  readonly context: ItemContext
}

function applyModifier(draft: Draft, name: string, step: Step): readonly Draft[] {
  const fail = (message: string, hint?: string): never => {
    throw new SigmaFault(step.value.at, message, hint)
  }
  const needsText = (): TextDraft => {
    if (draft.kind === 'text') return draft
    return fail(
      `"${name}" takes a text, not ${describe(draft)}`,
      draft.kind === 'number' ? 'put it in quotes' : undefined,
    )
  }
  const needsFirst = (): void => {
    if (step.before.length > 0) fail(`"${name}" cannot follow "${step.before.join('|')}"`, `write "${name}" first`)
  }
  const needsField = (): void => {
    if (step.field === undefined) fail(`"${name}" needs a field`, 'keywords are looked for in the whole event')
  }
  switch (name) {
    case 'contains':
    case 'startswith':
    case 'endswith':
      return [applyAnchor(draft, name, step, fail)]
    case 'cased':
      if (draft.kind === 'reference') return [{ ...draft, cased: true }]
      return [{ ...needsText(), cased: true }]
    case 'windash':
      return windashForms(needsText())
    case 'base64': {
      const encoded = base64Of(octetsOf(needsText(), name, step))
      return [{ ...needsText(), parts: joinParts([encoded]), octets: false }]
    }
    case 'base64offset': {
      const forms = base64Offsets(octetsOf(needsText(), name, step))
      if (forms.includes(''))
        fail('the value is too short for "base64offset"', 'at least two octets leave a fixed part')
      return forms.map((form) => ({ ...needsText(), parts: joinParts([form]), octets: false }))
    }
    case 'utf16':
    case 'utf16le':
    case 'utf16be':
      return [utf16Form(needsText(), name, fail)]
    case 're': {
      needsFirst()
      return [{ kind: 'regex', source: needsText().written, flags: { i: false, m: false, s: false } }]
    }
    case 'i':
    case 'm':
    case 's':
      if (draft.kind !== 'regex') return fail(`"${name}" is a flag of "re"`, `write "re|${name}"`)
      return [{ ...draft, flags: { ...draft.flags, [name]: true } }]
    case 'cidr': {
      needsFirst()
      needsField()
      const network = parseNetwork(needsText().written)
      return typeof network === 'string'
        ? fail(network, 'write a network such as 10.0.0.0/8')
        : [{ kind: 'network', network }]
    }
    case 'exists':
      needsFirst()
      needsField()
      if (draft.kind !== 'boolean') return fail('"exists" takes true or false', 'without quotes')
      return [{ kind: 'exists', value: draft.value }]
    case 'fieldref': {
      needsField()
      const text = needsText()
      const other = text.octets ? undefined : plainText(text.parts)
      if (other === undefined || other === '') return fail('"fieldref" takes the name of a field, without wildcards')
      return [{ kind: 'reference', other, test: 'equals', cased: text.cased }]
    }
    case 'expand':
      return expandForms(draft, step)
    default:
      needsField()
      return [applyNumeric(draft, name, fail)]
  }
}

function describe(draft: Draft): string {
  switch (draft.kind) {
    case 'text':
    case 'number':
      return `a ${draft.kind}`
    case 'boolean':
      return 'true or false'
    case 'regex':
      return 'a regular expression'
    case 'compare':
      return draft.part === undefined ? 'a comparison' : 'a part of a date'
    case 'reference':
      return 'a field reference'
    default:
      return draft.kind
  }
}

function applyAnchor(
  draft: Draft,
  name: 'contains' | 'startswith' | 'endswith',
  { field, value }: Step,
  fail: (message: string, hint?: string) => never,
): Draft {
  if (field === undefined && name !== 'contains') {
    return fail(`"${name}" needs a field`, 'keywords are looked for in the whole event')
  }
  switch (draft.kind) {
    case 'number':
      // Authors write `contains: 4688`; the digits are what they mean.
      return anchored(
        { kind: 'text', parts: joinParts([value.text]), cased: false, octets: false, written: value.text },
        name,
      )
    case 'text':
      return anchored(draft, name)
    case 'reference':
      if (draft.test !== 'equals') return fail(`"${name}" cannot follow "${draft.test}"`)
      return { ...draft, test: name }
    case 'regex':
      if (name === 'contains') return draft
      return fail(`"${name}" cannot anchor a regular expression`, `write ${name === 'endswith' ? '$' : '^'} into it`)
    default:
      return fail(`"${name}" takes a text, not ${describe(draft)}`)
  }
}

function anchored(draft: TextDraft, name: 'contains' | 'startswith' | 'endswith'): TextDraft {
  const before: readonly PatternPart[] = name === 'startswith' ? [] : [ANY_TEXT]
  const after: readonly PatternPart[] = name === 'endswith' ? [] : [ANY_TEXT]
  return { ...draft, parts: joinParts([...before, ...draft.parts, ...after]) }
}

function applyNumeric(draft: Draft, name: string, fail: (message: string, hint?: string) => never): Draft {
  const part = DATE_PARTS.find((candidate) => candidate === name)
  const operator = ORDER_OPERATORS.find((candidate): candidate is OrderOperator => candidate === name)
  if (operator !== undefined && draft.kind === 'compare' && draft.part !== undefined && draft.operator === 'eq') {
    return { ...draft, operator }
  }
  if (draft.kind !== 'number' || !Number.isFinite(draft.value)) {
    return fail(
      `"${name}" takes a number, not ${describe(draft)}`,
      draft.kind === 'text' ? 'leave out the quotes' : undefined,
    )
  }
  if (part !== undefined) {
    if (!Number.isInteger(draft.value)) return fail(`"${name}" takes a whole number`)
    return { kind: 'compare', part, operator: 'eq', value: draft.value }
  }
  return { kind: 'compare', part: undefined, operator: operator ?? 'eq', value: draft.value }
}

const DASHES = ['-', '/', '\u2013', '\u2014', '\u2015']
/** A dash at the beginning of a word: `-a-b` has one, like `/a`. */
const LEADING_DASH = /(?<![\p{L}\p{N}_])[-/\u2013\u2014\u2015](?=[\p{L}\p{N}_])/gu

function windashForms(draft: TextDraft): readonly TextDraft[] {
  let forms: readonly (readonly PatternPart[])[] = [[]]
  const extend = (choices: readonly PatternPart[]): void => {
    // One form above the limit is enough for the caller to refuse.
    forms = forms.flatMap((form) => choices.map((choice) => [...form, choice])).slice(0, MAX_VALUE_FORMS + 1)
  }
  for (const part of draft.parts) {
    if (typeof part !== 'string') {
      extend([part])
      continue
    }
    let last = 0
    for (const match of part.matchAll(LEADING_DASH)) {
      extend([part.slice(last, match.index)])
      extend(DASHES)
      last = match.index + 1
    }
    extend([part.slice(last)])
  }
  return forms.map((parts) => ({ ...draft, parts: joinParts(parts) }))
}

function octetsOf(draft: TextDraft, name: string, { value }: Step): string {
  const text = plainText(draft.parts)
  if (text === undefined) {
    throw new SigmaFault(value.at, `"${name}" cannot encode wildcards`, `write "contains" behind it and \\* for a star`)
  }
  return draft.octets ? text : utf8Octets(text)
}

function utf16Form(
  draft: TextDraft,
  name: 'utf16' | 'utf16le' | 'utf16be',
  fail: (message: string, hint?: string) => never,
): TextDraft {
  if (draft.octets) return fail(`"${name}" cannot encode what is encoded already`)
  const order = name === 'utf16be' ? 'be' : 'le'
  const encoded = draft.parts.map((part) => (typeof part === 'string' ? utf16Octets(part, order) : part))
  // The byte order mark: FF FE.
  const parts = joinParts(name === 'utf16' ? ['\u00ff\u00fe', ...encoded] : encoded)
  return { ...draft, parts, octets: true }
}

const PLACEHOLDER = /(?<!\\)%([^%]+)%/g

function expandForms(draft: Draft, { value, context }: Step): readonly Draft[] {
  const valuesOf = (name: string): readonly string[] => {
    const values = context.placeholders.get(name)
    if (values === undefined) {
      throw new SigmaFault(value.at, `the placeholder %${name}% has no values`, `give a file with values for "${name}"`)
    }
    return values
  }
  if (draft.kind === 'regex') {
    const sources = expandText(draft.source, (name) => valuesOf(name).map(escapeRegex))
    return sources.map((source) => ({ ...draft, source }))
  }
  if (draft.kind !== 'text') throw new SigmaFault(value.at, `"expand" takes a text, not ${describe(draft)}`)
  let forms: readonly (readonly PatternPart[])[] = [[]]
  for (const part of draft.parts) {
    const choices: (readonly PatternPart[])[][] = []
    if (typeof part !== 'string') choices.push([[part]])
    else {
      let last = 0
      for (const match of part.matchAll(PLACEHOLDER)) {
        choices.push([[part.slice(last, match.index).replaceAll('\\%', '%')]])
        choices.push(valuesOf(match[1]).map(parsePatternText))
        last = match.index + match[0].length
      }
      choices.push([[part.slice(last).replaceAll('\\%', '%')]])
    }
    for (const choice of choices) {
      forms = forms.flatMap((form) => choice.map((parts) => [...form, ...parts])).slice(0, MAX_VALUE_FORMS + 1)
    }
  }
  return forms.map((parts) => ({ ...draft, parts: joinParts(parts) }))
}

function expandText(text: string, valuesOf: (name: string) => readonly string[]): readonly string[] {
  let forms: readonly string[] = ['']
  let last = 0
  const append = (choices: readonly string[]): void => {
    forms = forms.flatMap((form) => choices.map((choice) => form + choice)).slice(0, MAX_VALUE_FORMS + 1)
  }
  for (const match of text.matchAll(PLACEHOLDER)) {
    append([text.slice(last, match.index).replaceAll('\\%', '%')])
    append(valuesOf(match[1]))
    last = match.index + match[0].length
  }
  append([text.slice(last).replaceAll('\\%', '%')])
  return forms
}

function escapeRegex(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}

/** Names of the placeholders in the values of an item with `expand`. */
export function placeholdersIn(text: string): readonly string[] {
  return [...text.matchAll(PLACEHOLDER)].map((match) => match[1])
}

function finish(draft: Draft, field: string | undefined, at: number): Expression {
  const test = (predicate: Predicate): Expression => ({ kind: 'test', predicate })
  const named = (): string => {
    if (field === undefined) throw new SigmaFault(at, `${describe(draft)} needs a field`)
    return field
  }
  switch (draft.kind) {
    case 'text':
      return test(textPredicate(draft, field, at))
    case 'number':
      return anyOf(draft.texts.map((text) => test(literalPredicate(text, field))))
    case 'boolean':
      return test(literalPredicate(String(draft.value), field))
    case 'regex':
      return test({ kind: 'regex', field, source: draft.source, flags: draft.flags, parsed: parseRegex(draft, at) })
    case 'null':
      return test({ kind: 'null', field: named() })
    case 'network':
      return test({ kind: 'network', field: named(), network: draft.network })
    case 'exists': {
      const exists = test({ kind: 'exists', field: named() })
      return draft.value ? exists : { kind: 'not', part: exists }
    }
    case 'reference':
      return test({ kind: 'reference', field: named(), other: draft.other, test: draft.test, cased: draft.cased })
    case 'compare':
      return test({ kind: 'compare', field: named(), part: draft.part, operator: draft.operator, value: draft.value })
  }
}

function textPredicate(draft: TextDraft, field: string | undefined, at: number): Predicate {
  if (draft.octets && draft.parts.some((part) => typeof part === 'string' && /[^\0-\x7f]/.test(part))) {
    throw new SigmaFault(at, 'these octets are no text', 'write "base64" or "base64offset" behind the encoding')
  }
  const whole = field === undefined ? anchored(draft, 'contains') : draft
  const parts = draft.cased
    ? whole.parts
    : whole.parts.map((part) => (typeof part === 'string' ? foldCase(part) : part))
  if (field === undefined && parts.every((part) => part === ANY_TEXT)) {
    throw new SigmaFault(at, 'an empty keyword would match every event')
  }
  return { kind: 'text', field, pattern: parts, cased: draft.cased }
}

function literalPredicate(text: string, field: string | undefined): Predicate {
  const parts: readonly PatternPart[] = field === undefined ? [ANY_TEXT, text, ANY_TEXT] : [text]
  return {
    kind: 'text',
    field,
    pattern: joinParts(parts.map((part) => (typeof part === 'string' ? foldCase(part) : part))),
    cased: false,
  }
}

function parseRegex({ source, flags }: Extract<Draft, { kind: 'regex' }>, at: number): ParsedPattern {
  try {
    const parsed = parsePattern(source, { mode: 'text', flags: { ...flags, x: false } })
    compileProgram([{ root: parsed.root, mode: 'text', hostEnd: false }], { saves: false })
    return parsed
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    throw new SigmaFault(at, `the regular expression: ${error.message} (at ${error.at})`, error.hint)
  }
}

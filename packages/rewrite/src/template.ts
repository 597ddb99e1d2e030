/** Replacement templates: `$1 $12 ${1} $<name> ${name} $& $$`, request variables, and filters: `${1|upper|url}`. */
import { encodeLatin1 } from '@prexy/bytes/latin1'
import { encodeUtf8 } from '@prexy/bytes/utf8'
import { applyFilters, FILTER_NAMES, type FilterContext, type FilterName, joinBytes, protect } from './filters.ts'

/** Variables of a request that a template may name. */
const VARIABLES: readonly string[] = ['host', 'scheme', 'path', 'query', 'method', 'status', 'time']
/** Variables with an argument: `${header:NAME}`. */
const VARIABLE_PREFIXES: readonly string[] = ['header:', 'cookie:']

export type TemplatePart =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** Group 0 is the whole match. */
  | { readonly kind: 'group'; readonly group: number; readonly filters: readonly FilterName[] }
  /** Field names in lower case: `header:user-agent`. */
  | { readonly kind: 'variable'; readonly name: string; readonly filters: readonly FilterName[] }
  /** Made from the whole match. */
  | { readonly kind: 'derived'; readonly derive: (match: Uint8Array) => Uint8Array }

export interface Template {
  readonly parts: readonly TemplatePart[]
  /** Some part is the match or a group. */
  readonly usesSpan: boolean
  /** The replacement of every match, where it depends on nothing. */
  readonly fixed: Uint8Array | undefined
}

export interface TemplateContext {
  readonly mode: 'text' | 'octet'
  readonly nginx: boolean
  readonly groupCount: number
  readonly groupNames: ReadonlyMap<string, number>
}

/** Why a template was refused; `at` is an octet offset into it. */
export class TemplateError extends Error {
  readonly at: number
  readonly hint: string | undefined
  constructor(at: number, message: string, hint?: string) {
    super(message)
    this.name = 'TemplateError'
    this.at = at
    this.hint = hint
  }
}

export function encodeText(text: string, mode: 'text' | 'octet'): Uint8Array {
  return mode === 'octet' ? encodeLatin1(text) : encodeUtf8(text)
}

/** A template that is only its text; for literal rules. */
export function fixedTemplate(fixed: Uint8Array): Template {
  return { parts: [{ kind: 'bytes', bytes: fixed }], usesSpan: false, fixed }
}

export function templateOf(parts: readonly TemplatePart[]): Template {
  const usesSpan = parts.some((part) => part.kind === 'group' || part.kind === 'derived')
  const isFixed = parts.every((part) => part.kind === 'bytes')
  const fixed = isFixed ? joinBytes(parts.map((part) => (part.kind === 'bytes' ? part.bytes : EMPTY))) : undefined
  return { parts, usesSpan, fixed }
}

/** Throws {@link TemplateError}. */
export function parseTemplate(source: string, context: TemplateContext): Template {
  const parts: TemplatePart[] = []
  let literal = ''
  const flush = (): void => {
    if (literal !== '') parts.push({ kind: 'bytes', bytes: encodeText(literal, context.mode) })
    literal = ''
  }
  for (let i = 0; i < source.length; ) {
    const dollar = source.indexOf('$', i)
    if (dollar < 0) {
      literal += source.slice(i)
      break
    }
    literal += source.slice(i, dollar)
    const { part, end } = readReference(source, dollar, context)
    if (part === '$') literal += '$'
    else {
      flush()
      parts.push(part)
    }
    i = end
  }
  flush()
  return templateOf(parts)
}

const EMPTY = new Uint8Array(0)

function readReference(
  source: string,
  dollar: number,
  context: TemplateContext,
): { part: TemplatePart | '$'; end: number } {
  const fail = (message: string, hint?: string): never => {
    throw new TemplateError(encodeText(source.slice(0, dollar), context.mode).length, message, hint)
  }
  const next = source[dollar + 1]
  if (next === '$') return { part: '$', end: dollar + 2 }
  if (next === '&') return { part: { kind: 'group', group: 0, filters: [] }, end: dollar + 2 }
  if (next === '{' || next === '<') {
    const close = source.indexOf(next === '{' ? '}' : '>', dollar)
    if (close < 0) return fail(`'$${next}' is not closed`, "write '$$' for a dollar sign")
    const [name, ...filters] = source.slice(dollar + 2, close).split(next === '{' ? '|' : '>')
    const part = resolveName(name, next === '<', context, fail)
    return { part: { ...part, filters: filters.map((filter) => readFilter(filter, fail)) }, end: close + 1 }
  }
  const digits = run(source, dollar + 1, isDigit)
  if (digits > dollar + 1) {
    return { part: numberedGroup(source.slice(dollar + 1, digits), context, fail), end: digits }
  }
  if (context.nginx) {
    const word = run(source, dollar + 1, isWordCharacter)
    if (word > dollar + 1) return { part: resolveName(source.slice(dollar + 1, word), false, context, fail), end: word }
  }
  return fail(
    next === undefined ? "a '$' at the end stands for nothing" : `'$${next}' stands for nothing`,
    "write '$$' for a dollar sign, '${1}' or '${name}' for a group",
  )
}

type Fail = (message: string, hint?: string) => never
type Reference = Extract<TemplatePart, { kind: 'group' | 'variable' }>

function readFilter(name: string, fail: Fail): FilterName {
  const filter = FILTER_NAMES.find((each) => each === name)
  return filter ?? fail(`there is no filter '${name}'`, `filters are ${FILTER_NAMES.join(', ')}`)
}

function resolveName(name: string, groupsOnly: boolean, context: TemplateContext, fail: Fail): Reference {
  if (name === '&' && !groupsOnly) return { kind: 'group', group: 0, filters: [] }
  if (name !== '' && run(name, 0, isDigit) === name.length) return numberedGroup(name, context, fail)
  const group = context.groupNames.get(name)
  if (group !== undefined) return { kind: 'group', group, filters: [] }
  if (groupsOnly) return fail(`the pattern has no group named '${name}'`, namesHint(context))
  const variable = variableName(name)
  if (variable !== undefined) return { kind: 'variable', name: variable, filters: [] }
  // In nginx any variable of the server may be named; what it is worth is known at run time.
  if (context.nginx && name !== '') return { kind: 'variable', name, filters: [] }
  return fail(
    `there is no group and no variable '${name}'`,
    `variables are ${VARIABLES.join(', ')}, header:NAME and cookie:NAME`,
  )
}

/** A variable's name as values are looked up; undefined when there is no such variable. */
function variableName(name: string): string | undefined {
  if (VARIABLES.includes(name)) return name
  const prefix = VARIABLE_PREFIXES.find((each) => name.startsWith(each))
  if (prefix === undefined || !/^[!#$%&'*+.^_`~0-9A-Za-z-]+$/.test(name.slice(prefix.length))) return undefined
  return prefix === 'header:' ? name.toLowerCase() : name
}

function namesHint(context: TemplateContext): string {
  const names = [...context.groupNames.keys()]
  return names.length === 0 ? "name a group with '(?<name> )'" : `its groups are ${names.join(', ')}`
}

function numberedGroup(digits: string, context: TemplateContext, fail: Fail): Reference {
  const group = Number(digits)
  if (group === 0) return fail(`'$${digits}' is not a group`, "write '$&' for the whole match")
  // replace_filter takes a group that the pattern does not have for one that took no part: empty, as the variable '' is.
  if (group > context.groupCount && context.nginx) return { kind: 'variable', name: '', filters: [] }
  if (group > context.groupCount) {
    return fail(
      `the pattern has no group ${group}`,
      context.groupCount === 0 ? 'it has no groups' : `it has groups 1 to ${context.groupCount}`,
    )
  }
  return { kind: 'group', group, filters: [] }
}

function run(text: string, from: number, holds: (character: string) => boolean): number {
  let end = from
  while (end < text.length && holds(text[end])) end++
  return end
}

function isDigit(character: string): boolean {
  return character >= '0' && character <= '9'
}

function isWordCharacter(character: string): boolean {
  return /^\w$/.test(character)
}

/** Names of the variables that a template asks for. */
export function variablesOf(template: Template): readonly string[] {
  return template.parts.flatMap((part) => (part.kind === 'variable' ? [part.name] : []))
}

/**
 * The template of one body: variables are replaced by their values, absent ones by nothing. In nginx they land as they
 * are; elsewhere a value that no filter made harmless is escaped for the response's type.
 */
export function bindVariables(
  template: Template,
  variables: ReadonlyMap<string, string>,
  context: FilterContext,
  nginx: boolean,
): Template {
  return templateOf(
    template.parts.map((part): TemplatePart => {
      if (part.kind !== 'variable') return part
      const filtered = applyFilters(encodeText(variables.get(part.name) ?? '', context.mode), part.filters, context)
      return { kind: 'bytes', bytes: nginx ? filtered : protect(filtered, part.filters, context) }
    }),
  )
}

/** Values by the names that templates look up: field names have no case. */
export function variableValues(variables: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(variables).map(([name, value]) => [variableName(name) ?? name, value]))
}

/** The replacement of one match by a template without variables. `slots` as from `findCaptures`. */
export function renderTemplate(
  template: Template,
  text: Uint8Array,
  slots: Int32Array,
  context: FilterContext,
): Uint8Array {
  return joinBytes(
    template.parts.map((part) => {
      if (part.kind === 'bytes') return part.bytes
      if (part.kind === 'derived') return part.derive(text)
      const start = part.kind === 'group' ? slots[part.group * 2] : -1
      if (part.kind === 'variable' || start < 0) return EMPTY
      return applyFilters(text.subarray(start, slots[part.group * 2 + 1]), part.filters, context)
    }),
  )
}

/** Replacement templates: `$1 $12 ${1} $<name> ${name} $& $$` and request variables. */
import { encodeLatin1 } from '@prexy/bytes/latin1'
import { encodeUtf8 } from '@prexy/bytes/utf8'

/** Variables of a request that a template may name. */
const VARIABLES: readonly string[] = ['host', 'scheme', 'path', 'query', 'method', 'status', 'time']
/** Variables with an argument: `${header:NAME}`. */
const VARIABLE_PREFIXES: readonly string[] = ['header:', 'cookie:']

export type TemplatePart =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** Group 0 is the whole match. */
  | { readonly kind: 'group'; readonly group: number }
  | { readonly kind: 'variable'; readonly name: string }

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
export function fixedTemplate(text: string, mode: 'text' | 'octet'): Template {
  const fixed = encodeText(text, mode)
  return { parts: [{ kind: 'bytes', bytes: fixed }], usesSpan: false, fixed }
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
  const usesSpan = parts.some((part) => part.kind === 'group')
  const isFixed = parts.every((part) => part.kind === 'bytes')
  const fixed = isFixed ? joinBytes(parts.map((part) => (part.kind === 'bytes' ? part.bytes : EMPTY))) : undefined
  return { parts, usesSpan, fixed }
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
  if (next === '&') return { part: { kind: 'group', group: 0 }, end: dollar + 2 }
  if (next === '{' || next === '<') {
    const close = source.indexOf(next === '{' ? '}' : '>', dollar)
    if (close < 0) return fail(`'$${next}' is not closed`, "write '$$' for a dollar sign")
    const name = source.slice(dollar + 2, close)
    return { part: resolveName(name, next === '<', context, fail), end: close + 1 }
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

function resolveName(name: string, groupsOnly: boolean, context: TemplateContext, fail: Fail): TemplatePart {
  if (name !== '' && run(name, 0, isDigit) === name.length) return numberedGroup(name, context, fail)
  const group = context.groupNames.get(name)
  if (group !== undefined) return { kind: 'group', group }
  if (groupsOnly) return fail(`the pattern has no group named '${name}'`, namesHint(context))
  const known =
    VARIABLES.includes(name) || VARIABLE_PREFIXES.some((prefix) => name.startsWith(prefix) && name !== prefix)
  // In nginx any variable of the server may be named; what it is worth is known at run time.
  if (known || (context.nginx && name !== '')) return { kind: 'variable', name }
  return fail(
    `there is no group and no variable '${name}'`,
    `variables are ${VARIABLES.join(', ')}, header:NAME and cookie:NAME`,
  )
}

function namesHint(context: TemplateContext): string {
  const names = [...context.groupNames.keys()]
  return names.length === 0 ? "name a group with '(?<name> )'" : `its groups are ${names.join(', ')}`
}

function numberedGroup(digits: string, context: TemplateContext, fail: Fail): TemplatePart {
  const group = Number(digits)
  if (group === 0) return fail(`'$${digits}' is not a group`, "write '$&' for the whole match")
  if (group > context.groupCount) {
    return fail(
      `the pattern has no group ${group}`,
      context.groupCount === 0 ? 'it has no groups' : `it has groups 1 to ${context.groupCount}`,
    )
  }
  return { kind: 'group', group }
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

function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}

/**
 * The replacement of one match. `slots` as from `findCaptures`; absent variables are empty. The result is new.
 */
export function renderTemplate(
  template: Template,
  text: Uint8Array,
  slots: Int32Array,
  variables: Readonly<Record<string, string>>,
  mode: 'text' | 'octet',
): Uint8Array {
  return joinBytes(
    template.parts.map((part) => {
      if (part.kind === 'bytes') return part.bytes
      if (part.kind === 'variable')
        return Object.hasOwn(variables, part.name) ? encodeText(variables[part.name], mode) : EMPTY
      const start = slots[part.group * 2]
      return start < 0 ? EMPTY : text.subarray(start, slots[part.group * 2 + 1])
    }),
  )
}

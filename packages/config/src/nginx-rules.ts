/**
 * `sub_filter`, `subs_filter` and `replace_filter` as rules of ours.
 *
 * sub_filter takes, of several texts at one place, the first in the file, each once unless told otherwise, and a spent
 * one is gone: as our rules do, in octet mode, where letters are those of ASCII. subs_filter runs one rule after the
 * other over each line; where that can make a difference, it is told. replace_filter is what `compat: nginx` is about.
 */
import { MAX_HELD_BYTES, type RewriteOptions } from './config-schema.ts'
import { inForce, type NginxNotes, type NginxScope, oneInForce } from './nginx-scope.ts'
import type { NginxDirective } from './nginx-syntax.ts'
import { carriedTemplate, constantText, escapePattern, type NginxConstants, nginxParts } from './nginx-variables.ts'
import {
  mediaType,
  type RawHeaderConditions,
  type RawRegexRule,
  type RawRule,
  type RawTextRule,
  ruleSchema,
} from './rule-schema.ts'

export interface NginxRule {
  readonly rule: RawRule
  readonly directive: NginxDirective
}

export interface NginxRewriting {
  readonly rules: readonly NginxRule[]
  readonly rewrite: RewriteOptions
  readonly lastModified: 'keep' | undefined
}

const NOTHING: NginxRewriting = { rules: [], rewrite: {}, lastModified: undefined }

/** Why a rule cannot be used, or undefined: the engine knows, which this package does not. */
export type RuleRefusal = (rule: RawRule, rewrite: RewriteOptions) => string | undefined

/** The rules that are in force at a level. */
export function rewritingOf(
  scope: NginxScope,
  constants: NginxConstants,
  notes: NginxNotes,
  refusalOf: RuleRefusal,
): NginxRewriting {
  const found = [subFilter, subsFilter, replaceFilter]
    .map((make) => make(scope, constants, notes))
    .filter((one) => one.rules.length > 0)
  if (found.length === 0) return NOTHING
  const { rewrite } = found.length === 1 ? found[0] : { rewrite: { mode: 'octet' } as const }
  if (found.length > 1) {
    for (const { directive } of found.slice(1).map((one) => one.rules[0])) {
      notes.add('differs', directive, 'nginx applies this filter to what another made of the text; prexy has one pass')
    }
  }
  const rules = found
    .flatMap((one) => one.rules)
    .filter(({ rule, directive }) => {
      const refusal = ruleSchema.safeParse(rule).error?.issues[0]?.message ?? refusalOf(rule, rewrite)
      if (refusal !== undefined) notes.add('missing', directive, refusal)
      return refusal === undefined
    })
  const lastModified = found.some((one) => one.lastModified === 'keep') ? 'keep' : undefined
  return { rules, rewrite, lastModified }
}

function subFilter(scope: NginxScope, constants: NginxConstants, notes: NginxNotes): NginxRewriting {
  const types = typesOf(scope, 'sub_filter_types')
  const isOnce = oneInForce(scope, 'sub_filter_once')?.args[0] !== 'off'
  const rules = inForce(scope, 'sub_filter').flatMap((directive): NginxRule[] => {
    const [search = '', replacement = ''] = directive.args
    const rule = literalRule(directive, search, replacement, 'i', constants, notes)
    return rule === undefined ? [] : [{ rule: { ...rule, ...types, ...(isOnce ? { once: true } : {}) }, directive }]
  })
  for (const [index, { rule, directive }] of rules.entries()) {
    if (rules.slice(0, index).some((earlier) => beginsAs(earlier.rule, rule))) {
      notes.add(
        'differs',
        directive,
        'it is found at the very end of a body, too, where nginx still waits for a longer text',
      )
    }
  }
  const keep = oneInForce(scope, 'sub_filter_last_modified')
  return { rules, rewrite: { mode: 'octet' }, lastModified: lastModifiedOf(keep, 'on', notes) }
}

function beginsAs(longer: RawRule, shorter: RawRule): boolean {
  if (!('text' in longer) || !('text' in shorter)) return false
  return longer.text.toLowerCase().startsWith(shorter.text.toLowerCase())
}

function lastModifiedOf(directive: NginxDirective | undefined, keeps: string, notes: NginxNotes): 'keep' | undefined {
  if (directive === undefined || directive.args[0] !== keeps) return undefined
  notes.add('differs', directive, 'Last-Modified is at least the time at which the rules were last changed')
  return 'keep'
}

/** A text for a text; a pattern where the new text changes with the request. */
function literalRule(
  directive: NginxDirective,
  search: string,
  replacement: string,
  flags: 'i' | '',
  constants: NginxConstants,
  notes: NginxNotes,
): RawTextRule | RawRegexRule | undefined {
  const text = constantText(nginxParts(search, 'nginx'), constants)
  if (text === undefined) {
    notes.add('missing', directive, 'the text to look for has a variable, and texts of rules have none')
    return undefined
  }
  if (text === '') {
    notes.add('missing', directive, 'there is no text to look for')
    return undefined
  }
  const parts = nginxParts(replacement, 'nginx')
  const constant = constantText(parts, constants)
  const withFlags = flags === '' ? {} : { flags }
  if (constant !== undefined) return { text, with: constant, ...withFlags }
  const template = carriedTemplate(directive, parts, constants, 'raw', notes)
  return template === undefined ? undefined : { regex: escapePattern(text), with: template, ...withFlags }
}

/** text/html is always among them. */
function typesOf(scope: NginxScope, name: string): { readonly types: string | readonly string[] } {
  const named = inForce(scope, name).flatMap(({ args }) => args.map((type) => type.toLowerCase()))
  const types = [...new Set(['text/html', ...named])].filter((type) => mediaType.safeParse(type).success)
  if (types.includes('*')) return { types: '*' }
  return { types: types.length === 1 ? types[0] : types }
}

function subsFilter(scope: NginxScope, constants: NginxConstants, notes: NginxNotes): NginxRewriting {
  const types = typesOf(scope, 'subs_filter_types')
  const unless = skipCondition(oneInForce(scope, 'subs_filter_bypass'), constants, notes)
  if (unless === 'always') return NOTHING
  const rules = inForce(scope, 'subs_filter').flatMap((directive): NginxRule[] => {
    const [search = '', replacement = '', flags = ''] = directive.args
    const caseless = flags.includes('i') ? 'i' : ''
    const rule = flags.includes('r')
      ? subsPattern(directive, search, replacement, caseless, constants, notes)
      : subsText(directive, search, replacement, caseless, constants, notes)
    if (rule === undefined) return []
    return [{ rule: { ...rule, ...types, ...unless, ...(flags.includes('o') ? { once: true } : {}) }, directive }]
  })
  tellCascades(rules, notes)
  return { rules, rewrite: { mode: 'octet' }, lastModified: undefined }
}

function subsText(
  directive: NginxDirective,
  search: string,
  replacement: string,
  caseless: 'i' | '',
  constants: NginxConstants,
  notes: NginxNotes,
): RawTextRule | RawRegexRule | undefined {
  if (/\n[\s\S]/.test(search)) {
    notes.add('needless', directive, 'nginx never finds it: it looks at each line by itself')
    return undefined
  }
  return literalRule(directive, search, replacement, caseless, constants, notes)
}

function subsPattern(
  directive: NginxDirective,
  pattern: string,
  replacement: string,
  caseless: 'i' | '',
  constants: NginxConstants,
  notes: NginxNotes,
): RawRegexRule | undefined {
  const template = carriedTemplate(directive, nginxParts(replacement, 'nginx'), constants, 'raw', notes)
  if (template === undefined) return undefined
  if (/\\[nsvRWDHSX]|\[\^(?![^\]]*\\n)/.test(pattern)) {
    notes.add('differs', directive, 'nginx looks at each line by itself; here the pattern may match across lines')
  }
  if (/(?<!\[)\^|\\[bB]/.test(pattern)) {
    notes.add('differs', directive, 'behind a match nginx takes the rest of the line for a line of its own')
  }
  // A line is the whole subject there.
  return { regex: pattern, with: template, flags: `${caseless}m` }
}

/** Rules that may find what an earlier one wrote or took apart: nginx runs one after the other over each line. */
function tellCascades(rules: readonly NginxRule[], notes: NginxNotes): void {
  for (const [index, { rule, directive }] of rules.entries()) {
    const earlier = rules.slice(0, index).find((other) => mayMeet(other.rule, rule))
    if (earlier === undefined) continue
    const line = `that of line ${earlier.directive.line}`
    notes.add('differs', directive, `nginx applies it to what ${line} made of the text; prexy replaces nothing twice`)
  }
}

function mayMeet(first: RawRule, second: RawRule): boolean {
  if (!('text' in first) || !('text' in second)) return true
  const [found, written, wanted] = [first.text, first.with, second.text].map((text) => text.toLowerCase())
  return (
    written.includes(wanted) ||
    overlaps(written, wanted) ||
    overlaps(wanted, written) ||
    (written.length < wanted.length && wanted.includes(written)) ||
    found.includes(wanted) ||
    wanted.includes(found) ||
    overlaps(found, wanted) ||
    overlaps(wanted, found)
  )
}

/** Whether `left` ends as `right` begins. */
function overlaps(left: string, right: string): boolean {
  for (let length = Math.min(left.length, right.length); length > 0; length--) {
    if (left.endsWith(right.slice(0, length))) return true
  }
  return false
}

function replaceFilter(scope: NginxScope, constants: NginxConstants, notes: NginxNotes): NginxRewriting {
  const types = typesOf(scope, 'replace_filter_types')
  const unless = skipCondition(oneInForce(scope, 'replace_filter_skip'), constants, notes)
  if (unless === 'always') return NOTHING
  const rules = inForce(scope, 'replace_filter').flatMap((directive): NginxRule[] => {
    const [regex = '', replacement = '', flags = ''] = directive.args
    const template = carriedTemplate(directive, nginxParts(replacement, 'replace_filter'), constants, 'raw', notes)
    if (template === undefined) return []
    const rule: RawRegexRule = {
      regex,
      with: template,
      ...(flags.includes('i') ? { flags: 'i' } : {}),
      ...types,
      ...unless,
      ...(flags.includes('g') ? {} : { once: true }),
    }
    return [{ rule, directive }]
  })
  const size = oneInForce(scope, 'replace_filter_max_buffered_size')
  const maxHeldBytes = sizeOf(size?.args[0] ?? '8k')
  if (size !== undefined && maxHeldBytes === undefined) notes.add('missing', size, `${size.args[0]} is no size`)
  const keep = lastModifiedOf(oneInForce(scope, 'replace_filter_last_modified'), 'keep', notes)
  const most = Math.min(maxHeldBytes ?? 8_192, MAX_HELD_BYTES)
  if (size !== undefined && most < (maxHeldBytes ?? 0)) notes.add('differs', size, `${most} bytes are the most`)
  return { rules, rewrite: { compat: 'nginx', maxHeldBytes: most }, lastModified: keep }
}

/** `8k`, `1m`, in bytes. */
export function sizeOf(text: string): number | undefined {
  const match = /^(\d+)([kKmMgG]?)$/.exec(text)
  if (match === null) return undefined
  const units: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }
  return Number(match[1]) * units[match[2].toLowerCase()]
}

/** The condition under which rules apply although something may skip them. Anything but empty and `0` skips. */
function skipCondition(
  directive: NginxDirective | undefined,
  constants: NginxConstants,
  notes: NginxNotes,
): { readonly requestHeaders?: RawHeaderConditions } | 'always' {
  if (directive === undefined) return {}
  const headers: Record<string, boolean> = {}
  for (const arg of directive.args) {
    const parts = nginxParts(arg, 'nginx')
    const value = constantText(parts, constants)
    if (value !== undefined) {
      if (value !== '' && value !== '0') return 'always'
      continue
    }
    const [only] = parts
    const field = parts.length === 1 && only.kind === 'variable' ? /^http_(\w+)$/.exec(only.name)?.[1] : undefined
    if (field === undefined) {
      notes.add(
        'missing',
        directive,
        `${arg} changes with the request and is no header field of it; rules always apply`,
      )
      continue
    }
    notes.add('differs', directive, 'a field that is empty or 0 skips the rules, too')
    headers[field.replaceAll('_', '-')] = false
  }
  return Object.keys(headers).length === 0 ? {} : { requestHeaders: headers }
}

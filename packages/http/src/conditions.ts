import { parseAuthority } from './authority.ts'
import { type FieldList, joinedValue } from './fields.ts'
import { type Glob, globMatches, prepareGlob } from './path-glob.ts'
import { matchingPath } from './request-target.ts'

/** When a rule applies; the shape of `RuleConditions` of `@prexy/rewrite/rules`, with the default types filled in. */
export interface Conditions {
  /** `text/html`, `text/*`, or `*` for any type and for a missing one; ignoring case. */
  readonly types: readonly string[]
  /** Path globs: `*` within a segment, `**` across segments, `?` one character. Absent: every path. */
  readonly paths?: readonly string[] | undefined
  /** `200` or `'2xx'`. Absent: every status. */
  readonly status?: readonly (number | string)[] | undefined
  /** `GET` stands for HEAD, too. Absent: every method. */
  readonly methods?: readonly string[] | undefined
  /** Names without port, exact or `*.example.org` for every name below; ignoring case. Absent: any, and none. */
  readonly hosts?: readonly string[] | undefined
  /** By field name, ignoring case; all must hold. */
  readonly requestHeaders?: FieldConditions | undefined
  readonly responseHeaders?: FieldConditions | undefined
}

/**
 * `true`: the field is there; `false`: it is not; text: its value is that, ignoring case, where `*` stands for any
 * characters; a list: one of them. Several lines of a field count as one value, joined by `, `.
 */
export type FieldConditions = Readonly<Record<string, boolean | string | readonly string[]>>

/** Of a request, what conditions look at. */
export interface ConditionRequest {
  readonly method: string
  /** A head's. */
  readonly path: string
  readonly authority?: string | undefined
  readonly fields: FieldList
}

/** What of a request left no rule. */
export type RequestMismatch = 'host' | 'method' | 'path' | 'request-header'

/** Prepared conditions of all rules of a route, in rule order. Immutable, shared by all exchanges. */
export type ConditionSet = readonly PreparedConditions[]

/** Read by the functions of this file only. */
export interface PreparedConditions {
  /** Whether every request satisfies it. */
  readonly anyRequest: boolean
  /** Whether every response does that has one of the types. */
  readonly anyResponse: boolean
  /** One array for all rules that want the same types. */
  readonly types: readonly TypePattern[]
  readonly paths: readonly Glob[] | undefined
  readonly status: readonly StatusPattern[] | undefined
  readonly methods: readonly string[] | undefined
  /** Lower case; `.example.org` for every name below. */
  readonly hosts: readonly string[] | undefined
  readonly requestFields: readonly FieldPattern[]
  readonly responseFields: readonly FieldPattern[]
}

interface FieldPattern {
  readonly lowerName: string
  /** Texts between stars; undefined: it is enough that the field is there, or not. */
  readonly globs: readonly (readonly string[])[] | undefined
  readonly present: boolean
}

type TypePattern =
  | { readonly kind: 'any' }
  | { readonly kind: 'prefix'; readonly text: string }
  | { readonly kind: 'exact'; readonly text: string }

/** Inclusive. */
interface StatusPattern {
  readonly first: number
  readonly last: number
}

/** Takes what the configuration's schema has checked; a status text other than `Nxx` or digits never holds. */
export function prepareConditions(conditions: readonly Conditions[]): ConditionSet {
  const typesByText = new Map<string, readonly TypePattern[]>()
  return conditions.map(({ types, paths, status, methods, hosts, requestHeaders, responseHeaders }) => {
    const typesText = types.join('\n')
    const prepared: PreparedConditions = {
      anyRequest: paths === undefined && methods === undefined && hosts === undefined && isEmptyRecord(requestHeaders),
      anyResponse: status === undefined && isEmptyRecord(responseHeaders),
      types: typesByText.get(typesText) ?? types.map(typePattern),
      paths: paths?.map(prepareGlob),
      status: status?.map(statusPattern),
      methods: methods?.includes('GET') === true ? [...methods, 'HEAD'] : methods,
      hosts: hosts === undefined ? undefined : hostPatterns(hosts),
      requestFields: fieldPatterns(requestHeaders),
      responseFields: fieldPatterns(responseHeaders),
    }
    typesByText.set(typesText, prepared.types)
    return prepared
  })
}

function isEmptyRecord(conditions: FieldConditions | undefined): boolean {
  return Object.keys(conditions ?? {}).length === 0
}

/** Request fields that some rule looks at, in lower case. */
export function requestFieldNames(set: ConditionSet): readonly string[] {
  return [...new Set(set.flatMap(({ requestFields }) => requestFields.map(({ lowerName }) => lowerName)))]
}

function fieldPatterns(conditions: FieldConditions | undefined): FieldPattern[] {
  return Object.entries(conditions ?? {}).map(([name, wanted]) => ({
    lowerName: name.toLowerCase(),
    globs: typeof wanted === 'boolean' ? undefined : [wanted].flat().map((glob) => glob.toLowerCase().split('*')),
    present: wanted !== false,
  }))
}

function typePattern(type: string): TypePattern {
  const text = type.toLowerCase()
  if (text === '*' || text === '*/*') return { kind: 'any' }
  return text.endsWith('/*') ? { kind: 'prefix', text: text.slice(0, -1) } : { kind: 'exact', text }
}

function statusPattern(status: number | string): StatusPattern {
  const text = String(status).toLowerCase()
  if (text.endsWith('xx')) {
    const first = 100 * Number(text.slice(0, -2))
    return { first, last: first + 99 }
  }
  return { first: Number(text), last: Number(text) }
}

/** What is the same for all rules of a set. */
interface SetSummary {
  /** One byte per rule, all 1. Shared: do not write to it. */
  readonly all: Uint8Array
  readonly anyRequest: boolean
  readonly anyResponse: boolean
  /** Undefined if rules want different ones. */
  readonly types: readonly TypePattern[] | undefined
}

const summaries = new WeakMap<ConditionSet, SetSummary>()

/**
 * PERF: with it the conditions of five rules that differ in nothing cost one look instead of four walks over them, and no
 * array: 0.4 instead of 1.3 us for a response.
 */
function summaryOf(set: ConditionSet): SetSummary {
  const known = summaries.get(set)
  if (known !== undefined) return known
  const types = set.at(0)?.types
  const summary: SetSummary = {
    all: new Uint8Array(set.length).fill(1),
    anyRequest: set.length > 0 && set.every(({ anyRequest }) => anyRequest),
    anyResponse: set.length > 0 && set.every(({ anyResponse }) => anyResponse),
    types: set.every((rule) => rule.types === types) ? types : undefined,
  }
  summaries.set(set, summary)
  return summary
}

/** One byte per rule, 1 where the path satisfies the rule; undefined if no rule is left. `path` is a head's. */
export function rulesForPath(set: ConditionSet, path: string): Uint8Array | undefined {
  let normal: string | undefined
  return select(set, undefined, ({ paths }) => {
    if (paths === undefined) return true
    normal ??= matchingPath(path)
    const subject = normal
    return paths.some((glob) => globMatches(glob, subject))
  })
}

/**
 * One byte per rule, 1 where the request satisfies the rule, or why no rule is left: what the last of them lacked. The
 * array may be shared: do not write to it.
 */
export function rulesForRequest(set: ConditionSet, request: ConditionRequest): Uint8Array | RequestMismatch {
  const { anyRequest, all } = summaryOf(set)
  if (anyRequest) return all
  const selected = new Uint8Array(set.length)
  const subject: RequestSubject = { request, host: undefined, path: undefined }
  let passed = 0
  for (let i = 0; i < set.length; i++) {
    const stage = set[i].anyRequest ? STAGES.length : stagesPassed(set[i], subject)
    if (stage === STAGES.length) selected[i] = 1
    if (stage > passed) passed = stage
  }
  return passed === STAGES.length ? selected : STAGES[passed]
}

const STAGES: readonly RequestMismatch[] = ['host', 'method', 'path', 'request-header']

/** A request with what is worked out of it when first needed. */
interface RequestSubject {
  readonly request: ConditionRequest
  host: string | undefined
  path: string | undefined
}

/** How many of {@link STAGES} a rule passes, in their order. */
function stagesPassed({ hosts, methods, paths, requestFields }: PreparedConditions, subject: RequestSubject): number {
  const { request } = subject
  if (hosts !== undefined) {
    subject.host ??= hostOf(request.authority)
    if (!hostMatches(hosts, subject.host)) return 0
  }
  if (methods !== undefined && !methods.includes(request.method)) return 1
  if (paths !== undefined) {
    const path = (subject.path ??= matchingPath(request.path))
    if (!paths.some((glob) => globMatches(glob, path))) return 2
  }
  return fieldsMatch(requestFields, request.fields) ? 4 : 3
}

/** `*.example.org` as {@link hostMatches} takes it: lower case, `.example.org` for every name below. */
export function hostPatterns(hosts: readonly string[]): readonly string[] {
  return hosts.map((host) => host.toLowerCase().replace(/^\*/, ''))
}

/** The name in lower case, without port; empty if there is none. `authority` is that of a parsed head. */
export function hostOf(authority: string | undefined): string {
  return authority === undefined ? '' : (parseAuthority(authority)?.host ?? '')
}

/** Whether one of the {@link hostPatterns} holds for a {@link hostOf}. */
export function hostMatches(patterns: readonly string[], host: string): boolean {
  return patterns.some((pattern) => host === pattern || (pattern.startsWith('.') && host.endsWith(pattern)))
}

function fieldsMatch(patterns: readonly FieldPattern[], fields: FieldList): boolean {
  return patterns.every(({ lowerName, globs, present }) => {
    const value = joinedValue(fields, lowerName)
    if (value === undefined || globs === undefined) return present === (value !== undefined)
    const lower = value.toLowerCase()
    return globs.some((texts) => textsOccur(texts, lower))
  })
}

/** Whether `value` is `texts` in their order with anything between them; each text is looked for once. */
function textsOccur(texts: readonly string[], value: string): boolean {
  const last = texts.length - 1
  if (last === 0) return value === texts[0]
  if (!value.startsWith(texts[0])) return false
  let at = texts[0].length
  for (let i = 1; i < last; i++) {
    const found = value.indexOf(texts[i], at)
    if (found < 0) return false
    at = found + texts[i].length
  }
  return value.length - at >= texts[last].length && value.endsWith(texts[last])
}

/** Of the rules in `active` those that the response's fields satisfy; undefined if none is left. */
export function rulesForFields(set: ConditionSet, active: Uint8Array, fields: FieldList): Uint8Array | undefined {
  if (summaryOf(set).anyResponse) return active
  return select(set, active, (rule) => rule.anyResponse || fieldsMatch(rule.responseFields, fields))
}

/** Of the rules in `active` those that the status satisfies; undefined if none is left. */
export function rulesForStatus(set: ConditionSet, active: Uint8Array, status: number): Uint8Array | undefined {
  if (summaryOf(set).anyResponse) return active
  return select(
    set,
    active,
    (rule) => rule.status === undefined || rule.status.some(({ first, last }) => first <= status && status <= last),
  )
}

/** Of the rules in `active` those that the media type (undefined if there is none) satisfies. */
export function rulesForType(
  set: ConditionSet,
  active: Uint8Array,
  essence: string | undefined,
): Uint8Array | undefined {
  const { types: shared } = summaryOf(set)
  if (shared !== undefined) return shared.some((type) => typeMatches(type, essence)) ? active : undefined
  // Most rules want the same types, which are one array then.
  let lastTypes: readonly TypePattern[] | undefined
  let lastHolds = false
  return select(set, active, ({ types }) => {
    if (types !== lastTypes) {
      lastTypes = types
      lastHolds = types.some((type) => typeMatches(type, essence))
    }
    return lastHolds
  })
}

function typeMatches(type: TypePattern, essence: string | undefined): boolean {
  if (type.kind === 'any') return true
  if (essence === undefined) return false
  return type.kind === 'prefix' ? essence.startsWith(type.text) : essence === type.text
}

/** One byte per rule: those of `active`, or of all, that hold; `active` itself where that drops none. */
function select(
  set: ConditionSet,
  active: Uint8Array | undefined,
  holds: (rule: PreparedConditions) => boolean,
): Uint8Array | undefined {
  let selected: Uint8Array | undefined
  let any = false
  for (let i = 0; i < set.length; i++) {
    if (active !== undefined && active[i] === 0) continue
    if (holds(set[i])) {
      any = true
      if (selected !== undefined) selected[i] = 1
    } else if (selected === undefined) {
      selected = new Uint8Array(set.length)
      for (let kept = 0; kept < i; kept++) selected[kept] = active === undefined ? 1 : active[kept]
    }
  }
  return any ? (selected ?? active ?? new Uint8Array(set.length).fill(1)) : undefined
}

import { matchingPath } from './request-target.ts'

/** When a rule applies; the shape of `RuleConditions` of `@prexy/rewrite/rules`, with the default types filled in. */
export interface Conditions {
  /** `text/html`, `text/*`, or `*` for any type and for a missing one; ignoring case. */
  readonly types: readonly string[]
  /** Path globs: `*` within a segment, `**` across segments, `?` one character. Absent: every path. */
  readonly paths?: readonly string[] | undefined
  /** `200` or `'2xx'`. Absent: every status. */
  readonly status?: readonly (number | string)[] | undefined
}

/** Prepared conditions of all rules of a route, in rule order. Immutable, shared by all exchanges. */
export type ConditionSet = readonly PreparedConditions[]

/** Read by the functions of this file only. */
export interface PreparedConditions {
  readonly types: readonly TypePattern[]
  readonly paths: readonly string[] | undefined
  readonly status: readonly StatusPattern[] | undefined
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
  return conditions.map(({ types, paths, status }) => ({
    types: types.map(typePattern),
    paths,
    status: status?.map(statusPattern),
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

/** Of the rules in `active` those that the status satisfies; undefined if none is left. */
export function rulesForStatus(set: ConditionSet, active: Uint8Array, status: number): Uint8Array | undefined {
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
  return select(set, active, ({ types }) => types.some((type) => typeMatches(type, essence)))
}

function typeMatches(type: TypePattern, essence: string | undefined): boolean {
  if (type.kind === 'any') return true
  if (essence === undefined) return false
  return type.kind === 'prefix' ? essence.startsWith(type.text) : essence === type.text
}

function select(
  set: ConditionSet,
  active: Uint8Array | undefined,
  holds: (rule: PreparedConditions) => boolean,
): Uint8Array | undefined {
  const selected = new Uint8Array(set.length)
  let any = false
  for (let i = 0; i < set.length; i++) {
    if (active !== undefined && active[i] === 0) continue
    if (!holds(set[i])) continue
    selected[i] = 1
    any = true
  }
  return any ? selected : undefined
}

/**
 * Whole-path match in O(glob x path) steps whatever they are: a set of positions in the glob advances with every
 * character of the path, so no combination of stars makes it search. It ends as soon as the set is empty, or nothing
 * can make it fail any more.
 */
export function globMatches(glob: string, path: string): boolean {
  if (!glob.includes('*') && !glob.includes('?')) return glob === path
  const open = glob.endsWith('**')
  let reached = new Uint8Array(glob.length + 1)
  let next = new Uint8Array(glob.length + 1)
  reached[0] = 1
  skipStars(glob, reached)
  for (let i = 0; i < path.length; i++) {
    if (open && reached[glob.length] === 1) return true
    if (!step(glob, path.charCodeAt(i), reached, next)) return false
    skipStars(glob, next)
    const spare = reached
    reached = next
    next = spare
  }
  return reached[glob.length] === 1
}

const SLASH = 0x2f
const STAR = 0x2a
const QUESTION = 0x3f

/** The positions in `next` that one unit of the path leads to from those in `reached`; false if there are none. */
function step(glob: string, unit: number, reached: Uint8Array, next: Uint8Array): boolean {
  next.fill(0)
  let alive = false
  for (let at = 0; at < glob.length; at++) {
    if (reached[at] === 0) continue
    const wanted = glob.charCodeAt(at)
    if (wanted === STAR) {
      const across = glob.charCodeAt(at + 1) === STAR || (at > 0 && glob.charCodeAt(at - 1) === STAR)
      if (!across && unit === SLASH) continue
      next[at] = 1
    } else if (wanted === QUESTION ? unit !== SLASH : wanted === unit) next[at + 1] = 1
    else continue
    alive = true
  }
  return alive
}

/** A star may stand for nothing. */
function skipStars(glob: string, reached: Uint8Array): void {
  for (let at = 0; at < glob.length; at++) {
    if (reached[at] === 1 && glob.charCodeAt(at) === STAR) reached[at + 1] = 1
  }
}

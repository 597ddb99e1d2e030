/**
 * `location` blocks as a list of routes, the first that fits taking the request. nginx takes the longest prefix, goes on
 * inside it, then tries the patterns of that level and of those around it, unless `^~` forbids those of its level; an
 * exact path, and a slash that is missing at the end, end the search at once (`ngx_http_core_find_location`).
 */
import { ALWAYS, both, readPattern, type ReadPattern, type RouteCondition } from './nginx-conditions.ts'
import type { RuleRefusal } from './nginx-rules.ts'
import type { NginxNotes, NginxScope } from './nginx-scope.ts'
import type { NginxDirective } from './nginx-syntax.ts'

export interface NginxLocation {
  readonly scope: NginxScope
  readonly directive: NginxDirective
  /** `pattern`: `~` and `~*`; `stop`: `^~`. */
  readonly kind: 'exact' | 'stop' | 'prefix' | 'pattern'
  /** The path, or the pattern. */
  readonly text: string
  /** Of a pattern. */
  readonly pattern: ReadPattern | undefined
  readonly inner: readonly NginxLocation[]
}

/** A place in the list. */
export type LocationEntry =
  | { readonly kind: 'location'; readonly location: NginxLocation; readonly when: RouteCondition }
  /** Its pattern cannot be read; `when` holds for whatever it matches, and for more. */
  | { readonly kind: 'unread'; readonly location: NginxLocation; readonly when: RouteCondition }
  /** The path without the slash at its end, which nginx adds with a redirect. */
  | { readonly kind: 'slash'; readonly location: NginxLocation; readonly when: RouteCondition }
  /** No location takes it. */
  | { readonly kind: 'none'; readonly when: RouteCondition }

/** Routes that the locations of one server may become: patterns are repeated below prefixes. */
export const MAX_NGINX_ROUTES = 5_000

/** Of a server, or undefined if that would be too many. */
export function locationEntries(
  server: NginxScope,
  refusalOf: RuleRefusal,
  notes: NginxNotes,
): readonly LocationEntry[] | undefined {
  const search = new LocationSearch()
  const entries = search.level(locationsIn(server, refusalOf, notes), ALWAYS, [], undefined)
  return search.isExhausted ? undefined : entries
}

class LocationSearch {
  isExhausted = false
  #left = MAX_NGINX_ROUTES

  /** `after`: the patterns of levels around this one. `own`: what takes the request if nothing inside does. */
  level(
    inner: readonly NginxLocation[],
    when: RouteCondition,
    after: readonly NginxLocation[],
    own: NginxLocation | undefined,
  ): readonly LocationEntry[] {
    const patterns = [...inner.filter(({ kind }) => kind === 'pattern'), ...after]
    const exact = inner.filter(({ kind }) => kind === 'exact')
    const prefixes = inner
      .filter(({ kind }) => kind === 'prefix' || kind === 'stop')
      .toSorted((a, b) => b.text.length - a.text.length)
    const special = prefixes.filter((one) => one.kind === 'stop' || one.inner.length > 0)
    const isEarly = ({ text }: NginxLocation): boolean => special.some((one) => text.startsWith(one.text))
    const slashes = [...exact, ...prefixes].filter(
      (one) => addsSlash(one) && ![...exact, ...prefixes].some((other) => `${other.text}/` === one.text),
    )
    const entries = [
      ...exact.flatMap((location) => this.#entry('location', location, when, { kind: 'exact', text: location.text })),
      ...slashes.flatMap((location) =>
        this.#entry('slash', location, when, { kind: 'exact', text: location.text.slice(0, -1) }),
      ),
      ...prefixes.filter(isEarly).flatMap((location) => {
        const below = both(when, { path: { kind: 'prefix', text: location.text }, patterns: [] })
        if (below === undefined || below === 'vague') return []
        return this.level(location.inner, below, location.kind === 'stop' ? after : patterns, location)
      }),
      ...patterns.flatMap((location) => this.#pattern(location, when)),
      ...prefixes
        .filter((one) => !isEarly(one))
        .flatMap((location) => this.#entry('location', location, when, { kind: 'prefix', text: location.text })),
    ]
    const takesAll = ({ text }: NginxLocation): boolean => text === '/' || text === '' || text === when.path?.text
    if (prefixes.some(takesAll)) return entries
    const last: LocationEntry = own === undefined ? { kind: 'none', when } : { kind: 'location', location: own, when }
    return this.#count([...entries, last], 1)
  }

  #pattern(location: NginxLocation, when: RouteCondition): readonly LocationEntry[] {
    const { pattern } = location
    if (pattern?.exact === undefined) {
      const wider = pattern?.wider
      const met = both(when, { patterns: wider === undefined ? [] : [wider] })
      return met === undefined || met === 'vague' ? [] : this.#count([{ kind: 'unread', location, when: met }], 1)
    }
    const met = both(when, { patterns: [pattern.exact] })
    return met === undefined || met === 'vague' ? [] : this.level(location.inner, met, [], location)
  }

  #entry(
    kind: 'location' | 'slash',
    location: NginxLocation,
    when: RouteCondition,
    path: NonNullable<RouteCondition['path']>,
  ): readonly LocationEntry[] {
    const met = both(when, { path, patterns: [] })
    return met === undefined || met === 'vague' ? [] : this.#count([{ kind, location, when: met }], 1)
  }

  #count(entries: readonly LocationEntry[], more: number): readonly LocationEntry[] {
    this.#left -= more
    if (this.#left < 0) this.isExhausted = true
    return this.isExhausted ? [] : entries
  }
}

function addsSlash({ text, scope }: NginxLocation): boolean {
  if (text.length < 2 || !text.endsWith('/')) return false
  return scope.directives.some(({ name }) => /^(proxy|fastcgi|uwsgi|scgi|memcached|grpc)_pass$/.test(name))
}

function locationsIn(parent: NginxScope, refusalOf: RuleRefusal, notes: NginxNotes): readonly NginxLocation[] {
  return parent.directives.flatMap((directive): readonly NginxLocation[] => {
    if (directive.name !== 'location' || directive.block === undefined) return []
    const scope: NginxScope = { directives: directive.block, parent }
    const [modifier, text] = modifierOf(directive.args)
    if (text.startsWith('@')) {
      notes.add('missing', directive, 'locations with a name are reached by error_page and try_files only')
      return []
    }
    const inner = locationsIn(scope, refusalOf, notes)
    if (modifier === '~' || modifier === '~*') {
      const pattern = readPattern(text, modifier === '~*', refusalOf)
      return [{ scope, directive, kind: 'pattern', text, pattern, inner }]
    }
    // Paths begin with a slash.
    if (text !== '' && !text.startsWith('/')) return []
    const kind = modifier === '=' ? 'exact' : modifier === '^~' ? 'stop' : 'prefix'
    return [{ scope, directive, kind, text, pattern: undefined, inner }]
  })
}

function modifierOf(args: readonly string[]): readonly [modifier: string, text: string] {
  const [first = '', second] = args
  if (second !== undefined) return [first, second]
  // nginx takes `location =/x`, too.
  const [modifier] = /^(?:\^~|~\*|~|=)/.exec(first) ?? ['']
  return [modifier, first.slice(modifier.length)]
}

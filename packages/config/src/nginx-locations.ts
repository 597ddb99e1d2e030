/**
 * `location` blocks in the order in which routes must stand, the first that fits taking the request: nginx takes the
 * longest prefix, unless a pattern matches, which `^~` forbids.
 */
import { type NginxNotes, type NginxScope } from './nginx-scope.ts'
import type { NginxDirective } from './nginx-syntax.ts'

export interface NginxLocation {
  readonly scope: NginxScope
  readonly directive: NginxDirective
  /** `pattern`: `~` and `~*`; `stop`: `^~`. */
  readonly kind: 'exact' | 'stop' | 'prefix' | 'pattern'
  /** The path, or the pattern. */
  readonly text: string
  /** Path globs of ours. */
  readonly globs: readonly string[]
}

/** Path globs that stand for one location with a pattern, at most. */
const MAX_GLOBS = 64

/** All locations of a server, those inside others included, as a list of routes. */
export function orderedLocations(server: NginxScope, notes: NginxNotes): readonly NginxLocation[] {
  const all = locationsIn(server, undefined, notes)
  const patterns = all.filter(({ kind }) => kind === 'pattern')
  const byLength = (kind: NginxLocation['kind']): readonly NginxLocation[] =>
    all.filter((location) => location.kind === kind).toSorted((a, b) => b.text.length - a.text.length)
  const prefixes = byLength('prefix')
  const stops = byLength('stop').flatMap((stop) => {
    // Longer prefixes below one that forbids patterns do not forbid them.
    const below = prefixes.filter(({ text }) => text.startsWith(stop.text))
    return [...below.flatMap((prefix) => [...patternsBelow(patterns, prefix), prefix]), stop]
  })
  const ordered = [...all.filter(({ kind }) => kind === 'exact'), ...stops, ...patterns, ...prefixes]
  return [...new Set(ordered)].filter(({ globs }) => globs.length > 0)
}

function patternsBelow(
  patterns: readonly NginxLocation[],
  { text, globs: own }: NginxLocation,
): readonly NginxLocation[] {
  if (own.length === 0) return []
  return patterns.flatMap((pattern) => {
    const globs = pattern.globs.flatMap((glob) => globBelow(glob, text))
    return globs.length === 0 ? [] : [{ ...pattern, globs }]
  })
}

/** What of a glob is below a path. */
function globBelow(glob: string, path: string): readonly string[] {
  if (glob.startsWith('**')) return [path + glob]
  return glob.startsWith(path) ? [glob] : []
}

function locationsIn(scope: NginxScope, outer: NginxLocation | undefined, notes: NginxNotes): readonly NginxLocation[] {
  return scope.directives.flatMap((directive): readonly NginxLocation[] => {
    if (directive.name !== 'location' || directive.block === undefined) return []
    const location = locationOf(directive, scope, outer, notes)
    if (location === undefined) return []
    const inside = locationsIn(location.scope, location, notes)
    // Patterns inside are tried before those outside.
    return [...inside, location]
  })
}

function locationOf(
  directive: NginxDirective,
  parent: NginxScope,
  outer: NginxLocation | undefined,
  notes: NginxNotes,
): NginxLocation | undefined {
  const scope: NginxScope = { directives: directive.block ?? [], parent }
  const [modifier, text] = modifierOf(directive.args)
  if (text.startsWith('@')) {
    notes.add('missing', directive, 'locations with a name are reached by error_page and try_files only')
    return undefined
  }
  if (modifier !== '~' && modifier !== '~*') {
    const kind = modifier === '=' ? 'exact' : modifier === '^~' ? 'stop' : 'prefix'
    if (/[*?]/.test(text) || !text.startsWith('/')) {
      notes.add('missing', directive, `no path of a route stands for ${JSON.stringify(text)}`)
      return { scope, directive, kind, text, globs: [] }
    }
    return { scope, directive, kind, text, globs: [kind === 'exact' ? text : `${text}**`] }
  }
  const found = globsOf(text) ?? closedGlobs(directive, text, notes)
  if (found === undefined) {
    const reason = 'no path of a route says what this pattern says; * stands for any characters, ** across segments'
    const then = isClosing(directive)
      ? 'what it closes is open here'
      : 'its requests go where the next location takes them'
    notes.add('missing', directive, `${reason}; ${then}`)
    return undefined
  }
  const own =
    outer === undefined ? found : found.flatMap((glob) => (outer.globs.length === 0 ? [] : globBelow(glob, outer.text)))
  if (modifier === '~' || !/[a-z]/i.test(text)) return { scope, directive, kind: 'pattern', text, globs: own }
  notes.add('differs', directive, 'paths are taken in small or capital letters, not in a mixture of them')
  const globs = [...new Set(own.flatMap((glob) => [glob.toLowerCase(), glob.toUpperCase()]))]
  return { scope, directive, kind: 'pattern', text, globs }
}

function modifierOf(args: readonly string[]): readonly [modifier: string, text: string] {
  const [first = '', second] = args
  if (second !== undefined) return [first, second]
  // nginx takes `location =/x`, too.
  const [modifier] = /^(?:\^~|~\*|~|=)/.exec(first) ?? ['']
  return [modifier, first.slice(modifier.length)]
}

/** Whether a location is there to keep clients out. */
function isClosing({ block = [] }: NginxDirective): boolean {
  return block.some(
    ({ name, args }) =>
      (name === 'return' && /^4\d\d$/.test(args[0] ?? '')) ||
      (name === 'deny' && args[0] === 'all') ||
      (/^auth_(basic|request|jwt)$/.test(name) && args[0] !== 'off') ||
      name === 'internal',
  )
}

/** More than a pattern matches, for a location that is closed: everything that has the text that it begins with. */
function closedGlobs(directive: NginxDirective, pattern: string, notes: NginxNotes): readonly string[] | undefined {
  if (!isClosing(directive)) return undefined
  const literal = /^\^?((?:[A-Za-z0-9/_~%!&',:;=@-]|\\[^A-Za-z0-9])*)([*?+{])?/.exec(pattern)
  const text = (literal?.[1] ?? '').replace(/\\(.)/g, '$1').slice(0, literal?.[2] === undefined ? undefined : -1)
  // Alternatives without parentheses begin with other texts, too.
  if (text.length < 2 || /[*?]/.test(text) || /^[^()]*\|/.test(pattern)) return undefined
  const glob = pattern.startsWith('^') ? `${text}**` : `**${text}**`
  if (!/^[/*]/.test(glob)) return undefined
  notes.add('differs', directive, `the pattern is taken for ${glob}, which may close more`)
  return [glob]
}

/**
 * Globs that stand for what a pattern matches, where there are some: literals, `.*`, `[^/]*`, `[^/]+`, alternatives in
 * parentheses, an optional character, `^` and `$`.
 */
export function globsOf(pattern: string): readonly string[] | undefined {
  // The end, or a slash and more: two patterns.
  const ends = /^(.*)\((?:\?:)?(?:\$\|\/|\/\|\$)\)$/.exec(pattern)
  if (ends !== null) {
    const [whole, below] = [globsOf(`${ends[1]}$`), globsOf(`${ends[1]}/`)]
    return whole === undefined || below === undefined ? undefined : [...whole, ...below]
  }
  const isOpenLeft = !pattern.startsWith('^')
  const isOpenRight = !/(?:^|[^\\])(?:\\\\)*\$$/.test(pattern)
  const body = pattern.slice(isOpenLeft ? 0 : 1, isOpenRight ? undefined : -1)
  const reader = { text: body, at: 0 }
  const alternatives = readAlternatives(reader)
  if (alternatives === undefined || reader.at < body.length) return undefined
  const globs = alternatives.map((glob) =>
    `${isOpenLeft ? '**' : ''}${glob}${isOpenRight ? '**' : ''}`.replace(/\*{3,}/g, '**'),
  )
  // `a|b` without parentheses is not bound to both ends.
  if (alternatives.length > 1 && /^[^(]*\|/.test(body) && !(isOpenLeft && isOpenRight)) return undefined
  return globs.every((glob) => /^[/*]/.test(glob)) ? globs : undefined
}

interface Reader {
  readonly text: string
  at: number
}

function readAlternatives(reader: Reader): readonly string[] | undefined {
  const all: string[] = []
  for (;;) {
    const sequence = readSequence(reader)
    if (sequence === undefined) return undefined
    all.push(...sequence)
    if (all.length > MAX_GLOBS) return undefined
    if (reader.text[reader.at] !== '|') return all
    reader.at++
  }
}

function readSequence(reader: Reader): readonly string[] | undefined {
  let globs: readonly string[] = ['']
  while (reader.at < reader.text.length && reader.text[reader.at] !== '|' && reader.text[reader.at] !== ')') {
    const piece = readPiece(reader)
    if (piece === undefined) return undefined
    globs = globs.flatMap((glob) => piece.map((next) => glob + next))
    if (globs.length > MAX_GLOBS) return undefined
  }
  return globs
}

/** What one element and the repeat behind it may be. */
function readPiece(reader: Reader): readonly string[] | undefined {
  const rest = reader.text.slice(reader.at)
  const [star] = /^(?:\.\*|\[\^\/\]\*|\[\^\/\]\+|\(\.\*\)|\(\[\^\/\]\+\))\??/.exec(rest) ?? ['']
  if (star !== '') {
    reader.at += star.length
    return [star.includes('[') ? (star.includes('+') ? '?*' : '*') : '**']
  }
  if (rest.startsWith('(')) {
    reader.at += rest.startsWith('(?:') ? 3 : 1
    const inside = readAlternatives(reader)
    if (inside === undefined || reader.text[reader.at] !== ')') return undefined
    reader.at++
    return optional(reader, inside)
  }
  const [, escaped, plain] = /^(?:\\([^A-Za-z0-9])|([A-Za-z0-9/_~%!&',:;=@-]))/.exec(rest) ?? []
  const character = escaped ?? plain
  if (character === undefined || character === '*' || character === '?') return undefined
  reader.at += escaped === undefined ? 1 : 2
  return optional(reader, [character])
}

function optional(reader: Reader, pieces: readonly string[]): readonly string[] | undefined {
  const next = reader.text[reader.at]
  if (next === '?') {
    reader.at++
    return [...pieces, '']
  }
  return next === '*' || next === '+' || next === '{' ? undefined : pieces
}

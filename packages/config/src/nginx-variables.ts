/** Texts with variables of nginx: read, filled with what is constant, and turned into templates of ours. */
import type { NginxDirective } from './nginx-syntax.ts'
import type { NginxNotes, NginxScope } from './nginx-scope.ts'

/** A piece of a text: a literal, a variable without its `$`, or a group of a pattern (0: the whole match). */
export type NginxPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'group'; readonly group: number }

/** Which of the two languages: in replace_filter `$$` is a dollar sign and `$&` the match. */
type Dialect = 'nginx' | 'replace_filter'

const REFERENCE = /\$(?:\{(\w+)\}|(\w+)|(\$)|(&))/g

export function nginxParts(text: string, dialect: Dialect): readonly NginxPart[] {
  const parts: NginxPart[] = []
  let at = 0
  for (const match of text.matchAll(REFERENCE)) {
    const [whole, braced, bare, dollar, ampersand] = match
    if (dialect === 'nginx' && (dollar !== undefined || ampersand !== undefined)) continue
    parts.push({ kind: 'text', text: text.slice(at, match.index) })
    at = match.index + whole.length
    if (dollar !== undefined) parts.push({ kind: 'text', text: '$' })
    else if (ampersand !== undefined) parts.push({ kind: 'group', group: 0 })
    else parts.push(...namedPart(braced ?? bare, braced !== undefined, dialect))
  }
  parts.push({ kind: 'text', text: text.slice(at) })
  return parts.filter((part) => part.kind !== 'text' || part.text !== '')
}

/** `$12` is a group of two digits in replace_filter; nginx itself reads `$1` and a text. */
function namedPart(name: string, isBraced: boolean, dialect: Dialect): readonly NginxPart[] {
  const digits = /^\d+/.exec(name)?.[0]
  if (digits === undefined) return [{ kind: 'variable', name }]
  const taken = dialect === 'nginx' && !isBraced ? digits.slice(0, 1) : digits
  return [
    { kind: 'group', group: Number(taken) },
    { kind: 'text', text: name.slice(taken.length) },
  ]
}

/** Variables whose value is the same for every request of a level. */
export type NginxConstants = ReadonlyMap<string, string>

/**
 * What `set` gives a constant value at a level or around it. A variable that is set twice, in an `if` or from other
 * variables is none, and neither is one that a `map` or `geo` of the same name makes.
 */
export function constantsOf(scope: NginxScope, more: NginxConstants): NginxConstants {
  const constants = new Map(more)
  const levels: NginxScope[] = []
  for (let level: NginxScope | undefined = scope; level !== undefined; level = level.parent) levels.unshift(level)
  const changing = new Set(levels.flatMap((level) => level.directives.flatMap(setInside)))
  for (const level of levels) {
    for (const { name, args } of level.directives) {
      if (name !== 'set' || args.length !== 2) continue
      const variable = args[0].replace(/^\$/, '')
      const value = constantText(nginxParts(args[1], 'nginx'), constants)
      if (value === undefined || changing.has(variable)) constants.delete(variable)
      else constants.set(variable, value)
    }
  }
  return constants
}

/** Variables that an `if` sets. */
function setInside(directive: NginxDirective): readonly string[] {
  if (directive.name !== 'if' || directive.block === undefined) return []
  return directive.block.flatMap(({ name, args }) => (name === 'set' ? [args[0].replace(/^\$/, '')] : []))
}

/** The text if nothing in it changes with the request. */
export function constantText(parts: readonly NginxPart[], constants: NginxConstants): string | undefined {
  let text = ''
  for (const part of parts) {
    const value = part.kind === 'text' ? part.text : part.kind === 'variable' ? constants.get(part.name) : undefined
    if (value === undefined) return undefined
    text += value
  }
  return text
}

/** Variables that a template of ours has, and in what they differ. */
const OURS: Readonly<Record<string, { readonly name: string; readonly differs?: string }>> = {
  host: { name: 'host', differs: 'the port that the client named stays in it, and its letter case' },
  http_host: { name: 'host' },
  scheme: { name: 'scheme' },
  request_method: { name: 'method' },
  args: { name: 'query' },
  query_string: { name: 'query' },
  uri: { name: 'path', differs: 'it is the path as it was sent, not decoded and not normalised' },
  document_uri: { name: 'path', differs: 'it is the path as it was sent, not decoded and not normalised' },
  status: { name: 'status' },
  time_iso8601: { name: 'time', differs: 'it is told in UTC, with a Z' },
}

export interface OurTemplate {
  readonly template: string
  /** Differences of the variables in it. */
  readonly differs: readonly string[]
}

/** The name of a variable of ours, with what it differs in; undefined if there is none. */
function ourVariable(name: string): { readonly name: string; readonly differs?: string } | undefined {
  const own = Object.hasOwn(OURS, name) ? OURS[name] : undefined
  if (own !== undefined) return own
  if (name.startsWith('http_')) return { name: `header:${fieldNameOf(name.slice('http_'.length))}` }
  if (name.startsWith('cookie_')) return { name: `cookie:${name.slice('cookie_'.length)}` }
  return undefined
}

function fieldNameOf(variable: string): string {
  return variable.replaceAll('_', '-').replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
}

/**
 * A template of ours; a text says which variable there is none for. `raw`: values of the client's land as they are, as
 * nginx has it; ours are escaped otherwise.
 */
export function templateOf(
  parts: readonly NginxPart[],
  constants: NginxConstants,
  raw: 'raw' | 'plain',
): OurTemplate | string {
  let template = ''
  const differs: string[] = []
  for (const part of parts) {
    if (part.kind === 'text') template += escapeTemplate(part.text)
    else if (part.kind === 'group') template += part.group === 0 ? '$&' : `\${${part.group}}`
    else {
      const value = constants.get(part.name)
      const own = value === undefined ? ourVariable(part.name) : undefined
      if (value !== undefined) template += escapeTemplate(value)
      else if (own === undefined) return part.name
      else {
        template += `\${${own.name}${raw === 'raw' ? '|raw' : ''}}`
        if (own.differs !== undefined) differs.push(`\$${part.name}: ${own.differs}`)
      }
    }
  }
  return { template, differs }
}

export function escapeTemplate(text: string): string {
  return text.replaceAll('$', '$$$$')
}

/** A text as a pattern that finds it alone. */
export function escapePattern(text: string): string {
  return text
    .replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
}

/** The same for a directive: what it lacks or differs in is told. Undefined where there is no template. */
export function carriedTemplate(
  directive: NginxDirective,
  parts: readonly NginxPart[],
  constants: NginxConstants,
  raw: 'raw' | 'plain',
  notes: NginxNotes,
): string | undefined {
  const made = templateOf(parts, constants, raw)
  if (typeof made === 'string') {
    notes.add('missing', directive, `prexy has no variable for $${made}`)
    return undefined
  }
  for (const difference of made.differs) notes.add('differs', directive, difference)
  return made.template
}

/** For which requests a route stands: prefixes, patterns and the conditions of `if`, put together. */
import type { RuleRefusal } from './nginx-rules.ts'
import { escapePattern } from './nginx-variables.ts'

/** As `pathRegex` and `hostRegex` have it. */
export type ImportedPattern = string | { readonly regex: string; readonly flags?: 'i'; readonly not?: true }

/** All of it must hold. */
export interface RouteCondition {
  /** One path, or all that begin with a text. */
  readonly path?: { readonly kind: 'exact' | 'prefix'; readonly text: string }
  readonly patterns: readonly ImportedPattern[]
  /** One of them; `GET` stands for HEAD, too. */
  readonly methods?: readonly string[]
  /** By name in lower case. */
  readonly headers?: Readonly<Record<string, HeaderCondition>>
}

type HeaderCondition = boolean | string | readonly string[]

export const ALWAYS: RouteCondition = { patterns: [] }

/** Undefined: no request satisfies both. `vague`: what both say of one header field cannot be said in one route. */
export function both(a: RouteCondition, b: RouteCondition): RouteCondition | undefined | 'vague' {
  const path = bothPaths(a.path, b.path)
  if (path === 'none') return undefined
  const methods = bothMethods(a.methods, b.methods)
  if (methods?.length === 0) return undefined
  const shared = Object.keys(b.headers ?? {}).filter((name) => Object.hasOwn(a.headers ?? {}, name))
  if (shared.some((name) => JSON.stringify(a.headers?.[name]) !== JSON.stringify(b.headers?.[name]))) return 'vague'
  const headers = { ...a.headers, ...b.headers }
  const known = new Set(a.patterns.map((one) => JSON.stringify(one)))
  return {
    ...(path === undefined ? {} : { path }),
    patterns: [...a.patterns, ...b.patterns.filter((one) => !known.has(JSON.stringify(one)))],
    ...(methods === undefined ? {} : { methods }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
  }
}

function bothMethods(a: RouteCondition['methods'], b: RouteCondition['methods']): RouteCondition['methods'] {
  if (a === undefined || b === undefined) return a ?? b
  const all = (methods: readonly string[]): readonly string[] =>
    methods.includes('GET') ? [...methods, 'HEAD'] : methods
  const shared = [...new Set(all(a).filter((one) => all(b).includes(one)))]
  return shared.includes('GET') ? shared.filter((one) => one !== 'HEAD') : shared
}

type PathCondition = RouteCondition['path']

function bothPaths(a: PathCondition, b: PathCondition): PathCondition | 'none' {
  if (a === undefined || b === undefined) return a ?? b
  const [shorter, longer] = a.text.length <= b.text.length ? [a, b] : [b, a]
  if (a.text === b.text) return a.kind === 'exact' ? a : b
  return shorter.kind === 'prefix' && longer.text.startsWith(shorter.text) ? longer : 'none'
}

export interface ConditionFields {
  readonly path?: string
  readonly pathRegex?: ImportedPattern | readonly ImportedPattern[]
  readonly method?: string | readonly string[]
  readonly header?: RouteCondition['headers']
}

/** As fields of a route. A path that is no glob is a pattern. */
export function fieldsOfCondition({ path, patterns, methods, headers }: RouteCondition): ConditionFields {
  const isGlob = path === undefined || /^\/[\x21-\x7e]*$/.test(path.text.replace(/[*?]/g, ' '))
  const ofPath = path === undefined || isGlob ? [] : [`^${escapePattern(path.text)}${path.kind === 'exact' ? '$' : ''}`]
  const all = [...ofPath, ...patterns]
  return {
    ...(path === undefined || !isGlob || (path.kind === 'prefix' && path.text === '/')
      ? {}
      : { path: path.kind === 'exact' ? path.text : `${path.text}**` }),
    ...(all.length === 0 ? {} : { pathRegex: all.length === 1 ? all[0] : all }),
    ...(methods === undefined ? {} : { method: methods.length === 1 ? methods[0] : methods }),
    ...(headers === undefined ? {} : { header: headers }),
  }
}

/** How a pattern of nginx is read here: as it stands, or as one that matches more; undefined where neither can be. */
export interface ReadPattern {
  readonly exact: ImportedPattern | undefined
  /** Matches whatever the pattern does; undefined: every path may match. */
  readonly wider: ImportedPattern | undefined
}

export function readPattern(regex: string, ignoresCase: boolean, refusalOf: RuleRefusal): ReadPattern {
  // The spelling of Python for a group with a name.
  const text = regex.replaceAll('(?P<', '(?<')
  const exact = checkedPattern(text, ignoresCase, refusalOf)
  if (exact !== undefined) return { exact, wider: exact }
  const looser = withoutLooks(text)
  return { exact, wider: looser === undefined ? undefined : checkedPattern(looser, ignoresCase, refusalOf) }
}

function checkedPattern(regex: string, ignoresCase: boolean, refusalOf: RuleRefusal): ImportedPattern | undefined {
  if (refusalOf({ regex, with: '', ...(ignoresCase ? { flags: 'i' } : {}) }, { mode: 'octet' }) !== undefined) {
    return undefined
  }
  return ignoresCase ? { regex, flags: 'i' } : regex
}

/** Without what only forbids matches: looks ahead and behind, and quantifiers that give nothing back. */
function withoutLooks(regex: string): string | undefined {
  let kept = ''
  for (let at = 0; at < regex.length; ) {
    const [piece] = /^(?:\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\w+:\]|[^\]\\])*\]|[\s\S])/.exec(regex.slice(at)) ?? ['']
    if (piece === '(') {
      const look = /^\(\?<?[=!]/.test(regex.slice(at))
      if (look) {
        const end = endOfGroup(regex, at)
        if (end === undefined) return undefined
        at = end
        continue
      }
      if (regex.startsWith('(?>', at)) {
        kept += '(?:'
        at += 3
        continue
      }
    }
    // `a++` takes what `a+` takes, or less.
    if (piece !== '+' || !/(?:^|[^\\])(?:\\\\)*[*+?}]$/.test(kept)) kept += piece
    at += piece.length
  }
  return kept
}

function endOfGroup(regex: string, start: number): number | undefined {
  const token = /\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\w+:\]|[^\]\\])*\]|[()]/g
  token.lastIndex = start
  for (let depth = 0; ; ) {
    const found = token.exec(regex)
    if (found === null) return undefined
    if (found[0] === '(') depth++
    else if (found[0] === ')' && --depth === 0) return token.lastIndex
  }
}

/**
 * What the condition of an `if` says of a request: it holds where one of `when` does, or where `unless` does not, or in
 * fewer cases.
 */
export interface IfCondition {
  /** One of them is enough. */
  readonly when?: readonly RouteCondition[]
  readonly unless?: RouteCondition
}

/** Methods that a condition is tried on; every other is taken to satisfy it. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Undefined where it cannot be told. */
export function ifCondition(args: readonly string[], refusalOf: RuleRefusal): IfCondition | undefined {
  const [subject = '', operator, operand = ''] = wordsOfIf(args)
  const name = /^\$\{?(\w+)\}?$/.exec(subject)?.[1]
  if (name === undefined || /\$\w/.test(operator?.startsWith('~') === true ? '' : operand)) return undefined
  if (name === 'request_method') return operator === undefined ? undefined : methodCondition(operator, operand)
  if (name === 'uri' || name === 'document_uri') return pathCondition(operator, operand, refusalOf)
  if (name === 'host') return hostCondition(operator, operand)
  if (!name.startsWith('http_')) return undefined
  return headerCondition(name.slice('http_'.length).replaceAll('_', '-'), operator, operand)
}

/** What stands in the parentheses: one word, or three. */
function wordsOfIf(args: readonly string[]): readonly string[] {
  const words = [...args]
  words[0] = (words[0] ?? '').replace(/^\(/, '')
  words[words.length - 1] = (words.at(-1) ?? '').replace(/\)$/, '')
  return words.filter((word, index) => word !== '' || index === 2)
}

function methodCondition(operator: string, operand: string): IfCondition | undefined {
  const holds = testOf(operator, operand)
  if (holds === undefined) return undefined
  const passing = METHODS.filter((method) => !holds(method))
  // In a route GET stands for HEAD, too.
  const [get, head] = [passing.includes('GET'), passing.includes('HEAD')]
  return {
    ...(get && !head ? { when: [{ patterns: [], methods: ['HEAD'] }] } : {}),
    unless: { patterns: [], methods: passing.filter((method) => method !== 'HEAD' || !get) },
  }
}

function testOf(operator: string, operand: string): ((text: string) => boolean) | undefined {
  const isNegated = operator.startsWith('!')
  const plain = isNegated ? operator.slice(1) : operator
  if (plain === '=') return (text) => (text === operand) !== isNegated
  if (plain !== '~' && plain !== '~*') return undefined
  try {
    const pattern = new RegExp(operand, plain === '~*' ? 'i' : '')
    return (text) => pattern.test(text) !== isNegated
  } catch {
    return undefined
  }
}

function pathCondition(operator: string | undefined, operand: string, refusalOf: RuleRefusal): IfCondition | undefined {
  const one = (pattern: ImportedPattern): IfCondition => ({ when: [{ patterns: [pattern] }] })
  switch (operator) {
    case '=':
      return one(`^${escapePattern(operand)}$`)
    case '!=':
      return one({ regex: `^${escapePattern(operand)}$`, not: true })
    case '~':
    case '~*': {
      const { wider } = readPattern(operand, operator === '~*', refusalOf)
      return wider === undefined ? undefined : one(wider)
    }
    case '!~':
    case '!~*': {
      const { exact } = readPattern(operand, operator === '!~*', refusalOf)
      if (exact === undefined) return undefined
      return one({ ...(typeof exact === 'string' ? { regex: exact } : exact), not: true })
    }
    default:
      return undefined
  }
}

function hostCondition(operator: string | undefined, operand: string): IfCondition | undefined {
  if (!/^[a-z0-9_.-]+$/i.test(operand)) return undefined
  const values = [operand, `${operand}:*`]
  // A name may end with a dot, which nginx takes away.
  if (operator === '=') return { when: [withHeader('host', [...values, `${operand}.`, `${operand}.:*`])] }
  return operator === '!=' ? { unless: withHeader('host', values) } : undefined
}

function headerCondition(name: string, operator: string | undefined, operand: string): IfCondition | undefined {
  if (operator === undefined) return { when: [withHeader(name, true)] }
  if (operator === '=') {
    if (operand === '') return { when: [withHeader(name, false), withHeader(name, '')] }
    return /[*,]/.test(operand) ? undefined : { when: [withHeader(name, operand)] }
  }
  if (operator === '!=' && operand === '') return { when: [withHeader(name, true)] }
  if (operator !== '~' && operator !== '~*') return undefined
  const texts = plainAlternatives(operand)
  return texts === undefined
    ? undefined
    : {
        when: [
          withHeader(
            name,
            texts.map((text) => `*${text}*`),
          ),
        ],
      }
}

function withHeader(name: string, condition: HeaderCondition): RouteCondition {
  return { patterns: [], headers: { [name]: condition } }
}

/** The texts of a pattern that is one, or several with `|` between them. */
function plainAlternatives(pattern: string): readonly string[] | undefined {
  const inner = /^\^?\(?(?:\?:)?((?:[^()\\]|\\[\s\S])*)\)?\$?$/.exec(pattern)?.[1]
  const texts = inner?.split('|') ?? []
  const plain = texts.map((text) => /^(?:[\w /;:,@=&%~!-]|\\[^\w])+$/.exec(text)?.[0].replace(/\\(.)/g, '$1'))
  const found = plain.flatMap((text) => (text === undefined || text.includes('*') ? [] : [text]))
  return found.length > 0 && found.length === texts.length ? found : undefined
}

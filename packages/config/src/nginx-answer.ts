/** `return` and redirecting `rewrite` directives, and access lists, as what a route of ours says. */
import { configSchema } from './config-schema.ts'
import { type NginxNotes, type NginxScope, oneInForce, inForce } from './nginx-scope.ts'
import type { NginxDirective } from './nginx-syntax.ts'
import { constantText, type NginxConstants, type NginxPart, nginxParts, templateOf } from './nginx-variables.ts'

/** As `redirect` and `respond` of a route. */
export type NginxAnswer =
  | { readonly redirect: { readonly to: string; readonly status: number; readonly keepQuery?: false } }
  | { readonly respond: { readonly status: number; readonly body?: string; readonly type?: string } }

const REDIRECTS = [301, 302, 303, 307, 308]

/** What a `return` answers; undefined if it cannot be carried over, which is told. */
export function answerOf(
  directive: NginxDirective,
  scope: NginxScope,
  constants: NginxConstants,
  notes: NginxNotes,
): NginxAnswer | undefined {
  return checked(givenAnswer(directive, scope, constants, notes), directive, notes)
}

function checked(
  answer: NginxAnswer | undefined,
  directive: NginxDirective,
  notes: NginxNotes,
): NginxAnswer | undefined {
  if (answer === undefined || configSchema.safeParse({ routes: [answer] }).success) return answer
  notes.add('missing', directive, 'it is no answer that a route can give')
  return undefined
}

function givenAnswer(
  directive: NginxDirective,
  scope: NginxScope,
  constants: NginxConstants,
  notes: NginxNotes,
): NginxAnswer | undefined {
  const [first = '', text] = directive.args
  if (!/^\d+$/.test(first)) return redirectTo(directive, first, 302, constants, notes)
  const status = Number(first)
  if (REDIRECTS.includes(status) && text !== undefined) return redirectTo(directive, text, status, constants, notes)
  if (status === 444) {
    notes.add('differs', directive, 'clients are answered 403; nginx closes the connection without an answer')
    return { respond: { status: 403 } }
  }
  if (status < 200 || status > 599) {
    notes.add('missing', directive, `${status} is no status that a route answers`)
    return undefined
  }
  if (text === undefined) return { respond: { status } }
  const body = constantText(nginxParts(text, 'nginx'), constants)
  if (body === undefined) {
    notes.add('missing', directive, 'its text has a variable, and answers of routes have none')
    return undefined
  }
  const type = oneInForce(scope, 'default_type')?.args[0] ?? 'text/plain'
  return { respond: { status, body, type } }
}

function redirectTo(
  directive: NginxDirective,
  text: string,
  status: number,
  constants: NginxConstants,
  notes: NginxNotes,
): NginxAnswer | undefined {
  const { parts, keepsQuery } = withoutQuery(nginxParts(text, 'nginx'))
  const made = templateOf(parts, constants, 'plain')
  if (typeof made === 'string') {
    notes.add('missing', directive, `prexy has no variable for $${made}`)
    return undefined
  }
  if (parts.some((part) => part.kind === 'group')) {
    notes.add('missing', directive, 'groups of a location or a server name have no counterpart')
    return undefined
  }
  // The path of a redirect is what $request_uri and $uri both come to.
  for (const difference of made.differs.filter((one) => !one.startsWith('$uri'))) {
    notes.add('differs', directive, difference)
  }
  const to =
    made.template.startsWith('/') || made.template.startsWith('${path}')
      ? `\${scheme}://\${host}${made.template}`
      : made.template
  return { redirect: { to, status, ...(keepsQuery ? {} : { keepQuery: false }) } }
}

const PATH: NginxPart = { kind: 'variable', name: 'uri' }

/** `$request_uri` and `$uri$is_args$args` are the path, with the query that a redirect keeps. */
function withoutQuery(parts: readonly NginxPart[]): {
  readonly parts: readonly NginxPart[]
  readonly keepsQuery: boolean
} {
  const names = parts.map((part) => (part.kind === 'variable' ? part.name : ''))
  if (names.at(-1) === 'request_uri') return { parts: [...parts.slice(0, -1), PATH], keepsQuery: true }
  if (names.at(-2) === 'is_args' && /^(args|query_string)$/.test(names.at(-1) ?? '')) {
    return { parts: parts.slice(0, -2), keepsQuery: true }
  }
  return { parts, keepsQuery: false }
}

/** A `rewrite` that sends every path elsewhere. Others change the path, which routes do not. */
export function redirectingRewrite(
  directive: NginxDirective,
  constants: NginxConstants,
  notes: NginxNotes,
): NginxAnswer | undefined {
  const [pattern = '', replacement = '', flag = ''] = directive.args
  const isAbsolute = /^(https?:\/\/|\$scheme)/.test(replacement)
  if (!isAbsolute && flag !== 'permanent' && flag !== 'redirect') return undefined
  const status = flag === 'permanent' ? 301 : 302
  const dropsQuery = replacement.endsWith('?')
  const whole = dropsQuery ? replacement.slice(0, -1) : replacement
  const ofPath = /^\^\/?\(\.\*\)\$?$/.test(pattern)
    ? whole.replace(pattern.startsWith('^/') ? /\/\$1$/ : /\$1$/, '$uri')
    : /^(\^|\.\*|\^\.\*\$?)$/.test(pattern)
      ? whole
      : undefined
  if (ofPath === undefined || /\$\d/.test(ofPath)) return undefined
  const target = dropsQuery || ofPath.includes('$request_uri') ? ofPath : `${ofPath}$is_args$args`
  return checked(redirectTo(directive, target, status, constants, notes), directive, notes)
}

/** The redirect of a `rewrite` whose target has nothing of the path in it; undefined for others. */
export function redirectOf(
  directive: NginxDirective,
  replacement: string,
  status: number,
  constants: NginxConstants,
  notes: NginxNotes,
): NginxAnswer | undefined {
  if (/\$\d|\$\{\d/.test(replacement)) return undefined
  const dropsQuery = replacement.endsWith('?')
  const target = dropsQuery ? replacement.slice(0, -1) : `${replacement}$is_args$args`
  return checked(redirectTo(directive, target, status, constants, notes), directive, notes)
}

/** Who may come in: as `access` of a route. */
export interface NginxAccess {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
}

/** The access lists in force; `closed` if everybody is denied or the lists cannot be carried over. */
export function accessOf(scope: NginxScope, notes: NginxNotes): NginxAccess | 'closed' | undefined {
  const rules = accessRules(scope)
  if (rules.length === 0) return undefined
  const [first] = rules
  const all = rules.findIndex(({ args }) => args[0] === 'all')
  const effective = all === -1 ? rules : rules.slice(0, all)
  const last = all === -1 ? 'allow' : rules[all].name
  const odd = effective.find(({ args }) => !ADDRESS.test(args[0] ?? ''))
  if (odd !== undefined) {
    notes.add('missing', odd, `${odd.args[0]} is no address; the location is closed here`)
    return 'closed'
  }
  const addresses = (name: string): readonly string[] =>
    effective.filter((rule) => rule.name === name).map(({ args }) => args[0])
  const [allow, deny] = [addresses('allow'), addresses('deny')]
  if (last === 'deny') {
    if (allow.length === 0) return 'closed'
    // What is denied first stays denied; what is allowed first would not.
    if (deny.length === 0 || firstOf(effective, 'allow') > lastOf(effective, 'deny')) {
      return { allow, ...(deny.length === 0 ? {} : { deny }) }
    }
  } else if (allow.length === 0) return deny.length === 0 ? undefined : { deny }
  notes.add(
    'missing',
    first,
    'in access, deny goes before allow; this order cannot be told, and the location is closed',
  )
  return 'closed'
}

function firstOf(rules: readonly NginxDirective[], name: string): number {
  return rules.findIndex((rule) => rule.name === name)
}

function lastOf(rules: readonly NginxDirective[], name: string): number {
  return rules.findLastIndex((rule) => rule.name === name)
}

/** `allow` and `deny` are one list: a level that has either has its own. */
function accessRules(scope: NginxScope): readonly NginxDirective[] {
  for (let level: NginxScope | undefined = scope; level !== undefined; level = level.parent) {
    const own = level.directives.filter(({ name }) => name === 'allow' || name === 'deny')
    if (own.length > 0) return own
  }
  return []
}

/** Directives that keep clients out, and that have no counterpart. What they say is `off` or a name. */
const PROTECTIONS =
  /^(auth_(?!basic_user_file$|delay$)\w+|access_by_\w+|rewrite_by_\w+|server_rewrite_by_\w+|js_access\w*|perl_access\w*|modsecurity|SecRulesEnabled|testcookie|ssl_verify_client)$/

/** A protection in force that cannot be carried over. */
export function lostProtection(scope: NginxScope): NginxDirective | undefined {
  const seen = new Set<string>()
  for (let level: NginxScope | undefined = scope; level !== undefined; level = level.parent) {
    for (const directive of level.directives.toReversed()) {
      const { name, args } = directive
      if (!PROTECTIONS.test(name) || seen.has(name)) continue
      seen.add(name)
      const isOff =
        /^(off|none)$/.test(args[0] ?? '') || (name === 'ssl_verify_client' && args[0]?.startsWith('optional') === true)
      if (!isOff) return directive
    }
  }
  return inForce(scope, 'satisfy').find(({ args }) => args[0] === 'any')
}

/**
 * Addresses of proxies whose word `allow` and `deny` go by; `closed` where nginx goes by a field that prexy does not read.
 */
export function trustedProxiesOf(scope: NginxScope): readonly string[] | 'closed' {
  const from = inForce(scope, 'set_real_ip_from').map(({ args }) => args[0] ?? '')
  if (from.length === 0) return []
  const field = oneInForce(scope, 'real_ip_header')?.args[0] ?? 'X-Real-IP'
  return /^x-forwarded-for$/i.test(field) && from.every((one) => ADDRESS.test(one)) ? from : 'closed'
}

const ADDRESS = /^[\d.]+(\/\d+)?$|^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(\/\d+)?$/

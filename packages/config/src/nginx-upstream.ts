/** `proxy_pass`, `upstream` and the fields that go up and down, as what a route of ours says. */
import { type RawHeaderRule, requestHeaderRuleSchema, responseHeaderRuleSchema } from './header-schema.ts'
import { inForce, type NginxNotes, type NginxScope, oneInForce } from './nginx-scope.ts'
import type { NginxDirective } from './nginx-syntax.ts'
import {
  carriedTemplate,
  constantText,
  escapePattern,
  escapeTemplate,
  type NginxConstants,
  nginxParts,
} from './nginx-variables.ts'

/** Where a `proxy_pass` leads. */
export interface NginxTarget {
  readonly scheme: 'http' | 'https'
  /** As the directive has it: the name of an `upstream`, or host and port. */
  readonly authority: string
  /** What takes the place of the location's path; undefined if the path goes up as it came. */
  readonly uri: string | undefined
  /** `mount` changes the path. */
  readonly isMounted?: boolean
  /** The path of a socket, which takes the place of host and port. */
  readonly socket?: string
}

export function targetOf(text: string): NginxTarget | undefined {
  const local = /^http:\/\/unix:(\/[^:]+)(?::(\/.*)?)?$/i.exec(text)
  if (local !== null) return { scheme: 'http', authority: 'localhost', uri: local[2], socket: local[1] }
  const match = /^(https?):\/\/([^/?#\s@]+)(\/.*)?$/i.exec(text)
  if (match === null || match[2].startsWith('unix:')) return undefined
  return { scheme: match[1].toLowerCase() === 'https' ? 'https' : 'http', authority: match[2], uri: match[3] }
}

/** One `server` of an `upstream`. */
export interface NginxPeer {
  readonly address: string
  readonly weight: number
  readonly isBackup: boolean
  readonly directive: NginxDirective
}

export interface NginxUpstream {
  readonly peers: readonly NginxPeer[]
  /** Connections that are kept, of each worker. */
  readonly keepalive: number | undefined
  readonly isLeastConnections: boolean
  readonly directive: NginxDirective
}

/** The `upstream` blocks by name. */
export function upstreamsOf(http: NginxScope, notes: NginxNotes): ReadonlyMap<string, NginxUpstream> {
  const upstreams = new Map<string, NginxUpstream>()
  for (const directive of http.directives) {
    if (directive.name !== 'upstream' || directive.block === undefined) continue
    const peers: NginxPeer[] = []
    let keepalive: number | undefined
    let isLeastConnections = false
    for (const inner of directive.block) {
      if (inner.name === 'server') peers.push(...peerOf(inner, notes))
      else if (inner.name === 'keepalive') keepalive = Number(inner.args[0])
      else if (inner.name === 'least_conn') isLeastConnections = true
      else if (!/^(keepalive_(timeout|requests|time)|zone)$/.test(inner.name)) {
        notes.add('missing', inner, 'prexy chooses servers in turn by weight, or by connections')
      }
    }
    upstreams.set(directive.args[0] ?? '', { peers, keepalive, isLeastConnections, directive })
  }
  return upstreams
}

function peerOf(directive: NginxDirective, notes: NginxNotes): readonly NginxPeer[] {
  const [address = '', ...options] = directive.args
  if (options.includes('down')) return []
  for (const option of options) {
    if (/^(weight=\d+|backup)$/.test(option)) continue
    if (/^(max_fails|fail_timeout)=/.test(option)) {
      notes.add('differs', directive, `${option}: failing servers are left out as docs/upstreams.md says`)
      continue
    }
    notes.add('missing', directive, `${option} has no counterpart`)
  }
  const weight = /^weight=(\d+)$/.exec(options.find((option) => option.startsWith('weight=')) ?? '')?.[1] ?? '1'
  return [{ address, weight: Number(weight), isBackup: options.includes('backup'), directive }]
}

export interface NginxFields {
  readonly request: readonly RawHeaderRule[]
  readonly response: readonly RawHeaderRule[]
  readonly preserveHost: boolean | undefined
  /** The upstream is told of the client in X-Forwarded-For and its like. */
  readonly tellsOfClient: boolean
  /** The upstream is asked for uncoded responses. */
  readonly asksForPlain: boolean
}

/** What nginx itself makes of the client, and prexy does by `forwarded`. */
const OF_THE_CLIENT: Readonly<Record<string, RegExp>> = {
  'x-real-ip': /^\$(remote_addr|realip_remote_addr)$/,
  'x-forwarded-for': /^\$(proxy_add_x_forwarded_for|remote_addr)$/,
  'x-forwarded-proto': /^\$(scheme|http_x_forwarded_proto)$/,
  'x-forwarded-host': /^\$(host|http_host)(:\$server_port)?$/,
  'x-forwarded-port': /^\$server_port$/,
}

/** Statuses for which nginx adds fields without `always`. */
const ADDED_FOR = [200, 201, 204, 206, 301, 302, 303, 304, 307, 308]

/** Why a header rule cannot be used, or undefined: the proxy knows, which this package does not. */
export type HeaderRefusal = (rule: RawHeaderRule, side: 'request' | 'response') => string | undefined

/** Fields of requests and responses at a level that leads to `target`. */
export function fieldsOf(
  scope: NginxScope,
  target: NginxTarget,
  locationPath: string | undefined,
  constants: NginxConstants,
  notes: NginxNotes,
  refusalOf: HeaderRefusal,
): NginxFields {
  const usable = (directive: NginxDirective | undefined, side: 'request' | 'response') => {
    const schema = side === 'request' ? requestHeaderRuleSchema : responseHeaderRuleSchema
    return (rule: RawHeaderRule): boolean => {
      const refusal = schema.safeParse(rule).error?.issues[0]?.message ?? refusalOf(rule, side)
      if (refusal !== undefined && directive !== undefined) notes.add('missing', directive, refusal)
      return refusal === undefined
    }
  }
  const request: RawHeaderRule[] = []
  let preserveHost: boolean | undefined
  let tellsOfClient = false
  let asksForPlain = false
  for (const directive of inForce(scope, 'proxy_set_header')) {
    const [name = '', value = ''] = directive.args
    const lower = name.toLowerCase()
    if (lower === 'host' && /^\$\{?(host|http_host)\}?(:\$server_port)?$/.test(value)) {
      preserveHost = true
      if (value !== '$http_host') notes.add('differs', directive, 'the port that the client named stays in Host')
    } else if (lower === 'host' && /^\$\{?proxy_host\}?$/.test(value)) preserveHost = false
    else if (Object.hasOwn(OF_THE_CLIENT, lower) && OF_THE_CLIENT[lower].test(value)) {
      tellsOfClient = true
      if (value === '$proxy_add_x_forwarded_for')
        notes.add('differs', directive, 'what clients say of themselves is replaced, unless trustedProxies names them')
    } else if (['connection', 'upgrade', 'keep-alive', 'te', 'transfer-encoding', 'content-length'].includes(lower)) {
      notes.add('needless', directive, 'prexy does what belongs to one connection by itself, WebSocket included')
    } else {
      if (lower === 'accept-encoding' && value === '') asksForPlain = true
      request.push(...setRule(directive, name, value, constants, notes).filter(usable(directive, 'request')))
    }
  }
  return {
    request,
    response: [
      ...locationRules(scope, target, locationPath, constants, notes).filter(
        usable(oneInForce(scope, 'proxy_redirect'), 'response'),
      ),
      ...cookieRules(scope, constants, notes).filter(usable(oneInForce(scope, 'proxy_cookie_path'), 'response')),
      ...inForce(scope, 'proxy_hide_header').flatMap((directive) => {
        const rule: RawHeaderRule = { remove: directive.args[0] ?? '' }
        return usable(directive, 'response')(rule) ? [rule] : []
      }),
      ...inForce(scope, 'add_header').flatMap((directive) =>
        addRule(directive, constants, notes).filter(usable(directive, 'response')),
      ),
    ],
    preserveHost,
    tellsOfClient,
    asksForPlain,
  }
}

function setRule(
  directive: NginxDirective,
  name: string,
  value: string,
  constants: NginxConstants,
  notes: NginxNotes,
): readonly RawHeaderRule[] {
  if (value === '') return [{ remove: name }]
  const template = valueOf(directive, value, constants, notes)
  return template === undefined ? [] : [{ set: name, value: template }]
}

function addRule(directive: NginxDirective, constants: NginxConstants, notes: NginxNotes): readonly RawHeaderRule[] {
  const [name = '', value = '', always] = directive.args
  if (value === '') return []
  const template = valueOf(directive, value, constants, notes)
  if (template === undefined) return []
  const kind = /^(last-modified|cache-control)$/i.test(name) && /^last/i.test(name) ? { set: name } : { add: name }
  return [{ ...kind, value: template, ...(always === 'always' ? {} : { status: ADDED_FOR }) }]
}

function valueOf(
  directive: NginxDirective,
  value: string,
  constants: NginxConstants,
  notes: NginxNotes,
): string | undefined {
  const parts = nginxParts(value, 'nginx')
  if (parts.some((part) => part.kind === 'group')) {
    notes.add('missing', directive, 'groups of a location or a server name have no counterpart')
    return undefined
  }
  return carriedTemplate(directive, parts, constants, 'plain', notes)
}

/** `proxy_redirect`: without one, addresses of the upstream become those of the location. */
function locationRules(
  scope: NginxScope,
  target: NginxTarget,
  locationPath: string | undefined,
  constants: NginxConstants,
  notes: NginxNotes,
): readonly RawHeaderRule[] {
  const directives = inForce(scope, 'proxy_redirect')
  const byDefault = (): readonly RawHeaderRule[] => {
    // With a pattern for a path nginx refuses a default; without a URI the path is the location's on both sides.
    if (locationPath === undefined) return []
    // A mount has put the location's path in the place of the upstream's already.
    const path = target.isMounted === true ? locationPath : (target.uri ?? locationPath)
    const from = `${target.scheme}://${target.authority}${path}`
    return [locationRule(`^${escapePattern(from)}`, absolute(escapeTemplate(locationPath)), '')]
  }
  if (directives.length === 0) return byDefault()
  return directives.flatMap((directive): readonly RawHeaderRule[] => {
    const [from = '', to] = directive.args
    if (from === 'off') return []
    if (from === 'default') return byDefault()
    if (to === undefined) return []
    const pattern = /^~\*?/.exec(from)?.[0]
    const parts = nginxParts(to, 'nginx')
    const text = constantText(nginxParts(from, 'nginx'), constants)
    if (pattern === undefined && text === undefined) {
      notes.add('missing', directive, 'what it looks for changes with the request')
      return []
    }
    const template = carriedTemplate(directive, parts, constants, 'plain', notes)
    if (template === undefined) return []
    if (pattern === undefined) return [locationRule(`^${escapePattern(text ?? '')}`, absolute(template), '')]
    // A pattern gives the whole new value.
    const whole = `${from
      .slice(pattern.length)
      .replace(/^(?!\^)/, '^.*?')
      .replace(/(?<!\$)$/, '.*$')}`
    return [locationRule(whole, absolute(template), pattern === '~*' ? 'i' : '')]
  })
}

function locationRule(regex: string, text: string, flags: string): RawHeaderRule {
  return { replace: 'Location', regex, with: text, ...(flags === '' ? {} : { flags }) }
}

/** nginx makes a path an address: with the name and port that the client asked for. */
function absolute(template: string): string {
  return template.startsWith('/') ? `\${scheme}://\${host}${template}` : template
}

function cookieRules(scope: NginxScope, constants: NginxConstants, notes: NginxNotes): readonly RawHeaderRule[] {
  const rules: RawHeaderRule[] = []
  const make = (name: string, attribute: string, dot: string, end: string): void => {
    for (const directive of inForce(scope, name)) {
      const [from = '', to] = directive.args
      if (from === 'off' || to === undefined) continue
      const old = constantText(nginxParts(from, 'nginx'), constants)
      const value = constantText(nginxParts(to, 'nginx'), constants)
      if (old === undefined || value === undefined || from.startsWith('~')) {
        notes.add('missing', directive, 'patterns and variables in it have no counterpart')
        continue
      }
      const regex = `(;\\s*${attribute}=)${dot}${escapePattern(old.replace(/^\./, dot === '' ? '.' : ''))}${end}`
      rules.push({
        replace: 'Set-Cookie',
        regex,
        with: `\${1}${escapeTemplate(value)}${end === '' ? '' : '${2}'}`,
        flags: 'i',
      })
    }
  }
  make('proxy_cookie_domain', 'domain', '\\.?', '(;|$)')
  make('proxy_cookie_path', 'path', '', '')
  return rules
}

/** The largest of what levels say of a time, in milliseconds. */
export function longestTime(scopes: readonly NginxScope[], name: string, notes: NginxNotes): number | undefined {
  let longest: number | undefined
  const seen = new Set<number>()
  for (const scope of scopes) {
    const directive = oneInForce(scope, name)
    if (directive === undefined) continue
    const time = millisecondsOf(directive.args[0] ?? '')
    if (time === undefined) {
      notes.add('missing', directive, `${directive.args[0]} is no time`)
      continue
    }
    seen.add(time)
    longest = Math.max(longest ?? 0, time)
    if (seen.size > 1) notes.add('differs', directive, 'prexy has one such time for all routes, here the longest')
  }
  return longest
}

const TIME_UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  '': 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** `60`, `90s`, `1h30m`, in milliseconds. */
export function millisecondsOf(text: string): number | undefined {
  if (!/^(\d+(ms|[smhd]) ?)*\d+(ms|[smhd])?$/.test(text)) return undefined
  let total = 0
  for (const [, digits, unit] of text.matchAll(/(\d+)(ms|[smhd]|)/g)) total += Number(digits) * TIME_UNITS[unit]
  return total
}

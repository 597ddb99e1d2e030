/**
 * A configuration of nginx as one of ours: servers as sites, locations as routes, filters as rules. What cannot be
 * carried over is told, with its place and the reason; where that would open what was closed, the route answers 403.
 */
import { type NginxAnswer, accessOf, answerOf, lostProtection, redirectingRewrite } from './nginx-answer.ts'
import { CARRIED, NEEDLESS, REASONS } from './nginx-directives.ts'
import { type NginxLocation, orderedLocations } from './nginx-locations.ts'
import { type RuleRefusal, rewritingOf, sizeOf } from './nginx-rules.ts'
import { type NginxNote, NginxNotes, type NginxScope, oneInForce, ownDirective } from './nginx-scope.ts'
import type { NginxTree } from './nginx-include.ts'
import type { NginxDirective } from './nginx-syntax.ts'
import {
  fieldsOf,
  type HeaderRefusal,
  longestTime,
  type NginxFields,
  type NginxTarget,
  targetOf,
  upstreamsOf,
} from './nginx-upstream.ts'
import { constantsOf, constantText, type NginxConstants, nginxParts } from './nginx-variables.ts'
import { type NginxServer, orderedServers } from './nginx-servers.ts'
import {
  type ImportedMount,
  type ImportedUpstream,
  mountOf,
  type NamedUpstreams,
  schemaHas,
  upstreamOf,
} from './nginx-target.ts'
import type { RawHeaderRule } from './header-schema.ts'
import type { RawListen } from './listen-schema.ts'
import type { RawRule } from './rule-schema.ts'
import type { RawUpstream } from './upstream-schema.ts'
import type { RewriteOptions, Timeouts } from './config-schema.ts'

/** A route as a file of ours has it, and the place in the files of nginx that it comes from. */
export interface ImportedRoute {
  readonly from: string
  readonly path?: readonly string[]
  readonly upstream?: ImportedUpstream
  readonly mount?: ImportedMount
  readonly redirect?: Extract<NginxAnswer, { redirect: unknown }>['redirect']
  readonly respond?: Extract<NginxAnswer, { respond: unknown }>['respond']
  readonly access?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
  readonly serving: ImportedServing
}

/** What is said once at the top where all routes say the same. */
export interface ImportedServing {
  readonly rules?: readonly RawRule[]
  readonly rewrite?: RewriteOptions
  readonly headers?: { readonly request?: readonly RawHeaderRule[]; readonly response?: readonly RawHeaderRule[] }
  readonly preserveHost?: boolean
  readonly ignoreNoTransform?: boolean
  readonly lastModified?: 'keep'
  readonly compress?: { readonly minBytes: number; readonly types: readonly string[] }
}

export interface ImportedSite {
  readonly from: string
  readonly hosts: readonly string[]
  readonly routes: readonly ImportedRoute[]
}

export interface NginxImport {
  readonly listen: readonly (string | RawListen)[]
  readonly upstreams: Readonly<Record<string, RawUpstream>>
  readonly forwarded: 'x-forwarded' | 'none'
  readonly sites: readonly ImportedSite[]
  /** Of the server that takes every other host. */
  readonly routes: readonly ImportedRoute[]
  readonly timeouts: Timeouts
  /** Undefined: no limit. */
  readonly maxBodyBytes: number | undefined
  readonly notes: readonly NginxNote[]
}

export interface NginxImportOptions {
  /** Only the servers that have this name. */
  readonly site?: string
  readonly refusalOf: RuleRefusal
  readonly headerRefusalOf: HeaderRefusal
}

/** Why nothing could be made of it. */
export interface NginxImportFailure {
  readonly message: string
}

/** Bytes of a request body that nginx lets through unless told otherwise. */
const NGINX_MAX_BODY_BYTES = 2 ** 20

export function importNginx(tree: NginxTree, options: NginxImportOptions): NginxImport | NginxImportFailure {
  const notes = new NginxNotes()
  const main: NginxScope = { directives: tree.directives, parent: undefined }
  // A file of sites-available has servers at its top.
  const httpBlock = ownDirective(main, 'http')
  const http: NginxScope = httpBlock === undefined ? main : { directives: httpBlock.block ?? [], parent: main }
  const found = orderedServers(http, options.site, notes)
  if ('message' in found) return found
  judge(
    main.directives.filter(({ name }) => name !== 'http' && name !== 'server'),
    notes,
  )
  judge(
    http.directives.filter(({ name }) => name !== 'server'),
    notes,
  )
  const named: NamedUpstreams = new Map()
  const context: Context = { http, upstreams: upstreamsOf(http, notes), named, notes, ...options }
  const seen: Seen = { scopes: [], fields: [] }
  const sites = found.sites.map(({ server, hosts }) => ({
    from: placeOf(server.directive),
    hosts,
    routes: routesOf(server, context, seen),
  }))
  const routes = found.fallback === undefined ? [] : routesOf(found.fallback, context, seen)
  return {
    listen: found.listen,
    upstreams: Object.fromEntries(named),
    forwarded: seen.fields.some((fields) => fields.tellsOfClient) ? 'x-forwarded' : 'none',
    sites,
    routes,
    timeouts: timeoutsOf(seen.scopes, notes),
    maxBodyBytes: maxBodyBytesOf(seen.scopes, notes),
    notes: notes.all,
  }
}

interface Context {
  readonly http: NginxScope
  readonly upstreams: ReturnType<typeof upstreamsOf>
  readonly named: NamedUpstreams
  readonly notes: NginxNotes
  readonly refusalOf: RuleRefusal
  readonly headerRefusalOf: HeaderRefusal
}

/** What routes were made of. */
interface Seen {
  readonly scopes: NginxScope[]
  readonly fields: NginxFields[]
}

function placeOf({ file, line, name, args }: NginxDirective): string {
  return `${file}:${line} ${[name, ...args].join(' ')}`.trimEnd()
}

/** Tells of directives that are not read anywhere. */
function judge(directives: readonly NginxDirective[], notes: NginxNotes): void {
  for (const directive of directives) {
    const { name } = directive
    if (name === 'upstream' || CARRIED.has(name)) continue
    if (NEEDLESS.has(name) || isUpgradeMap(directive))
      notes.add('needless', directive, 'about the process that nginx is, or what prexy does anyway')
    else {
      const reason = Object.hasOwn(REASONS, name) ? REASONS[name] : 'prexy has nothing for it'
      notes.add('missing', directive, reason)
    }
  }
}

/** The map of nginx's own manual for WebSocket, which prexy speaks by itself. */
function isUpgradeMap({ name, args }: NginxDirective): boolean {
  return name === 'map' && args[0] === '$http_upgrade'
}

function routesOf(server: NginxServer, context: Context, seen: Seen): readonly ImportedRoute[] {
  const { scope, constants } = server
  judge(scope.directives, context.notes)
  const whole = answerAt(scope, constants, context)
  if (whole !== undefined) {
    seen.scopes.push(scope)
    return [{ from: placeOf(server.directive), ...whole, serving: {} }]
  }
  const locations = orderedLocations(scope, context.notes)
  const routes = locations.map((location) => routeOf(location, server, context, seen))
  if (locations.some(({ kind, text }) => (kind === 'prefix' || kind === 'stop') && text === '/')) return routes
  return [
    ...routes,
    { from: `${placeOf(server.directive)}: no location for it`, respond: { status: 404 }, serving: {} },
  ]
}

/** What the level answers without an upstream. */
function answerAt(scope: NginxScope, constants: NginxConstants, { notes }: Context): NginxAnswer | undefined {
  for (const directive of scope.directives) {
    if (directive.name === 'return') {
      return answerOf(directive, scope, constants, notes) ?? { respond: { status: 404 } }
    }
    if (directive.name === 'if') {
      const closes = directive.block?.some(({ name, args }) => name === 'return' && /^4\d\d$/.test(args[0] ?? ''))
      const then = closes === true ? '; what it closes is open here' : ''
      notes.add('missing', directive, `routes have method, header and path for conditions${then}`)
    }
    if (directive.name !== 'rewrite') continue
    const answer = redirectingRewrite(directive, constants, notes)
    if (answer !== undefined) return answer
    notes.add('missing', directive, 'the path goes up as it came')
  }
  return undefined
}

function routeOf(location: NginxLocation, server: NginxServer, context: Context, seen: Seen): ImportedRoute {
  const { scope, directive, kind, text, globs } = location
  const { notes } = context
  judge(scope.directives, notes)
  const constants = constantsOf(scope, server.constants)
  const from = placeOf(directive)
  const path = kind !== 'exact' && kind !== 'pattern' && text === '/' ? {} : { path: globs }
  const answer = (given: NginxAnswer): ImportedRoute => ({ from, ...path, ...given, serving: {} })
  const own = answerAt(scope, constants, context)
  if (own !== undefined) return answer(own)
  const internal = ownDirective(scope, 'internal')
  if (internal !== undefined) return answer({ respond: { status: 404 } })
  const lost = lostProtection(scope)
  if (lost !== undefined) {
    notes.add('missing', lost, 'who may come in is not carried over, so the location is closed: answered 403')
    return answer({ respond: { status: 403 } })
  }
  const access = accessOf(scope, notes)
  if (access === 'closed') return answer({ respond: { status: 403 } })
  if (access !== undefined && !schemaHas({ access })) {
    notes.add('missing', directive, 'who may come in is not carried over, so the location is closed: answered 403')
    return answer({ respond: { status: 403 } })
  }
  const pass = ownDirective(scope, 'proxy_pass')
  if (pass === undefined) {
    notes.add('missing', directive, `${handlerOf(scope)}; answered 404 until the route has an upstream`)
    return answer({ respond: { status: 404 } })
  }
  const given = constantText(nginxParts(pass.args[0] ?? '', 'nginx'), constants)
  const target = given === undefined ? undefined : targetOf(given)
  if (target === undefined) {
    notes.add(
      'missing',
      pass,
      `${pass.args[0]} is no address that a route can have; answered 502 until it has an upstream`,
    )
    return answer({ respond: { status: 502 } })
  }
  const upstream = upstreamOf(target, context.upstreams, context.named, scope, pass, notes)
  if (upstream === undefined) return answer({ respond: { status: 502 } })
  const mount = mountOf(target, kind === 'pattern' ? undefined : text, kind, pass, notes)
  if (mount === 'refused') return answer({ respond: { status: 502 } })
  seen.scopes.push(scope)
  const { serving, fields } = servingOf(
    scope,
    { ...target, isMounted: mount !== undefined },
    kind === 'pattern' ? undefined : text,
    constants,
    context,
  )
  seen.fields.push(fields)
  return {
    from,
    ...path,
    upstream,
    ...(mount === undefined ? {} : { mount }),
    ...(access === undefined ? {} : { access }),
    serving,
  }
}

function handlerOf(scope: NginxScope): string {
  const handler = /^((?:fastcgi|uwsgi|scgi|grpc|memcached)_pass|content_by_lua\w*|stub_status|empty_gif|autoindex)$/
  const found = scope.directives.find(({ name }) => handler.test(name))
  return found === undefined ? 'prexy serves no files' : `prexy has nothing for ${found.name}`
}

function servingOf(
  scope: NginxScope,
  target: NginxTarget,
  locationPath: string | undefined,
  constants: NginxConstants,
  { notes, refusalOf, headerRefusalOf }: Context,
): { readonly serving: ImportedServing; readonly fields: NginxFields } {
  const named: NginxConstants = new Map([...constants, ['proxy_host', target.authority]])
  const fields = fieldsOf(scope, target, locationPath, named, notes, headerRefusalOf)
  const { rules, rewrite, lastModified } = rewritingOf(scope, named, notes, refusalOf)
  if (rules.length > 0 && !fields.asksForPlain) {
    const { directive } = rules[0]
    notes.add('differs', directive, 'compressed responses are rewritten, too, which nginx leaves as they are')
  }
  const { request, response, preserveHost } = fields
  const headers = {
    ...(request.length === 0 ? {} : { request }),
    ...(response.length === 0 ? {} : { response }),
  }
  const serving: ImportedServing = {
    ...(rules.length === 0 ? {} : { rules: rules.map(({ rule }) => rule), rewrite, ignoreNoTransform: true }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(preserveHost === undefined ? {} : { preserveHost }),
    ...(lastModified === undefined ? {} : { lastModified }),
    ...compressOf(scope, notes),
  }
  return { serving, fields }
}

/** `gzip on`: what came uncompressed is compressed for clients that take it. */
function compressOf(scope: NginxScope, notes: NginxNotes): Pick<ImportedServing, 'compress'> {
  const gzip = oneInForce(scope, 'gzip')
  if (gzip?.args[0] !== 'on') return {}
  const types = [...new Set(['text/html', ...(oneInForce(scope, 'gzip_types')?.args ?? [])])]
  const minBytes = sizeOf(oneInForce(scope, 'gzip_min_length')?.args[0] ?? '20') ?? 20
  const compress = { minBytes, types: types.includes('*') ? ['*'] : types }
  if (schemaHas({ compress })) return { compress }
  notes.add('missing', gzip, 'what comes uncompressed goes uncompressed')
  return {}
}

const TIMEOUTS: readonly (readonly [directive: string, ours: readonly (keyof Timeouts)[]])[] = [
  ['proxy_connect_timeout', ['upstreamConnectMs']],
  ['proxy_read_timeout', ['upstreamHeadersMs', 'upstreamBodyMs']],
  ['proxy_send_timeout', ['upstreamWriteMs']],
  ['client_header_timeout', ['clientHeadersMs']],
  ['client_body_timeout', ['clientBodyMs']],
  ['send_timeout', ['clientWriteMs']],
  ['keepalive_timeout', ['clientIdleMs']],
]

function timeoutsOf(scopes: readonly NginxScope[], notes: NginxNotes): Timeouts {
  const timeouts: Partial<Record<keyof Timeouts, number>> = {}
  for (const [name, fields] of TIMEOUTS) {
    const time = longestTime(scopes, name, notes)
    // nginx turns keep-alive off with 0.
    if (time === undefined || time === 0) continue
    for (const field of fields) timeouts[field] = Math.min(time, 86_400_000)
  }
  return timeouts
}

function maxBodyBytesOf(scopes: readonly NginxScope[], notes: NginxNotes): number | undefined {
  let most = 0
  const sizes = new Set<number>()
  for (const scope of scopes) {
    const directive = oneInForce(scope, 'client_max_body_size')
    const size = directive === undefined ? NGINX_MAX_BODY_BYTES : sizeOf(directive.args[0] ?? '')
    if (size === undefined) continue
    sizes.add(size)
    most = Math.max(most, size === 0 ? Number.POSITIVE_INFINITY : size)
    if (sizes.size > 1 && directive !== undefined) {
      notes.add('differs', directive, 'prexy has one such limit for all routes, here the largest')
    }
  }
  if (most === Number.POSITIVE_INFINITY) return undefined
  return most === 0 ? NGINX_MAX_BODY_BYTES : most
}

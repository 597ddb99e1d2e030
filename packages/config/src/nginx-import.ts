/**
 * A configuration of nginx as one of ours: servers as sites, locations as routes, filters as rules. What cannot be
 * carried over is told, with its place and the reason; where that would open what was closed, the route answers 403.
 */
import { type NginxAnswer, accessOf, lostProtection, trustedProxiesOf } from './nginx-answer.ts'
import {
  ALWAYS,
  both,
  type ConditionFields,
  fieldsOfCondition,
  type ImportedPattern,
  type RouteCondition,
} from './nginx-conditions.ts'
import { CARRIED, NEEDLESS, REASONS } from './nginx-directives.ts'
import { guardsOf, isClosing } from './nginx-guards.ts'
import { type LocationEntry, locationEntries, MAX_NGINX_ROUTES, type NginxLocation } from './nginx-locations.ts'
import { type RuleRefusal, rewritingOf, sizeOf } from './nginx-rules.ts'
import { inForce, type NginxNote, NginxNotes, type NginxScope, oneInForce, ownDirective } from './nginx-scope.ts'
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
import { constantsOf, constantText, escapeTemplate, type NginxConstants, nginxParts } from './nginx-variables.ts'
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
  readonly condition: ConditionFields & {
    readonly hostRegex?: ImportedPattern
    readonly listener?: string | readonly string[]
  }
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
  /** Names of addresses; undefined: all. */
  readonly listeners: readonly string[] | undefined
  readonly routes: readonly ImportedRoute[]
}

export interface NginxImport {
  readonly listen: readonly (string | RawListen)[]
  readonly upstreams: Readonly<Record<string, RawUpstream>>
  readonly forwarded: 'x-forwarded' | 'none'
  readonly sites: readonly ImportedSite[]
  /** Of the servers that take every other host. */
  readonly routes: readonly ImportedRoute[]
  readonly timeouts: Timeouts
  readonly trustedProxies: readonly string[]
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
  for (const directive of tree.absent) {
    const isOfTypes = /(?:mime\.types|-utf|-win)$/.test(directive.args[0] ?? '')
    const reason = `${directive.args[0]} is not on this machine`
    if (isOfTypes) notes.add('needless', directive, reason)
    else notes.add('missing', directive, `${reason}, and what it says is not carried over`)
  }
  const main: NginxScope = { directives: tree.directives, parent: undefined }
  // A file of sites-available has servers at its top.
  const httpBlock = ownDirective(main, 'http')
  const http: NginxScope = httpBlock === undefined ? main : { directives: httpBlock.block ?? [], parent: main }
  const found = orderedServers(http, options, notes)
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
  const seen: Seen = { scopes: [], fields: [], trusted: new Set() }
  const made = new Map<NginxServer, readonly ImportedRoute[]>()
  const routesFor = (server: NginxServer): readonly ImportedRoute[] => {
    const routes = made.get(server) ?? routesOf(server, context, seen)
    made.set(server, routes)
    return routes
  }
  const sites = found.sites.map(({ server, hosts, listeners }) => ({
    from: placeOf(server.directive),
    hosts,
    listeners,
    routes: routesFor(server),
  }))
  const routes = found.rest.flatMap(({ server, hostRegex, isClosed, listeners }) =>
    (isClosed ? [closedRoute(placeOf(server.directive))] : routesFor(server)).map((route) => ({
      ...route,
      condition: {
        ...(hostRegex === undefined ? {} : { hostRegex }),
        ...(listeners === undefined ? {} : { listener: listeners.length === 1 ? listeners[0] : listeners }),
        ...route.condition,
      },
    })),
  )
  return {
    listen: found.listen,
    upstreams: Object.fromEntries(named),
    forwarded: seen.fields.some((fields) => fields.tellsOfClient) ? 'x-forwarded' : 'none',
    sites,
    routes,
    timeouts: timeoutsOf(seen.scopes, notes),
    trustedProxies: [...seen.trusted],
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
  /** Whose X-Forwarded-For is believed. */
  readonly trusted: Set<string>
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
  const { scope, constants, directive } = server
  const { notes, refusalOf } = context
  judge(scope.directives, notes)
  const entries = locationEntries(scope, refusalOf, notes)
  if (entries === undefined) {
    notes.add('missing', directive, `its locations are more than ${MAX_NGINX_ROUTES} routes; all is answered 403`)
    return [closedRoute(placeOf(directive))]
  }
  return guarded({ scope, constants, notes, refusalOf }, ALWAYS, undefined, (base) =>
    entries.flatMap((entry) => {
      const when = both(entry.when, base)
      if (when === undefined) return []
      return when === 'vague' ? [] : routesOfEntry({ ...entry, when }, server, context, seen)
    }),
  )
}

function closedRoute(from: string): ImportedRoute {
  return { from, condition: {}, respond: { status: 403 }, serving: {} }
}

/** What a level answers by itself, and what else it does between that. */
function guarded(
  context: Pick<Context, 'notes' | 'refusalOf'> & { readonly scope: NginxScope; readonly constants: NginxConstants },
  when: RouteCondition,
  strips: NginxDirective | undefined,
  otherwise: (when: RouteCondition) => readonly ImportedRoute[],
): readonly ImportedRoute[] {
  const routes: ImportedRoute[] = []
  const last: ImportedRoute[] = []
  let left = when
  for (const guard of guardsOf(context, strips)) {
    const from = placeOf(guard.directive)
    const route = (condition: RouteCondition): ImportedRoute => ({
      from,
      condition: fieldsOfCondition(condition),
      ...guard.answer,
      serving: {},
    })
    const met = both(left, guard.when)
    if (met === 'vague') {
      // Both are about one header field: closed for all that the rest of it holds for.
      if (isClosing(guard.answer)) return [...routes, route(left), ...last]
    } else if (guard.kind === 'unless') {
      last.unshift(route(left))
      if (met === undefined) return [...routes, ...last]
      left = met
    } else if (met !== undefined) {
      routes.push(route(met))
      if (guard.when === ALWAYS) return [...routes, ...last]
    }
  }
  return [...routes, ...otherwise(left), ...last]
}

function routesOfEntry(
  entry: LocationEntry,
  server: NginxServer,
  context: Context,
  seen: Seen,
): readonly ImportedRoute[] {
  const { when } = entry
  const condition = fieldsOfCondition(when)
  if (entry.kind === 'none') {
    const from = `${placeOf(server.directive)}: no location for it`
    return [{ from, condition, respond: { status: 404 }, serving: {} }]
  }
  const { location } = entry
  const from = placeOf(location.directive)
  if (entry.kind === 'slash') {
    if (inForce(location.scope, 'internal').length > 0) {
      return [{ from, condition, respond: { status: 404 }, serving: {} }]
    }
    const to = `\${scheme}://\${host}${escapeTemplate(encodeURI(location.text))}`
    return [{ from: `${from}: the slash at the end`, condition, redirect: { to, status: 301 }, serving: {} }]
  }
  if (entry.kind === 'location') return routesOfLocation(location, when, server, context, seen)
  // What it leads to is looked at, not told.
  const aside = { ...context, notes: new NginxNotes(), named: new Map(context.named) }
  const made = subtree(location).flatMap((one) =>
    routesOfLocation(one, ALWAYS, server, aside, { scopes: [], fields: [], trusted: new Set() }),
  )
  const isOpen = made.every((route) => route.access === undefined && (route.respond?.status ?? 200) < 400)
  const reason = 'its pattern has something that cannot be matched in linear time'
  if (isOpen) {
    context.notes.add('missing', location.directive, `${reason}; its requests go where the next location takes them`)
    return []
  }
  context.notes.add('missing', location.directive, `${reason}; it is closed, and with it ${describe(condition)}`)
  return [{ ...closedRoute(from), condition }]
}

function subtree(location: NginxLocation): readonly NginxLocation[] {
  return [location, ...location.inner.flatMap(subtree)]
}

function describe({ path, pathRegex }: ConditionFields): string {
  const texts = [...(path === undefined ? [] : [path]), ...[pathRegex ?? []].flat()]
  const said = texts.map((one) => (typeof one === 'string' ? one : one.regex))
  return said.length === 0 ? 'everything that comes behind it' : `all of ${said.join(' with ')}`
}

function routesOfLocation(
  location: NginxLocation,
  when: RouteCondition,
  server: NginxServer,
  context: Context,
  seen: Seen,
): readonly ImportedRoute[] {
  const { scope, directive } = location
  const { notes, refusalOf } = context
  judge(scope.directives, notes)
  const constants = constantsOf(scope, server.constants)
  const strips = strippedPath(location)
  return guarded({ scope, constants, notes, refusalOf }, when, strips?.directive, (left) => {
    const make = (level: NginxScope, condition: RouteCondition): ImportedRoute => ({
      from: placeOf(directive),
      condition: fieldsOfCondition(condition),
      ...forwarding(location, level, strips?.uri, constants, context, seen),
    })
    const limit = ownDirective(scope, 'limit_except')
    if (limit?.block === undefined) return [make(scope, left)]
    judge(limit.block, notes)
    const methods = limit.args.map((method) => method.toUpperCase())
    const met = both(left, { patterns: [], methods })
    const others = make({ directives: limit.block, parent: scope }, left)
    return met === undefined || met === 'vague' ? [others] : [make(scope, met), others]
  })
}

/** `location /api/ { rewrite ^/api/(.*)$ /$1 break; }`: a path of its own for the upstream. */
function strippedPath({ scope, kind, text }: NginxLocation): { directive: NginxDirective; uri: string } | undefined {
  const [directive, ...more] = scope.directives.filter(({ name }) => name === 'rewrite')
  if (directive === undefined || more.length > 0 || kind === 'pattern' || !text.endsWith('/')) return undefined
  const [pattern = '', replacement = '', flag] = directive.args
  const uri = /^(\/(?:[\w.~-]+\/)*)\$1$/.exec(replacement)?.[1]
  const isWhole = [`^${text}(.*)`, `^${text}(.*)$`].includes(pattern.replaceAll('\\', ''))
  return isWhole && flag === 'break' && uri !== undefined ? { directive, uri } : undefined
}

/** What is done with a request that may come in. `level`: the location, or a `limit_except` in it. */
function forwarding(
  { scope, directive, kind, text }: NginxLocation,
  level: NginxScope,
  strippedUri: string | undefined,
  constants: NginxConstants,
  context: Context,
  seen: Seen,
): Omit<ImportedRoute, 'from' | 'condition'> {
  const { notes } = context
  const answer = (status: number): Omit<ImportedRoute, 'from' | 'condition'> => ({ respond: { status }, serving: {} })
  // It holds for locations inside, too.
  if (inForce(scope, 'internal').length > 0) return answer(404)
  const lost = lostProtection(level)
  if (lost !== undefined) {
    notes.add('missing', lost, 'who may come in is not carried over, so the location is closed: answered 403')
    return answer(403)
  }
  const access = accessOf(level, notes)
  if (access === 'closed') return answer(403)
  const trusted = access === undefined ? [] : trustedProxiesOf(level)
  if (trusted === 'closed') {
    for (const one of inForce(level, 'set_real_ip_from')) {
      notes.add('missing', one, 'allow and deny go by a field that prexy does not read, so they are closed')
    }
    return answer(403)
  }
  const pass = ownDirective(level, 'proxy_pass') ?? ownDirective(scope, 'proxy_pass')
  if (pass === undefined) {
    notes.add('missing', directive, `${handlerOf(scope)}; answered 404 until the route has an upstream`)
    return answer(404)
  }
  const given = constantText(nginxParts(pass.args[0] ?? '', 'nginx'), constants)
  const found = given === undefined ? undefined : targetOf(given)
  if (found === undefined) {
    notes.add(
      'missing',
      pass,
      `${pass.args[0]} is no address that a route can have; answered 502 until it has an upstream`,
    )
    return answer(502)
  }
  const target = strippedUri === undefined ? found : { ...found, uri: strippedUri }
  const upstream = upstreamOf(target, context.upstreams, context.named, level, pass, notes)
  if (upstream === undefined) return answer(502)
  const locationPath = kind === 'pattern' ? undefined : text
  const mount = mountOf(target, locationPath, kind, pass, notes)
  if (mount === 'refused') return answer(502)
  for (const one of trusted) seen.trusted.add(one)
  seen.scopes.push(level)
  const { serving, fields } = servingOf(
    level,
    { ...target, isMounted: mount !== undefined },
    locationPath,
    constants,
    context,
  )
  seen.fields.push(fields)
  return {
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

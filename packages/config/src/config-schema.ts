/**
 * The configuration file: the one place that says which fields there are, what they mean and what they default to.
 * `docs/configuration.md` is generated from it.
 */
import { z } from 'zod'
import { headersSchema, type RawHeaders } from './header-schema.ts'
import { compareWithSchema, type RawCompareWith } from './compare-schema.ts'
import { compressSchema, type RawCompress } from './compress-schema.ts'
import { listenerName, listenSchema, type RawListen } from './listen-schema.ts'
import { accessSchema, addressRange, type RawAccess } from './access-schema.ts'
import {
  errorPagesSchema,
  maintenanceSchema,
  mountSchema,
  type RawMaintenance,
  type RawMount,
  type RawPage,
  type RawRedirect,
  type RawRespond,
  redirectSchema,
  respondSchema,
} from './action-schema.ts'
import {
  headerConditions,
  hostPattern,
  method,
  type OneOrMore,
  oneOrMore,
  pathGlob,
  type RawHeaderConditions,
  type RawRuleEntry,
  ruleEntryListSchema,
  ruleSetName,
} from './rule-schema.ts'
import { type RawSource, sourceSchema } from './source-schema.ts'
import { adminSchema, type RawAdmin } from './admin-schema.ts'
import { type RawRecord, recordSchema } from './record-schema.ts'
import { accessLogSchema, type RawAccessLog } from './log-schema.ts'
import { type RawUpstream, upstreamSchema, upstreamsSchema } from './upstream-schema.ts'

/** Bounds of `maxHeldBytes`, in bytes. The engine has them, too; with `compat: nginx` the least is 0. */
export const MIN_HELD_BYTES = 4
export const MAX_HELD_BYTES = 16_777_216

export interface RewriteOptions {
  readonly priority?: 'first' | 'longest'
  readonly mode?: 'text' | 'octet'
  readonly maxHeldBytes?: number
  readonly overflow?: 'skip' | 'passthrough' | 'abort'
  readonly compat?: 'nginx'
}

/** For which requests the rules are. */
export type RawMode = 'off' | 'shadow' | 'on' | { readonly percent: number; readonly cookie?: string }

/** What may be said for everything, for a site and for a route. */
export interface RawServing {
  readonly inherit?: 'replace' | 'add'
  readonly headers?: RawHeaders
  readonly requestBodies?: boolean
  readonly requestQuery?: boolean
  readonly rules?: readonly RawRuleEntry[]
  readonly rewrite?: RewriteOptions
  readonly mode?: RawMode
  readonly compareWith?: string | RawCompareWith
  readonly compress?: boolean | RawCompress
  readonly preserveHost?: boolean
  readonly ignoreNoTransform?: boolean
  readonly serverTiming?: boolean
  readonly lastModified?: 'remove' | 'keep'
  readonly integrity?: 'warn' | 'drop'
  readonly policyHashes?: 'keep' | 'unsafe-inline'
  readonly access?: RawAccess
  readonly maintenance?: boolean | RawMaintenance
  readonly errorPages?: Readonly<Record<string, string | RawPage>>
  readonly robots?: string
  readonly mount?: string | RawMount
}

/** A pattern, or a mapping that says how it is meant. */
export type RawTextPattern = string | { readonly regex: string; readonly flags?: 'i'; readonly not?: boolean }

/** A route of a site, which says no host: one of `upstream`, `redirect` and `respond`, or the upstream of the site. */
export interface RawSiteRoute extends RawServing {
  readonly name?: string
  readonly path?: OneOrMore<string>
  readonly pathRegex?: OneOrMore<RawTextPattern>
  readonly listener?: OneOrMore<string>
  readonly method?: OneOrMore<string>
  readonly header?: RawHeaderConditions
  readonly upstream?: string | RawUpstream
  readonly redirect?: string | RawRedirect
  readonly respond?: RawRespond
}

export interface RawRoute extends RawSiteRoute {
  readonly host?: OneOrMore<string>
  readonly hostRegex?: OneOrMore<RawTextPattern>
}

export interface RawSite extends RawServing {
  readonly name?: string
  readonly host: OneOrMore<string>
  readonly listener?: OneOrMore<string>
  readonly upstream?: string | RawUpstream
  readonly redirect?: string | RawRedirect
  readonly respond?: RawRespond
  readonly routes?: readonly RawSiteRoute[]
}

/** Names of timeouts, all in milliseconds. */
export type TimeoutName =
  | 'clientHeadersMs'
  | 'clientBodyMs'
  | 'clientIdleMs'
  | 'clientHandshakeMs'
  | 'clientWriteMs'
  | 'upstreamQueueMs'
  | 'upstreamConnectMs'
  | 'upstreamTlsMs'
  | 'upstreamResolveMs'
  | 'upstreamWriteMs'
  | 'upstreamHeadersMs'
  | 'upstreamBodyMs'
  | 'upstreamIdleMs'
  | 'upstreamPingMs'
  | 'tunnelIdleMs'
  | 'drainMs'

export type Timeouts = Readonly<Partial<Record<TimeoutName, number>>>

export interface RequestLimits {
  readonly maxTargetBytes?: number
  readonly maxHeaderBytes?: number
  readonly maxHeaderCount?: number
  readonly maxBodyBytes?: number
  readonly maxTrailerBytes?: number
  readonly maxTrailerCount?: number
}

export interface ResponseLimits extends Omit<RequestLimits, 'maxTargetBytes'> {
  readonly maxInterimResponses?: number
}

export interface Limits {
  readonly maxConnections?: number
  readonly maxConnectionsPerAddress?: number
  readonly maxPipelinedBytes?: number
  readonly maxTunnels?: number
  readonly maxHttp10BufferBytes?: number
  readonly maxDecodedBytes?: number
  readonly maxRequestBufferBytes?: number
  readonly minRequestBodyBytesPerSecond?: number
  readonly maxRememberedResources?: number
  readonly maxHttp2Streams?: number
  readonly maxHttp2ResetsPerMinute?: number
  readonly maxHttp2ControlFramesPerMinute?: number
  readonly maxHttp2WindowBytes?: number
  readonly maxCompiledRuleSets?: number
  readonly maxRateLimitedClients?: number
  readonly request?: RequestLimits
  readonly response?: ResponseLimits
}

/** The file as it stands. What it does not say is left to those who know a default. */
export interface RawConfig extends RawServing {
  readonly listen: OneOrMore<number | string | RawListen>
  readonly include?: OneOrMore<string>
  readonly source?: string | RawSource
  readonly upstream?: string | RawUpstream
  readonly upstreams: Readonly<Record<string, string | RawUpstream>>
  readonly rules: readonly RawRuleEntry[]
  readonly ruleSets: Readonly<Record<string, readonly RawRuleEntry[]>>
  readonly rewrite: RewriteOptions
  readonly sites: readonly RawSite[]
  readonly routes: readonly RawRoute[]
  readonly pathMatching?: 'normalized' | 'decoded'
  readonly timeouts: Timeouts
  readonly limits: Limits
  readonly trustedProxies?: OneOrMore<string>
  readonly forwarded?: 'x-forwarded' | 'forwarded' | 'both' | 'none'
  readonly requestId?: string
  readonly record?: RawRecord
  readonly admin?: RawAdmin
  readonly workers?: number | 'auto'
  readonly log: 'text' | 'json' | 'off'
  readonly accessLog?: RawAccessLog
  readonly trace?: 'pass' | 'begin' | 'restart'
}

/** Fields that mean something to HTTP itself, or are made by us anyway. */
const TAKEN_FIELDS =
  /^(?:host|via|te|trailer|upgrade|connection|keep-alive|content-.*|transfer-encoding|cookie|authorization|set-cookie2?|sec-.*|date|origin|referer|user-agent|server|location|etag|last-modified|vary|cache-control|age|forwarded|x-forwarded-.*|x-real-ip|range|if-.*|expect|accept.*|max-forwards|proxy-.*)$/i

const requestIdField = z.string().superRefine((name, context) => {
  if (/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name) && !TAKEN_FIELDS.test(name)) return
  const message = `${JSON.stringify(name)} cannot be the field of an identifier; write it like X-Request-Id, or off`
  context.addIssue({ code: 'custom', message })
})

/** How a rule set is run, for the whole file or one route. */
export const rewriteOptionsSchema: z.ZodType<RewriteOptions> = z
  .strictObject({
    priority: z
      .enum(['first', 'longest'])
      .exactOptional()
      .describe(
        'Which of several matches at one place wins: `first`, that of the earliest rule, as Perl would choose it, or ' +
          '`longest`, the one that takes most text.',
      ),
    mode: z
      .enum(['text', 'octet'])
      .exactOptional()
      .describe(
        '`text`: patterns match characters of UTF-8. `octet`: patterns match single bytes; a rule stands for the bytes ' +
          'of its UTF-8 form. With `compat: nginx` it is `octet` unless said otherwise.',
      ),
    maxHeldBytes: z
      .int()
      .min(0)
      .max(MAX_HELD_BYTES)
      .exactOptional()
      .describe(
        `How many bytes of one response may wait for the end of a possible match: at least ${MIN_HELD_BYTES}, with ` +
          `\`compat: nginx\` at least 0, and at most ${MAX_HELD_BYTES}.`,
      ),
    overflow: z
      .enum(['skip', 'passthrough', 'abort'])
      .exactOptional()
      .describe(
        'What happens at that limit: `skip` lets the waiting text go as it is and searches on behind it, `passthrough` ' +
          'lets the rest of the response go unchanged, `abort` breaks the response off.',
      ),
    compat: z
      .literal('nginx')
      .exactOptional()
      .describe("`nginx` follows OpenResty's replace_filter where it differs; see docs/rules.md."),
  })
  .describe('How rules are applied.')

const modeSchema: z.ZodType<RawMode> = z.union([
  z.enum(['off', 'shadow', 'on']),
  z.strictObject({
    percent: z
      .number()
      .min(0)
      .max(100)
      .describe('Of a hundred clients, for how many the rules are; two places behind the point count.'),
    cookie: z
      .string()
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, 'is no name of a cookie')
      .exactOptional()
      .describe(
        'The cookie whose value tells clients apart; the rules are not for those that have none. Without it: the address ' +
          'of the client, of IPv6 the /64.',
      ),
  }),
])

const servingFields = {
  mode: modeSchema
    .exactOptional()
    .describe(
      'For which requests the rules are: `on` for all; `off` for none; `shadow` for none, while they are tried on a copy ' +
        'of which the log and metrics tell; or a mapping with `percent`. Without it: `on`. See docs/operating.md.',
    ),
  compareWith: compareWithSchema
    .exactOptional()
    .describe(
      'Another proxy that is asked what clients ask, to count where its responses differ from ours: `http://10.0.0.7:8080`, ' +
        'or a mapping. Under `mode: shadow` it is what the rules would make of the response that is compared; under `off` ' +
        'nothing is. `off` compares nothing where the level above does. See docs/guides/move-a-fleet.md.',
    ),
  compress: compressSchema
    .exactOptional()
    .describe(
      '`true` compresses responses that came uncompressed, for clients that accept it, or a mapping that says which and how. ' +
        'Without it: they go as they came. Read in docs/operating.md what compressing secrets can give away.',
    ),
  inherit: z
    .enum(['replace', 'add'])
    .exactOptional()
    .describe(
      'What `rules` and `headers` are to those of the level above (route, site, file): `replace` takes their place, ' +
        '`add` puts rules before them, which win where both match, and header rules behind them, which have the last ' +
        'word. Without it: `replace`.',
    ),
  headers: headersSchema.exactOptional(),
  requestBodies: z
    .boolean()
    .exactOptional()
    .describe(
      '`true` makes host names in request bodies those of the origin again, by the `domain` rules backwards: in forms, ' +
        'JSON, XML and text, of forms with files in the fields only. Without it: bodies go up as they came.',
    ),
  requestQuery: z
    .boolean()
    .exactOptional()
    .describe(
      '`true` does the same in the query of requests, for forms sent by GET and links that name where to go on. Without ' +
        'it: the query goes up as it came, which signed links need.',
    ),
  preserveHost: z
    .boolean()
    .exactOptional()
    .describe(
      '`true` sends the Host that the client named to the upstream, and its other names of hosts as they are; `false` ' +
        'the address of the upstream. Without it: what the `domain` rules call the name that the client asked for, ' +
        'where they know it, else the address of the upstream.',
    ),
  ignoreNoTransform: z
    .boolean()
    .exactOptional()
    .describe('`true` rewrites also responses that say `Cache-Control: no-transform`.'),
  serverTiming: z
    .boolean()
    .exactOptional()
    .describe(
      '`true` tells every client how long prexy, the upstream and the rewriting took, in Server-Timing, which browsers show.',
    ),
  lastModified: z
    .enum(['remove', 'keep'])
    .exactOptional()
    .describe(
      'What becomes of Last-Modified on rewritten responses: `remove`, since it says nothing about the rules, or `keep`.',
    ),
  access: accessSchema.exactOptional(),
  maintenance: maintenanceSchema
    .exactOptional()
    .describe(
      '`true` answers everything with 503 and Retry-After, or a mapping that says with which page, and who sees the site ' +
        'all the same; `false` opens what the level above closes.',
    ),
  errorPages: errorPagesSchema.exactOptional(),
  mount: mountSchema
    .exactOptional()
    .describe(
      'The path under which clients see the upstream, `/shop` for its root, or a mapping with `at` and `to`. A route ' +
        'without a `path` then takes only what is below.',
    ),
  robots: z
    .string()
    .regex(/^[A-Za-z0-9 ,:_-]{1,200}$/, 'is no value of X-Robots-Tag; write it like noindex, nofollow')
    .exactOptional()
    .describe(
      'What search engines are told in X-Robots-Tag, with every response, whatever the upstream says: `noindex, nofollow` ' +
        'keeps a staging copy out of them.',
    ),
  integrity: z
    .enum(['warn', 'drop'])
    .exactOptional()
    .describe(
      'What becomes of `integrity` attributes in pages when rules may change the scripts and styles that they are ' +
        'about, which browsers then refuse: `warn` (the default) tells of them in the log, `drop` takes away those of ' +
        'files that come by way of this proxy.',
    ),
  policyHashes: z
    .enum(['keep', 'unsafe-inline'])
    .exactOptional()
    .describe(
      'What becomes of hashes in the Content-Security-Policy of pages that rules may change, which browsers then hold ' +
        'against inline scripts and styles that were changed: `keep` (the default) leaves them and tells of them in the ' +
        "log, `unsafe-inline` puts `'unsafe-inline'` in their place, which allows all inline scripts and styles, also " +
        'those that an attacker brings in.',
    ),
} as const

const actionFields = {
  upstream: upstreamSchema
    .exactOptional()
    .describe(
      'Where the requests go: `http://127.0.0.1:9000`, the name of an entry of `upstreams`, or a mapping with servers ' +
        'and limits. Without it, `redirect` and `respond`: the upstream of the level above.',
    ),
  redirect: redirectSchema
    .exactOptional()
    .describe(
      'Sends clients elsewhere: a target, `https://www.example.org${path}`, or a mapping with `to` and `status`.',
    ),
  respond: respondSchema.exactOptional().describe('What prexy answers itself.'),
} as const

const textPattern: z.ZodType<RawTextPattern> = z.union([
  z.string().max(4_096),
  z.strictObject({
    regex: z.string().max(4_096).describe('The pattern.'),
    flags: z.literal('i').exactOptional().describe('`i` ignores the case of letters.'),
    not: z.boolean().exactOptional().describe('`true`: the pattern must not be found.'),
  }),
])

const routeFields = {
  name: z
    .string()
    .min(1)
    .max(100)
    .exactOptional()
    .describe('What the log calls the route. Without it: its host and path.'),
  path: oneOrMore(pathGlob)
    .exactOptional()
    .describe(
      'Paths that the route serves: `*` stands for any characters within a segment, `**` across segments, `?` for ' +
        'one character. Without it: every path.',
    ),
  pathRegex: oneOrMore(textPattern)
    .exactOptional()
    .describe(
      'A pattern (docs/rules.md) that must be found in the path, without the query; of a list, all must. With `path`: both ' +
        'must hold.',
    ),
  listener: oneOrMore(listenerName)
    .exactOptional()
    .describe('Names of entries of `listen` whose requests the route serves. Without it: those of all.'),
  method: oneOrMore(method)
    .exactOptional()
    .describe('Methods that the route serves; `GET` stands for HEAD, too. Without it: any.'),
  header: headerConditions
    .exactOptional()
    .describe(
      'Header fields of the requests that the route serves, by name; all must hold: `true`, `false`, a text with `*` for ' +
        'any characters, or a list of them, as in `requestHeaders` of rules.',
    ),
  ...actionFields,
  rules: ruleEntryListSchema.exactOptional().describe('The rules of this route. Without it: those of the level above.'),
  rewrite: rewriteOptionsSchema
    .exactOptional()
    .describe('How the rules of this route are applied; what is not said here is taken from the level above.'),
  ...servingFields,
} as const

function checkAction(
  { upstream, redirect, respond }: RawSiteRoute,
  context: z.core.$RefinementCtx<RawSiteRoute>,
): void {
  const said = Object.entries({ upstream, redirect, respond }).flatMap(([name, value]) =>
    value === undefined ? [] : name,
  )
  if (said.length < 2) return
  context.addIssue({ code: 'custom', message: `does not go with ${said[0]}; keep one of the two`, path: [said[1]] })
}

const siteRouteSchema: z.ZodType<RawSiteRoute> = z
  .strictObject(routeFields)
  .superRefine(checkAction)
  .describe('Some of the requests of a site.')

const routeSchema: z.ZodType<RawRoute> = z
  .strictObject({
    host: oneOrMore(hostPattern)
      .exactOptional()
      .describe('Host names that the route serves, exact or `*.example.org` for every name below. Without it: any.'),
    hostRegex: oneOrMore(textPattern)
      .exactOptional()
      .describe(
        'A pattern that must be found in the name of the host, which is in lower case and without its port; of a list, all ' +
          'must. Names that an entry of `sites` takes do not come here.',
      ),
    ...routeFields,
  })
  .superRefine(checkAction)
  .describe('Which requests go where, and what is rewritten in their responses.')

/** One site: an entry of `sites`, or a file of its own. */
export const siteSchema: z.ZodType<RawSite> = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(100)
      .exactOptional()
      .describe('What the log calls the site. Without it: its first host.'),
    host: oneOrMore(hostPattern).describe(
      'Host names of the site, exact or `*.example.org` for every name below. An exact name goes before a pattern, a ' +
        'longer pattern before a shorter one; each stands in one site only, or in one of each listener.',
    ),
    listener: oneOrMore(listenerName)
      .exactOptional()
      .describe(
        'Names of entries of `listen` where the site is served. Such a site goes before those without. Without it: ' +
          'everywhere.',
      ),
    ...actionFields,
    routes: z
      .array(siteRouteSchema)
      .readonly()
      .exactOptional()
      .describe(
        'Requests of the site that are treated in another way. The first entry that fits takes the request; the rest ' +
          'goes as the site says.',
      ),
    rules: ruleEntryListSchema.exactOptional().describe('The rules of the site. Without it: those of the file.'),
    rewrite: rewriteOptionsSchema
      .exactOptional()
      .describe('How the rules of the site are applied; what is not said here is taken from the file.'),
    ...servingFields,
  })
  .superRefine(checkAction)
  .describe('What is served under some host names. A file that says `host` at its top is such an entry on its own.')

/** Longest timeout, a day: beyond it a number is a slip. */
const milliseconds = z.int().min(1).max(86_400_000)

const timeoutsSchema: z.ZodType<Timeouts> = z
  .strictObject({
    clientHeadersMs: milliseconds
      .exactOptional()
      .describe('From the first byte of a request to the end of its header fields; then it is answered 408.'),
    clientBodyMs: milliseconds
      .exactOptional()
      .describe('How long a request body may stand still; then the request is answered 408.'),
    clientIdleMs: milliseconds.exactOptional().describe('How long a client connection is kept between requests.'),
    clientHandshakeMs: milliseconds
      .exactOptional()
      .describe('How long the TLS handshake of a client may take; then its connection is closed.'),
    clientWriteMs: milliseconds
      .exactOptional()
      .describe('How long a client may take nothing of a response; then its connection is reset.'),
    upstreamQueueMs: milliseconds
      .exactOptional()
      .describe('How long a request waits for a free upstream connection; then it is answered 503.'),
    upstreamConnectMs: milliseconds
      .exactOptional()
      .describe(
        'How long connecting to a server of the upstream may take; then the next one is tried, or the request is answered 504.',
      ),
    upstreamTlsMs: milliseconds
      .exactOptional()
      .describe('How long the TLS handshake with a server may take, with the same end.'),
    upstreamResolveMs: milliseconds
      .exactOptional()
      .describe(
        'How long addresses of a name are used before DNS is asked again; while it does not answer, they stay.',
      ),
    upstreamWriteMs: milliseconds
      .exactOptional()
      .describe('How long the upstream may take nothing of a request body; then the request is answered 504.'),
    upstreamHeadersMs: milliseconds
      .exactOptional()
      .describe('From the end of the request to the head of the response; then the request is answered 504.'),
    upstreamBodyMs: milliseconds
      .exactOptional()
      .describe('How long a response body may stand still; then the response is broken off.'),
    upstreamPingMs: milliseconds
      .exactOptional()
      .describe(
        'Nothing comes on a connection of HTTP/2 to an upstream that has requests under way; then it is sent a PING, and is ' +
          'closed if nothing comes for as long again.',
      ),
    upstreamIdleMs: milliseconds
      .exactOptional()
      .describe('How long an upstream connection is kept for later requests.'),
    tunnelIdleMs: milliseconds
      .exactOptional()
      .describe('How long nothing may move in a WebSocket connection, either way; then it is closed.'),
    drainMs: milliseconds.exactOptional().describe('How long exchanges under way may go on after SIGTERM or SIGINT.'),
  })
  .describe('How long things may take, in milliseconds.')

const bytes = z.int().min(1).max(Number.MAX_SAFE_INTEGER)
const headerBytes = z.int().min(256).max(16_777_216)
const headerCount = z.int().min(1).max(10_000)

const limitsSchema: z.ZodType<Limits> = z
  .strictObject({
    maxConnections: z
      .int()
      .min(1)
      .max(1_000_000)
      .exactOptional()
      .describe('Client connections per address that prexy listens on; one more is closed at once.'),
    maxConnectionsPerAddress: z
      .int()
      .min(1)
      .max(1_000_000)
      .exactOptional()
      .describe(
        'Client connections from one IPv4 address or one /64 of IPv6, trusted proxies excepted; one more is closed at once.',
      ),
    maxPipelinedBytes: bytes
      .exactOptional()
      .describe('Bytes of later requests that are read while one is served; beyond it reading pauses.'),
    maxTunnels: z
      .int()
      .min(0)
      .max(1_000_000)
      .exactOptional()
      .describe('WebSocket connections, which do not count against `maxConnections` of an upstream; one more is 503.'),
    maxHttp10BufferBytes: z
      .int()
      .min(0)
      .max(1_073_741_824)
      .exactOptional()
      .describe(
        'Bytes of a response of unknown length that are kept back for an HTTP/1.0 client, to tell it the length; a longer ' +
          'one ends by close. Streams are not kept back.',
      ),
    maxDecodedBytes: bytes
      .exactOptional()
      .describe('Bytes that one compressed response may unpack to; beyond it the response is broken off.'),
    maxHttp2Streams: z
      .int()
      .min(1)
      .max(10_000)
      .exactOptional()
      .describe('Requests that one HTTP/2 connection may have under way; more are refused, to be sent again.'),
    maxHttp2ResetsPerMinute: z
      .int()
      .min(1)
      .max(1_000_000)
      .exactOptional()
      .describe(
        'Requests that the client of one HTTP/2 connection may give up in a minute before their response ended; then the ' +
          'connection is closed.',
      ),
    maxHttp2ControlFramesPerMinute: z
      .int()
      .min(1)
      .max(1_000_000)
      .exactOptional()
      .describe('PING and SETTINGS frames of one HTTP/2 connection in a minute; beyond it the connection is closed.'),
    maxHttp2WindowBytes: z
      .int()
      .min(65_535)
      .max(1_073_741_824)
      .exactOptional()
      .describe('Bytes of request bodies that one HTTP/2 connection may send ahead of what upstreams take.'),
    maxRememberedResources: z
      .int()
      .min(0)
      .max(1_000_000)
      .exactOptional()
      .describe(
        'Resources of each route of which it is remembered which rules found nothing in them, by the strong ETag of the ' +
          'upstream; those rules are left out next time. The least recently used is forgotten; 0 remembers none.',
      ),
    maxCompiledRuleSets: z
      .int()
      .min(1)
      .max(100_000)
      .exactOptional()
      .describe(
        'Different rule sets that are compiled at one time, of about a megabyte each. A configuration with more of them ' +
          'compiles each at the first request that needs it, and forgets the least recently used; `prexy check` tells ' +
          'beforehand of rules that do not compile.',
      ),
    maxRateLimitedClients: z
      .int()
      .min(1)
      .max(10_000_000)
      .exactOptional()
      .describe(
        'Clients of which it is counted how often they ask, for each `rateLimit`; the one that asked least recently is ' +
          'forgotten, and may ask anew.',
      ),
    maxRequestBufferBytes: z
      .int()
      .min(0)
      .max(16_777_216)
      .exactOptional()
      .describe(
        'Bytes of a request body under `requestBodies` that are gathered to send a length; more go up in chunks.',
      ),
    minRequestBodyBytesPerSecond: z
      .int()
      .min(0)
      .max(1_000_000_000)
      .exactOptional()
      .describe(
        'How fast a request body must come, on average, once the client was waited for twice `timeouts.clientBodyMs`; a ' +
          'slower one is answered 408. 0 lets it come as slowly as `clientBodyMs` allows: for uploads that last as long as ' +
          'their source has something to say.',
      ),
    request: z
      .strictObject({
        maxTargetBytes: headerBytes.exactOptional().describe('Path and query of a request; beyond it 414.'),
        maxHeaderBytes: headerBytes.exactOptional().describe('All header lines of a request; beyond it 431.'),
        maxHeaderCount: headerCount.exactOptional().describe('Header lines of a request; beyond it 431.'),
        maxBodyBytes: bytes.exactOptional().describe('Body of a request; beyond it 413.'),
        maxTrailerBytes: headerBytes.exactOptional().describe('All trailer lines of a request; beyond it 431.'),
        maxTrailerCount: headerCount.exactOptional().describe('Trailer lines of a request; beyond it 431.'),
      })
      .exactOptional()
      .describe('What a client may send in one request.'),
    response: z
      .strictObject({
        maxHeaderBytes: headerBytes.exactOptional().describe('All header lines of a response; beyond it 502.'),
        maxHeaderCount: headerCount.exactOptional().describe('Header lines of a response; beyond it 502.'),
        maxBodyBytes: bytes.exactOptional().describe('Body of a response; beyond it the response is broken off.'),
        maxTrailerBytes: headerBytes
          .exactOptional()
          .describe('All trailer lines of a response; beyond it the response is broken off.'),
        maxTrailerCount: headerCount
          .exactOptional()
          .describe('Trailer lines of a response; beyond it the response is broken off.'),
        maxInterimResponses: z
          .int()
          .min(0)
          .max(1_000)
          .exactOptional()
          .describe('Responses 100 to 199, such as 103 Early Hints, before the final one; beyond it 502.'),
      })
      .exactOptional()
      .describe('What an upstream may send in one response.'),
  })
  .describe('How large and how many things may be.')

export const configSchema: z.ZodType<RawConfig> = z
  .strictObject({
    listen: oneOrMore(listenSchema)
      .default('127.0.0.1:8080')
      .describe(
        'Where prexy listens: a port (on every address of the machine), `host:port`, a socket `unix:/run/prexy/prexy.sock`, a ' +
          'mapping that says what is spoken there, or a list of them. Port 0 takes a free one.',
      ),
    include: oneOrMore(z.string().min(1).max(4096))
      .exactOptional()
      .describe(
        'More files, from the folder of this one: `sites/*.yaml`, in the order of their names. What they say is read as if ' +
          'it stood here; a file that says `host` at its top is one site.',
      ),
    source: sourceSchema.exactOptional(),
    upstream: upstreamSchema
      .exactOptional()
      .describe(
        'Where every request goes that no entry of `sites` and `routes` takes: `http://127.0.0.1:9000`, the name of an ' +
          'entry of `upstreams`, or a mapping with servers and limits.',
      ),
    upstreams: upstreamsSchema.default({}),
    rules: ruleEntryListSchema
      .default([])
      .describe(
        'What is searched and replaced in responses, for every site and route without rules of its own. ' +
          '`{use: NAME}` stands for the rules of a set.',
      ),
    ruleSets: z
      .record(ruleSetName, ruleEntryListSchema)
      .default({})
      .describe('Lists of rules by name, for `{use: NAME}` in any list of rules, in any file.'),
    rewrite: rewriteOptionsSchema.default({}),
    sites: z
      .array(siteSchema)
      .readonly()
      .default([])
      .describe('What is served under which host names, of any number: a request is looked up by its host.'),
    routes: z
      .array(routeSchema)
      .readonly()
      .default([])
      .describe('Which requests go where that no entry of `sites` takes. The first entry that fits takes the request.'),
    pathMatching: z
      .enum(['normalized', 'decoded'])
      .exactOptional()
      .describe(
        'How the path of a request is read before routes are chosen by it: `normalized` (the default) removes dot segments ' +
          'and decodes escapes of letters, digits and `-._~`, so that `%2F` and `//` stay what they are; `decoded` reads it ' +
          'as nginx does: all escapes decoded, doubled slashes one, dot segments removed then, and answers 400 to broken ' +
          'escapes, encoded control characters and paths that climb above the root. Upstreams get the path as it came.',
      ),
    ...servingFields,
    timeouts: timeoutsSchema.default({}),
    limits: limitsSchema.default({}),
    trustedProxies: oneOrMore(z.union([z.literal('unix:'), addressRange]))
      .exactOptional()
      .describe(
        'Addresses and ranges of proxies in front of prexy, `10.0.0.0/8` or `::1`: what they say of their clients is ' +
          'believed and continued; what others say is replaced. `unix:` stands for whoever comes by a unix socket. ' +
          'Without it: none.',
      ),
    forwarded: z
      .enum(['x-forwarded', 'forwarded', 'both', 'none'])
      .exactOptional()
      .describe(
        'What upstreams are told of the client: X-Forwarded-For, -Host, -Proto, -Port and X-Real-IP, or the Forwarded of ' +
          'RFC 7239, or both, or none.',
      ),
    requestId: requestIdField
      .exactOptional()
      .describe(
        'The header field in which upstreams get an identifier of each request, or `off`. That of a trusted proxy is kept.',
      ),
    record: recordSchema.exactOptional(),
    admin: adminSchema.exactOptional(),
    workers: z
      .union([z.int().min(1).max(256), z.literal('auto')])
      .exactOptional()
      .describe(
        'Processes that share the work, or `auto` for one per core. Without it: one. Limits hold for each of them; ' +
          'see docs/operating.md.',
      ),
    log: z
      .enum(['text', 'json', 'off'])
      .default('text')
      .describe('One line per request on standard error: `text` for people, `json` for programs, or `off`.'),
    accessLog: accessLogSchema.exactOptional(),
    trace: z
      .enum(['pass', 'begin', 'restart'])
      .exactOptional()
      .describe(
        'What becomes of `traceparent` (W3C Trace Context): `pass` leaves it and `tracestate` as the client sent them; ' +
          '`begin` begins a trace where there is none; `restart` also where a client that is no trusted proxy names one. ' +
          'The log and recordings tell of it.',
      ),
  })
  .describe('The configuration of prexy.')

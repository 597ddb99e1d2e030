/**
 * The configuration file: the one place that says which fields there are, what they mean and what they default to.
 * `docs/configuration.md` is generated from it.
 */
import { z } from 'zod'
import { headersSchema, type RawHeaders } from './header-schema.ts'
import { hostPattern, type OneOrMore, oneOrMore, pathGlob, type RawRule, ruleListSchema } from './rule-schema.ts'

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

/** What the file may say for itself and a route for its requests. */
interface RawServing {
  readonly headers?: RawHeaders
  readonly requestBodies?: boolean
  readonly requestQuery?: boolean
  readonly rules?: readonly RawRule[]
  readonly rewrite?: RewriteOptions
  readonly preserveHost?: boolean
  readonly ignoreNoTransform?: boolean
  readonly serverTiming?: boolean
  readonly lastModified?: 'remove' | 'keep'
  readonly integrity?: 'warn' | 'drop'
}

export interface RawUpstream {
  readonly url: string
  readonly maxConnections?: number
  readonly maxIdleConnections?: number
  readonly maxWaiting?: number
  readonly denyPrivate?: boolean
}

export interface RawRoute extends RawServing {
  readonly name?: string
  readonly host?: OneOrMore<string>
  readonly path?: OneOrMore<string>
  readonly upstream: string | RawUpstream
}

/** Names of timeouts, all in milliseconds. */
export type TimeoutName =
  | 'clientHeadersMs'
  | 'clientBodyMs'
  | 'clientIdleMs'
  | 'clientWriteMs'
  | 'upstreamQueueMs'
  | 'upstreamConnectMs'
  | 'upstreamWriteMs'
  | 'upstreamHeadersMs'
  | 'upstreamBodyMs'
  | 'upstreamIdleMs'
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
  readonly maxRememberedResources?: number
  readonly request?: RequestLimits
  readonly response?: ResponseLimits
}

/** The file as it stands. What it does not say is left to those who know a default. */
export interface RawConfig extends RawServing {
  readonly listen: OneOrMore<number | string>
  readonly upstream?: string | RawUpstream
  readonly rules: readonly RawRule[]
  readonly rewrite: RewriteOptions
  readonly routes: readonly RawRoute[]
  readonly timeouts: Timeouts
  readonly limits: Limits
  readonly trustedProxies?: OneOrMore<string>
  readonly forwarded?: 'x-forwarded' | 'forwarded' | 'both' | 'none'
  readonly requestId?: string
  readonly log: 'text' | 'json' | 'off'
}

const listenAddress = z.union([
  z.int().min(0).max(65_535),
  z
    .string()
    .regex(
      /^(\[[0-9A-Fa-f:.]+\]|[^\s:/[\]]*):\d{1,5}$/,
      'is no address; write it like 8080, 127.0.0.1:8080 or [::1]:8080',
    ),
])

const upstreamUrl = z.string().superRefine((url, context) => {
  const message = upstreamFault(url)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

const ORIGIN = /^http:\/\/([^\s/?#@:[\]]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?(\/?)$/i

function upstreamFault(url: string): string | undefined {
  if (ORIGIN.test(url)) return undefined
  const shown = JSON.stringify(url)
  if (/^https:/i.test(url)) return `${shown} is https; prexy speaks plain http to upstreams`
  if (/^https?:\/\/[^/]*@/i.test(url)) return `${shown} has a user name; an upstream is scheme, host and port`
  if (/^http:\/\/[^/]+[/?#]/i.test(url)) return `${shown} has a path; an upstream is scheme, host and port`
  return `${shown} is no address of an upstream; write it like http://127.0.0.1:9000`
}

const addressRange = z.string().superRefine((text, context) => {
  const kinds = [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]
  if (kinds.some((kind) => kind.safeParse(text).success)) return
  const message = `${JSON.stringify(text)} is no address and no range; write it like 192.0.2.7, 10.0.0.0/8 or fd00::/8`
  context.addIssue({ code: 'custom', message })
})

/** Fields that mean something to HTTP itself, or are made by us anyway. */
const TAKEN_FIELDS =
  /^(?:host|via|te|trailer|upgrade|connection|keep-alive|content-.*|transfer-encoding|cookie|authorization|set-cookie2?|sec-.*|date|origin|referer|user-agent|server|location|etag|last-modified|vary|cache-control|age|forwarded|x-forwarded-.*|x-real-ip|range|if-.*|expect|accept.*|max-forwards|proxy-.*)$/i

const requestIdField = z.string().superRefine((name, context) => {
  if (/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name) && !TAKEN_FIELDS.test(name)) return
  const message = `${JSON.stringify(name)} cannot be the field of an identifier; write it like X-Request-Id, or off`
  context.addIssue({ code: 'custom', message })
})

const connectionCount = z.int().min(1).max(65_535)

const upstreamSchema: z.ZodType<string | RawUpstream> = z.union([
  upstreamUrl,
  z
    .strictObject({
      url: upstreamUrl.describe('Scheme, host and port of the origin server, `http://127.0.0.1:9000`.'),
      maxConnections: connectionCount
        .exactOptional()
        .describe('Connections to this upstream at one time; more requests wait.'),
      maxIdleConnections: z
        .int()
        .min(0)
        .max(65_535)
        .exactOptional()
        .describe('Connections that are kept for later requests; 0 closes each after its response.'),
      maxWaiting: z
        .int()
        .min(0)
        .max(1_000_000)
        .exactOptional()
        .describe('Requests that may wait for a connection; one more is answered 503.'),
      denyPrivate: z
        .boolean()
        .exactOptional()
        .describe(
          '`true` connects to addresses of the public internet only: for a name whose DNS others control, so that it cannot ' +
            'lead to 127.0.0.1, 10.0.0.1 or 169.254.169.254.',
        ),
    })
    .describe('An upstream and how much it is asked for at one time.'),
])

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

const servingFields = {
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
  integrity: z
    .enum(['warn', 'drop'])
    .exactOptional()
    .describe(
      'What becomes of `integrity` attributes in pages when rules may change the scripts and styles that they are ' +
        'about, which browsers then refuse: `warn` (the default) tells of them in the log, `drop` takes away those of ' +
        'files that come by way of this proxy.',
    ),
} as const

const routeSchema: z.ZodType<RawRoute> = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(100)
      .exactOptional()
      .describe('What the log calls the route. Without it: its host and path.'),
    host: oneOrMore(hostPattern)
      .exactOptional()
      .describe('Host names that the route serves, exact or `*.example.org` for every name below. Without it: any.'),
    path: oneOrMore(pathGlob)
      .exactOptional()
      .describe(
        'Paths that the route serves: `*` stands for any characters within a segment, `**` across segments, `?` for ' +
          'one character. Without it: every path.',
      ),
    upstream: upstreamSchema.describe(
      'Where the requests go: `http://127.0.0.1:9000`, or a mapping with `url` and limits.',
    ),
    rules: ruleListSchema.exactOptional().describe('The rules of this route. Without it: those of the file.'),
    rewrite: rewriteOptionsSchema
      .exactOptional()
      .describe('How the rules of this route are applied; what is not said here is taken from the file.'),
    ...servingFields,
  })
  .describe('Which requests go where, and what is rewritten in their responses.')

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
    clientWriteMs: milliseconds
      .exactOptional()
      .describe('How long a client may take nothing of a response; then its connection is reset.'),
    upstreamQueueMs: milliseconds
      .exactOptional()
      .describe('How long a request waits for a free upstream connection; then it is answered 503.'),
    upstreamConnectMs: milliseconds
      .exactOptional()
      .describe('How long connecting to the upstream may take; then the request is answered 504.'),
    upstreamWriteMs: milliseconds
      .exactOptional()
      .describe('How long the upstream may take nothing of a request body; then the request is answered 504.'),
    upstreamHeadersMs: milliseconds
      .exactOptional()
      .describe('From the end of the request to the head of the response; then the request is answered 504.'),
    upstreamBodyMs: milliseconds
      .exactOptional()
      .describe('How long a response body may stand still; then the response is broken off.'),
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
    maxRememberedResources: z
      .int()
      .min(0)
      .max(1_000_000)
      .exactOptional()
      .describe(
        'Resources of each route of which it is remembered which rules found nothing in them, by the strong ETag of the ' +
          'upstream; those rules are left out next time. The least recently used is forgotten; 0 remembers none.',
      ),
    maxRequestBufferBytes: z
      .int()
      .min(0)
      .max(16_777_216)
      .exactOptional()
      .describe(
        'Bytes of a request body under `requestBodies` that are gathered to send a length; more go up in chunks.',
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
    listen: oneOrMore(listenAddress)
      .default('127.0.0.1:8080')
      .describe(
        'Where prexy listens: a port (on every address of the machine), `host:port`, or a list of them. Port 0 takes ' +
          'a free one.',
      ),
    upstream: upstreamSchema
      .exactOptional()
      .describe(
        'Where every request goes that no entry of `routes` takes: `http://127.0.0.1:9000`, or a mapping with `url` ' +
          'and limits.',
      ),
    rules: ruleListSchema
      .default([])
      .describe('What is searched and replaced in responses, for every route without rules of its own.'),
    rewrite: rewriteOptionsSchema.default({}),
    routes: z
      .array(routeSchema)
      .readonly()
      .default([])
      .describe('Which requests go where. The first entry whose host and path fit takes the request.'),
    ...servingFields,
    timeouts: timeoutsSchema.default({}),
    limits: limitsSchema.default({}),
    trustedProxies: oneOrMore(addressRange)
      .exactOptional()
      .describe(
        'Addresses and ranges of proxies in front of prexy, `10.0.0.0/8` or `::1`: what they say of their clients is ' +
          'believed and continued; what others say is replaced. Without it: none.',
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
    log: z
      .enum(['text', 'json', 'off'])
      .default('text')
      .describe('One line per request on standard error: `text` for people, `json` for programs, or `off`.'),
  })
  .describe('The configuration of prexy.')

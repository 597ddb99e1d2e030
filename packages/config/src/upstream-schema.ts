/** Upstreams in a file: which servers there are, and how requests are shared out among them. */
import { z } from 'zod'

export type RawUpstreamServer = string | { readonly url: string; readonly weight?: number; readonly backup?: boolean }

export interface RawEjection {
  readonly failures?: number
  readonly windowMs?: number
  readonly baseMs?: number
  readonly maxMs?: number
}

export interface RawHealthCheck {
  readonly path: string
  readonly intervalMs?: number
  readonly timeoutMs?: number
  readonly status?: number | string
  readonly rise?: number
  readonly fall?: number
}

export interface RawUpstreamTls {
  readonly serverName?: string
  readonly caFile?: string
  readonly certFile?: string
  readonly keyFile?: string
  readonly insecureAcceptAnyCertificate?: boolean
}

/** One of `url` and `servers`. */
export interface RawUpstream {
  readonly url?: string
  readonly servers?: readonly RawUpstreamServer[]
  readonly balance?: 'round-robin' | 'least-connections'
  readonly hostHeader?: string
  readonly maxConnections?: number
  readonly maxIdleConnections?: number
  readonly maxWaiting?: number
  readonly maxAttempts?: number
  readonly denyPrivate?: boolean
  readonly http2?: 'off' | 'alpn' | 'prior-knowledge'
  readonly maxStreams?: number
  readonly ejection?: RawEjection
  readonly healthCheck?: RawHealthCheck
  readonly tls?: RawUpstreamTls
}

/** `http://127.0.0.1:9000`, `https://origin.example`, with at most a slash behind. */
const ORIGIN = /^https?:\/\/([^\s/?#@:[\]]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?\/?$/i

/** `unix:/run/app.sock`; longer paths than this no system takes. */
const SOCKET = /^unix:(\/[^\0]{1,106})$/

/** What an entry of `upstreams` may be called: nothing that could be an address with a port or a scheme. */
const UPSTREAM_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

function addressFault(url: string): string | undefined {
  if (ORIGIN.test(url) || SOCKET.test(url)) return undefined
  const shown = JSON.stringify(url)
  if (/^https?:\/\/[^/]*@/i.test(url)) return `${shown} has a user name; an upstream is scheme, host and port`
  if (/^https?:\/\/[^/]+[/?#]/i.test(url)) return `${shown} has a path; an upstream is scheme, host and port`
  if (/^unix:/i.test(url)) return `${shown} is no socket; write its whole path, like unix:/run/app.sock`
  return `${shown} is no address of an upstream; write it like http://127.0.0.1:9000`
}

const serverUrl = z.string().superRefine((url, context) => {
  const message = addressFault(url)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

/** A server, or the name of an entry of `upstreams`. */
export const upstreamText: z.ZodType<string> = z.string().superRefine((text, context) => {
  const message = UPSTREAM_NAME.test(text) ? undefined : addressFault(text)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

const connectionCount = z.int().min(1).max(65_535)
/** Longest time, a day: beyond it a number is a slip. */
const milliseconds = z.int().min(1).max(86_400_000)

const serverSchema: z.ZodType<RawUpstreamServer> = z.union([
  serverUrl,
  z
    .strictObject({
      url: serverUrl.describe(
        'Scheme, host and port of the server, `http://10.0.0.1:9000` or `https://origin.example`, or a socket, ' +
          '`unix:/run/app.sock`.',
      ),
      weight: z
        .int()
        .min(1)
        .max(1_000)
        .exactOptional()
        .describe('Its share of the requests, beside those of the others. Without it: 1.'),
      backup: z.boolean().exactOptional().describe('`true` gives it requests only while no server without it is up.'),
    })
    .describe('One server of an upstream.'),
])

const ejectionSchema: z.ZodType<RawEjection> = z
  .strictObject({
    failures: z
      .int()
      .min(0)
      .max(10_000)
      .exactOptional()
      .describe('Failed requests in a row after which a server gets none for a while; 0 never.'),
    windowMs: milliseconds.exactOptional().describe('Within which they happen, in milliseconds.'),
    baseMs: milliseconds
      .exactOptional()
      .describe('For how long, in milliseconds; each time that it fails again, for twice as long as before.'),
    maxMs: milliseconds.exactOptional().describe('For how long at most, in milliseconds.'),
  })
  .describe('When a server whose requests fail is left out, and for how long; see docs/upstreams.md.')

const checkStatus = z.union([
  z.int().min(100).max(599),
  z.string().regex(/^([1-5]xx|[1-5]\d\d-[1-5]\d\d)$/, 'is no status; write it like 200, 2xx or 200-399'),
])

const healthCheckSchema: z.ZodType<RawHealthCheck> = z
  .strictObject({
    path: z
      .string()
      .regex(/^\/[\x21-\x7e]{0,2000}$/, 'is no path; write it like /health')
      .describe('What each server is asked for with GET.'),
    intervalMs: milliseconds.exactOptional().describe('How long to wait between two checks, in milliseconds.'),
    timeoutMs: milliseconds
      .exactOptional()
      .describe('How long a check may take, from connecting to the head of the response, in milliseconds.'),
    status: checkStatus.exactOptional().describe('Which status passes: `200`, `2xx` or `200-399`.'),
    rise: z
      .int()
      .min(1)
      .max(1_000)
      .exactOptional()
      .describe('Checks in a row that pass before a server that was down gets requests again.'),
    fall: z
      .int()
      .min(1)
      .max(1_000)
      .exactOptional()
      .describe('Checks in a row that fail before a server gets no more requests.'),
  })
  .describe('Asks every server at intervals how it is. Without it: only requests tell.')

const fileName = z.string().min(1).max(4096)

const upstreamTlsSchema: z.ZodType<RawUpstreamTls> = z
  .strictObject({
    serverName: z
      .string()
      .regex(/^[^\s:/@]{1,253}$|^[0-9A-Fa-f:.]+$/, 'is no name; write it like origin.example')
      .exactOptional()
      .describe(
        'The name that certificates must be for, which servers are told (SNI). Without it: the host in the url.',
      ),
    caFile: fileName
      .exactOptional()
      .describe(
        'A PEM file with the authorities that may sign certificates. Without it: those that the runtime knows.',
      ),
    certFile: fileName
      .exactOptional()
      .describe('A PEM file with the certificate that servers are shown, and those between it and its authority.'),
    keyFile: fileName.exactOptional().describe('A PEM file with the key of `certFile`, without a password.'),
    insecureAcceptAnyCertificate: z
      .boolean()
      .exactOptional()
      .describe('`true` takes any certificate from anybody: whoever is in between can read and change everything.'),
  })
  .describe('Of servers with `https://`: whom to believe, and who we are.')

const upstreamMappingSchema: z.ZodType<RawUpstream> = z
  .strictObject({
    url: serverUrl
      .exactOptional()
      .describe(
        'Scheme, host and port of the server, `http://127.0.0.1:9000` or `https://origin.example`, or a socket, ' +
          '`unix:/run/app.sock`.',
      ),
    servers: z
      .array(serverSchema)
      .readonly()
      .exactOptional()
      .describe('Instead of `url`: several servers, each an address or a mapping.'),
    balance: z
      .enum(['round-robin', 'least-connections'])
      .exactOptional()
      .describe(
        'Which server gets a request: each in turn, by weight, or the one with the fewest requests under way for its weight.',
      ),
    hostHeader: z
      .string()
      .regex(/^([A-Za-z0-9._~-]{1,253}|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?$/, 'is no Host; write it like www.example.org')
      .exactOptional()
      .describe(
        'What Host says where it is not the one of the client or of a `domain` rule. Without it: host and port of the ' +
          'first server, of a socket `localhost`.',
      ),
    maxConnections: connectionCount
      .exactOptional()
      .describe('Connections to each server at one time; more requests wait.'),
    maxIdleConnections: z
      .int()
      .min(0)
      .max(65_535)
      .exactOptional()
      .describe('Connections to each server that are kept for later requests; 0 closes each after its response.'),
    maxWaiting: z
      .int()
      .min(0)
      .max(1_000_000)
      .exactOptional()
      .describe('Requests that may wait for a connection; one more is answered 503.'),
    maxAttempts: z
      .int()
      .min(1)
      .max(100)
      .exactOptional()
      .describe('Servers that one request is tried on while connecting fails, so that nothing of it has left.'),
    denyPrivate: z
      .boolean()
      .exactOptional()
      .describe(
        '`true` connects to addresses of the public internet only: for a name whose DNS others control, so that it cannot ' +
          'lead to 127.0.0.1, 10.0.0.1 or 169.254.169.254.',
      ),
    http2: z
      .enum(['off', 'alpn', 'prior-knowledge'])
      .exactOptional()
      .describe(
        'Whether HTTP/2 is spoken to servers: `alpn` to those with `https://` that choose it, `prior-knowledge` to all, ' +
          'without asking. Not under Bun. Without it: HTTP/1.1.',
      ),
    maxStreams: z
      .int()
      .min(1)
      .max(10_000)
      .exactOptional()
      .describe('With `http2`: requests on one connection at one time; a server that takes fewer gets fewer.'),
    ejection: ejectionSchema.exactOptional(),
    healthCheck: healthCheckSchema.exactOptional(),
    tls: upstreamTlsSchema.exactOptional(),
  })
  .describe('An upstream: its servers, and how much they are asked for at one time.')

export const upstreamSchema: z.ZodType<string | RawUpstream> = z.union([upstreamText, upstreamMappingSchema])

/** `upstreams` of the file. */
export const upstreamsSchema: z.ZodType<Readonly<Record<string, RawUpstream | string>>> = z
  .record(
    z.string().regex(UPSTREAM_NAME, 'is no name; use letters, digits, - and _'),
    z.union([serverUrl, upstreamMappingSchema]),
  )
  .describe('Upstreams by name, for `upstream: NAME`. Routes that name the same one share its connections.')

/** The schemas of the mappings inside, for the reference. */
export const UPSTREAM_PARTS: Readonly<Record<'servers[]' | 'ejection' | 'healthCheck' | 'tls', z.ZodType>> = {
  'servers[]': serverSchema,
  ejection: ejectionSchema,
  healthCheck: healthCheckSchema,
  tls: upstreamTlsSchema,
}

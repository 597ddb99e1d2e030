import type { DifferenceExample, ExchangeEvent } from '@prexy/events/exchange'
import type { ExchangeRecorder } from '@prexy/events/recorder'
import type { RefusalEvent } from '@prexy/events/refusal'
import type { UpstreamEvent } from '@prexy/events/upstream'
import type { FieldConditions } from '@prexy/http/conditions'
import type { ForwardedForm } from '@prexy/http/forwarded'
import type { RequestHead } from '@prexy/http/message'
import type { TracePolicy } from '@prexy/http/trace-context'
import type { MessageLimits } from '@prexy/http/limits'
import type { LastModifiedPolicy } from '@prexy/http/gate-route'
import type { Resolve } from '@prexy/net/address-cache'
import type { ContentCoding } from '@prexy/net/content-decoder'
import type { CertificateStore } from '@prexy/net/certificates'
import type { TlsVersion } from '@prexy/net/listener'
import type { UnixListen } from '@prexy/net/unix-socket'
import type { TimerWheel } from '@prexy/net/timer-wheel'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import type { Access } from './access.ts'
import type { CompareConfig } from './compare-with.ts'
import type { DeferredRuleSet } from './compiled-sets.ts'
import type { HeaderRules } from './header-rules.ts'
import type { Mount } from './mount.ts'
import type { ErrorPages, Maintenance } from './own-pages.ts'
import type { Phase } from './phases.ts'
import type { EncoderLevels } from './rewrite-body.ts'
import type { Rollout } from './rollout.ts'
import type { RouteAnswer } from './route-answer.ts'
import type { TextPattern } from './text-pattern.ts'
import type { BalancePolicy } from './upstream-balance.ts'
import type { EjectionLimits } from './upstream-ejection.ts'

/** What a proxy is to do, as plain data; the application makes it from a configuration file or a command line. */
export interface ProxyConfig {
  /** At least one. Port 0 takes a free port. */
  readonly listen: readonly ListenAddress[]
  /** A request belongs to the site that names its host: exactly, else by the longest pattern. */
  readonly sites?: readonly SiteConfig[]
  /** Of requests that belong to no site. The first route that fits takes the request; without one the answer is 421. */
  readonly routes: readonly RouteConfig[]
  /**
   * How paths of requests are read before routes are chosen by them: `normalized` (the default) as `matchingPath` does,
   * `decoded` as `decodedPath` does, which answers 400 where that is undefined.
   */
  readonly pathMatching?: 'normalized' | 'decoded'
  /** For requests that no route takes. */
  readonly errorPages?: ErrorPages
  readonly timeouts?: Partial<ProxyTimeouts>
  readonly limits?: Partial<ProxyLimits>
  /**
   * Addresses and ranges (`10.0.0.0/8`, `::1`) of proxies in front of this one: what they say of their clients is
   * believed and continued. What others say is replaced. `unix:` stands for all clients of unix sockets. Default none.
   */
  readonly trustedProxies?: readonly string[]
  /** What upstreams are told of the client. Default `x-forwarded`. */
  readonly forwarded?: ForwardedForm
  /** Field of the request identifier that upstreams get, or `off`. Default {@link DEFAULT_REQUEST_ID_FIELD}. */
  readonly requestId?: string
  /** What becomes of `traceparent`. Default `pass`. */
  readonly trace?: TracePolicy
  /** Called once per exchange, when it is over; `seen` is what events do not keep. */
  readonly onExchange?: (event: ExchangeEvent, seen: SeenRequest) => void
  /** Is offered every exchange when it begins. Absent: nothing is kept of exchanges beyond their events. */
  readonly recorder?: ExchangeRecorder
  /** Called at each step of an exchange; see {@link Phase}. */
  readonly onPhase?: (exchangeId: number, phase: Phase) => void
  /** Called when a server of an upstream is ejected, comes back, fails its checks, or moves. */
  readonly onUpstream?: (event: UpstreamEvent) => void
  /** Connections were closed at once because a limit was met. */
  readonly onRefused?: (event: RefusalEvent) => void
  /** How names of upstreams become addresses. Absent: as the system does it. */
  readonly resolve?: Resolve
  /** Called for what belongs to no exchange: a connection that could not be accepted, a callback that threw. */
  readonly onError?: (error: Error) => void
  /** The clock of all timeouts. Absent: one of its own, with ticks of 250 ms. */
  readonly wheel?: TimerWheel
}

/** What is known of a request beside its event; valid during the call. */
export interface SeenRequest {
  /** Absent if the head could not be read. */
  readonly head?: RequestHead
  /** Who asked, also behind trusted proxies; absent where it is not known. */
  readonly clientAddress?: string | undefined
  /** Of the response, with the framing of chunks; of a tunnel, what was sent behind the head. */
  readonly bodyBytes: number
  /** Where the response differs from that of the proxy that it was compared with. */
  readonly difference?: DifferenceExample
}

export interface ListenAddress {
  /** With `unix`: `unix:` and the path. */
  readonly host: string
  /** With `unix`: 0. */
  readonly port: number
  /** A socket of this machine. Whoever starts the proxy has claimed it (`claimSocket`), and takes it away in the end. */
  readonly unix?: UnixListen
  /** By which sites and routes tell where a request came in. Several addresses may have one name. */
  readonly name?: string
  /** Absent: cleartext. */
  readonly tls?: ListenTlsConfig
  /** Whether clients may speak HTTP/2: over TLS by ALPN, in cleartext by prior knowledge. Default true. */
  readonly http2?: boolean
  /** True takes connections of `trustedProxies` only, which begin with a header of the PROXY protocol. Default false. */
  readonly proxyProtocol?: boolean
  /** Answers every request with a redirect to this port by https. */
  readonly redirectPort?: number
}

export interface ListenTlsConfig {
  /** May be replaced while it is used. */
  readonly certificates: CertificateStore
  /** Default TLSv1.2. */
  readonly minVersion?: TlsVersion
  /** In OpenSSL's format. Default: those of TLS 1.2 with forward secrecy and authenticated encryption. */
  readonly ciphers?: string
  /** 48 octets that session tickets are sealed with, the same in all processes that share the address. */
  readonly ticketKeys?: Uint8Array
}

export interface SiteConfig {
  /** Host names without port, exact or `*.example.org`; each belongs to one site, or to one of each listener. */
  readonly hosts: readonly string[]
  /** Names of the addresses where the site is served. Absent: all of them, where no site that names them has the host. */
  readonly listeners?: readonly string[]
  /** The first that fits takes the request; without one the answer is 404. Their `hosts` are not looked at. */
  readonly routes: readonly RouteConfig[]
}

export interface CompressConfig {
  /** The favourite first; those that the runtime lacks are left out. */
  readonly codings: readonly ContentCoding[]
  /** Media types, as conditions of rules have them. */
  readonly types: readonly string[]
  /** What is known to be shorter stays as it is. Unit: bytes. */
  readonly minBytes: number
  /** Of codings, also for what rules changed; absent ones are those of `ENCODER_LEVELS`. */
  readonly levels: EncoderLevels
}

export interface RouteConfig {
  /** For events; unique. */
  readonly name: string
  /** Host names without port, exact or `*.example.org` for every name below; ignoring case. Absent: any, and none. */
  readonly hosts?: readonly string[]
  /** Path globs: `*` within a segment, `**` across segments, `?` one character. Absent: every path. */
  readonly paths?: readonly string[]
  /** Made by `compileTextPattern`; all must hold for the path. */
  readonly pathPatterns?: readonly TextPattern[]
  /** The same for the host; of routes that belong to no site. */
  readonly hostPatterns?: readonly TextPattern[]
  /** Names of the addresses whose requests the route takes. Absent: any. */
  readonly listeners?: readonly string[]
  /** `GET` stands for HEAD, too. Absent: any. */
  readonly methods?: readonly string[]
  /** Request fields by name, in the form that conditions of rules have. Absent: any. */
  readonly fields?: FieldConditions
  /** Exactly one of the two is there. */
  readonly upstream?: UpstreamConfig
  readonly answer?: RouteAnswer
  /** Absent: responses pass unchanged. */
  readonly rules?: RuleSet | DeferredRuleSet
  /**
   * True sends the client's Host upstream, and other names of the client's as they are, false the upstream's authority.
   * Absent: what the domain rules call the client's Host; where they do not know it, the upstream's authority.
   */
  readonly preserveHost?: boolean
  /** True maps host names in the query of requests back by the domain rules of `rules`. Default false. */
  readonly requestQuery?: boolean
  /** True maps host names in request bodies back by the domain rules of `rules`. Default false. */
  readonly requestBodies?: boolean
  /** Made by `compileHeaderRules`; the last thing done to a head. */
  readonly requestHeaders?: HeaderRules
  readonly responseHeaders?: HeaderRules
  /** True tells every client in Server-Timing how long the proxy and the upstream took. Default false. */
  readonly serverTiming?: boolean
  /** For which requests `rules` are. Absent: for all. */
  readonly rollout?: Rollout
  /** Another proxy that is asked the same, to compare its responses with ours. Absent: none is. */
  readonly compareWith?: CompareConfig
  /** Which responses that came uncompressed are compressed. Absent: none. */
  readonly compress?: CompressConfig
  /** True rewrites also what says `Cache-Control: no-transform`. Default false. */
  readonly ignoreNoTransform?: boolean
  /** Default `remove`. */
  readonly lastModified?: LastModifiedPolicy
  /**
   * What becomes of `integrity` attributes of pages when rules may change the scripts and styles that they are about:
   * `warn` (the default) tells of them in the event, `drop` takes away those of this site's own files.
   */
  readonly integrity?: 'warn' | 'drop'
  /**
   * What becomes of hashes in the Content-Security-Policy of pages that rules may change: `keep` (the default) tells of
   * them in the event, `unsafe-inline` puts that in their place.
   */
  readonly policyHashes?: 'keep' | 'unsafe-inline'
  /** Absent: everybody may ask. Routes that share an object share its counts. */
  readonly access?: Access
  /** Absent: the route is open. */
  readonly maintenance?: Maintenance
  /** What clients see of errors that the proxy answers itself. */
  readonly errorPages?: ErrorPages
  /** Value of X-Robots-Tag in every response, in place of the upstream's. */
  readonly robots?: string
  /** Made by `mountOf`. A request for a path that is not below it is answered 404. */
  readonly mount?: Mount
}

/** Where one server of an upstream is reached. */
export type UpstreamServerConfig =
  /** Name or address; an IPv6 address without brackets. */
  (
    | { readonly host: string; readonly port: number }
    /** A Unix socket. */
    | { readonly path: string }
  ) & {
    /** True speaks TLS. Default false. */
    readonly tls?: boolean
    /** Its share of the requests, beside those of the others. Default 1. */
    readonly weight?: number
    /** True gets requests only while no other server is up. Default false. */
    readonly backup?: boolean
  }

/**
 * `off`: HTTP/1.1. `alpn`: HTTP/2 to those servers with TLS that choose it, HTTP/1.1 to the others. `prior-knowledge`:
 * HTTP/2 to all, without asking.
 */
export type UpstreamHttp2 = 'off' | 'alpn' | 'prior-knowledge'

/** Routes that name the same object share its servers and connections. */
export interface UpstreamConfig {
  /** At least one. */
  readonly servers: readonly UpstreamServerConfig[]
  /** For events. Absent: the first server. */
  readonly name?: string
  /** Default `round-robin`. */
  readonly balance?: BalancePolicy
  /** What Host says where it is not the client's or one of a domain rule. Absent: the authority of the first server. */
  readonly hostHeader?: string
  /** Connections to each server at one time. Default 256. */
  readonly maxConnections?: number
  /** Connections to each server kept for later requests. Default 64; 0 closes each after its response. */
  readonly maxIdleConnections?: number
  /** Requests that wait for a connection; beyond it 503. Default 1,024. */
  readonly maxWaiting?: number
  /** Whether HTTP/2 is spoken to servers. Default `off`. */
  readonly http2?: UpstreamHttp2
  /** Requests that one connection of HTTP/2 carries at one time; a server that takes fewer gets fewer. Default 100. */
  readonly maxStreams?: number
  /** Servers that a request is tried on while it has not left yet. Default 3. */
  readonly maxAttempts?: number
  /** True connects to addresses of the public internet only, whatever a host's name resolves to. Default false. */
  readonly denyPrivate?: boolean
  /** Defaults of {@link DEFAULT_EJECTION}. */
  readonly ejection?: Partial<EjectionLimits>
  /** Absent: servers are not asked how they are. */
  readonly healthCheck?: HealthCheckConfig
  /** Of servers with `tls`. */
  readonly tls?: UpstreamTlsConfig
}

export interface UpstreamTlsConfig {
  /** The name that certificates must be for, and that servers are told. Absent: each server's host. */
  readonly serverName?: string
  /** PEM: who may sign them. Absent: the authorities that the runtime knows. */
  readonly ca?: string
  /** PEM: our certificate and its key. Both or none. */
  readonly cert?: string
  readonly key?: string
  /** True takes any certificate from anybody. Default false. */
  readonly insecureAcceptAnyCertificate?: boolean
}

/** What is missing has the defaults of {@link DEFAULT_HEALTH_CHECK}. */
export interface HealthCheckConfig {
  /** Path and query that are asked for with GET. */
  readonly path: string
  readonly intervalMs?: number
  /** From connecting to the head of the response. */
  readonly timeoutMs?: number
  /** The least and the greatest status that passes. */
  readonly status?: readonly [number, number]
  /** Checks that pass in a row until a server is up again. */
  readonly rise?: number
  /** Checks that fail in a row until it is down. */
  readonly fall?: number
}

export const DEFAULT_HEALTH_CHECK: Required<Omit<HealthCheckConfig, 'path'>> = {
  intervalMs: 5_000,
  timeoutMs: 2_000,
  status: [200, 399],
  rise: 2,
  fall: 3,
}

/** All in milliseconds, precise to two ticks of the wheel. Idle ones count from the last octet that moved. */
export interface ProxyTimeouts {
  /** First octet of a request to the end of its head; then 408. */
  readonly clientHeadersMs: number
  /** Idle time within a request body; then 408. */
  readonly clientBodyMs: number
  /** Between requests; then the connection is closed. */
  readonly clientIdleMs: number
  /** A TLS handshake, or a PROXY header; then the connection is closed. */
  readonly clientHandshakeMs: number
  /** The client takes nothing of a response; then its connection is reset. Seen after at most twice this time. */
  readonly clientWriteMs: number
  /** How long an answered client that is still sending is listened to, so that it can read the answer. */
  readonly clientLingerMs: number
  /** Waiting for a free upstream connection; then 503. */
  readonly upstreamQueueMs: number
  /** Until the TCP connection is up; then 504. */
  readonly upstreamConnectMs: number
  /** Its TLS handshake; then 504. */
  readonly upstreamTlsMs: number
  /** Addresses of names are looked up again after this. Until then, and while DNS fails, those found last are used. */
  readonly upstreamResolveMs: number
  /** The upstream takes nothing of a request body; then 504. Seen after at most twice this time. */
  readonly upstreamWriteMs: number
  /** Request sent to response head; then 504. */
  readonly upstreamHeadersMs: number
  /** Idle time within a response body; then the client's connection is broken off. */
  readonly upstreamBodyMs: number
  /** A kept connection is closed after this, sooner than common origins do (Node: 5 s). */
  readonly upstreamIdleMs: number
  /**
   * Nothing comes on a connection of HTTP/2 to an upstream that has requests under way: then it is sent a PING, and is
   * closed if nothing comes for as long again.
   */
  readonly upstreamPingMs: number
  /** Nothing moves in a tunnel (WebSocket), either way; then both connections are closed. */
  readonly tunnelIdleMs: number
}

export const DEFAULT_TIMEOUTS: ProxyTimeouts = {
  clientHeadersMs: 30_000,
  clientBodyMs: 60_000,
  clientIdleMs: 60_000,
  clientHandshakeMs: 10_000,
  clientWriteMs: 120_000,
  clientLingerMs: 5_000,
  upstreamQueueMs: 10_000,
  upstreamConnectMs: 10_000,
  upstreamTlsMs: 10_000,
  upstreamResolveMs: 10_000,
  upstreamWriteMs: 60_000,
  upstreamHeadersMs: 60_000,
  upstreamBodyMs: 300_000,
  upstreamIdleMs: 4_000,
  upstreamPingMs: 5_000,
  tunnelIdleMs: 600_000,
}

export interface ProxyLimits {
  /** Defaults of `@prexy/http/limits`. */
  readonly request: Partial<MessageLimits>
  readonly response: Partial<MessageLimits>
  /** Client connections per listener; more are closed at once. Default 20,000. */
  readonly maxConnections: number
  /**
   * Octets of later requests kept while one is served; then reading pauses. When that one takes a second more, the later
   * ones are dropped and the connection closes after its response. Default 65,536.
   */
  readonly maxPipelinedBytes: number
  /**
   * Tunnels (WebSocket), and requests that ask for one; then 503. They do not count against an upstream's
   * `maxConnections`. Default 10,000.
   */
  readonly maxTunnels: number
  /**
   * Octets of a response body of unknown length that are kept back for an HTTP/1.0 client, so that it can be given the
   * length; a longer one ends by close. Default 65,536; 0 keeps nothing back.
   */
  readonly maxHttp10BufferBytes: number
  /** Client connections from one IPv4 address or one /64 of IPv6; more are closed at once. Default no limit. */
  readonly maxConnectionsPerAddress: number
  /** Octets of a changed request body that are gathered to send its length; a longer one goes in chunks. Default 16,384. */
  readonly maxRequestBufferBytes: number
  /**
   * How fast a request body must come while the client is waited for, once that took twice `clientBodyMs` in all; then
   * 408. Default 100; 0 lets it come as slowly as `clientBodyMs` allows. Unit: bytes per second.
   */
  readonly minRequestBodyBytesPerSecond: number
  /** Octets that one response body may decode to; then it is broken off. Default 16 GiB. */
  readonly maxDecodedBytes: number
  /**
   * Resources of each route of which it is remembered which rules found nothing in them; the least recently used is
   * forgotten. 0 remembers none. Default 4,096, of some 200 bytes each, 2 KB at most.
   */
  readonly maxRememberedResources: number
  /** Requests that one HTTP/2 connection may have under way; more are refused. Default 100. */
  readonly maxHttp2Streams: number
  /**
   * Requests that the client of one HTTP/2 connection gives up within a minute before their response ended; then the
   * connection is closed. Default 1,000.
   */
  readonly maxHttp2ResetsPerMinute: number
  /** PING and SETTINGS frames of one HTTP/2 connection within a minute; then it is closed. Default 1,000. */
  readonly maxHttp2ControlFramesPerMinute: number
  /** Request octets that one HTTP/2 connection may send ahead of what upstreams take. Default 1,048,576. */
  readonly maxHttp2WindowBytes: number
  /** Compiled sets out of those that are compiled when they are needed; the least recently used is forgotten. Default 256. */
  readonly maxCompiledRuleSets: number
  /**
   * Clients of which it is counted how often they ask, for each limit of rates; the one that asked least recently is
   * forgotten. Default 65,536, of some 100 bytes each.
   */
  readonly maxRateLimitedClients: number
}

export const DEFAULT_LIMITS: ProxyLimits = {
  request: {},
  response: {},
  maxConnections: 20_000,
  maxPipelinedBytes: 65_536,
  maxTunnels: 10_000,
  maxHttp10BufferBytes: 65_536,
  maxConnectionsPerAddress: Number.POSITIVE_INFINITY,
  maxRequestBufferBytes: 16_384,
  minRequestBodyBytesPerSecond: 100,
  maxDecodedBytes: 16 * 2 ** 30,
  maxRememberedResources: 4_096,
  maxHttp2Streams: 100,
  maxHttp2ResetsPerMinute: 1_000,
  maxHttp2ControlFramesPerMinute: 1_000,
  maxHttp2WindowBytes: 1_048_576,
  maxCompiledRuleSets: 256,
  maxRateLimitedClients: 65_536,
}

export const DEFAULT_REQUEST_ID_FIELD = 'X-Request-Id'
export const DEFAULT_FORWARDED: ForwardedForm = 'x-forwarded'

export const DEFAULT_UPSTREAM_CONNECTIONS = 256
export const DEFAULT_UPSTREAM_HTTP2: UpstreamHttp2 = 'off'
export const DEFAULT_UPSTREAM_STREAMS = 100
export const DEFAULT_UPSTREAM_IDLE_CONNECTIONS = 64
export const DEFAULT_UPSTREAM_WAITING = 1_024
export const DEFAULT_UPSTREAM_ATTEMPTS = 3
export const DEFAULT_BALANCE: BalancePolicy = 'round-robin'

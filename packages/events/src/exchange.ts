import type { PassReason } from '@prexy/http/gate'
import type { RequestPassReason } from '@prexy/http/request-body'

/** Raised whenever a reader of older events would misread a newer one. */
export const EXCHANGE_EVENT_VERSION = 2

/** How an exchange ended. Only `completed` means that the client got everything it was to get. */
export type ExchangeOutcome =
  | 'completed'
  /** We answered by ourselves: a refused request, no route, an error page. */
  | 'answered'
  | 'client-aborted'
  | 'client-timeout'
  | 'upstream-connect-failed'
  /** No connection to the upstream was free, and too many requests waited or this one waited too long. */
  | 'upstream-busy'
  | 'upstream-timeout'
  /** The upstream's message was refused, or ended early. */
  | 'upstream-invalid'
  | 'upstream-aborted'
  /** Nothing moved in a tunnel for as long as one may be idle. */
  | 'tunnel-timeout'
  /** `overflow: abort`, or a body that does not decode: broken off visibly. */
  | 'rewrite-aborted'
  /** A fault of ours. */
  | 'proxy-failed'
  | 'shutdown'

/** What the rules did to one response body. */
export interface RewriteStats {
  /** Replacements per rule, in rule order. */
  readonly hits: readonly number[]
  /** How often `maxHeldBytes` was met. */
  readonly overflows: number
  readonly peakHeldBytes: number
  /** Body octets into and out of the rewriter, both without content coding. */
  readonly inBytes: number
  readonly outBytes: number
}

export type BodyTreatment =
  /** `encode`: it came uncompressed, and was compressed with that. */
  | { readonly kind: 'passed'; readonly reason: PassReason; readonly encode?: string }
  | { readonly kind: 'head-only'; readonly reason: 'head' | 'not-modified' }
  | {
      readonly kind: 'rewritten'
      readonly decode: string
      readonly encode: string
      readonly stats: RewriteStats
      readonly notes?: RewriteNotes
    }

/** What the rules would have done to a body that was passed on as it is; `failed`: that is not known. */
export type ShadowTreatment = BodyTreatment | { readonly kind: 'failed'; readonly detail: string }

/**
 * What came of comparing the response with that of another proxy. `same`: so many octets of the bodies, without content
 * coding, and `isWhole` if that is all of them. `failed`: the other proxy did not answer, or not to the end. `skipped`:
 * for a reason of ours.
 */
export type ResponseComparison =
  | { readonly kind: 'same'; readonly bytes: number; readonly isWhole: boolean }
  | {
      readonly kind: 'different'
      /** `status`, `body`, and names of header fields in lower case. */
      readonly parts: readonly string[]
      /** How many octets of the bodies are the same; where `isExact` is false, fewer by up to 16 KiB. */
      readonly bodyAt?: number
      readonly isExact?: boolean
    }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'skipped'; readonly reason: ComparisonSkip }

/**
 * `busy`: as many comparisons as there may be were under way, or the body came faster than it could be decoded.
 * `coding`: a body has a coding that cannot be decoded. `shadow`: what the rules would do is not known. `stopped`: the
 * proxy was.
 */
export type ComparisonSkip = 'busy' | 'coding' | 'shadow' | 'stopped'

/** A difference as somebody can look it up. Texts hold no secrets that can be told from others. */
export interface DifferenceExample {
  readonly atMs: number
  readonly method: string
  readonly host: string | undefined
  /** Without a query. */
  readonly path: string
  /** One of the comparison's `parts`. */
  readonly part: string
  /** Of a body: what stands around the difference; undefined where that is not known. */
  readonly ours: string | undefined
  readonly theirs: string | undefined
  readonly bodyAt?: number
}

/** What else is worth knowing of a rewritten body; absent where there is nothing to say. */
export interface RewriteNotes {
  /** The encoding of its text, by the name that browsers have for it. */
  readonly charset?: string
  /** Characters of replacements that the encoding lacks: references in markup, left out elsewhere. */
  readonly unencodable?: number
  /** Tags that lost their integrity attribute, since rules may change what they load. */
  readonly droppedIntegrity?: number
  /** The page has integrity attributes, and rules may change what they are about: browsers would refuse that. */
  readonly keptIntegrity?: boolean
  /** The page was changed, and its Content-Security-Policy names hashes, which may be those of what was changed. */
  readonly hashedPolicy?: boolean
  /** Active rules that were left out, since they found nothing in the same version of the resource before. */
  readonly rulesLeftOut?: number
}

/** Everything about one finished exchange. Plain data, owned by the receiver; holds no header values and no body. */
export interface ExchangeEvent {
  readonly version: typeof EXCHANGE_EVENT_VERSION
  /** Unique within the process, increasing. */
  readonly exchangeId: number
  /** Client connection, and which request on it, from 1. */
  readonly connectionId: number
  readonly requestNumber: number
  /** Wall clock at the first octet of the request, milliseconds since the epoch. */
  readonly startedAtMs: number
  /** Microseconds after the start, on a monotonic clock; undefined if it was not reached. */
  readonly timings: ExchangeTimings
  /** Address of the client's connection, which may be that of a proxy in front; absent where it has none. */
  readonly client?: string | undefined
  /** What the client spoke to us. */
  readonly scheme?: 'http' | 'https' | undefined
  readonly method: string
  /** `host[:port]` as the client sent it. */
  readonly host: string | undefined
  /** The request target octet for octet; may hold secrets in its query. */
  readonly target: string
  /** The status sent to the client; undefined if none was. */
  readonly status: number | undefined
  /** Name of the route and address of the upstream asked, if it came to that. */
  readonly route: string | undefined
  readonly upstream: string | undefined
  /** `address:port` that it turned out to be, where `upstream` is a name. */
  readonly upstreamAddress?: string | undefined
  /** How often the request was given to a connection: more than 1 after retries. Absent if it never was. */
  readonly upstreamAttempts?: number | undefined
  /** What the upstream was told to call the request; undefined if it was told nothing. */
  readonly requestId?: string | undefined
  /** W3C Trace Context, as the upstream was told; absent where there was no valid one. */
  readonly traceparent?: string | undefined
  /** Octets on the client's connection, heads and framing included; of a request not read to its end, those read. */
  readonly clientInBytes: number
  readonly clientOutBytes: number
  /** Body octets on the upstream's connection, without framing; of a tunnel, all octets after the heads. */
  readonly upstreamOutBytes: number
  readonly upstreamInBytes: number
  readonly outcome: ExchangeOutcome
  /** One clause that explains an outcome other than `completed`, such as a wire fault's reason. */
  readonly detail: string | undefined
  /** What was done to the upstream's response body; undefined if no response of an upstream was passed on. */
  readonly treatment: BodyTreatment | undefined
  /** Absent unless the rules were applied to a copy. */
  readonly shadow?: ShadowTreatment | undefined
  /** Absent unless it was compared with that of another proxy. */
  readonly comparison?: ResponseComparison | undefined
  /** Absent if no rule changed a header field. */
  readonly fieldEdits?: FieldEdits
  /** Absent if there was no body, or the route does not map them. */
  readonly requestTreatment?: RequestTreatment
}

/** What was done to a request body, on routes that map them. `hits`: host names changed; octets before and after. */
export type RequestTreatment =
  | { readonly kind: 'passed'; readonly reason: RequestPassReason }
  | { readonly kind: 'mapped'; readonly hits: number; readonly inBytes: number; readonly outBytes: number }

/** Names of header fields that rules changed, added or removed, in lower case, each once; no values. */
export interface FieldEdits {
  /** On the way to the upstream. */
  readonly request: readonly string[]
  /** On the way to the client. */
  readonly response: readonly string[]
}

export interface ExchangeTimings {
  readonly requestHeadUs: number | undefined
  /** A connection to the upstream was there or begun: before it the request waited for one. Known only if recorded. */
  readonly upstreamAskedUs?: number | undefined
  readonly upstreamConnectedUs: number | undefined
  readonly responseHeadUs: number | undefined
  /** CPU time of the rules, a duration; known only if recorded. Absent where nothing was rewritten. */
  readonly rewriteUs?: number | undefined
  readonly endUs: number
}

import type { FieldList } from './fields.ts'
import type { GateRoute } from './gate.ts'
import type { RequestHead } from './message.ts'

/**
 * `remove`: Last-Modified and If-Modified-Since do not cross a changed route, since the origin's date says nothing
 * about our rules. Else the date never lies before the rules': milliseconds since the epoch.
 */
export type LastModifiedPolicy =
  | { readonly kind: 'remove' }
  | { readonly kind: 'keep'; readonly rulesChangedMs: number }

/** `W/"<orig>-p<hash>"`: weak, and another one as soon as the rules change. */
export declare function deriveEntityTag(origin: string, ruleSetHash: string): string

/** The fields to send upstream, or the status to answer without asking (412: a tag we cannot translate). */
export type UpstreamRequestFields =
  | { readonly kind: 'send'; readonly fields: string[] }
  | { readonly kind: 'answer'; readonly status: 412 }

/**
 * End-to-end fields of a request on its way up. Where a rule may change the response (some rule holds for the path and
 * the request is not plainly for media), Accept-Encoding is narrowed, Range and If-Range go, and conditions are
 * translated to the origin's validators. Elsewhere only hop-by-hop fields go. Host is kept as sent; the caller sets it
 * and adds Via and X-Forwarded-*.
 */
export declare function upstreamRequestFields(
  request: Pick<RequestHead, 'method' | 'path' | 'fields'>,
  route: GateRoute,
): UpstreamRequestFields

/** Whether a rule may change the response to this request, as far as the request tells. */
export declare function mayRewrite(request: Pick<RequestHead, 'method' | 'path' | 'fields'>, route: GateRoute): boolean

/** Trailers of a changed body: without digests of what the origin sent, and end-to-end only. */
export declare function changedTrailers(trailers: FieldList): string[]

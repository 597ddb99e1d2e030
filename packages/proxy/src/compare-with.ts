/** Another proxy that is asked what clients ask, to see whether it answers the same. */
import { endToEndFields, type FieldList, removeField } from '@prexy/http/fields'
import { type ForwardingPeer, setForwardedFields } from '@prexy/http/forwarded'
import type { RequestHead } from '@prexy/http/message'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { Comparison } from './comparison.ts'
import type { UpstreamConfig } from './proxy-config.ts'
import { editRequestFields } from './request-edits.ts'
import type { ProxyRuntime } from './runtime.ts'
import { upstreamHead } from './upstream-channel.ts'
import type { UpstreamPool } from './upstream-pool.ts'

/** Routes that name the same object share its connections. */
export interface CompareConfig {
  /** Its `maxConnections` bounds how many comparisons are under way; nobody should wait for one: `maxWaiting: 0`. */
  readonly upstream: UpstreamConfig
  /** Of a hundred requests that can be compared, how many are. */
  readonly percent: number
  /** Response fields that are compared, in lower case. */
  readonly headers: readonly string[]
  /** Of each body, without content coding. Unit: bytes. */
  readonly maxBodyBytes: number
  /** How long the other proxy may take once our response has ended. */
  readonly timeoutMs: number
  /** What is taken out of both bodies before they are compared. */
  readonly ignored: RuleSet | undefined
}

/** What is compared of our response. */
export interface OwnResponse {
  readonly status: number
  readonly fields: FieldList
}

/** Fields that ask for a part of a representation, or for one only if it is another. */
const CONDITIONS = ['range', 'if-range', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since']

export class Comparer {
  readonly config: CompareConfig
  readonly pool: UpstreamPool

  constructor(config: CompareConfig, pool: UpstreamPool) {
    this.config = config
    this.pool = pool
  }

  /**
   * Asks the other proxy, unless this request is none to compare: it is not a GET or HEAD without a body, our response
   * is a part or tells of no change, or it was not drawn.
   */
  begin(
    request: RequestHead,
    own: OwnResponse,
    runtime: ProxyRuntime,
    peer: ForwardingPeer,
    takesPasswords: boolean,
  ): Comparison | undefined {
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
    if (request.body.kind !== 'none' || request.upgrade !== undefined) return undefined
    if (own.status === 206 || own.status === 304) return undefined
    if (Math.random() * 100 >= this.config.percent) return undefined
    const fields = endToEndFields(request.fields)
    for (const name of CONDITIONS) removeField(fields, name)
    removeField(fields, 'expect')
    if (takesPasswords) removeField(fields, 'authorization')
    setForwardedFields(fields, peer, request.authority, runtime.forwarded, runtime.trustedRanges)
    editRequestFields(fields, request, {
      host: request.authority ?? this.pool.authority,
      pseudonym: runtime.life.pseudonym,
      keepAlive: this.pool.keepsAlive,
      upgrade: undefined,
    })
    const head = upstreamHead(request.method, request.path, fields, 'none')
    return new Comparison({ comparer: this, method: request.method, head, own, runtime })
  }
}

import type { FieldList } from './fields.ts'

/** Content codings that can be decoded and made. `zstd` only where the runtime has it; `x-gzip` counts as gzip. */
export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd'

/** Codings every supported runtime has; add `zstd` where it is there. */
export const BASE_CODINGS: readonly Coding[] = ['br', 'gzip', 'deflate']

/**
 * Accept-Encoding for an upstream whose response we may change: of our codings those the client accepts, in the
 * client's preference, so that what is passed on unchanged suits the client too; `identity` if there are none.
 * A client that forbids identity and accepts none of ours gets its own value sent.
 */
export declare function upstreamAcceptEncoding(requestFields: FieldList, available: readonly Coding[]): string

/** What Content-Encoding says: one coding of ours, nothing (also `identity`), or something we leave alone. */
export type ContentCoding = Coding | 'identity' | 'unknown' | 'stacked'

export declare function contentCoding(responseFields: FieldList, available: readonly Coding[]): ContentCoding

/** The upstream's coding if the client accepts it, else the best it accepts, else identity (RFC 9110 §12.5.3). */
export declare function outputCoding(
  requestFields: FieldList,
  upstream: Coding | 'identity',
  available: readonly Coding[],
): Coding | 'identity'

/** Limits on what a peer may send in one message. Sizes are octets as they stand on the wire. */
export interface MessageLimits {
  /** Request target; beyond it 414. Default 8,192. */
  readonly maxTargetBytes: number
  /** Request method; beyond it 501. Default 64. */
  readonly maxMethodBytes: number
  /** Header lines with their line ends, for a response the status line too; beyond it 431 or 502. */
  readonly maxHeaderBytes: number
  /** Header lines; beyond it 431 or 502. */
  readonly maxHeaderCount: number
  /** Body octets after chunked decoding; beyond it 413 or a broken-off response. Default no limit. */
  readonly maxBodyBytes: number
  /** Chunk extensions of one body, all chunks together; beyond it 413. Default 16,384. */
  readonly maxChunkExtensionBytes: number
  /** Trailer lines with their line ends; beyond it 431. Default 8,192. */
  readonly maxTrailerBytes: number
  /** Trailer lines; beyond it 431. Default 64. */
  readonly maxTrailerCount: number
  /** 1xx responses before the final one; beyond it 502. Default 16. */
  readonly maxInterimResponses: number
}

/** 32 KiB of header lines, 128 of them. */
export const DEFAULT_REQUEST_LIMITS: MessageLimits = {
  maxTargetBytes: 8_192,
  maxMethodBytes: 64,
  maxHeaderBytes: 32_768,
  maxHeaderCount: 128,
  maxBodyBytes: Number.POSITIVE_INFINITY,
  maxChunkExtensionBytes: 16_384,
  maxTrailerBytes: 8_192,
  maxTrailerCount: 64,
  maxInterimResponses: 16,
}

/** 64 KiB of header lines, 256 of them: applications set many cookies. */
export const DEFAULT_RESPONSE_LIMITS: MessageLimits = {
  ...DEFAULT_REQUEST_LIMITS,
  maxHeaderBytes: 65_536,
  maxHeaderCount: 256,
}

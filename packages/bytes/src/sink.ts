/**
 * Where bytes go. The chunk is borrowed: it is valid only until `write` returns, copy it to keep it.
 *
 * `write` always takes the whole chunk. It returns false when the receiver wants the producer to pause; the producer
 * then hands over nothing more until whoever wired the two together resumes it.
 */
export interface ByteSink {
  write(chunk: Uint8Array): boolean
}

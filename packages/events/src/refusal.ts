/** The limit that a connection was closed for before anything of it was read. */
export type RefusalReason = 'maxConnections' | 'maxConnectionsPerAddress'

/**
 * Connections that were refused since the last event of the same reason. The first is told at once, what follows in sums,
 * so that a flood is no flood of events. Plain data, owned by the receiver.
 */
export interface RefusalEvent {
  /** Wall clock, milliseconds since the epoch. */
  readonly atMs: number
  readonly reason: RefusalReason
  readonly connections: number
  /** Where the last of them came from; undefined if it was gone already. */
  readonly address: string | undefined
}

/** What changed about the servers of an upstream. Plain data, owned by the receiver. */
export type UpstreamEvent = UpstreamSubject & UpstreamChange

export interface UpstreamSubject {
  /** Wall clock, milliseconds since the epoch. */
  readonly atMs: number
  /** The name of the upstream; without one in the configuration, its first server. */
  readonly upstream: string
  /** The server concerned: `host:port` or the path of a socket, as configured. */
  readonly server: string
}

export type UpstreamChange =
  /** Its requests failed: it gets none for `forMs`. */
  | { readonly kind: 'ejected'; readonly forMs: number; readonly reason: string }
  /** That time is over: it is tried again. */
  | { readonly kind: 'returned' }
  /** Its requests failed, but it is the last one that is up: it goes on getting them. */
  | { readonly kind: 'not-ejected'; readonly reason: string }
  /** Its health checks fail: it gets no requests while another server is up. */
  | { readonly kind: 'check-failed'; readonly reason: string }
  | { readonly kind: 'check-passed' }
  /** No server is up any more: requests go to all of them all the same. */
  | { readonly kind: 'none-up' }
  /** DNS names others than before. */
  | { readonly kind: 'addresses-changed'; readonly addresses: readonly string[] }
  /** DNS does not answer: the addresses found before stay in use. */
  | { readonly kind: 'lookup-failed'; readonly reason: string }

/** What the primary process and its workers tell each other. Sockets travel beside `handing` and `adopt`. */
import type { BoundAddress } from '@prexy/net/intake'
import type { Session } from '@prexy/record/sessions'
import type { FileSnapshot } from './file-snapshot.ts'
import type { ProcessStatistics } from './statistics.ts'

/** To a worker. */
export type Order =
  /** Begin to serve what the files say. */
  | {
      readonly kind: 'start'
      readonly files: FileSnapshot
      readonly workers: number
      /** What recordings belong to, if there are any. */
      readonly session: Session | undefined
      /** In base64: what TLS sessions are sealed with, so that a client may go on with another worker. */
      readonly ticketKeys: string
    }
  /** Get another configuration ready; answered by `prepared`. */
  | { readonly kind: 'prepare'; readonly change: number; readonly files: FileSnapshot }
  | { readonly kind: 'commit'; readonly change: number }
  | { readonly kind: 'abandon'; readonly change: number }
  | { readonly kind: 'stop'; readonly deadlineMs: number }
  /** How many connections the other workers hold together. */
  | { readonly kind: 'others'; readonly open: number }
  /** Another worker has more than its share: answer `free` for one of its connections. */
  | { readonly kind: 'ask'; readonly offer: number }
  /** A worker is free for the offered connection: send it as `handing`. */
  | { readonly kind: 'give'; readonly id: number; readonly offer: number; readonly to: number }
  /** Nobody holds fewer connections. */
  | { readonly kind: 'keep'; readonly id: number }
  /** Answered by `measured`. */
  | { readonly kind: 'measure'; readonly id: number }
  | { readonly kind: 'reopen' }
  /** Somebody watches its events, or nobody does any more. */
  | { readonly kind: 'watch'; readonly isWatched: boolean }
  /** With a socket, that was accepted on that address. */
  | { readonly kind: 'adopt'; readonly offer: number; readonly on: BoundAddress }

/** From a worker. */
export type Report =
  /** Ready for `start`. */
  | { readonly kind: 'here' }
  | { readonly kind: 'started'; readonly addresses: readonly BoundAddress[] }
  /** It cannot start; the message is for the user. */
  | { readonly kind: 'failed'; readonly message: string }
  | {
      readonly kind: 'prepared'
      readonly change: number
      /** Why it cannot be served. */
      readonly fault: string | undefined
    }
  | { readonly kind: 'committed'; readonly change: number; readonly addresses: readonly BoundAddress[] }
  /** How many connections it holds. */
  | { readonly kind: 'open'; readonly count: number }
  /** It has accepted a connection beyond its share, and holds so many. */
  | { readonly kind: 'offer'; readonly id: number; readonly open: number }
  | { readonly kind: 'free'; readonly offer: number; readonly open: number }
  | { readonly kind: 'measured'; readonly id: number; readonly statistics: ProcessStatistics }
  /** Recorded events, each in base64. */
  | { readonly kind: 'live'; readonly events: readonly string[] }
  /** It keeps a connection that it was to give away, because it waited for too long. */
  | { readonly kind: 'kept'; readonly offer: number; readonly to: number }
  /** With a socket. */
  | { readonly kind: 'handing'; readonly offer: number; readonly to: number; readonly on: BoundAddress }
  /** The socket has come, and it holds so many now. */
  | { readonly kind: 'adopted'; readonly offer: number; readonly open: number }

/** Messages come from processes of our own, so their kind is all that is checked. */
export function isOrder(value: unknown): value is Order {
  return isMessage(value)
}

export function isReport(value: unknown): value is Report {
  return isMessage(value)
}

function isMessage(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'kind' in value && typeof value.kind === 'string'
}

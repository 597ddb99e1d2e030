import type { FieldList } from './fields.ts'
import type { MessageLimits } from './limits.ts'
import type { ReadEvent, ResponseHead } from './message.ts'
import type { WireFault } from './wire-fault.ts'

/**
 * Reads HTTP/1.x responses off one connection; the same loop as {@link RequestParser}, with `interim` for each 1xx
 * before the final `head`. After `end` any further octet of the chunk belongs to no exchange: do not reuse the
 * connection. After a head whose body is `tunnel`, `read` is not called again; the rest of the chunk is tunnel data.
 */
export declare class ResponseParser {
  constructor(limits: MessageLimits)
  /** Announces the next response: call once per request sent, before its first octet is read. */
  expect(method: string, upgradeAsked: boolean): void
  /** Reads on at `chunk[start]`. Never throws. Octets without an expected response are a fault. */
  read(chunk: Uint8Array, start: number): ReadEvent
  /** Offset in the chunk after the last event. */
  consumed: number
  /** After `interim` and `head`. */
  head: ResponseHead
  /** After `data`: never empty, a view of the chunk. */
  data: Uint8Array
  /** After `end`: the trailer section, empty if there was none. */
  trailers: FieldList
  /** After `fault`. */
  fault: WireFault
  /** True while no response is expected. */
  idle: boolean
  /**
   * The upstream's side has ended. Undefined if nothing was expected or the body lasts until the close (that is its
   * `end`); else `no-response` or `truncated`: a broken body must never look whole to the client.
   */
  close(): WireFault | undefined
}

import type { FieldList } from './fields.ts'
import type { MessageLimits } from './limits.ts'
import type { ReadEvent, RequestHead } from './message.ts'
import type { WireFault } from './wire-fault.ts'

/**
 * Reads HTTP/1.x requests off one connection, one event per call:
 *
 *     let at = 0
 *     for (;;) {
 *       const event = parser.read(chunk, at)
 *       at = parser.consumed
 *       if (event === 'more') break                   // at === chunk.length: feed the next chunk
 *       if (event === 'head') begin(parser.head)
 *       else if (event === 'data') forward(parser.data)   // a view of chunk, borrowed: valid as long as chunk is
 *       else if (event === 'end') { finish(parser.trailers); break }  // chunk.subarray(at) is the next request's
 *       else { answer(parser.fault); break }          // dead from here: answer, then close
 *     }
 *
 * To pause, stop calling; nothing is read ahead. Every message gives `head`, any number of `data`, `end`, also where
 * there is no body (then `end` consumes nothing, so call until `more` or `end` even if `at` is `chunk.length`).
 * The events and their contents do not depend on how the octets were cut into chunks, except where `data` is cut.
 * Time is linear in the octets; memory is bounded by the limits (an unfinished head or trailer line is copied, body
 * octets never are).
 */
export declare class RequestParser {
  constructor(limits: MessageLimits)
  /** Reads on at `chunk[start]`. Never throws. */
  read(chunk: Uint8Array, start: number): ReadEvent
  /** Offset in the chunk after the last event. */
  consumed: number
  /** After `head`. */
  head: RequestHead
  /** After `data`: never empty. */
  data: Uint8Array
  /** After `end`: the trailer section, empty if there was none. */
  trailers: FieldList
  /** After `fault`. */
  fault: WireFault
  /** True between messages, while no octet of the next one has been read. */
  idle: boolean
  /** The client's side has ended: undefined if that was between messages, else the fault `truncated`. */
  close(): WireFault | undefined
}

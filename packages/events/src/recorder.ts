/**
 * What an exchange asks of whoever records. The proxy knows nothing else of recordings: where no recorder is given, or
 * it does not want an exchange, nothing is kept and nothing allocated for it.
 */
import type { FieldList } from '@prexy/http/fields'
import type { RequestHead, ResponseHead } from '@prexy/http/message'
import type { ExchangeEvent } from './exchange.ts'
import type { WebSocketCounts } from './recorded-event.ts'

export interface ExchangeRecorder {
  /** Asked once per exchange, as soon as its route is known; undefined if the exchange is not to be recorded. */
  begin(request: RequestHead, route: string | undefined): ExchangeRecording | undefined
  /** An exchange whose request did not parse: there is no head to keep. */
  refused(event: ExchangeEvent): void
}

/**
 * One exchange while it goes on. Calls come in the order of this list; those about a part that never comes are left out.
 * Lists of fields are kept, not copied, and not changed by either side but for lines added before the head goes out.
 * Octets are borrowed until the call returns. No call throws, and nothing may be called after `end`.
 */
export interface ExchangeRecording {
  /** Whether octets of the request body are wanted. */
  readonly wantsRequestBody: boolean
  /** The head that the upstream gets. */
  requestSent(fields: FieldList): void
  /** As the client sent it. */
  requestData(octets: Uint8Array): void
  /** As the upstream gets it, where that may differ. */
  requestDataSent(octets: Uint8Array): void
  /**
   * The upstream's head and the fields that the client gets. `isRewritten`: the body passes through rules. Returns whether
   * octets of the response body are wanted.
   */
  responseHead(head: ResponseHead, sentFields: FieldList, isRewritten: boolean): boolean
  /** What came from the upstream: as it is, or as the rules see it if they do. */
  responseData(octets: Uint8Array): void
  /** What the rules made of it. */
  responseDataSent(octets: Uint8Array): void
  webSocket(counts: WebSocketCounts): void
  end(event: ExchangeEvent): void
}

/** Recorded events as they are encoded: what is left out can be worked out by `parseRecordedEvent`. */
import { fieldDelta } from './field-delta.ts'
import type { RecordedEvent, RecordedRequest, RecordedResponse } from './recorded-event.ts'

/** For an encoder that leaves out what is `undefined`. */
export function toWire(event: RecordedEvent): Readonly<Record<string, unknown>> {
  if (event.kind === 'gap' || event.kind === 'application') return { ...event }
  const { request, response } = event
  if (request?.sentFields === undefined && response?.sentFields === undefined) return { ...event }
  return { ...event, request: headToWire(request), response: headToWire(response) }
}

function headToWire(head: RecordedRequest | RecordedResponse | undefined): unknown {
  if (head?.sentFields === undefined) return head
  const { sentFields, ...rest } = head
  return { ...rest, sent: fieldDelta(head.fields, sentFields) }
}

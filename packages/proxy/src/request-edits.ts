import {
  type FieldList,
  fieldValue,
  fieldValues,
  joinedValue,
  listElements,
  listHasToken,
  removeField,
  setField,
} from '@prexy/http/fields'
import type { RequestHead } from '@prexy/http/message'

/** Whether a request has passed through the proxy that calls itself by this pseudonym in Via (RFC 9110 §7.6.3). */
export function hasPassedThrough(fields: FieldList, pseudonym: string): boolean {
  // As a rule there is no such field.
  if (fieldValue(fields, 'via') === undefined) return false
  for (const value of fieldValues(fields, 'via')) {
    // The element is `protocol received-by [comment]`; the pseudonym is unique enough to be looked for as a whole.
    if (value.includes(pseudonym) && listElements(value).some((element) => element.split(' ').includes(pseudonym))) {
      return true
    }
  }
  return false
}

/** Whether Max-Forwards says that the request ends here (RFC 9110 §7.6.2; TRACE is not served). */
export function hasArrived(request: RequestHead): boolean {
  return request.method === 'OPTIONS' && maxForwards(request.fields) === 0
}

/** Above this, Max-Forwards is lowered to it, which RFC 9110 §7.6.2 allows. */
const MAX_FORWARDS = 1_000_000

/** The value of Max-Forwards, which is 1*DIGIT; undefined without one or with anything else. */
function maxForwards(fields: FieldList): number | undefined {
  const value = fieldValue(fields, 'max-forwards')
  if (value === undefined || !/^[0-9]+$/.test(value)) return undefined
  return Math.min(Number(value), MAX_FORWARDS)
}

export interface RequestEdits {
  /** What Host says upstream. */
  readonly host: string
  /** Our pseudonym in Via. */
  readonly pseudonym: string
  /** False asks the upstream to close the connection after its response. */
  readonly keepAlive: boolean
  /** The protocol that the upstream is asked to change to. */
  readonly upgrade: string | undefined
}

/**
 * Makes the end-to-end fields of a request those of our own request upstream: Host, Via, framing.
 * Changes `fields`.
 */
export function editRequestFields(fields: string[], request: RequestHead, edits: RequestEdits): void {
  setField(fields, 'Host', edits.host)
  const version = request.majorVersion === 2 ? '2.0' : `1.${request.minorVersion}`
  const via = `${version} ${edits.pseudonym}`
  const earlier = fieldValues(fields, 'via')
  if (earlier.length === 0) {
    fields.push('Via', via)
  } else {
    removeField(fields, 'via')
    fields.push('Via', `${earlier.join(', ')}, ${via}`)
  }
  if (request.method === 'OPTIONS') {
    const forwards = maxForwards(fields)
    if (forwards !== undefined && forwards > 0) setField(fields, 'Max-Forwards', String(forwards - 1))
  }
  if (request.body.kind === 'length') fields.push('Content-Length', String(request.body.bytes))
  else if (request.body.kind === 'chunked') fields.push('Transfer-Encoding', 'chunked')
  if (edits.upgrade !== undefined) {
    fields.push('Connection', 'Upgrade', 'Upgrade', edits.upgrade)
    return
  }
  // RFC 9110 §10.1.4: of TE only this is for us to pass on, and Connection names it.
  const passesTe = wantsTrailers(request.fields)
  if (passesTe) fields.push('TE', 'trailers', 'Connection', edits.keepAlive ? 'TE' : 'close, TE')
  else if (!edits.keepAlive) fields.push('Connection', 'close')
}

/** RFC 9110 §6.5.1: trailers that nobody asked for may get lost. */
export function wantsTrailers(fields: FieldList): boolean {
  const te = joinedValue(fields, 'te')
  return te !== undefined && listHasToken(te, 'trailers')
}

/** Methods that may be sent again when their outcome is unknown (RFC 9110 §9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PROPFIND', 'REPORT', 'SEARCH'])

/** Whether the request can be sent a second time: its method allows it and there is no body, which we did not keep. */
export function mayRepeat(request: RequestHead): boolean {
  return IDEMPOTENT.has(request.method) && (request.body.kind === 'none' || isEmptyLength(request))
}

function isEmptyLength(request: RequestHead): boolean {
  return request.body.kind === 'length' && request.body.bytes === 0
}

import { type FieldList, fieldValue, joinedValue, removeField } from './fields.ts'

/**
 * `pass`: what a client says goes on as it is. `begin`: where it says nothing that holds, a trace begins here.
 * `restart`: one begins here in any case, unless a trusted peer says otherwise.
 */
export type TracePolicy = 'pass' | 'begin' | 'restart'

/** W3C Trace Context §3.2.2.3 to 5: neither id is all zeros; a later version may say more behind the flags. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-[\x21-\x7e]{1,200})?$/

/** The value if it is well-formed; of version 00, nothing may follow the flags. */
export function validTraceparent(value: string | undefined): string | undefined {
  const parts = TRACEPARENT.exec(value ?? '')
  return parts === null || (parts[1] === '00' && parts[5] !== undefined) ? undefined : value
}

/**
 * Settles the trace of a request and returns its traceparent, if there is one. Where a trace begins, what `fields` said
 * of another goes, with its `tracestate` (§3.3: that means nothing without its traceparent). Changes `fields`.
 */
export function settleTrace(
  fields: string[],
  policy: TracePolicy,
  isTrusted: boolean,
  begin: () => string,
): string | undefined {
  const told = toldTraceparent(fields)
  if (policy === 'pass' || (told !== undefined && (policy === 'begin' || isTrusted))) return told
  const own = begin()
  removeField(fields, 'traceparent')
  removeField(fields, 'tracestate')
  fields.push('traceparent', own)
  return own
}

/** Of several lines none holds (§3.2). */
export function toldTraceparent(fields: FieldList): string | undefined {
  return fieldValue(fields, 'traceparent') === undefined
    ? undefined
    : validTraceparent(joinedValue(fields, 'traceparent'))
}

import { type FieldList, fieldValues, isNamed, joinedValue, listElements, listHasToken } from './fields.ts'
import type { RequestHead, ResponseHead } from './message.ts'

/**
 * Upgrade across an intermediary (RFC 9110 §7.8). One protocol may be asked for: WebSocket.
 *
 * SECURITY: h2c is never passed on. Whoever could talk it to an origin would reach every path of it behind our rules
 * (h2c smuggling), as would a tunnel opened without the 101 of the origin.
 */
export const UPGRADE_PROTOCOL = 'websocket'

/**
 * The protocol to ask the upstream for, or undefined to leave the wish out: anything but the handshake of RFC 6455
 * §4.1, a GET of HTTP/1.1 without a body, is an ordinary request. The version is the origin's to judge.
 */
export function askedUpgrade(
  request: Pick<RequestHead, 'method' | 'minorVersion' | 'body' | 'upgrade' | 'fields'>,
): string | undefined {
  const { method, minorVersion, body, upgrade, fields } = request
  if (upgrade === undefined || method !== 'GET' || minorVersion === 0) return undefined
  if (body.kind !== 'none' && !(body.kind === 'length' && body.bytes === 0)) return undefined
  const wishes = joinedValue(fields, 'upgrade')
  if (wishes === undefined || !listHasToken(wishes, UPGRADE_PROTOCOL)) return undefined
  const keys = fieldValues(fields, 'sec-websocket-key')
  const versions = fieldValues(fields, 'sec-websocket-version')
  return keys.length === 1 && KEY.test(keys[0]) && versions.length === 1 ? UPGRADE_PROTOCOL : undefined
}

/** Sixteen octets in base64. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/

/** Whether a response of another status says that the protocol is to be had. */
export function offersUpgrade(fields: FieldList): boolean {
  const offered = joinedValue(fields, 'upgrade')
  return offered !== undefined && listHasToken(offered, UPGRADE_PROTOCOL)
}

/** Whether a 101 switches to what was asked for and to nothing else. HTTP/1.0 knows no such response. */
export function answersUpgrade(
  response: Pick<ResponseHead, 'status' | 'minorVersion' | 'fields'>,
  protocol: string,
): boolean {
  const { status, minorVersion, fields } = response
  if (status !== 101 || minorVersion === 0) return false
  if (!listHasToken(joinedValue(fields, 'connection') ?? '', 'upgrade')) return false
  const chosen = listElements(joinedValue(fields, 'upgrade') ?? '')
  return chosen.length === 1 && isNamed(chosen[0], protocol)
}

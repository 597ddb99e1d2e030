import { parseAuthority } from './authority.ts'
import { type FieldList, isNamed, isToken, joinedValue, listElements, removeField, trimBlanks } from './fields.ts'
import { type AddressRange, isInRanges, parseIpAddress } from './ip-address.ts'

/**
 * What an origin is told of the client behind us: X-Forwarded-For, -Host, -Proto and -Port, X-Real-IP, and Forwarded
 * (RFC 7239).
 *
 * SECURITY: origins grant by these fields. What a client says of itself is removed, in every spelling that an origin may
 * take for the same name (`X_Forwarded_For` is one to CGI), unless the client is a proxy that the operator trusts.
 */

/** Which of the two families is sent; a trusted proxy's is continued in any case. */
export type ForwardedForm = 'x-forwarded' | 'forwarded' | 'both' | 'none'

/** What we know by ourselves about the one who sent a request. */
export interface ForwardingPeer {
  /** Undefined when it is gone. An IPv6 address without brackets. */
  readonly address: string | undefined
  /** Whether what it says of its own clients is believed. */
  readonly trusted: boolean
  readonly scheme: 'http' | 'https'
  /** The port that it connected to, in digits. */
  readonly port: string
}

const NO_FIELDS: FieldList = []

/** Replaces or continues the fields about the client. `authority` is the request's. Changes `fields`. */
export function setForwardedFields(
  fields: string[],
  peer: ForwardingPeer,
  authority: string | undefined,
  form: ForwardedForm,
  trustedRanges: readonly AddressRange[],
): void {
  const told = peer.trusted ? toldFields(fields) : NO_FIELDS
  removeTold(fields, peer.trusted)
  const chain = toldValue(told, 'x-forwarded-for')
  if (form === 'x-forwarded' || form === 'both' || chain !== undefined) {
    const { address } = peer
    const addresses = address === undefined ? chain : chain === undefined ? address : `${chain}, ${address}`
    if (addresses !== undefined) fields.push('X-Forwarded-For', addresses)
    const host = believed(told, 'x-forwarded-host', isAuthority) ?? authority
    if (host !== undefined) fields.push('X-Forwarded-Host', host)
    fields.push('X-Forwarded-Proto', believed(told, 'x-forwarded-proto', isScheme) ?? peer.scheme)
    fields.push('X-Forwarded-Port', believed(told, 'x-forwarded-port', isPort) ?? peer.port)
    const real = believed(told, 'x-real-ip', isAddress) ?? clientOf(addresses, trustedRanges)
    if (real !== undefined) fields.push('X-Real-IP', real)
  }
  const elements = toldValue(told, 'forwarded')
  if (form === 'forwarded' || form === 'both' || elements !== undefined) {
    const own = forwardedElement(peer, authority)
    fields.push('Forwarded', elements === undefined ? own : `${elements}, ${own}`)
  }
}

/** Names that may tell an origin who the client is, and how it came. */
function tellsOfClient(name: string): boolean {
  const first = name.charCodeAt(0) | 0x20
  if (first === 0x66) return isNamed(name, 'forwarded')
  if (first !== 0x78) return false
  const lowerName = name.toLowerCase().replaceAll('_', '-')
  return lowerName.startsWith('x-forwarded') || lowerName === 'x-real-ip'
}

function toldFields(fields: FieldList): FieldList {
  return fields.filter((_, at) => tellsOfClient(fields[at - (at % 2)]))
}

/** Elements of all lines, without empty ones; undefined if there is none. */
function toldValue(told: FieldList, lowerName: string): string | undefined {
  if (told.length === 0) return undefined
  const value = joinedValue(told, lowerName) ?? ''
  const elements = lowerName === 'forwarded' ? forwardedElements(value) : chainElements(value)
  return elements.length === 0 ? undefined : elements.join(', ')
}

/**
 * Elements of one of the X- fields, none of which knows quoted strings.
 *
 * SECURITY: a quotation mark that the first client wrote must not make one element of all that proxies added behind it.
 */
function chainElements(value: string): string[] {
  return value
    .split(',')
    .map(trimBlanks)
    .filter((element) => element !== '')
}

/** SECURITY: none where a quoted string does not end: it would swallow what is added behind it. */
function forwardedElements(value: string): string[] {
  return /^(?:[^"]|"(?:[^"\\]|\\.)*")*$/.test(value) ? listElements(value) : []
}

/** What is made anew is removed; a trusted proxy's other fields, such as X-Forwarded-Prefix, stay. */
function removeTold(fields: string[], trusted: boolean): void {
  let kept = 0
  for (let at = 0; at < fields.length; at += 2) {
    if (tellsOfClient(fields[at]) && !(trusted && isKept(fields[at]))) continue
    fields[kept] = fields[at]
    fields[kept + 1] = fields[at + 1]
    kept += 2
  }
  // PERF: to set the length costs as much as the loop.
  if (kept < fields.length) fields.length = kept
}

const MADE_ANEW = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-real-ip',
])

function isKept(name: string): boolean {
  return !MADE_ANEW.has(name.toLowerCase().replaceAll('_', '-'))
}

/** A trusted proxy's value where every element of it is what it should be. */
function believed(told: FieldList, lowerName: string, holds: (element: string) => boolean): string | undefined {
  const value = toldValue(told, lowerName)
  return value !== undefined && chainElements(value).every(holds) ? value : undefined
}

function isAuthority(text: string): boolean {
  return parseAuthority(text) !== undefined
}

function isScheme(text: string): boolean {
  return isNamed(text, 'http') || isNamed(text, 'https')
}

function isPort(text: string): boolean {
  return /^[0-9]{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
}

function isAddress(text: string): boolean {
  return parseIpAddress(text) !== undefined
}

/**
 * The client of a chain of proxies: from the near end, the first address that is not a trusted proxy's; where all are,
 * the farthest. An element that is no address ends the walk.
 */
function clientOf(chain: string | undefined, trustedRanges: readonly AddressRange[]): string | undefined {
  if (chain === undefined) return undefined
  if (!chain.includes(',')) return chain
  let client: string | undefined
  for (const element of chainElements(chain).reverse()) {
    const address = parseIpAddress(element)
    if (address === undefined) break
    client = element
    if (!isInRanges(address, trustedRanges)) break
  }
  return client
}

/**
 * The address of the one who asked: the peer's own, or what trusted proxies say in X-Forwarded-For. Undefined when it is
 * not known.
 */
export function clientAddress(
  fields: FieldList,
  { address, trusted }: ForwardingPeer,
  trustedRanges: readonly AddressRange[],
): string | undefined {
  if (!trusted) return address
  const chain = toldValue(toldFields(fields), 'x-forwarded-for')
  if (chain === undefined) return address
  if (address !== undefined) return clientOf(`${chain}, ${address}`, trustedRanges)
  const client = clientOf(chain, trustedRanges)
  return client !== undefined && isAddress(client) ? client : undefined
}

/** RFC 7239 §4; what is no token is quoted, and an IPv6 address has brackets (§6). */
function forwardedElement({ address, scheme }: ForwardingPeer, authority: string | undefined): string {
  const node = address === undefined ? 'unknown' : address.includes(':') ? `[${address}]` : address
  const host = authority === undefined ? '' : `;host=${quotedIfNeeded(authority)}`
  return `for=${quotedIfNeeded(node)}${host};proto=${scheme}`
}

/** The texts here, addresses and authorities, hold neither a quote nor a backslash. */
function quotedIfNeeded(text: string): string {
  return isToken(text) ? text : `"${text}"`
}

const REQUEST_ID = /^[A-Za-z0-9+/=._~:-]{1,128}$/

/**
 * The identifier of a request, for the logs of everyone on its way: a trusted peer's, if it is one line of harmless
 * characters, else `own`. Sets the field and returns it. Changes `fields`.
 */
export function setRequestId(fields: string[], name: string, trusted: boolean, own: string): string {
  const lowerName = name.toLowerCase()
  const told = trusted ? joinedValue(fields, lowerName) : undefined
  const id = told !== undefined && REQUEST_ID.test(told) ? told : own
  removeField(fields, lowerName)
  fields.push(name, id)
  return id
}

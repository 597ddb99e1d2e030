/**
 * The header that a proxy in front of this one puts before everything else, to say whose connection it passes on: the
 * PROXY protocol, versions 1 (a line) and 2 (binary). Pure, and the same wherever the octets were cut.
 *
 * https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt
 */

import { parseIpAddress } from './ip-address.ts'

/** Longest line of version 1, with its line end (§2.1). */
const MAX_LINE_BYTES = 107

/** Longest header of version 2 that is read: its addresses, and what else may be told there. Unit: bytes. */
export const MAX_PROXY_HEADER_BYTES = 4_096

/** `source` is the client's address; undefined where the proxy speaks for itself, or does not know. */
export type ProxyHeader =
  | { readonly kind: 'more' }
  | { readonly kind: 'fault'; readonly reason: string }
  | { readonly kind: 'header'; readonly bytes: number; readonly source: string | undefined }

const MORE: ProxyHeader = { kind: 'more' }

/** `\r\n\r\n\0\r\nQUIT\n` */
const SIGNATURE: readonly number[] = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
/** `PROXY ` */
const LINE_START: readonly number[] = [0x50, 0x52, 0x4f, 0x58, 0x59, 0x20]

const CR = 0x0d
const LF = 0x0a
/** Of version 2: the signature, version and command, family and protocol, the length of the rest. */
const FIXED_BYTES = 16

/** Reads the header at the beginning of `octets`, which are all that came so far. */
export function readProxyHeader(octets: Uint8Array): ProxyHeader {
  if (octets.length === 0) return MORE
  if (startsLike(octets, SIGNATURE)) return octets.length < FIXED_BYTES ? readFixed(octets) : readBinary(octets)
  if (startsLike(octets, LINE_START)) return readLine(octets)
  return fault('it does not begin with a PROXY header')
}

function fault(reason: string): ProxyHeader {
  return { kind: 'fault', reason }
}

function startsLike(octets: Uint8Array, start: readonly number[]): boolean {
  const count = Math.min(octets.length, start.length)
  for (let i = 0; i < count; i++) if (octets[i] !== start[i]) return false
  return true
}

// Version 1: `PROXY TCP4 192.0.2.7 192.0.2.1 56324 443\r\n`

function readLine(octets: Uint8Array): ProxyHeader {
  const end = octets.indexOf(CR)
  if (end < 0 || end + 1 === octets.length) {
    return octets.length < MAX_LINE_BYTES ? MORE : fault('its PROXY line is too long')
  }
  if (octets[end + 1] !== LF) return fault('its PROXY line has a CR that no LF follows')
  const bytes = end + 2
  if (bytes > MAX_LINE_BYTES) return fault('its PROXY line is too long')
  let line = ''
  for (let i = LINE_START.length; i < end; i++) {
    if (octets[i] < 0x20 || octets[i] > 0x7e) return fault('its PROXY line has characters that do not belong there')
    line += String.fromCharCode(octets[i])
  }
  // §2.1: what follows UNKNOWN is ignored.
  if (line === 'UNKNOWN' || line.startsWith('UNKNOWN ')) return { kind: 'header', bytes, source: undefined }
  const parts = line.split(' ')
  const [family, source = '', target = '', sourcePort = '', targetPort = ''] = parts
  if (parts.length !== 5 || (family !== 'TCP4' && family !== 'TCP6')) return fault('its PROXY line is malformed')
  const isFamily = (address: string): boolean =>
    address.includes(':') === (family === 'TCP6') && !address.includes('%') && parseIpAddress(address) !== undefined
  if (!isFamily(source) || !isFamily(target)) return fault(`its PROXY line has an address that is none of ${family}`)
  if (!isPort(sourcePort) || !isPort(targetPort)) return fault('its PROXY line has a port that is none')
  return { kind: 'header', bytes, source }
}

function isPort(text: string): boolean {
  return /^(0|[1-9][0-9]{0,4})$/.test(text) && Number(text) <= 65_535
}

// Version 2

/** What is wrong is told as soon as it is there. */
function readFixed(octets: Uint8Array): ProxyHeader {
  if (octets.length > SIGNATURE.length && !isVersionAndCommand(octets[SIGNATURE.length])) return badCommand()
  return MORE
}

function isVersionAndCommand(octet: number): boolean {
  return octet === 0x20 || octet === 0x21
}

function badCommand(): ProxyHeader {
  return fault('its PROXY header has an unknown version or command')
}

/** Octets of addresses and ports, by address family. */
const ADDRESS_BYTES: Readonly<Record<number, number>> = { 0: 0, 1: 12, 2: 36, 3: 216 }

function readBinary(octets: Uint8Array): ProxyHeader {
  const command = octets[12]
  if (!isVersionAndCommand(command)) return badCommand()
  const family = octets[13] >> 4
  const protocol = octets[13] & 0xf
  const length = (octets[14] << 8) | octets[15]
  const bytes = FIXED_BYTES + length
  if (bytes > MAX_PROXY_HEADER_BYTES) return fault('its PROXY header is too long')
  const addressBytes = ADDRESS_BYTES[family]
  if (addressBytes === undefined || protocol > 2) return fault('its PROXY header is about an unknown kind of address')
  // §2.2: of LOCAL the rest is ignored, whatever it says.
  const isLocal = command === 0x20
  if (!isLocal && length < addressBytes) return fault('its PROXY header is too short for its addresses')
  if (octets.length < bytes) return MORE
  if (isLocal || protocol === 0 || family === 0 || family === 3) return { kind: 'header', bytes, source: undefined }
  if (protocol !== 1) return fault('its PROXY header is about a connection that is not TCP')
  return { kind: 'header', bytes, source: family === 1 ? ipv4Text(octets, FIXED_BYTES) : ipv6Text(octets, FIXED_BYTES) }
}

function ipv4Text(octets: Uint8Array, at: number): string {
  return octets.subarray(at, at + 4).join('.')
}

/** RFC 5952 §4, with an IPv4 address as such. */
function ipv6Text(octets: Uint8Array, at: number): string {
  const groups = Array.from({ length: 8 }, (_, i) => (octets[at + 2 * i] << 8) | octets[at + 2 * i + 1])
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) return ipv4Text(octets, at + 12)
  let [longest, start] = [1, -1]
  for (let i = 0; i < 8; i++) {
    let count = 0
    while (i + count < 8 && groups[i + count] === 0) count++
    if (count > longest) [longest, start] = [count, i]
  }
  const text = (some: readonly number[]): string => some.map((group) => group.toString(16)).join(':')
  if (start < 0) return text(groups)
  return `${text(groups.slice(0, start))}::${text(groups.slice(start + longest))}`
}

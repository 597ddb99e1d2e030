import { HEX_VALUE } from './octets.ts'

/** `host[:port]` taken apart. */
export interface Authority {
  /** In lower case, an IPv6 address with its brackets. */
  readonly host: string
  readonly port: number | undefined
}

const MAX_PORT = 65_535

/**
 * `uri-host [":" port]` with a host that is not empty (RFC 9110 §7.2, RFC 3986 §3.2.2); undefined for anything else:
 * user information, lists, paths, white space, a port above 65,535. An empty port (`host:`) counts as none.
 */
export function parseAuthority(text: string): Authority | undefined {
  const hostEnd = text.startsWith('[') ? text.indexOf(']') + 1 : endOfName(text)
  if (hostEnd === 0) return undefined
  const host = text.slice(0, hostEnd)
  if (host.startsWith('[') ? !isIpLiteral(host.slice(1, -1)) : !isRegName(host)) return undefined
  if (hostEnd === text.length) return { host: host.toLowerCase(), port: undefined }
  if (text[hostEnd] !== ':') return undefined
  const digits = text.slice(hostEnd + 1)
  let port = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(i) - 0x30
    if (digit < 0 || digit > 9) return undefined
    port = port * 10 + digit
    if (port > MAX_PORT) return undefined
  }
  return { host: host.toLowerCase(), port: digits === '' ? undefined : port }
}

function endOfName(text: string): number {
  const colon = text.indexOf(':')
  return colon < 0 ? text.length : colon
}

/** Letters, digits and `-._~!$&'()*+,;=`; the comma is left out, since `a, b` in Host is two hosts. */
const NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+;="
/** By character code; nothing above US-ASCII. */
const IN_NAME: Uint8Array = new Uint8Array(128)
for (let i = 0; i < NAME_CHARACTERS.length; i++) IN_NAME[NAME_CHARACTERS.charCodeAt(i)] = 1

/** `reg-name` or IPv4address. */
function isRegName(host: string): boolean {
  for (let i = 0; i < host.length; i++) {
    if (IN_NAME[host.charCodeAt(i)] === 1) continue
    if (host[i] !== '%' || !isHexDigit(host, i + 1) || !isHexDigit(host, i + 2)) return false
    i += 2
  }
  return true
}

function isHexDigit(text: string, at: number): boolean {
  return at < text.length && HEX_VALUE[text.charCodeAt(at)] < 16
}

/** IPv6address. IPvFuture has never been used, and a zone identifier does not belong on the wire (RFC 6874 §1). */
function isIpLiteral(text: string): boolean {
  const halves = text.split('::')
  if (halves.length > 2) return false
  let groups = 0
  for (let half = 0; half < halves.length; half++) {
    if (halves[half] === '') {
      if (halves.length === 1) return false
      continue
    }
    const pieces = halves[half].split(':')
    for (let i = 0; i < pieces.length; i++) {
      const last = half === halves.length - 1 && i === pieces.length - 1
      if (isHexGroup(pieces[i])) groups++
      else if (last && isIpv4(pieces[i])) groups += 2
      else return false
    }
  }
  return halves.length === 2 ? groups <= 7 : groups === 8
}

function isHexGroup(text: string): boolean {
  if (text.length < 1 || text.length > 4) return false
  for (let i = 0; i < text.length; i++) if (!isHexDigit(text, i)) return false
  return true
}

function isIpv4(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every(isDecimalOctet)
}

function isDecimalOctet(text: string): boolean {
  if (text.length < 1 || text.length > 3 || (text.length > 1 && text[0] === '0')) return false
  let value = 0
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30
    if (digit < 0 || digit > 9) return false
    value = value * 10 + digit
  }
  return value <= 255
}

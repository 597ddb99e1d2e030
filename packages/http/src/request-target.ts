import { parseAuthority } from './authority.ts'
import { HEX_VALUE } from './octets.ts'
import type { WireFaultCode } from './wire-fault.ts'

/** A request target by its form (RFC 9112 §3.2). The authority form belongs to CONNECT, which is refused earlier. */
export type RequestTarget =
  | { readonly kind: 'origin' | 'asterisk'; readonly path: string }
  | { readonly kind: 'absolute'; readonly path: string; readonly authority: string }
  | { readonly kind: 'fault'; readonly code: WireFaultCode }

/** `target` holds visible US-ASCII only, which the start line's reader has seen to. */
export function parseTarget(method: string, target: string): RequestTarget {
  if (target.includes('#')) return { kind: 'fault', code: 'target-fragment' }
  if (target.startsWith('/')) return { kind: 'origin', path: target }
  if (target === '*') {
    return method === 'OPTIONS' ? { kind: 'asterisk', path: '*' } : { kind: 'fault', code: 'target-form' }
  }
  return parseAbsolute(method, target)
}

function parseAbsolute(method: string, target: string): RequestTarget {
  const scheme = target.slice(0, target.indexOf('://')).toLowerCase()
  if (scheme !== 'http' && scheme !== 'https') return { kind: 'fault', code: 'target-form' }
  const start = scheme.length + 3
  let end = start
  while (end < target.length && target[end] !== '/' && target[end] !== '?') end++
  const authority = target.slice(start, end)
  if (authority.includes('@')) return { kind: 'fault', code: 'target-userinfo' }
  if (parseAuthority(authority) === undefined) return { kind: 'fault', code: 'target-form' }
  const rest = target.slice(end)
  if (rest.startsWith('/')) return { kind: 'absolute', authority, path: rest }
  // RFC 9112 §3.2.4: OPTIONS for a URI with neither path nor query asks about the server as a whole.
  if (rest === '' && method === 'OPTIONS') return { kind: 'absolute', authority, path: '*' }
  return { kind: 'absolute', authority, path: `/${rest}` }
}

/**
 * The path to match routes and rules on, never to send: without query, dot segments removed, percent-encoded
 * unreserved characters decoded and other escapes in upper case (RFC 3986 §6.2.2). An encoded slash stays encoded and
 * repeated slashes stay. `path` is a head's `path`.
 */
export function matchingPath(path: string): string {
  const query = path.indexOf('?')
  let plain = query < 0 ? path : path.slice(0, query)
  if (plain.includes('%')) plain = normalizeEscapes(plain)
  return plain.includes('/.') ? removeDotSegments(plain) : plain
}

function normalizeEscapes(path: string): string {
  const pieces = path.split('%')
  let normal = pieces[0]
  for (let i = 1; i < pieces.length; i++) {
    const piece = pieces[i]
    const high = piece.length >= 2 ? HEX_VALUE[piece.charCodeAt(0)] : 255
    const low = piece.length >= 2 ? HEX_VALUE[piece.charCodeAt(1)] : 255
    if (high > 15 || low > 15) {
      normal += `%${piece}`
      continue
    }
    const character = String.fromCharCode(high * 16 + low)
    normal += UNRESERVED.has(character) ? character : `%${piece.slice(0, 2).toUpperCase()}`
    normal += piece.slice(2)
  }
  return normal
}

const UNRESERVED = new Set('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~')

/** RFC 3986 §5.2.4; never climbs above the root. */
function removeDotSegments(path: string): string {
  const kept: string[] = []
  const segments = path.split('/')
  for (let i = 1; i < segments.length; i++) {
    const segment = segments[i]
    const last = i === segments.length - 1
    if (segment === '..') kept.pop()
    if (segment !== '.' && segment !== '..') kept.push(segment)
    else if (last) kept.push('')
  }
  return `/${kept.join('/')}`
}

/**
 * The path to match routes on as nginx has it: every escape decoded, doubled slashes made one, then dot segments removed;
 * one character for each octet. Undefined for a path that nginx refuses (a broken escape, an encoded NUL, dot segments
 * that climb above the root) and for encoded control characters, which patterns and globs would see differently.
 */
export function decodedPath(path: string): string | undefined {
  const query = path.indexOf('?')
  const raw = query < 0 ? path : path.slice(0, query)
  const plain = raw.includes('%') ? decodeEscapes(raw) : raw
  if (plain === undefined) return undefined
  return plain.includes('//') || plain.includes('/.') ? removeEmptyAndDotSegments(plain) : plain
}

function decodeEscapes(path: string): string | undefined {
  const [first, ...pieces] = path.split('%')
  let plain = first
  for (const piece of pieces) {
    const high = piece.length >= 2 ? HEX_VALUE[piece.charCodeAt(0)] : 255
    const low = piece.length >= 2 ? HEX_VALUE[piece.charCodeAt(1)] : 255
    if (high > 15 || low > 15) return undefined
    const octet = high * 16 + low
    if (octet < 0x20 || octet === 0x7f) return undefined
    plain += String.fromCharCode(octet) + piece.slice(2)
  }
  return plain
}

function removeEmptyAndDotSegments(path: string): string | undefined {
  const kept: string[] = []
  const segments = path.split('/').slice(1)
  for (const [i, segment] of segments.entries()) {
    const isLast = i === segments.length - 1
    if (segment === '..' && kept.pop() === undefined) return undefined
    if (segment === '' || segment === '.' || segment === '..') {
      if (isLast) kept.push('')
    } else kept.push(segment)
  }
  return `/${kept.join('/')}`
}

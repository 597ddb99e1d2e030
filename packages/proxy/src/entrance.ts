import { parseAuthority } from '@prexy/http/authority'
import type { ForwardingPeer } from '@prexy/http/forwarded'
import { isInRanges, parseIpAddress } from '@prexy/http/ip-address'
import type { TlsSession } from '@prexy/net/listener'
import type { ProxyRuntime } from './runtime.ts'

/** How a client came in. */
export interface Entrance {
  /** That of the listener, in digits. */
  readonly port: string
  /** What the configuration calls the address. */
  readonly listener: string | undefined
  /** Absent in cleartext. */
  readonly tls: TlsSession | undefined
  /** Every request is answered with a redirect to this port by https. */
  readonly redirectPort: number | undefined
  /** By a unix socket: the client has no address. */
  readonly isUnix: boolean
}

export function peerOf(remoteAddress: string | undefined, entrance: Entrance, runtime: ProxyRuntime): ForwardingPeer {
  // A socket that takes both families writes an IPv4 address as an IPv6 one (RFC 4291 §2.5.5.2).
  const address = remoteAddress?.replace(/^::ffff:(?=[0-9.]+$)/, '')
  const scheme = entrance.tls === undefined ? 'http' : 'https'
  return { address, trusted: isTrustedClient(address, entrance, runtime), scheme, port: entrance.port }
}

export function isTrustedClient(address: string | undefined, { isUnix }: Entrance, runtime: ProxyRuntime): boolean {
  return isUnix && address === undefined ? runtime.trustsUnixSockets : isTrusted(address, runtime)
}

export function isTrusted(address: string | undefined, { trustedRanges }: ProxyRuntime): boolean {
  if (trustedRanges.length === 0 || address === undefined) return false
  const octets = parseIpAddress(address)
  return octets !== undefined && isInRanges(octets, trustedRanges)
}

/** Whether a request for the authority belongs on a connection with another server name (RFC 9110 §7.4: 421). */
export function isMisdirected({ tls }: Entrance, authority: string | undefined): boolean {
  if (tls === undefined || authority === undefined) return false
  const host = parseAuthority(authority)?.host
  return host !== undefined && tls.isMisdirected(host.replace(/^\[(.*)\]$/, '$1'))
}

const HTTPS_PORT = 443

/** Where the same resource is by https; undefined without an authority. `path` is that of a parsed head. */
export function httpsLocation(authority: string | undefined, path: string, port: number): string | undefined {
  const host = authority === undefined ? undefined : parseAuthority(authority)?.host
  if (host === undefined) return undefined
  return `https://${host}${port === HTTPS_PORT ? '' : `:${port}`}${path === '*' ? '' : path}`
}

import { trimBlanks } from './fields.ts'
import { isPublicSuffix } from './public-suffix.ts'

/** How the two sides of a proxy call one site, for cookies. All names in lower case, without ports. */
export interface CookieScope {
  /** Names by which the origin may know itself in this exchange. */
  readonly originHosts: readonly string[]
  /** The name that the client asked for. */
  readonly clientHost: string
  /** A host name of the origin's as clients know it; the same if no rule says otherwise. */
  readonly mapDown: (host: string) => string
  /** A host name of clients as the origin knows it. */
  readonly mapUp: (host: string) => string
  /** What rules that do not hold in this exchange, but may in another of the same browser, make of it. */
  readonly othersUp: readonly ((host: string) => string)[]
  /** Every name that a rule leads to. */
  readonly clientNames: readonly string[]
  /**
   * Whether names at or below the client's `name` are those of another site, which a cookie for the origin's `domain`
   * would not reach. Absent: they are not.
   */
  readonly leadsElsewhere?: ((name: string, domain: string) => boolean) | undefined
}

/** A label of no site: what becomes of a name that begins with it becomes of all names there that no rule has. */
export const ANY_LABEL = 'prexy-any-label'

/**
 * A Set-Cookie value for the client: its Domain attribute mapped or taken away, all else octet for octet.
 *
 * SECURITY: a cookie must not reach a host whose counterpart at the origin it would not have reached, and a cookie that
 * a browser refuses at the origin must be refused here. So
 * - Domain is looked at only if it is that of the origin's name or of a parent; any other is refused there, and stays,
 *   to be refused here;
 * - it becomes another name only if every name below that leads back below the old one (`subdomains: keep`, and neither
 *   a rule that brings in a name from elsewhere nor another site there), and if cookies may be set for it: no address,
 *   single label or public suffix;
 * - otherwise it goes: without Domain a cookie belongs to the host that the client asked, and to no other;
 * - `__Host-` cookies stay as they are: they are refused with a Domain, and one taken away would let them in.
 * Ports and Secure are not the map's business: cookies have no ports, and a cookie that was for TLS stays that.
 */
export function mapSetCookie(value: string, scope: CookieScope): string {
  const pieces = value.split(';')
  if (isHostPrefixed(pieces[0])) return value
  // RFC 6265 §5.3: of several attributes the last one counts.
  let last = -1
  for (let i = 1; i < pieces.length; i++) if (isDomain(pieces[i])) last = i
  if (last < 0) return value
  const written = attributeValue(pieces[last])
  const domain = (written.startsWith('.') ? written.slice(1) : written).toLowerCase()
  const target = domainForClient(domain, scope)
  if (target === domain) return value
  const kept: string[] = []
  for (const [index, piece] of pieces.entries()) {
    if (index === 0 || !isDomain(piece)) kept.push(piece)
    else if (index === last && target !== undefined) kept.push(`${piece.slice(0, piece.indexOf('=') + 1)}${target}`)
  }
  return kept.join(';')
}

function isHostPrefixed(pair: string): boolean {
  // Browsers compare the prefix without case, and look for it in the value of a cookie without a name, too.
  return trimBlanks(pair)
    .replace(/^=[ \t]*/, '')
    .toLowerCase()
    .startsWith('__host-')
}

function isDomain(piece: string): boolean {
  const equals = piece.indexOf('=')
  return trimBlanks(equals < 0 ? piece : piece.slice(0, equals)).toLowerCase() === 'domain'
}

function attributeValue(piece: string): string {
  const equals = piece.indexOf('=')
  return equals < 0 ? '' : trimBlanks(piece.slice(equals + 1))
}

/** The domain itself to leave the cookie alone, undefined for a cookie of the client's host only. */
function domainForClient(domain: string, scope: CookieScope): string | undefined {
  const { originHosts, clientHost } = scope
  if (domain === '' || !originHosts.some((host) => domainMatches(host, domain))) return domain
  const mapped = scope.mapDown(domain).toLowerCase()
  if (mapped !== domain && (isAddress(domain) || isAddress(mapped) || isPublicSuffix(mapped))) return undefined
  if (!domainMatches(clientHost, mapped)) return undefined
  const names = [mapped, ...scope.clientNames.filter((name) => domainMatches(name, mapped))]
  const leadsBack = (name: string): boolean =>
    domainMatches(scope.mapUp(name).toLowerCase(), domain) &&
    scope.othersUp.every((mapUp) => {
      const other = mapUp(name).toLowerCase()
      return other === name || domainMatches(other, domain)
    })
  const allLeadBack = names.every((name) => leadsBack(name) && leadsBack(`${ANY_LABEL}.${name}`))
  return allLeadBack && scope.leadsElsewhere?.(mapped, domain) !== true ? mapped : undefined
}

/** RFC 6265 §5.1.3. */
export function domainMatches(host: string, domain: string): boolean {
  return host === domain || (host.endsWith(`.${domain}`) && !isAddress(host))
}

function isAddress(host: string): boolean {
  return host.startsWith('[') || /^[0-9]+(?:\.[0-9]+)*$/.test(host)
}

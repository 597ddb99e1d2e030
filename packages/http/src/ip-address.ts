/**
 * Addresses and ranges of addresses (CIDR) as octets, without a runtime's help. An IPv4 address is the IPv6 one that
 * stands for it (RFC 4291 §2.5.5.2), so that `::ffff:10.0.0.1`, which a socket of both families tells, is `10.0.0.1`.
 */

const OCTETS = 16
/** Bits of `::ffff:0:0/96`, below which IPv4 lies. */
const IPV4_PREFIX_BITS = 96

/** Sixteen octets; undefined for anything but an address. A zone (`fe80::1%eth0`) is left out. */
export function parseIpAddress(text: string): Uint8Array | undefined {
  if (!text.includes(':')) return text.length > MAX_IPV4_TEXT ? undefined : parseIpv4(text)
  const zone = text.indexOf('%')
  if (text.length > MAX_IPV6_TEXT && zone < 0) return undefined
  return parseIpv6(zone < 0 ? text : text.slice(0, zone))
}

const MAX_IPV4_TEXT = '255.255.255.255'.length
const MAX_IPV6_TEXT = 'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255'.length

function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  const address = new Uint8Array(OCTETS)
  address[10] = 0xff
  address[11] = 0xff
  for (let i = 0; i < 4; i++) {
    // A leading zero is octal to some.
    if (!/^(0|[1-9][0-9]{0,2})$/.test(parts[i]) || Number(parts[i]) > 255) return undefined
    address[12 + i] = Number(parts[i])
  }
  return address
}

/** RFC 4291 §2.2. */
function parseIpv6(text: string): Uint8Array | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const before = groupsOf(halves[0], halves.length === 1)
  const after = halves.length === 2 ? groupsOf(halves[1], true) : []
  if (before === undefined || after === undefined) return undefined
  const octets = before.length + after.length
  // `::` stands for one group at least.
  if (halves.length === 2 ? octets > OCTETS - 2 : octets !== OCTETS) return undefined
  const address = new Uint8Array(OCTETS)
  address.set(before, 0)
  address.set(after, OCTETS - after.length)
  return address
}

/** Octets of groups between colons; the last of the address may be an IPv4 address. */
function groupsOf(text: string, atEnd: boolean): number[] | undefined {
  if (text === '') return []
  const octets: number[] = []
  const groups = text.split(':')
  for (let i = 0; i < groups.length; i++) {
    if (atEnd && i === groups.length - 1 && groups[i].includes('.')) {
      const ipv4 = parseIpv4(groups[i])
      if (ipv4 === undefined) return undefined
      octets.push(...ipv4.subarray(12))
    } else if (/^[0-9A-Fa-f]{1,4}$/.test(groups[i])) {
      const group = Number.parseInt(groups[i], 16)
      octets.push(group >> 8, group & 0xff)
    } else {
      return undefined
    }
  }
  return octets
}

function isIpv4(address: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (address[i] !== 0) return false
  return address[10] === 0xff && address[11] === 0xff
}

/** All addresses that begin with these bits. */
export interface AddressRange {
  readonly octets: Uint8Array
  /** 0 to 128; of IPv4 addresses 96 more than is written. */
  readonly bits: number
}

/**
 * `10.0.0.0/8`, `2001:db8::/32`, or one address; undefined for anything else. Bits behind the prefix do not count.
 */
export function parseAddressRange(text: string): AddressRange | undefined {
  const slash = text.indexOf('/')
  const written = slash < 0 ? text : text.slice(0, slash)
  const octets = written.includes('%') ? undefined : parseIpAddress(written)
  if (octets === undefined) return undefined
  if (slash < 0) return { octets, bits: 8 * OCTETS }
  const length = text.slice(slash + 1)
  if (!/^(0|[1-9][0-9]{0,2})$/.test(length)) return undefined
  const bits = Number(length) + (written.includes(':') ? 0 : IPV4_PREFIX_BITS)
  return bits > 8 * OCTETS ? undefined : { octets, bits }
}

/** A range of IPv6 that is wider than all of IPv4, such as `::/0`, holds no IPv4 address. */
export function isInRanges(address: Uint8Array, ranges: readonly AddressRange[]): boolean {
  for (const range of ranges) if (isInRange(address, range)) return true
  return false
}

function isInRange(address: Uint8Array, { octets, bits }: AddressRange): boolean {
  if (bits < IPV4_PREFIX_BITS && isIpv4(address)) return false
  const whole = bits >> 3
  for (let i = 0; i < whole; i++) if (address[i] !== octets[i]) return false
  const rest = bits & 7
  return rest === 0 || (address[whole] ^ octets[whole]) >> (8 - rest) === 0
}

import { type AddressRange, isInRanges, parseAddressRange, parseIpAddress } from './ip-address.ts'

/**
 * Addresses that are not hosts of the public internet (the registries of special purpose addresses, RFC 6890, and
 * multicast): a name that an outsider controls must not lead there. 6to4 leads to any address of IPv4.
 */
const PRIVATE_RANGES: readonly AddressRange[] = ranges([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
])
/** An address of IPv4 in its last octets, by which networks of IPv6 alone reach it (RFC 6052). */
const NAT64_RANGES: readonly AddressRange[] = ranges(['64:ff9b::/96'])

/** Whether the address is not one of the public internet; what is no address counts as none. */
export function isPrivateAddress(text: string): boolean {
  const octets = parseIpAddress(text)
  if (octets === undefined) return true
  if (!isInRanges(octets, NAT64_RANGES)) return isInRanges(octets, PRIVATE_RANGES)
  const [a, b, c, d] = octets.subarray(12)
  return isPrivateAddress(`${a}.${b}.${c}.${d}`)
}

function ranges(texts: readonly string[]): AddressRange[] {
  return texts.map((text) => {
    const range = parseAddressRange(text)
    if (range === undefined) throw new Error(`${text} is no range`)
    return range
  })
}

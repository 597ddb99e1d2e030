import { type AddressRange, isInRanges, parseIpAddress } from '@prexy/http/ip-address'

/** Octets of an IPv6 address by which a client is known: one customer commonly has a /64. */
const IPV6_CLIENT_OCTETS = 8

/** Open connections per client, by address. Trusted proxies, which speak for many clients, are not counted. */
export class AddressCounts {
  #limit: number
  #trustedRanges: readonly AddressRange[]
  readonly #counts = new Map<string, number>()

  constructor(limit: number, trustedRanges: readonly AddressRange[]) {
    this.#limit = limit
    this.#trustedRanges = trustedRanges
  }

  /** From now on; what is counted stays counted, and what came under no limit is not. */
  configure(limit: number, trustedRanges: readonly AddressRange[]): void {
    this.#limit = limit
    this.#trustedRanges = trustedRanges
  }

  /** Counts a connection and returns what to end it with; undefined when there are too many already. */
  begin(address: string | undefined): (() => void) | undefined {
    if (this.#limit === Number.POSITIVE_INFINITY || address === undefined) return uncounted
    const key = this.#clientOf(address)
    if (key === undefined) return uncounted
    const count = this.#counts.get(key) ?? 0
    if (count >= this.#limit) return undefined
    this.#counts.set(key, count + 1)
    return () => {
      const left = (this.#counts.get(key) ?? 0) - 1
      if (left > 0) this.#counts.set(key, left)
      else this.#counts.delete(key)
    }
  }

  /** Clients that have a connection. */
  get clients(): number {
    return this.#counts.size
  }

  #clientOf(address: string): string | undefined {
    const octets = parseIpAddress(address)
    return octets !== undefined && isInRanges(octets, this.#trustedRanges) ? undefined : addressKey(address)
  }
}

/** What a client is counted by: an IPv4 address, or a /64 of IPv6. */
export function addressKey(address: string): string {
  const octets = parseIpAddress(address)
  if (octets === undefined) return address
  const isIpv6 = address.includes(':') && !address.includes('.')
  return Buffer.from(isIpv6 ? octets.subarray(0, IPV6_CLIENT_OCTETS) : octets).toString('hex')
}

function uncounted(): void {}

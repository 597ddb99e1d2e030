/**
 * IP addresses and networks, as text. Strict: no leading zeros, no ports, no zones. An IPv4 network does not hold
 * IPv4-mapped IPv6 addresses; a rule that wants them names `::ffff:0:0/96` networks.
 */

/** An address as 16-bit words: two for IPv4, eight for IPv6. */
export type Address = readonly number[]

export interface Network {
  readonly words: Address
  readonly bits: number
}

/** Undefined when the text is no address. */
export function parseAddress(text: string): Address | undefined {
  // The longest is 45 characters, with an IPv4 tail.
  if (text.length < 2 || text.length > 45) return undefined
  return text.includes(':') ? parseV6(text) : parseV4(text)
}

/** `a.b.c.d/n`, `x::y/n` or an address alone. A text instead of the network says what is wrong with it. */
export function parseNetwork(text: string): Network | string {
  const slash = text.indexOf('/')
  const words = parseAddress(slash < 0 ? text : text.slice(0, slash))
  if (words === undefined) return `"${text}" is no IP network`
  const size = words.length * 16
  const suffix = slash < 0 ? String(size) : text.slice(slash + 1)
  if (!/^\d{1,3}$/.test(suffix) || Number(suffix) > size) return `"${text}" has no prefix length from 0 to ${size}`
  const bits = Number(suffix)
  const hasHostBits = words.some((word, index) => (word & ~wordMask(bits, index)) !== 0)
  return hasHostBits ? `"${text}" has bits set behind its prefix` : { words, bits }
}

export function isInNetwork(address: Address, network: Network): boolean {
  if (address.length !== network.words.length) return false
  return network.words.every((word, index) => (address[index] & wordMask(network.bits, index)) === word)
}

/** Bits of word `index` that belong to a prefix of `bits`. */
function wordMask(bits: number, index: number): number {
  const kept = Math.min(16, Math.max(0, bits - index * 16))
  return (0xffff << (16 - kept)) & 0xffff
}

function parseV4(text: string): number[] | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  const octets = parts.map((part) => (/^(?:0|[1-9]\d{0,2})$/.test(part) ? Number(part) : 256))
  if (octets.some((octet) => octet > 255)) return undefined
  return [octets[0] * 256 + octets[1], octets[2] * 256 + octets[3]]
}

function parseV6(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = parseGroups(halves[0], halves.length === 1)
  const tail = halves.length === 1 ? [] : parseGroups(halves[1], true)
  if (head === undefined || tail === undefined) return undefined
  const missing = 8 - head.length - tail.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined
  return [...head, ...new Array<number>(missing).fill(0), ...tail]
}

function parseGroups(text: string, mayEndInV4: boolean): number[] | undefined {
  if (text === '') return []
  const groups = text.split(':')
  const words: number[] = []
  for (const [index, group] of groups.entries()) {
    if (mayEndInV4 && index === groups.length - 1 && group.includes('.')) {
      const tail = parseV4(group)
      if (tail === undefined) return undefined
      words.push(...tail)
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(group)) return undefined
      words.push(Number.parseInt(group, 16))
    }
  }
  return words
}

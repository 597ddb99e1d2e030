/** How many of a route's requests its rules are applied to. */
import { type FieldList, fieldValues } from '@prexy/http/fields'
import { parseIpAddress } from '@prexy/http/ip-address'

/**
 * `shadow` applies the rules to a copy, of which only the event tells. `percent` applies them for a part of the clients,
 * told apart by their address, or by the value of a cookie.
 */
export type Rollout =
  | { readonly kind: 'off' | 'shadow' | 'on' }
  | { readonly kind: 'percent'; readonly percent: number; readonly cookie: string | undefined }

/** `address`: of the one who asked. Who has no address, or not the cookie, is not chosen. */
export function chooseMode(
  rollout: Rollout | undefined,
  fields: FieldList,
  address: string | undefined,
): 'off' | 'shadow' | 'on' {
  if (rollout === undefined) return 'on'
  if (rollout.kind !== 'percent') return rollout.kind
  const key = rollout.cookie === undefined ? addressKey(address) : cookieValue(fields, rollout.cookie)
  return key !== undefined && isChosen(key, rollout.percent) ? 'on' : 'off'
}

/** The same in every process, on every day; who is chosen at some percent is chosen at more. Precise to 0.01. */
export function isChosen(key: string, percent: number): boolean {
  // FNV-1a, and the end of MurmurHash3, without which similar keys fall near each other.
  let hash = 0x811c9dc5
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  hash = (hash ^ (hash >>> 16)) >>> 0
  return hash % 10_000 < Math.round(percent * 100)
}

/** Of IPv6 the /64, which is one client's. */
function addressKey(text: string | undefined): string | undefined {
  const address = text === undefined ? undefined : parseIpAddress(text)
  return address === undefined ? undefined : (address.length === 16 ? address.subarray(0, 8) : address).join('.')
}

/** The first of that name (RFC 6265 §5.4: the one with the longest path). */
function cookieValue(fields: FieldList, name: string): string | undefined {
  for (const line of fieldValues(fields, 'cookie')) {
    for (const pair of line.split(';')) {
      const cut = pair.indexOf('=')
      if (cut > 0 && pair.slice(0, cut).trim() === name) return pair.slice(cut + 1).trim()
    }
  }
  return undefined
}

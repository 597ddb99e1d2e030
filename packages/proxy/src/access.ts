/** Who may ask, and how often: what comes before a route does anything. */
import { type FieldList, fieldValues } from '@prexy/http/fields'
import { type AddressRange, isInRanges, parseAddressRange, parseIpAddress } from '@prexy/http/ip-address'
import type { PasswordCheck, Verdict } from './password-check.ts'
import { ProxyError } from './proxy-error.ts'
import type { RateLimiter } from './rate-limiter.ts'
import { addressKey } from './address-counts.ts'

export interface AccessInit {
  /** Addresses and ranges; absent: every address. */
  readonly allow?: readonly string[] | undefined
  /** Also where `allow` has them. */
  readonly deny?: readonly string[] | undefined
  readonly passwords?: PasswordCheck | undefined
  readonly rateLimiter?: RateLimiter | undefined
}

export class Access {
  readonly #allow: readonly AddressRange[] | undefined
  readonly #deny: readonly AddressRange[]
  readonly #passwords: PasswordCheck | undefined
  readonly #limiter: RateLimiter | undefined

  constructor({ allow, deny, passwords, rateLimiter }: AccessInit) {
    this.#allow = allow === undefined ? undefined : addressRanges(allow)
    this.#deny = addressRanges(deny ?? [])
    this.#passwords = passwords
    this.#limiter = rateLimiter
  }

  /** Whether the Authorization field is for us, and not for the upstream. */
  get takesPasswords(): boolean {
    return this.#passwords !== undefined
  }

  /**
   * Why the request is refused; undefined if it may pass. Addresses are looked at first, then how often they ask, so that
   * nobody can have passwords tried faster than that. `address`: that of the client; undefined if it is not known.
   */
  judge(
    address: string | undefined,
    fields: FieldList,
    nowMs: number,
  ): ProxyError | undefined | Promise<ProxyError | undefined> {
    const octets = address === undefined ? undefined : parseIpAddress(address)
    const isDenied = octets !== undefined && isInRanges(octets, this.#deny)
    const isAllowed = this.#allow === undefined || (octets !== undefined && isInRanges(octets, this.#allow))
    if (isDenied || !isAllowed) return new ProxyError('E_FORBIDDEN', { detail: 'its address may not ask' })
    if (this.#limiter !== undefined && address !== undefined) {
      const seconds = this.#limiter.take(addressKey(address), nowMs)
      if (seconds > 0) return tooMany(seconds, `rateLimit of ${this.#limiter.limit.name}`)
    }
    const passwords = this.#passwords
    if (passwords === undefined) return undefined
    const given = fieldValues(fields, 'authorization')
    const verdict = passwords.check(given.length === 1 ? given[0] : undefined)
    return typeof verdict === 'string'
      ? refusalFor(verdict, passwords)
      : verdict.then((one) => refusalFor(one, passwords))
  }
}

/** Throws for a text that is no address and no range. */
export function addressRanges(texts: readonly string[]): readonly AddressRange[] {
  return texts.map((text) => {
    const range = parseAddressRange(text)
    if (range === undefined) throw new Error(`"${text}" is no address and no range like 10.0.0.0/8`)
    return range
  })
}

function tooMany(seconds: number, detail: string): ProxyError {
  return new ProxyError('E_RATE_LIMITED', { detail, fields: ['Retry-After', String(seconds)] })
}

function refusalFor(verdict: Verdict, { realm }: PasswordCheck): ProxyError | undefined {
  switch (verdict) {
    case 'right':
      return undefined
    case 'busy':
      return tooMany(1, 'too many passwords are being checked')
    case 'wrong':
      return new ProxyError('E_UNAUTHORIZED', {
        fields: ['WWW-Authenticate', `Basic realm="${realm}", charset="UTF-8"`],
      })
  }
}

/**
 * The addresses of one host name, looked up now and then. getaddrinfo tells no time to live, so how old addresses may
 * get is told from outside; while looking them up anew fails, the old ones stay in use.
 */

import { lookup as systemLookup } from 'node:dns'
import { isIPv6, type LookupFunction } from 'node:net'

/** Looks a name up: at least one address, in the order in which they are best tried, or an error. */
export type Resolve = (host: string, done: (error: Error | undefined, addresses: readonly string[]) => void) => void

export interface AddressCacheInit {
  /** A name. What is an address already needs no lookup. */
  readonly host: string
  /** Older addresses are looked up again before they are used. Unit: milliseconds. */
  readonly maxAgeMs: number
  /** Which addresses may be connected to; asked at each lookup. Without any that may, connecting fails with EADDRDENIED. */
  readonly allowsAddress?: (address: string) => boolean
  /** Absent: the system's getaddrinfo. */
  readonly resolve?: Resolve
  /** The addresses are others than before; not called for the first ones. */
  readonly onChange?: (addresses: readonly string[]) => void
  /** A lookup failed while there were addresses, which stay in use. */
  readonly onFailure?: (error: Error) => void
}

/**
 * How long connecting waits for a lookup while there are old addresses to fall back on. Unit: milliseconds.
 */
export const STALE_WAIT_MS = 1_000

// oxlint-disable-next-line unicorn/no-null -- what node:net asks of a lookup
const NO_ERROR = null

type Waiter = (error: Error | undefined) => void

export class AddressCache {
  readonly host: string
  readonly #init: AddressCacheInit
  readonly #resolve: Resolve
  #addresses: readonly string[] = []
  /** Monotonic, milliseconds. */
  #lookedUpAt = Number.NEGATIVE_INFINITY
  #waiters: Waiter[] | undefined = undefined

  constructor(init: AddressCacheInit) {
    this.host = init.host
    this.#init = init
    this.#resolve = init.resolve ?? resolveBySystem
  }

  /** As they were found last; the families take turns, and the one that was connected to last is first. */
  get addresses(): readonly string[] {
    return this.#addresses
  }

  /** Looks the name up unless that is under way. */
  refresh(done?: Waiter): void {
    if (this.#waiters !== undefined) {
      if (done !== undefined) this.#waiters.push(done)
      return
    }
    this.#waiters = done === undefined ? [] : [done]
    this.#resolve(this.host, (error, found) => this.#found(error, found))
  }

  /** A connection to this address came up: the next one begins there. */
  prefer(address: string): void {
    const at = this.#addresses.indexOf(address)
    if (at > 0) this.#addresses = [address, ...this.#addresses.filter((one) => one !== address)]
  }

  /** What node:net takes for `lookup`. */
  readonly lookup: LookupFunction = (_host, { all }, done) => {
    const answer = (error: Error | undefined): void => {
      const [first] = this.#addresses
      if (first === undefined) done(error ?? notFound(this.host), '', 0)
      else if (all === true) done(NO_ERROR, this.#addresses.map(withFamily))
      else done(NO_ERROR, first, withFamily(first).family)
    }
    if (performance.now() - this.#lookedUpAt < this.#init.maxAgeMs) {
      answer(undefined)
      return
    }
    let waiting = true
    const timer =
      this.#addresses.length === 0
        ? undefined
        : setTimeout(() => {
            waiting = false
            answer(undefined)
          }, STALE_WAIT_MS)
    this.refresh((error) => {
      clearTimeout(timer)
      if (waiting) answer(error)
    })
  }

  #found(error: Error | undefined, found: readonly string[]): void {
    const { allowsAddress, onChange, onFailure } = this.#init
    const allowed = allowsAddress === undefined ? found : found.filter(allowsAddress)
    const before = this.#addresses
    let failure = error
    if (error === undefined && found.length === 0) failure = notFound(this.host)
    else if (error === undefined && allowed.length === 0) {
      // SECURITY: addresses that may no longer be connected to are not kept for want of others.
      failure = deniedAddress(this.host)
      this.#addresses = []
    }
    const waiters = this.#waiters ?? []
    this.#waiters = undefined
    if (failure === undefined) {
      this.#lookedUpAt = performance.now()
      this.#addresses = familiesInTurn(allowed, before[0])
    }
    for (const waiter of waiters) waiter(failure)
    if (failure !== undefined) {
      if (this.#addresses.length > 0) onFailure?.(failure)
    } else if (before.length > 0 && !sameAddresses(before, this.#addresses)) {
      onChange?.(this.#addresses)
    }
  }
}

const resolveBySystem: Resolve = (host, done) => {
  systemLookup(host, { all: true }, (error, found) => {
    if (error !== null) done(error, [])
    else
      done(
        undefined,
        found.map(({ address }) => address),
      )
  })
}

/** RFC 8305 §4: families take turns, beginning with that of the first; `preferred` is first if it is still there. */
export function familiesInTurn(found: readonly string[], preferred?: string): readonly string[] {
  const unique = [...new Set(found)]
  const [first] = unique
  if (first === undefined) return []
  const same = unique.filter((address) => isIPv6(address) === isIPv6(first))
  const other = unique.filter((address) => isIPv6(address) !== isIPv6(first))
  const turns = same.flatMap((address, index) => (index < other.length ? [address, other[index]] : [address]))
  const ordered = [...turns, ...other.slice(same.length)]
  if (preferred === undefined || !ordered.includes(preferred)) return ordered
  return [preferred, ...ordered.filter((address) => address !== preferred)]
}

function sameAddresses(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((address) => other.includes(address))
}

function withFamily(address: string): { readonly address: string; readonly family: number } {
  return { address, family: isIPv6(address) ? 6 : 4 }
}

function notFound(host: string): Error {
  return Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' })
}

function deniedAddress(host: string): Error {
  return Object.assign(new Error(`${host} has no address that may be connected to`), { code: 'EADDRDENIED' })
}

/** What clients see of answers that prexy makes itself: pages of the operator, and sites that are closed for a while. */
import { type AddressRange, isInRanges, parseIpAddress } from '@prexy/http/ip-address'
import { reasonPhrase } from '@prexy/http/serialize'
import { addressRanges } from './access.ts'
import type { Page } from './page.ts'
import { ProxyError } from './proxy-error.ts'

/** By status, `502`, or class, `5xx`. */
export type ErrorPages = Readonly<Record<string, Page>>

/** The page for a status, with what stands for it and for the exchange put in; undefined if there is none. */
export function errorPage(pages: ErrorPages | undefined, status: number, exchangeId: number): Page | undefined {
  const page = pages?.[String(status)] ?? pages?.[`${Math.floor(status / 100)}xx`]
  if (page === undefined) return undefined
  const values: Readonly<Record<string, string>> = {
    status: String(status),
    reason: reasonPhrase(status),
    exchange: String(exchangeId),
  }
  // Octet by octet, whatever the page is written in: the values are US-ASCII.
  const text = Buffer.from(page.body).toString('latin1')
  if (!text.includes('${')) return page
  const filled = text.replace(/\$\{(status|reason|exchange)\}/g, (_, name: string) => values[name])
  return { body: Buffer.from(filled, 'latin1'), type: page.type }
}

export interface MaintenanceInit {
  readonly page?: Page | undefined
  readonly retryAfterSeconds: number
  /** Addresses and ranges of clients that pass all the same. */
  readonly allow: readonly string[]
}

export class Maintenance {
  readonly page: Page | undefined
  readonly #retryAfterSeconds: number
  readonly #allow: readonly AddressRange[]

  constructor({ page, retryAfterSeconds, allow }: MaintenanceInit) {
    this.page = page
    this.#retryAfterSeconds = retryAfterSeconds
    this.#allow = addressRanges(allow)
  }

  /** Undefined for a client that passes. */
  refusal(address: string | undefined): ProxyError | undefined {
    const octets = address === undefined ? undefined : parseIpAddress(address)
    if (octets !== undefined && isInRanges(octets, this.#allow)) return undefined
    const fields = ['Retry-After', String(this.#retryAfterSeconds)]
    return new ProxyError('E_MAINTENANCE', { fields, page: this.page })
  }
}

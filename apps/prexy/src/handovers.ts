/**
 * How workers come to share connections evenly: the primary's side. A worker offers a connection beyond its share; the
 * others are asked, and the first that has no more connections than the giver and answers, which is thereby known not to
 * be busy, gets it. Counts are fresh in this: an offer and its answers bring their own.
 */
import type { Order, Report } from './worker-messages.ts'

/**
 * An offer that nobody has answered by then was kept; a socket that has not come by then was lost. Unit: milliseconds.
 */
const OFFER_MEMORY_MS = 1_000

/** How many connections a worker holds. */
export class Holding {
  /** Those that it has told of. */
  open = 0
  /** Those that are on their way to it, by their offers. */
  readonly coming: Set<number> = new Set()

  get load(): number {
    return this.open + this.coming.size
  }
}

interface Offer {
  readonly from: number
  /** The giver's name for it. */
  readonly id: number
  /** Workers that have not answered. */
  asked: number
}

export class Handovers {
  readonly #holdings: ReadonlyMap<number, Holding>
  readonly #send: (to: number, order: Order) => void
  readonly #offers = new Map<number, Offer>()
  #last = 0

  /** `holdings`: of all workers that serve. */
  constructor(holdings: ReadonlyMap<number, Holding>, send: (to: number, order: Order) => void) {
    this.#holdings = holdings
    this.#send = send
  }

  /** Tells everybody how many connections the others hold. */
  tellCounts(): void {
    let total = 0
    for (const { open } of this.#holdings.values()) total += open
    for (const [id, { open }] of this.#holdings) this.#send(id, { kind: 'others', open: total - open })
  }

  onOffer(from: number, { id, open }: Extract<Report, { readonly kind: 'offer' }>): void {
    const giver = this.#holdings.get(from)
    if (giver !== undefined) giver.open = open
    const asked = [...this.#holdings].filter(([other]) => other !== from)
    if (asked.length === 0) {
      this.#send(from, { kind: 'keep', id })
      return
    }
    const offer = ++this.#last
    this.#offers.set(offer, { from, id, asked: asked.length })
    for (const [other] of asked.toSorted(([, a], [, b]) => a.load - b.load)) this.#send(other, { kind: 'ask', offer })
    setTimeout(() => this.#offers.delete(offer), OFFER_MEMORY_MS).unref()
  }

  onFree(from: number, { offer: number, open }: Extract<Report, { readonly kind: 'free' }>): void {
    const taker = this.#holdings.get(from)
    const offer = this.#offers.get(number)
    if (taker === undefined || offer === undefined) return
    taker.open = open
    offer.asked--
    const giver = this.#holdings.get(offer.from)
    if (giver !== undefined && taker.load <= giver.open) {
      this.#offers.delete(number)
      taker.coming.add(number)
      setTimeout(() => taker.coming.delete(number), OFFER_MEMORY_MS).unref()
      this.#send(offer.from, { kind: 'give', id: offer.id, offer: number, to: from })
    } else if (offer.asked === 0) {
      this.#offers.delete(number)
      // Offers come in bursts: the next one is compared with one more.
      if (giver !== undefined) giver.open++
      this.#send(offer.from, { kind: 'keep', id: offer.id })
    }
  }

  onKept({ offer, to }: Extract<Report, { readonly kind: 'kept' }>): void {
    this.#holdings.get(to)?.coming.delete(offer)
  }

  onAdopted(by: number, { offer, open }: Extract<Report, { readonly kind: 'adopted' }>): void {
    const taker = this.#holdings.get(by)
    if (taker === undefined) return
    taker.coming.delete(offer)
    taker.open = open
  }
}

import type { EvtxLimits } from './limits.ts'

/** Thrown and caught inside the package. */
export class BudgetSpent extends Error {
  override readonly name: string = 'BudgetSpent'
}

/**
 * What one record may cost to render. A few bytes can name a value of 60 KB a thousand times, and a template can repeat
 * what repeats; so every node and every character is charged.
 */
export class RenderBudget {
  readonly #limit: number
  #left: number

  constructor(limits: EvtxLimits) {
    this.#limit = limits.maxRenderedUnits
    this.#left = this.#limit
  }

  refill(): void {
    this.#left = this.#limit
  }

  /** Whether it was enough. */
  trySpend(units: number): boolean {
    this.#left -= units
    return this.#left >= 0
  }

  spend(units: number): void {
    this.#left -= units
    if (this.#left < 0) throw new BudgetSpent(`the record renders to more than ${this.#limit} units (maxRenderedUnits)`)
  }
}

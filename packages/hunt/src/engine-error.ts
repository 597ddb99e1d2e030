/** How long a statement may take. Unit: seconds. */
export const DEFAULT_ENGINE_TIMEOUT_SECONDS = 600

/**
 * Why a query engine did not do what it was asked. `refused`: it did not take this statement, and may take another;
 * `failed`: it would take none.
 */
export class EngineError extends Error {
  override readonly name: string = 'EngineError'
  readonly outcome: 'refused' | 'failed'

  constructor(message: string, outcome: 'refused' | 'failed' = 'failed') {
    super(message)
    this.outcome = outcome
  }
}

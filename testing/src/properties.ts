/** How long properties run: a fixed, repeatable handful by default, minutes of fresh ones when asked. */
import fc from 'fast-check'
import { it } from 'vitest'

const DEFAULT_SEED = 20_261_130
const LONG_SECONDS_PER_PROPERTY = 30

function secondsPerProperty(): number {
  const seconds = Number(process.env.PREXY_FUZZ_SECONDS ?? '')
  if (seconds > 0) return seconds
  return process.env.PREXY_LONG === '1' ? LONG_SECONDS_PER_PROPERTY : 0
}

/**
 * A test that `check` holds for all values, `runs` of them by default. `PREXY_FUZZ_SECONDS` (or `PREXY_LONG=1`) runs it
 * for that long with new values, `PREXY_SEED` with the values of a printed seed. A failure prints seed and path.
 */
export function itHolds<T>(name: string, values: fc.Arbitrary<T>, runs: number, check: (value: T) => void): void {
  const seconds = secondsPerProperty()
  const givenSeed = process.env.PREXY_SEED
  const fresh = seconds > 0 && givenSeed === undefined ? {} : { seed: Number(givenSeed ?? DEFAULT_SEED) }
  const extent =
    seconds > 0
      ? { numRuns: 1_000_000_000, interruptAfterTimeLimit: seconds * 1_000, markInterruptAsFailure: false }
      : { numRuns: runs }
  it(name, { timeout: (seconds + 120) * 1_000 }, () => {
    fc.assert(fc.property(values, check), { ...fresh, ...extent })
  })
}

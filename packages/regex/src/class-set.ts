import type { CodePointRanges, PatternMode } from './ast.ts'

/**
 * Algebra of character classes. Every function takes and returns the canonical form of {@link CodePointRanges}
 * (sorted, disjoint, not adjacent) and is linear in the number of ranges, except {@link canonicalRanges}, which sorts.
 */

const TEXT_UNIVERSE: CodePointRanges = [0, 0xd7ff, 0xe000, 0x10ffff]
const OCTET_UNIVERSE: CodePointRanges = [0, 0xff]

/** Everything a class may match: Unicode scalar values (no surrogates) in text mode, octets in octet mode. */
export function universeOf(mode: PatternMode): CodePointRanges {
  return mode === 'text' ? TEXT_UNIVERSE : OCTET_UNIVERSE
}

/** Canonical form of inclusive ranges given in any order, overlapping or not; `flat` is not changed. */
export function canonicalRanges(flat: readonly number[]): CodePointRanges {
  if (flat.length <= 2) return flat
  const order: number[] = []
  for (let i = 0; i < flat.length; i += 2) order.push(i)
  order.sort((a, b) => flat[a] - flat[b])
  const out: number[] = []
  for (const i of order) appendRange(out, flat[i], flat[i + 1])
  return out
}

/** Ranges must arrive by ascending start. */
function appendRange(out: number[], low: number, high: number): void {
  const last = out.length - 1
  if (last < 0 || low > out[last] + 1) out.push(low, high)
  else if (high > out[last]) out[last] = high
}

export function unionRanges(a: CodePointRanges, b: CodePointRanges): CodePointRanges {
  if (a.length === 0) return b
  if (b.length === 0) return a
  const out: number[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (j >= b.length || (i < a.length && a[i] <= b[j])) {
      appendRange(out, a[i], a[i + 1])
      i += 2
    } else {
      appendRange(out, b[j], b[j + 1])
      j += 2
    }
  }
  return out
}

/** What is in `a` and not in `b`. */
export function subtractRanges(a: CodePointRanges, b: CodePointRanges): CodePointRanges {
  const out: number[] = []
  let j = 0
  for (let i = 0; i < a.length; i += 2) {
    let low = a[i]
    const high = a[i + 1]
    while (j < b.length && b[j + 1] < low) j += 2
    for (let k = j; k < b.length && b[k] <= high; k += 2) {
      if (b[k] > low) out.push(low, b[k] - 1)
      low = b[k + 1] + 1
    }
    if (low <= high) out.push(low, high)
  }
  return out
}

/** The complement within the universe of `mode`. */
export function negateRanges(ranges: CodePointRanges, mode: PatternMode): CodePointRanges {
  return subtractRanges(universeOf(mode), ranges)
}

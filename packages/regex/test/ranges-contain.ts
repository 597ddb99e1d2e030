import type { CodePointRanges } from '../src/ast.ts'

/** Logarithmic in the number of ranges. */
export function rangesContain(ranges: CodePointRanges, point: number): boolean {
  let low = 0
  let high = ranges.length >> 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (point < ranges[2 * middle]) high = middle
    else if (point > ranges[2 * middle + 1]) low = middle + 1
    else return true
  }
  return false
}

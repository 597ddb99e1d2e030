/**
 * The candidate that `word` was most likely meant to be, or undefined when none is near: at most one edit (insert,
 * delete, change, swap of neighbours; letter case free) for every three characters, at least one. O(word × candidates).
 */
export function nearMiss(word: string, candidates: readonly string[]): string | undefined {
  const allowed = Math.max(1, Math.floor(word.length / 3))
  if (word.length > 40) return undefined
  let best: string | undefined
  let bestDistance = allowed + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > allowed) continue
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Optimal string alignment distance. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = previous[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)
      let least = Math.min(change, previous[j] + 1, row[j - 1] + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2] + 1)
      row.push(least)
    }
    before = previous
    previous = row
  }
  return previous[b.length]
}

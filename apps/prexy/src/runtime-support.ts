/** Until when each release line of Node.js is maintained, as data. */

/**
 * By major version, the day after which there are no more fixes. Source: schedule.json of github.com/nodejs/Release,
 * commit e4bf922 of 2026-07-02.
 */
export const NODE_END_OF_LIFE: Readonly<Record<number, string>> = {
  18: '2025-04-30',
  19: '2023-06-01',
  20: '2026-04-30',
  21: '2024-06-01',
  22: '2027-04-30',
  23: '2025-06-01',
  24: '2028-04-30',
  25: '2026-06-01',
  26: '2029-04-30',
  27: '2030-04-30',
}

/** Of package.json's `engines`. */
export const LEAST_VERSIONS = { node: '20.19.0', bun: '1.4.0' } as const

/** A version without its `v`: its numbers, those that are missing 0. */
export function versionNumbers(version: string): readonly [major: number, minor: number, patch: number] {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/, 3).map((part) => Number.parseInt(part, 10) || 0)
  return [major, minor, patch]
}

export function isOlder(version: string, than: string): boolean {
  const [a, b] = [versionNumbers(version), versionNumbers(than)]
  const index = a.findIndex((number, at) => number !== b[at])
  return index >= 0 && a[index] < b[index]
}

/**
 * Which server of an upstream gets a request. Pure; one pass over the servers and no allocation, since it is done for
 * every request.
 */

export type BalancePolicy = 'round-robin' | 'least-connections'

export interface Candidate {
  readonly weight: number
  readonly backup: boolean
  /** Neither ejected nor failing its checks. */
  readonly isUp: boolean
  /** A connection is free or can be opened. */
  readonly hasRoom: boolean
  /** Requests under way on it. */
  readonly busy: number
  /** Kept here: what is owed to the server in the smooth round robin. */
  credit: number
}

/** Which servers are in question. */
export type Tier = 'first' | 'backup' | 'any'

/** Backups only while no other is up that was not tried, and what is down only while nothing else is. */
export function tierOf(candidates: readonly Candidate[], tried: readonly unknown[]): Tier {
  let tier: Tier = 'any'
  for (const candidate of candidates) {
    if (!candidate.isUp || (tried.length > 0 && tried.includes(candidate))) continue
    if (!candidate.backup) return 'first'
    tier = 'backup'
  }
  return tier
}

export function isInTier(candidate: Candidate, tier: Tier): boolean {
  switch (tier) {
    case 'first':
      return candidate.isUp && !candidate.backup
    case 'backup':
      return candidate.isUp
    case 'any':
      return true
  }
}

/**
 * The server to use, or undefined while none in question has room. `tried` are those that the request has been tried on
 * in vain.
 *
 * Round robin is the smooth one of nginx: of weights 5, 1 and 1 come `a a b a c a a`, not `a a a a a b c`. Least
 * connections takes the server with the fewest requests for its weight, and those with equally few in turns.
 */
export function pickServer<S extends Candidate>(
  candidates: readonly S[],
  policy: BalancePolicy,
  tried: readonly unknown[],
): S | undefined {
  const tier = tierOf(candidates, tried)
  const least = policy === 'least-connections' ? leastLoad(candidates, tier, tried) : undefined
  let picked: S | undefined
  let total = 0
  for (const candidate of candidates) {
    if (!isEligible(candidate, tier, tried)) continue
    if (least !== undefined && candidate.busy / candidate.weight > least) continue
    total += candidate.weight
    candidate.credit += candidate.weight
    if (picked === undefined || candidate.credit > picked.credit) picked = candidate
  }
  if (picked !== undefined) picked.credit -= total
  return picked
}

function leastLoad<S extends Candidate>(candidates: readonly S[], tier: Tier, tried: readonly unknown[]): number {
  let least = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    if (isEligible(candidate, tier, tried)) least = Math.min(least, candidate.busy / candidate.weight)
  }
  return least
}

function isEligible<S extends Candidate>(candidate: S, tier: Tier, tried: readonly unknown[]): boolean {
  return candidate.hasRoom && isInTier(candidate, tier) && (tried.length === 0 || !tried.includes(candidate))
}

/** Durations for Server-Timing (https://www.w3.org/TR/server-timing/), in milliseconds. */

/**
 * What is known when the head goes out. `upstream`: from asking to its head. `prexy`: everything else since the first
 * octet of the request, waiting for an upstream connection included.
 */
export function headTiming(startedAt: number, askedAt: number, respondedAt: number, now: number): string {
  const upstreamMs = respondedAt - askedAt
  return `prexy;dur=${milliseconds(now - startedAt - upstreamMs)}, upstream;dur=${milliseconds(upstreamMs)}`
}

/** What is known when the body is over. */
export function rewriteTiming(rewriteMs: number): string {
  return `rewrite;dur=${milliseconds(rewriteMs)}`
}

function milliseconds(duration: number): string {
  return Math.max(duration, 0).toFixed(2)
}

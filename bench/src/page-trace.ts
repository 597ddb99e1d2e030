/** What a trace of Chromium says about the frames of a page. */

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  /** Microseconds. */
  readonly ts: number
  readonly dur?: number
  /** CPU time of the thread. */
  readonly tdur?: number
}

/** Milliseconds of CPU time that the thread with the most frames worked for each: from one commit of a frame to the next. */
export function frameWork(trace: Uint8Array): number[] {
  const { traceEvents } = JSON.parse(new TextDecoder().decode(trace)) as { readonly traceEvents: readonly TraceEvent[] }
  const key = ({ pid, tid }: TraceEvent): string => `${pid}/${tid}`
  const begins = new Map<string, number[]>()
  for (const event of traceEvents) {
    if (event.name !== 'Commit' || event.ph !== 'X') continue
    const own = begins.get(key(event)) ?? []
    own.push(event.ts)
    begins.set(key(event), own)
  }
  const [thread, starts] = [...begins].sort(([, a], [, b]) => b.length - a.length)[0] ?? ['', []]
  starts.sort((a, b) => a - b)
  const work = starts.map(() => 0)
  for (const event of traceEvents) {
    if (event.name !== 'RunTask' || key(event) !== thread) continue
    let at = starts.findIndex((start) => start > event.ts + (event.dur ?? 0))
    if (at < 0) at = starts.length
    if (at > 0) work[at - 1] += (event.tdur ?? event.dur ?? 0) / 1_000
  }
  return work
}

import { formatBytes } from './terminal.ts'

/** Work that ends sooner shows nothing. */
const QUIET_MS = 700
const REDRAW_MS = 100

export interface Progress {
  /** Counts bytes done and redraws when it is time. */
  add(bytes: number): void
  /** Takes the bar off the screen. */
  clear(): void
}

export const NO_PROGRESS: Progress = {
  add() {},
  clear() {},
}

export interface ProgressTarget {
  readonly columns?: number
  write(text: string): unknown
}

/**
 * A bar on one line of a terminal. `total` is in bytes; undefined when it is not known beforehand, then only bytes
 * and speed are shown. `now` is a clock in milliseconds.
 */
export function createProgress(target: ProgressTarget, total: number | undefined, now: () => number): Progress {
  const start = now()
  let done = 0
  let drawn = start + QUIET_MS - REDRAW_MS
  let visible = false
  return {
    add(bytes) {
      done += bytes
      const time = now()
      if (time - drawn < REDRAW_MS) return
      drawn = time
      visible = true
      target.write(`\r\u001b[K${progressLine(done, total, time - start, widthOf(target))}`)
    },
    clear() {
      if (visible) target.write('\r\u001b[K')
      visible = false
    },
  }
}

/** Some terminals do not know their width and say 0. */
function widthOf({ columns = 0 }: ProgressTarget): number {
  return columns > 0 ? columns : 80
}

/** One line, shorter than `columns`. */
export function progressLine(done: number, total: number | undefined, elapsedMs: number, columns: number): string {
  const perSecond = elapsedMs > 0 ? (done * 1_000) / elapsedMs : 0
  const speed = `${formatBytes(perSecond)}/s`
  if (total === undefined || total === 0) return `${formatBytes(done)}  ${speed}`.slice(0, columns - 1)
  const share = Math.min(1, done / total)
  const left = perSecond > 0 ? Math.ceil(Math.max(0, total - done) / perSecond) : 0
  const percent = `${Math.floor(share * 100)}%`.padStart(4)
  const text = ` ${percent}  ${formatBytes(done)} of ${formatBytes(total)}  ${speed}  ${formatSeconds(left)} left`
  const width = Math.min(40, columns - text.length - 3)
  if (width < 5) return text.trim().slice(0, columns - 1)
  const filled = Math.round(share * width)
  return `[${'#'.repeat(filled)}${'.'.repeat(width - filled)}]${text}`
}

function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`
  return `${Math.floor(seconds / 3_600)}h${String(Math.floor((seconds % 3_600) / 60)).padStart(2, '0')}m`
}

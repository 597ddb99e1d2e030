/**
 * Lets a signal end the process with its exit code, so that what waits for `exit` runs: left to itself, a signal ends it
 * at once.
 */
export function exitOnSignals(): void {
  for (const [signal, number] of [
    ['SIGHUP', 1],
    ['SIGINT', 2],
    ['SIGTERM', 15],
  ] as const) {
    process.once(signal, () => process.exit(128 + number))
  }
}

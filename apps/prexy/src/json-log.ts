/** Lines for programs on standard error. Apart, so that only who asks for them loads what writes them. */
import { pino } from 'pino'

export interface JsonLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  /** Writes what is still in memory. */
  flush(): void
}

/** Every line has the fields of `base`; beyond `maxPendingBytes` that a blocked standard error leaves in memory lines are dropped. */
export function openJsonLog(base: object, maxPendingBytes: number): JsonLog {
  const destination = pino.destination({ fd: 2, sync: false, maxLength: maxPendingBytes })
  // As in main.ts: who reads the log may go away.
  destination.on('error', () => {})
  const logger = pino({ base, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  return {
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    flush() {
      try {
        destination.flushSync()
      } catch {
        // Nobody reads it any more.
      }
    },
  }
}

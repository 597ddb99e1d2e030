/** What becomes of a command whose output nobody reads any more. */
import { EXIT_ERROR, EXIT_OK } from './exit-codes.ts'

let mustFinish = false
let isLost = false

/** To be called once, before anything is printed. */
export function watchStandardOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && !isLost) {
      process.stderr.write(`prexy: standard output: ${error.message}\n`)
      process.exit(EXIT_ERROR)
    }
    // The reader has enough, as `head` does: no error.
    if (!mustFinish) process.exit(EXIT_OK)
    isLost = true
  })
}

/** From now on the command goes on without a reader: what it does, or its exit code, is more than what it prints. */
export function finishWithoutReader(): void {
  mustFinish = true
}

/**
 * Settled when the system has taken the bytes, so that a slow reader slows the writer down, or when the reader has gone
 * and the command goes on without. Any other failure ends the process.
 */
export function writeStandardOutput(bytes: Uint8Array | string): Promise<void> {
  return new Promise((resolve) => {
    if (isLost) {
      resolve()
      return
    }
    process.stdout.write(bytes, (error) => {
      if (!(error instanceof Error) || mustFinish) resolve()
    })
  })
}

import { runCommandLine } from './command-line.ts'
import { EXIT_ERROR } from './exit-codes.ts'
import { watchStandardOutput } from './standard-output.ts'

watchStandardOutput()

// A log that nobody reads any more must not end a proxy.
process.stderr.on('error', () => {})

process.on('uncaughtException', endUnexpectedly)
try {
  process.exitCode = await runCommandLine(process.argv.slice(2), (text) => {
    process.stderr.write(text)
  })
} catch (error) {
  endUnexpectedly(error)
}

/** A fault of the program itself. */
function endUnexpectedly(error: unknown): void {
  const wanted = process.env.PREXY_DEBUG
  if (wanted !== undefined && wanted !== '' && error instanceof Error) {
    process.stderr.write(`prexy: ${error.stack ?? error.message}\n`)
  } else {
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n', 1)
    process.stderr.write(`prexy: unexpected: ${reason}; PREXY_DEBUG=1 shows where\n`)
  }
  process.exit(EXIT_ERROR)
}

import { runCommandLine } from './command-line.ts'
import { EXIT_ERROR, EXIT_OK } from './exit-codes.ts'

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader has enough, as `head` does: no error.
  if (error.code === 'EPIPE') process.exit(EXIT_OK)
  process.stderr.write(`prexy: standard output: ${error.message}\n`)
  process.exit(EXIT_ERROR)
})

// A log that nobody reads any more must not end a proxy.
process.stderr.on('error', () => {})

process.exitCode = await runCommandLine(process.argv.slice(2), (text) => {
  process.stderr.write(text)
})

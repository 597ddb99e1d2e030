import { CommanderError } from 'commander'
import { CommandError, EXIT_ERROR, EXIT_OK } from './exit-codes.ts'
import { buildProgram, separateInPlace } from './program.ts'
import { stylesFor } from './terminal.ts'

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader has enough, as `head` does: no error.
  if (error.code === 'EPIPE') process.exit(EXIT_OK)
  complain(`standard output: ${error.message}`)
  process.exit(EXIT_ERROR)
})

await run(process.argv.slice(2))

async function run(args: readonly string[]): Promise<void> {
  const program = buildProgram()
  try {
    await program.parseAsync(separateInPlace(args, program), { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help and version end this way too, with 0; commander has printed what there is to say.
      process.exitCode = error.exitCode === 0 ? EXIT_OK : EXIT_ERROR
    } else if (error instanceof CommandError) {
      complain(error.message)
      process.exitCode = EXIT_ERROR
    } else {
      throw error
    }
  }
}

function complain(message: string): void {
  process.stderr.write(`${stylesFor(process.stderr, process.env).red('prexy:')} ${message}\n`)
}

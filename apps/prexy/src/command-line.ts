import { CommanderError } from 'commander'
import { CommandError, EXIT_ERROR, EXIT_OK } from './exit-codes.ts'
import { buildProgram, separateInPlace } from './program.ts'
import { stylesFor } from './terminal.ts'

/**
 * Runs one command line, without the name of the program, and returns its exit code. What is wrong with it goes to
 * `complain`; a fault of the program itself is thrown.
 */
export async function runCommandLine(args: readonly string[], complain: (text: string) => void): Promise<number> {
  const run = { code: EXIT_OK, complain }
  const program = buildProgram(run)
  try {
    await program.parseAsync(separateInPlace(args, program), { from: 'user' })
    return run.code
  } catch (error) {
    // Help and version end this way too, with 0; commander has printed what there is to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_ERROR
    if (!(error instanceof CommandError)) throw error
    complain(`${stylesFor(process.stderr, process.env).red('prexy:')} ${error.message}\n`)
    return EXIT_ERROR
  }
}

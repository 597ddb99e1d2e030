/** It did what it was asked. */
export const EXIT_OK = 0
/** It worked, and the answer is no: `--fail-if-none` found nothing to replace. */
export const EXIT_NONE = 1
/** It did not work: wrong usage, a faulty configuration, a file that cannot be read. */
export const EXIT_ERROR = 2

/** Ends a command with {@link EXIT_ERROR}; the message is shown as it is, without a stack. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CommandError'
  }
}

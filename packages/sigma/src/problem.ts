/** One thing wrong with a rule file: where, what, and what to do about it. */
export interface SigmaProblem {
  /** `error`: the document is not used. `warning`: it is, and this may not be what its author meant. */
  readonly severity: 'error' | 'warning'
  readonly file: string
  /** From 1. */
  readonly line: number
  /** Title or id of the rule; undefined when it is not known or has none. */
  readonly rule: string | undefined
  readonly message: string
  readonly hint: string | undefined
}

/** Why a document cannot be used. Thrown while one document is read, and caught where documents are. */
export class SigmaFault extends Error {
  /** Offset into the text of the file, in UTF-16 code units. */
  readonly at: number
  readonly hint: string | undefined
  constructor(at: number, message: string, hint?: string) {
    super(message)
    this.name = 'SigmaFault'
    this.at = at
    this.hint = hint
  }
}

/** `file:line: message; hint`, on one line. */
export function formatSigmaProblem(problem: SigmaProblem): string {
  const severity = problem.severity === 'warning' ? 'warning: ' : ''
  const rule = problem.rule === undefined ? '' : `${problem.rule}: `
  const hint = problem.hint === undefined ? '' : `; ${problem.hint}`
  return `${problem.file}:${problem.line}: ${severity}${rule}${problem.message}${hint}`
}

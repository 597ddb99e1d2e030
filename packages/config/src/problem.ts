/** Keys and list indices from the top of a document to a value. */
export type ConfigPath = readonly (string | number)[]

/** A place in a file. Lines and columns count from 1; columns count UTF-16 code units, as editors do. */
export interface Position {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** One thing wrong with a file: where, what, and what to do about it. */
export interface ConfigProblem {
  readonly severity: 'error' | 'warning'
  readonly position: Position
  /** `rules[0].regex`; empty for the document itself. */
  readonly path: string
  readonly message: string
  readonly hint: string | undefined
}

const PLAIN_KEY = /^[A-Za-z_][\w-]*$/

/** `['rules', 0, 'text']` as `rules[0].text`; keys that are no plain words are quoted. */
export function formatPath(path: ConfigPath): string {
  let text = ''
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`
    else if (PLAIN_KEY.test(step)) text += text === '' ? step : `.${step}`
    else text += `[${JSON.stringify(step)}]`
  }
  return text
}

/** `file:line:column: path: message; hint`, on one line, as compilers and editors write and read it. */
export function formatProblem(problem: ConfigProblem): string {
  const { file, line, column } = problem.position
  const severity = problem.severity === 'warning' ? 'warning: ' : ''
  const path = problem.path === '' ? '' : `${problem.path}: `
  const hint = problem.hint === undefined ? '' : `; ${problem.hint}`
  return `${file}:${line}:${column}: ${severity}${path}${problem.message}${hint}`
}

/** In the order of `files` and within each from its beginning, so that a person can work downwards. */
export function sortProblems(problems: readonly ConfigProblem[], files: readonly string[] = []): ConfigProblem[] {
  const order = new Map(files.map((file, index) => [file, index]))
  const orderOf = ({ position }: ConfigProblem): number => order.get(position.file) ?? -1
  return problems.toSorted(
    (a, b) => orderOf(a) - orderOf(b) || a.position.line - b.position.line || a.position.column - b.position.column,
  )
}

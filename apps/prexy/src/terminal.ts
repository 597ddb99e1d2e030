/** What a terminal is told apart from a file or a pipe by: colours and progress. */

export interface Styles {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

const PLAIN: Styles = { bold: same, dim: same, red: same, green: same, yellow: same, cyan: same }

const COLOURED: Styles = {
  bold: (text) => `\u001b[1m${text}\u001b[22m`,
  dim: (text) => `\u001b[2m${text}\u001b[22m`,
  red: (text) => `\u001b[31m${text}\u001b[39m`,
  green: (text) => `\u001b[32m${text}\u001b[39m`,
  yellow: (text) => `\u001b[33m${text}\u001b[39m`,
  cyan: (text) => `\u001b[36m${text}\u001b[39m`,
}

function same(text: string): string {
  return text
}

/** Colours for a terminal that wants them; see https://no-color.org. FORCE_COLOR asks for them anywhere. */
export function stylesFor(stream: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Styles {
  if (isSet(env.NO_COLOR)) return PLAIN
  if (isSet(env.FORCE_COLOR) && env.FORCE_COLOR !== '0') return COLOURED
  return stream.isTTY === true && env.TERM !== 'dumb' ? COLOURED : PLAIN
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB']

/** `1.2 MB`, in powers of 1,000. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1_000 && unit < UNITS.length - 1) {
    value /= 1_000
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}

/** Text from outside on one line of a terminal or a log: control characters become escapes. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

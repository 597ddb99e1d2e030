/**
 * What the bytes before a position say: the look-behind of `^ \A \b \B` and of the left edge of a host name, as a
 * small automaton over all bytes of the body. It runs inside the search automaton's states, so look-behind costs
 * nothing per byte and never needs the bytes themselves.
 */

/** Kind of a byte, or of a place without one: what `\b`, `^` and `$` can tell apart. */
export const KIND_NONE = 0
export const KIND_NEWLINE = 1
export const KIND_WORD = 2
export const KIND_OTHER = 3

export const NEWLINE = 0x0a

export function byteKind(byte: number): number {
  if (byte === NEWLINE) return KIND_NEWLINE
  return isAlphanumeric(byte) || byte === 0x5f ? KIND_WORD : KIND_OTHER
}

function isAlphanumeric(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a)
}

/** A byte that a label of a host name is written with; the underscore is not a host name's but is used as one. */
export function isLabelByte(byte: number): boolean {
  return isAlphanumeric(byte) || byte === 0x2d || byte === 0x5f
}

export function isHostByte(byte: number): boolean {
  return isLabelByte(byte) || byte === 0x2e
}

export interface ContextAutomaton {
  readonly count: number
  /** The context at the start of a body. */
  readonly start: number
  /** `next[context * 256 + byte]`. */
  readonly next: Uint8Array
  /** Kind of the byte before, `KIND_NONE` at the start. */
  readonly kind: Uint8Array
  /** Nonzero where a host name can begin. */
  readonly hostStart: Uint8Array
  /** Nonzero where a host name or, after `label.`, the rest of one can begin. */
  readonly subdomainStart: Uint8Array
  /** How many bytes back a context depends on; feeding that many bytes from any context gives the right one. */
  readonly depthBytes: number
}

export interface ContextNeeds {
  /** Some assertion looks at the kind of the byte before. */
  readonly kinds: boolean
  /** Some rule begins at a host name's left edge. */
  readonly hosts: boolean
}

/** Longest look-behind of {@link escapeStep}: a label byte, then `\u00HH`. */
const HOST_DEPTH_BYTES = 8

interface ContextState {
  readonly kind: number
  readonly hostStart: boolean
  readonly afterLabel: boolean
  readonly subdomainStart: boolean
  readonly escape: string
}

export function buildContexts(needs: ContextNeeds): ContextAutomaton {
  const states: ContextState[] = []
  const ids = new Map<string, number>()
  const intern = (state: ContextState): number => {
    const key = JSON.stringify(state)
    const known = ids.get(key)
    if (known !== undefined) return known
    ids.set(key, states.length)
    states.push(state)
    return states.length - 1
  }
  const blank = { kind: KIND_NONE, hostStart: needs.hosts, afterLabel: false, subdomainStart: false, escape: '' }
  const start = intern(blank)
  const next: number[] = []
  for (let id = 0; id < states.length; id++) {
    const from = states[id]
    for (let byte = 0; byte < 256; byte++) {
      let to: ContextState = blank
      if (needs.hosts) {
        const { escape, separator } = escapeStep(from.escape, byte)
        to = {
          kind: KIND_NONE,
          // What follows a single backslash is the rest of an escape.
          hostStart: separator || (!isHostByte(byte) && escape !== '\\'),
          afterLabel: !separator && isLabelByte(byte),
          subdomainStart: byte === 0x2e && from.afterLabel,
          escape,
        }
      }
      next.push(intern(needs.kinds ? { ...to, kind: byteKind(byte) } : to))
    }
  }
  return {
    count: states.length,
    start,
    next: Uint8Array.from(next),
    kind: Uint8Array.from(states, (state) => state.kind),
    hostStart: Uint8Array.from(states, (state) => Number(state.hostStart)),
    subdomainStart: Uint8Array.from(states, (state) => Number(state.hostStart || state.subdomainStart)),
    depthBytes: needs.hosts ? HOST_DEPTH_BYTES : needs.kinds ? 1 : 0,
  }
}

/** Letters that stand for white space behind a backslash. */
const WHITE_SPACE_LETTERS: readonly number[] = [...'bfnrtv'].map((letter) => letter.charCodeAt(0))

/**
 * Follows escapes that stand for one separator: `%2F`, `%252F`, `\u002f`, `\x2f`, `\n`. A state is what has been read of
 * one: `%`, `%%` (a percent sign that was itself encoded), `\`, `\\` (a backslash that was itself escaped, after which
 * `u` may still be an escape of an inner text, but `n` is a letter), `u`, `u0`, `u00`, `x`, or `h`/`H` and the value of the
 * high hexadecimal digit (`h` where a decoded percent sign may open another escape).
 */
function escapeStep(escape: string, byte: number): { escape: string; separator: boolean } {
  const digit = hexDigit(byte)
  const head = escape[0]
  if ((head === 'h' || head === 'H') && digit >= 0) {
    const value = Number(escape.slice(1)) * 16 + digit
    const nested = value === 0x25 && head === 'h' ? '%%' : ''
    return { escape: nested, separator: !isHostByte(value) }
  }
  if (digit >= 0 && digit < 8) {
    if (escape === '%') return { escape: `h${digit}`, separator: false }
    if (escape === '%%' || escape === 'u00' || escape === 'x') return { escape: `H${digit}`, separator: false }
    if (digit === 0 && (escape === 'u' || escape === 'u0')) return { escape: `${escape}0`, separator: false }
  }
  const escaped = escape === '\\'
  if ((escaped || escape === '\\\\') && (byte === 0x75 || byte === 0x78)) {
    return { escape: byte === 0x75 ? 'u' : 'x', separator: false }
  }
  if (escaped && WHITE_SPACE_LETTERS.includes(byte)) return { escape: '', separator: true }
  const opened = byte === 0x25 ? '%' : byte === 0x5c ? (escaped ? '\\\\' : '\\') : ''
  return { escape: opened, separator: false }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x61 + 10 : -1
}

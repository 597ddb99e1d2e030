/**
 * What the bytes before a position say: the look-behind of `^ \A \b \B` and of the left edge of a host name, and
 * which regions are open, as a small automaton over all bytes of the body. It runs inside the search automaton's
 * states, so look-behind costs nothing per byte and never needs the bytes themselves.
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
  readonly next: Uint16Array
  /** Kind of the byte before, `KIND_NONE` at the start. */
  readonly kind: Uint8Array
  /** Nonzero where a host name can begin. */
  readonly hostStart: Uint8Array
  /** Nonzero where a host name or, after `label.`, the rest of one can begin. */
  readonly subdomainStart: Uint8Array
  /**
   * How many bytes back a context depends on, but for regions: feeding that many bytes from a context's `resting` one
   * gives the right one, unless a marker begins in the bytes between.
   */
  readonly depthBytes: number
  readonly regionCount: number
  /** `regionOpen[context * regionCount + region]`: nonzero where a match of the region's rules may begin. */
  readonly regionOpen: Uint8Array
  /** The context with the same regions open, of which nothing else is known. */
  readonly resting: Uint16Array
  /** Nonzero where the beginning of a marker may have been read, so that the next bytes have to be looked at. */
  readonly inMarker: Uint8Array
}

/** Where rules may begin a match: from the end of an opening marker up to the end of the next closing one. */
export interface Region {
  /** Octets, not empty; letters of ASCII are found in either case. */
  readonly open: Uint8Array
  readonly close: Uint8Array
}

/** Contexts that a rule set may tell apart; each takes 512 bytes. */
export const MAX_CONTEXTS: number = 4_096

/** The regions of a rule set are too many, or too long, to be told apart. */
export class ContextLimitError extends Error {
  constructor() {
    super(`the markers of regions tell more than ${MAX_CONTEXTS} places apart`)
    this.name = 'ContextLimitError'
  }
}

export interface ContextNeeds {
  /** Some assertion looks at the kind of the byte before. */
  readonly kinds: boolean
  /** Some rule begins at a host name's left edge. */
  readonly hosts: boolean
  readonly regions: readonly Region[]
}

/** Longest look-behind of {@link escapeStep}: a label byte, then `\u00HH`. */
const HOST_DEPTH_BYTES = 8

interface LocalContext {
  readonly kind: number
  readonly hostStart: boolean
  readonly afterLabel: boolean
  readonly subdomainStart: boolean
  readonly escape: string
}

/** What the last few bytes say. */
interface LocalContexts {
  readonly states: readonly LocalContext[]
  readonly next: readonly number[]
}

/** Without regions there are four, which all rule sets share. */
const withoutRegions = new Map<string, ContextAutomaton>()

/** Throws {@link ContextLimitError}. The start is context 0. */
export function buildContexts(needs: ContextNeeds): ContextAutomaton {
  if (needs.regions.length > 0) return makeContexts(needs)
  const key = `${needs.kinds} ${needs.hosts}`
  let contexts = withoutRegions.get(key)
  if (contexts === undefined) {
    contexts = makeContexts(needs)
    withoutRegions.set(key, contexts)
  }
  return contexts
}

function makeContexts(needs: ContextNeeds): ContextAutomaton {
  const local = buildLocalContexts(needs)
  const searches = needs.regions.map(buildMarkerSearch)
  // A context is the local one and the state of each search; their numbers make a key in mixed radix.
  const parts: number[][] = []
  const ids = new Map<number, number>()
  const intern = (context: readonly number[]): number => {
    const key = context.reduceRight((sum, part, index) => sum * radix(index) + part, 0)
    const known = ids.get(key)
    if (known !== undefined) return known
    if (parts.length === MAX_CONTEXTS) throw new ContextLimitError()
    ids.set(key, parts.length)
    parts.push([...context])
    return parts.length - 1
  }
  const radix = (index: number): number => (index === 0 ? local.states.length : searches[index - 1].count)
  const start = intern([0, ...searches.map(() => 0)])
  const next: number[] = []
  const resting: number[] = []
  const changed: number[] = []
  for (let id = 0; id < parts.length; id++) {
    const from = parts[id]
    resting.push(intern([0, ...searches.map(({ openFrom }, region) => (from[region + 1] < openFrom ? 0 : openFrom))]))
    for (let byte = 0; byte < 256; byte++) {
      changed[0] = local.next[from[0] * 256 + byte]
      for (let region = 0; region < searches.length; region++) {
        changed[region + 1] = searches[region].next[from[region + 1] * 256 + byte]
      }
      next.push(intern(changed))
    }
  }
  const locals = parts.map(([part]) => local.states[part])
  return {
    count: parts.length,
    start,
    next: Uint16Array.from(next),
    kind: Uint8Array.from(locals, (state) => state.kind),
    hostStart: Uint8Array.from(locals, (state) => Number(state.hostStart)),
    subdomainStart: Uint8Array.from(locals, (state) => Number(state.hostStart || state.subdomainStart)),
    depthBytes: needs.hosts ? HOST_DEPTH_BYTES : needs.kinds ? 1 : 0,
    regionCount: searches.length,
    regionOpen: Uint8Array.from(
      parts.flatMap((part) => searches.map(({ openFrom }, region) => Number(part[region + 1] >= openFrom))),
    ),
    resting: Uint16Array.from(resting),
    inMarker: Uint8Array.from(parts, (part) =>
      Number(searches.some(({ openFrom }, region) => part[region + 1] !== 0 && part[region + 1] !== openFrom)),
    ),
  }
}

function buildLocalContexts(needs: Pick<ContextNeeds, 'kinds' | 'hosts'>): LocalContexts {
  const states: LocalContext[] = []
  const ids = new Map<string, number>()
  const intern = (state: LocalContext): number => {
    const { kind, hostStart, afterLabel, subdomainStart, escape } = state
    const key = `${kind}${Number(hostStart)}${Number(afterLabel)}${Number(subdomainStart)}${escape}`
    const known = ids.get(key)
    if (known !== undefined) return known
    ids.set(key, states.length)
    states.push(state)
    return states.length - 1
  }
  const blank = { kind: KIND_NONE, hostStart: needs.hosts, afterLabel: false, subdomainStart: false, escape: '' }
  intern(blank)
  const next: number[] = []
  if (!needs.hosts && !needs.kinds) return { states, next: new Array<number>(256).fill(0) }
  for (let id = 0; id < states.length; id++) {
    const from = states[id]
    for (let byte = 0; byte < 256; byte++) {
      let to: LocalContext = blank
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
  return { states, next }
}

/**
 * Looks for a region's markers: states below `openFrom` are so many bytes of the opening marker, those from there on so
 * many of the closing one. Markers do not overlap: the search for the other one begins after one has ended.
 */
interface MarkerSearch {
  readonly count: number
  readonly openFrom: number
  readonly next: readonly number[]
}

function buildMarkerSearch({ open, close }: Region): MarkerSearch {
  const openFrom = open.length
  const next: number[] = []
  const add = (marker: Uint8Array, from: number, found: number): void => {
    const letters = marker.map(asciiLowerCase)
    /** The state that has read all but the first byte of what this one has read: where a search goes on that failed. */
    let restart = 0
    for (let read = 0; read < letters.length; read++) {
      const fallback = (byte: number): number => (read === 0 ? from : next[(from + restart) * 256 + byte])
      for (let byte = 0; byte < 256; byte++) {
        const matches = asciiLowerCase(byte) === letters[read]
        next.push(matches ? (read + 1 === letters.length ? found : from + read + 1) : fallback(byte))
      }
      if (read > 0) restart = next[(from + restart) * 256 + letters[read]] - from
    }
  }
  add(open, 0, openFrom)
  add(close, openFrom, 0)
  return { count: open.length + close.length, openFrom, next }
}

export function asciiLowerCase(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
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

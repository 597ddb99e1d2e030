/** What rules did to a text, line by line, each change with its rule. */
import type { Change, ObservedBody } from '@prexy/rewrite/observe'

/** A run of text that stayed, went or came. */
export interface DiffPart {
  readonly text: string
  readonly isChanged: boolean
}

/** Changed lines that stand together. */
export interface Hunk {
  /** Of the first line, before and after; they count from 1. */
  readonly beforeLine: number
  readonly afterLine: number
  readonly before: readonly DiffPart[]
  readonly after: readonly DiffPart[]
  /** Rules that made the changes, from 0, in the order of the text. */
  readonly rules: readonly number[]
}

/** Characters that are shown of the unchanged text on either side of a change in a line. */
const CONTEXT_CHARACTERS = 60

const LINE_FEED = 0x0a

/** `decode` makes text of the body's octets. */
export function hunksOf(body: ObservedBody, decode: (octets: Uint8Array) => string): readonly Hunk[] {
  const { input, changes } = body
  const hunks: Hunk[] = []
  let line = 1
  let counted = 0
  let addedLines = 0
  for (const group of groupsOf(input, changes)) {
    line += lineFeeds(input.subarray(counted, group.start))
    counted = group.start
    const before: DiffPart[] = []
    const after: DiffPart[] = []
    let at = group.start
    let grown = 0
    for (const { start, end, replacement } of group.changes) {
      const kept = decode(input.subarray(at, start))
      before.push({ text: kept, isChanged: false }, { text: decode(input.subarray(start, end)), isChanged: true })
      after.push({ text: kept, isChanged: false }, { text: decode(replacement), isChanged: true })
      grown += lineFeeds(replacement) - lineFeeds(input.subarray(start, end))
      at = end
    }
    const rest = decode(input.subarray(at, group.end))
    before.push({ text: rest, isChanged: false })
    after.push({ text: rest, isChanged: false })
    hunks.push({
      beforeLine: line,
      afterLine: line + addedLines,
      before: shortened(before),
      after: shortened(after),
      rules: [...new Set(group.changes.map(({ rule }) => rule))],
    })
    addedLines += grown
  }
  return hunks
}

interface Group {
  /** From the beginning of the first line up to the end of the last, its line feed left out. */
  readonly start: number
  readonly end: number
  readonly changes: readonly Change[]
}

/** Changes that touch one line, or lines that other changes touch. */
function groupsOf(input: Uint8Array, changes: readonly Change[]): readonly Group[] {
  const groups: { start: number; end: number; changes: Change[] }[] = []
  for (const change of changes) {
    const start = change.start === 0 ? 0 : input.lastIndexOf(LINE_FEED, change.start - 1) + 1
    const next = input.indexOf(LINE_FEED, change.end)
    const end = next === -1 ? input.length : next
    const last = groups.at(-1)
    if (last !== undefined && start <= last.end) {
      last.changes.push(change)
      last.end = Math.max(last.end, end)
    } else groups.push({ start, end, changes: [change] })
  }
  return groups
}

function lineFeeds(octets: Uint8Array): number {
  let count = 0
  for (const octet of octets) if (octet === LINE_FEED) count++
  return count
}

/** Long runs of unchanged text lose their middle: pages are often one line. */
function shortened(parts: readonly DiffPart[]): readonly DiffPart[] {
  return parts
    .map((part, index): DiffPart => {
      if (part.isChanged) return part
      const [head, tail] = [index === 0 ? 0 : CONTEXT_CHARACTERS, index === parts.length - 1 ? 0 : CONTEXT_CHARACTERS]
      if (part.text.length <= head + tail + 1) return part
      const end = tail === 0 ? '' : part.text.slice(-tail)
      return { text: `${part.text.slice(0, head)}…${end}`, isChanged: false }
    })
    .filter(({ text }) => text !== '')
}

/**
 * The plain part of YAML, fast: what nearly every rule file is written in.
 *
 * Block maps and lists, one-line scalars (plain, in single quotes, in double quotes without escapes), literal blocks,
 * comments, several documents. Everything else, and everything that looks unusual, makes it give up: the file is then
 * read by the full parser, which also words the errors.
 *
 * INVARIANT: what it does read, it reads as the full parser does; see test/plain-yaml.test.ts.
 *
 * PERF: 8 times as fast as the full parser on the public rule set (0.45 s of CPU time instead of 3.8 s).
 */
import type { SourceEntry, SourceNode, SourceScalar } from './source-tree.ts'

const MAX_PLAIN_DEPTH = 32

interface Line {
  /** Offset of the line. */
  readonly start: number
  readonly end: number
  readonly indent: number
}

interface Reader {
  readonly text: string
  /** Lines with content, comments left out. */
  readonly lines: readonly Line[]
  next: number
  /** Offset from which on a literal block has taken the lines. */
  depth: number
}

/** Thrown and caught here. */
class GaveUp extends Error {}

/** The documents, empty ones left out; undefined when the text is to be read by the full parser. */
export function readPlainYaml(text: string): readonly SourceNode[] | undefined {
  // Carriage returns, other line ends, byte order marks and control characters.
  if (/[\r\t\u0085\u2028\u2029\ufeff\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text)) return undefined
  try {
    return splitDocuments(text).flatMap((lines) => {
      const reader: Reader = { text, lines, next: 0, depth: 0 }
      if (lines.length === 0) return []
      const node = readBlock(reader, lines[0].indent)
      if (reader.next < lines.length) throw new GaveUp()
      return [node]
    })
  } catch (error) {
    if (error instanceof GaveUp) return undefined
    throw error
  }
}

/** Lines by document; blank ones and comments are kept only where a literal block may hold them. */
function splitDocuments(text: string): readonly (readonly Line[])[] {
  const documents: Line[][] = [[]]
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline
    let at = start
    while (at < end && text.charCodeAt(at) === 0x20) at++
    if (at === start && at < end) {
      const mark = text.slice(start, Math.min(end, start + 3))
      if (mark === '---') {
        requireEnd(text, start + 3, end)
        documents.push([])
        start = end + 1
        continue
      }
      if (mark === '...' || text[at] === '%') throw new GaveUp()
    }
    if (at < end && text[at] !== '#') documents[documents.length - 1].push({ start, end, indent: at - start })
    start = end + 1
  }
  return documents
}

function readBlock(reader: Reader, indent: number): SourceNode {
  const line = reader.lines[reader.next]
  if (++reader.depth > MAX_PLAIN_DEPTH) throw new GaveUp()
  const at = line.start + line.indent
  const node = isItem(reader.text, at, line.end) ? readList(reader, indent) : readMap(reader, indent, at)
  reader.depth--
  return node
}

function isItem(text: string, at: number, end: number): boolean {
  return text[at] === '-' && (at + 1 === end || text[at + 1] === ' ')
}

/** `at` is where the first key stands, behind `- ` in a list. */
function readMap(reader: Reader, indent: number, at: number): SourceNode {
  const entries: SourceEntry[] = []
  const keys = new Set<string>()
  let keyAt = at
  for (;;) {
    const line = reader.lines[reader.next]
    const { key, behind } = readKey(reader.text, keyAt, line.end)
    if (keys.has(key)) throw new GaveUp()
    keys.add(key)
    entries.push({ key, keyAt, value: readValue(reader, indent, behind, line, keyAt) })
    const next = reader.lines[reader.next]
    if (next === undefined || next.indent < indent) break
    if (next.indent > indent) throw new GaveUp()
    keyAt = next.start + indent
    if (isItem(reader.text, keyAt, next.end)) throw new GaveUp()
  }
  return { kind: 'map', entries, at }
}

function readList(reader: Reader, indent: number): SourceNode {
  const first = reader.lines[reader.next]
  const items: SourceNode[] = []
  for (;;) {
    const line = reader.lines[reader.next]
    const dash = line.start + indent
    if (!isItem(reader.text, dash, line.end)) {
      if (line.indent === indent) break
      throw new GaveUp()
    }
    let at = dash + 1
    while (at < line.end && reader.text[at] === ' ') at++
    if (at === line.end || reader.text[at] === '#') throw new GaveUp()
    if (isItem(reader.text, at, line.end)) throw new GaveUp()
    if (looksLikeKey(reader.text, at, line.end)) {
      if (++reader.depth > MAX_PLAIN_DEPTH) throw new GaveUp()
      items.push(readMap(reader, at - line.start, at))
      reader.depth--
    } else items.push(readScalar(reader, at, line, indent))
    const next = reader.lines[reader.next]
    if (next === undefined || next.indent < indent) break
    if (next.indent > indent) throw new GaveUp()
  }
  return { kind: 'list', items, at: first.start + indent }
}

const PLAIN_KEY = /[A-Za-z0-9_][\w.|()@/\\-]*(?=:(?: |$))/my
const QUOTED_KEY = /'([^'\n]*)'(?=:(?: |$))/my

function looksLikeKey(text: string, at: number, end: number): boolean {
  PLAIN_KEY.lastIndex = at
  QUOTED_KEY.lastIndex = at
  if (PLAIN_KEY.test(text) || QUOTED_KEY.test(text)) return true
  // Some other key: `a b: c`, or in quotes with escapes.
  if (text[at] === "'" || text[at] === '"') return false
  const content = text.slice(at, end)
  if (/:(?: |$)/.test(content.replace(/ #.*$/, ''))) throw new GaveUp()
  return false
}

function readKey(text: string, at: number, end: number): { readonly key: string; readonly behind: number } {
  PLAIN_KEY.lastIndex = at
  const plain = PLAIN_KEY.exec(text)
  if (plain !== null) {
    if (scalarKind(plain[0]) === 'null') throw new GaveUp()
    return { key: plain[0], behind: at + plain[0].length + 1 }
  }
  QUOTED_KEY.lastIndex = at
  const quoted = QUOTED_KEY.exec(text)
  if (quoted === null || at + quoted[0].length >= end) throw new GaveUp()
  return { key: quoted[1], behind: at + quoted[0].length + 1 }
}

/** The value behind a key, in the same line or below. */
function readValue(reader: Reader, indent: number, behind: number, line: Line, keyAt: number): SourceNode {
  let at = behind
  while (at < line.end && reader.text[at] === ' ') at++
  if (at < line.end && reader.text[at] !== '#') return readScalar(reader, at, line, indent)
  reader.next++
  const next = reader.lines[reader.next]
  if (next === undefined || next.indent < indent) return { kind: 'null', text: '', at: keyAt }
  if (next.indent > indent) return readBlock(reader, next.indent)
  return isItem(reader.text, next.start + indent, next.end)
    ? readListOfKey(reader, indent)
    : { kind: 'null', text: '', at: keyAt }
}

/** A list may stand as far left as its key; it ends at the next key. */
function readListOfKey(reader: Reader, indent: number): SourceNode {
  if (++reader.depth > MAX_PLAIN_DEPTH) throw new GaveUp()
  const list = readList(reader, indent)
  reader.depth--
  return list
}

/** A scalar that begins at `at`; takes the line, and those of a literal block. */
function readScalar(reader: Reader, at: number, line: Line, indent: number): SourceScalar {
  const { text } = reader
  reader.next++
  switch (text[at]) {
    case "'": {
      let value = ''
      let from = at + 1
      for (;;) {
        const quote = text.indexOf("'", from)
        if (quote < 0 || quote >= line.end) throw new GaveUp()
        value += text.slice(from, quote)
        from = quote + 1
        if (text[from] !== "'") break
        value += "'"
        from++
      }
      requireEnd(text, from, line.end)
      return oneLine(reader, { kind: 'text', text: value, at }, indent)
    }
    case '"': {
      const quote = text.indexOf('"', at + 1)
      if (quote < 0 || quote >= line.end) throw new GaveUp()
      const value = text.slice(at + 1, quote)
      if (value.includes('\\')) throw new GaveUp()
      requireEnd(text, quote + 1, line.end)
      return oneLine(reader, { kind: 'text', text: value, at }, indent)
    }
    case '|':
      return { kind: 'text', text: readLiteral(reader, at, line, indent), at }
    default:
      return oneLine(reader, readPlain(text, at, line.end), indent)
  }
}

/** What is further to the right below would go on with the scalar. */
function oneLine(reader: Reader, scalar: SourceScalar, indent: number): SourceScalar {
  const next = reader.lines[reader.next]
  if (next !== undefined && next.indent > indent) throw new GaveUp()
  return scalar
}

/** Nothing but blanks and a comment. */
function requireEnd(text: string, from: number, end: number): void {
  if (!/^ *$|^ +#/.test(text.slice(from, end))) throw new GaveUp()
}

/** Only U+0020 is a blank here; the no-break space, say, is a letter like others. */
function withoutEndBlanks(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === ' ') end--
  return text.slice(0, end)
}

const NOT_PLAIN = /^(?:[,[\]{}#&*!|>'"%@`]|[-?:](?: |$))/

function readPlain(text: string, at: number, end: number): SourceScalar {
  let value = text.slice(at, end)
  if (NOT_PLAIN.test(value)) throw new GaveUp()
  const comment = value.indexOf(' #')
  if (comment >= 0) value = value.slice(0, comment)
  value = withoutEndBlanks(value)
  if (/:(?: |$)/.test(value)) throw new GaveUp()
  return { kind: scalarKind(value), text: value, at }
}

const NUMBER =
  /^(?:[-+]?\d+|0o[0-7]+|0x[\da-fA-F]+|[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/

/** YAML 1.2 core schema. */
function scalarKind(value: string): SourceScalar['kind'] {
  switch (value) {
    case '':
    case '~':
    case 'null':
    case 'Null':
    case 'NULL':
      return 'null'
    case 'true':
    case 'True':
    case 'TRUE':
    case 'false':
    case 'False':
    case 'FALSE':
      return 'boolean'
  }
  return NUMBER.test(value) ? 'number' : 'text'
}

/** `|` and `|-`: the lines below that are further to the right, less their indentation. */
function readLiteral(reader: Reader, at: number, line: Line, indent: number): string {
  const { text } = reader
  const header = withoutEndBlanks(text.slice(at, line.end))
  if (header !== '|' && header !== '|-') throw new GaveUp()
  const rows: string[] = []
  let own = -1
  let start = line.end + 1
  while (start < text.length) {
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline
    const row = text.slice(start, end)
    let blanks = 0
    while (row[blanks] === ' ') blanks++
    if (blanks === row.length) {
      // Blanks beyond the indentation are content.
      rows.push(own >= 0 && row.length > own ? row.slice(own) : '')
      if (own < 0 && row.length > 0) throw new GaveUp()
    } else {
      if (own < 0) {
        if (blanks <= indent) break
        own = blanks
      }
      if (blanks < own) {
        if (blanks > indent) throw new GaveUp()
        break
      }
      rows.push(row.slice(own))
    }
    start = end + 1
  }
  while (rows.length > 0 && rows[rows.length - 1] === '') rows.pop()
  if (rows.length === 0) throw new GaveUp()
  while (reader.next < reader.lines.length && reader.lines[reader.next].start < start) reader.next++
  return rows.join('\n') + (header === '|' ? '\n' : '')
}

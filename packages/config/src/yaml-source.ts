/**
 * A YAML document as plain data that still knows where everything stands.
 *
 * YAML 1.2 core schema: `on`, `yes` and `no` are text. Refused, each with its position: keys that stand twice, unknown
 * tags, several documents in one file, more than {@link MAX_ALIAS_EXPANSIONS} values out of aliases, and files above
 * {@link MAX_CONFIG_CHARACTERS}. Merge keys (`<<`) are keys like any other, so a strict schema refuses them.
 */
import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type Node, parseDocument } from 'yaml'
import { readPlainYaml } from './plain-yaml.ts'
import type { ConfigPath, ConfigProblem, Position } from './problem.ts'

/** Longest file that is read, in UTF-16 code units. */
export const MAX_CONFIG_CHARACTERS: number = 16 * 1024 * 1024

/** How many values aliases may add to a document, counted with those inside them; an anchor bomb grows without end. */
const MAX_ALIAS_EXPANSIONS = 10_000

/** Syntax errors shown for one file; a broken indent makes hundreds that say nothing new. */
const MAX_SYNTAX_PROBLEMS = 10

export interface YamlSource {
  readonly file: string
  /** The document as plain data, or undefined when its syntax is broken. */
  readonly value: unknown
  readonly problems: readonly ConfigProblem[]
  /**
   * Where the value at `path` begins; the nearest enclosing value when there is none. With `at`, an offset in octets
   * of UTF-8 into a text, the place of that octet inside the text, whichever way YAML writes it.
   */
  positionOf(path: ConfigPath, at?: number): Position
  /** Where the key that ends `path` stands. */
  keyPositionOf(path: ConfigPath): Position
}

/** Where a value stands: in which document, at which path. */
export interface Place {
  readonly source: YamlSource
  readonly path: ConfigPath
}

/**
 * Reads `text`, the content of `file`. Never throws: what is wrong is in `problems`. A file in plain YAML is parsed in
 * full only when somebody asks for a position in it.
 */
export function readYaml(text: string, file: string): YamlSource {
  const plain = text.length > MAX_CONFIG_CHARACTERS ? undefined : readPlainYaml(text)
  if (plain === undefined) return readFullYaml(text, file)
  let full: YamlSource | undefined
  const parsed = (): YamlSource => {
    full ??= readFullYaml(text, file)
    return full
  }
  return {
    file,
    value: plain.value,
    problems: [],
    positionOf: (path, at) => parsed().positionOf(path, at),
    keyPositionOf: (path) => parsed().keyPositionOf(path),
  }
}

/** The same with the full parser. */
export function readFullYaml(text: string, file: string): YamlSource {
  // The parser's own line counter misses lines behind a syntax error.
  const lineStarts = findLineStarts(text)
  const positionAt = (offset: number): Position => {
    const line = lineAt(lineStarts, offset)
    return { file, line, column: offset - lineStarts[line - 1] + 1 }
  }
  const problems: ConfigProblem[] = []
  const report = (position: Position, message: string, hint?: string): void => {
    problems.push({ severity: 'error', position, path: '', message, hint })
  }
  const start: Position = { file, line: 1, column: 1 }
  if (text.length > MAX_CONFIG_CHARACTERS) {
    report(start, `the file is longer than ${MAX_CONFIG_CHARACTERS} characters`, 'split it')
    return { file, value: undefined, problems, positionOf: () => start, keyPositionOf: () => start }
  }

  const document = parseDocument(text, {
    prettyErrors: false,
    merge: false,
    uniqueKeys: true,
    strict: true,
    version: '1.2',
  })
  let broken = false
  // YAML 1.1 would bring merge keys and `off` for false back in.
  if (document.directives.yaml.explicit === true && document.directives.yaml.version !== '1.2') {
    broken = true
    report(start, `YAML ${document.directives.yaml.version} is not read`, 'remove the %YAML line: this is YAML 1.2')
  }
  const all = [...document.errors, ...document.warnings]
  const tooDeep = all.find((error) => error.code === 'RESOURCE_EXHAUSTION')
  const syntax = tooDeep === undefined ? withoutEchoes(all) : [tooDeep]
  for (const error of syntax.slice(0, MAX_SYNTAX_PROBLEMS)) {
    if (error.code !== 'DUPLICATE_KEY') broken = true
    report(positionAt(error.pos[0]), ...explainSyntax(error.code, error.message, text.slice(error.pos[0])))
  }
  if (syntax.length > MAX_SYNTAX_PROBLEMS) {
    const rest = syntax.slice(MAX_SYNTAX_PROBLEMS)
    broken ||= rest.some((error) => error.code !== 'DUPLICATE_KEY')
    report(positionAt(rest[0].pos[0]), `and ${rest.length} more syntax errors from here on`)
  }

  let value: unknown
  if (!broken) {
    const fault = firstFault(document)
    if (fault !== undefined) report(positionAt(fault.offset), fault.message, fault.hint)
    else {
      value = document.toJS({ maxAliasCount: -1 })
    }
  }
  return {
    file,
    value,
    problems,
    positionOf(path, at) {
      const node = nodeAt(document, path)
      if (node === undefined) return start
      const offset = at === undefined ? (node.range?.[0] ?? 0) : scalarOffset(text, node, at)
      return positionAt(offset)
    },
    keyPositionOf(path) {
      const parent = nodeAt(document, path.slice(0, -1))
      const key = path.at(-1)
      if (isMap(parent)) {
        for (const pair of parent.items) {
          if (isNode(pair.key) && keyText(document, pair.key) === String(key)) {
            return positionAt(pair.key.range?.[0] ?? 0)
          }
        }
      }
      return positionAt(parent?.range?.[0] ?? 0)
    },
  }
}

/** Offsets at which lines begin. */
function findLineStarts(text: string): readonly number[] {
  const starts = [0]
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) starts.push(end + 1)
  return starts
}

/** The line, from 1, that holds an offset. O(log lines). */
function lineAt(lineStarts: readonly number[], offset: number): number {
  let low = 0
  let high = lineStarts.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (lineStarts[middle] <= offset) low = middle
    else high = middle
  }
  return low + 1
}

/** Where one token is out of place, so are all that follow. */
function withoutEchoes<T extends { readonly code: string }>(errors: readonly T[]): readonly T[] {
  const first = errors.find((error) => error.code === 'UNEXPECTED_TOKEN')
  return errors.filter((error) => error.code !== 'UNEXPECTED_TOKEN' || error === first)
}

function explainSyntax(code: string, message: string, from: string): [message: string, hint: string | undefined] {
  switch (code) {
    case 'DUPLICATE_KEY': {
      const key = /^[^\s:]{1,40}/.exec(from)
      return [key === null ? 'a key stands twice' : `the key "${key[0]}" stands twice`, 'keep one of the two']
    }
    case 'TAB_AS_INDENT':
      return ['a tab indents this line', 'YAML takes spaces only']
    case 'TAG_RESOLVE_FAILED':
      return ['unknown YAML tag', 'leave the tag out, or put a text that begins with ! in quotes']
    case 'MULTIPLE_DOCS':
      return ['a second document begins here', 'keep one document in a file']
    case 'RESOURCE_EXHAUSTION':
      return ['is nested too deeply', undefined]
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
    case 'BAD_SCALAR_START':
    case 'UNEXPECTED_TOKEN':
      return [message, 'put the text in single quotes']
    default:
      return [message, undefined]
  }
}

interface Fault {
  readonly offset: number
  readonly message: string
  readonly hint: string
}

/**
 * The first alias that names nothing, holds itself or takes the document over the limit, or the first key that is no
 * text. Each node is visited once.
 */
function firstFault(document: Document.Parsed): Fault | undefined {
  const sizes = new Map<Node, number>()
  const open = new Set<Node>()
  let aliased = 0
  let fault: Fault | undefined
  const sizeOf = (node: unknown): number => {
    if (!isNode(node) || fault !== undefined) return 0
    const known = sizes.get(node)
    if (known !== undefined) return known
    let size = 1
    open.add(node)
    if (isAlias(node)) {
      const offset = node.range?.[0] ?? 0
      const target = node.resolve(document)
      if (target === undefined) {
        const hint = 'put a text that begins with * in quotes'
        fault = { offset, message: `nothing is anchored as &${node.source}`, hint }
      } else if (open.has(target)) {
        fault = { offset, message: `the value of *${node.source} contains itself`, hint: 'write the values out' }
      } else {
        size = sizeOf(target)
        aliased += size
        if (aliased > MAX_ALIAS_EXPANSIONS) {
          const message = `aliases expand to more than ${MAX_ALIAS_EXPANSIONS} values`
          fault ??= { offset, message, hint: 'write the values out where they are needed' }
        }
      }
    } else if (isSeq(node)) {
      for (const item of node.items) size += sizeOf(item)
    } else if (isMap(node)) {
      for (const pair of node.items) {
        size += sizeOf(pair.key) + sizeOf(pair.value)
        if (keyText(document, pair.key) !== undefined) continue
        const offset = (isNode(pair.key) ? pair.key : node).range?.[0] ?? 0
        fault ??= {
          offset,
          message: 'this key is no text',
          hint: 'put a name there, in quotes if it means something in YAML',
        }
      }
    }
    open.delete(node)
    sizes.set(node, size)
    return size
  }
  sizeOf(document.contents)
  return fault
}

/** What the key of a mapping is called in the data; undefined for null, lists and mappings, whose names nobody means. */
function keyText(document: Document.Parsed, key: unknown): string | undefined {
  const node: unknown = isAlias(key) ? key.resolve(document) : key
  const value = isScalar(node) ? node.value : undefined
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'boolean':
      return String(value)
    default:
      return undefined
  }
}

/** The node at `path`, aliases followed; the deepest node on the way when the path leads nowhere. */
function nodeAt(document: Document.Parsed, path: ConfigPath): Node | undefined {
  let node: unknown = document.contents
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document)
    let next: unknown
    if (isSeq(node)) next = typeof step === 'number' ? node.items[step] : undefined
    else if (isMap(node)) {
      const pair = node.items.find((item) => keyText(document, item.key) === String(step))
      // A key without a value has no node of its own.
      next = pair?.value ?? pair?.key
    }
    if (next === undefined || next === null) break
    node = next
  }
  return isNode(node) ? node : undefined
}

/** Offset in the source of octet `at` of a text node's value; the node's start when it is no text. */
function scalarOffset(text: string, node: Node, at: number): number {
  const start = node.range?.[0] ?? 0
  if (!isScalar(node) || typeof node.value !== 'string') return start
  const end = node.range?.[1] ?? start
  const target = codeUnitsBefore(node.value, at)
  switch (node.type) {
    case 'QUOTE_DOUBLE':
      return doubleQuotedOffset(text, start + 1, end, target)
    case 'BLOCK_LITERAL':
    case 'BLOCK_FOLDED': {
      const body = text.indexOf('\n', start) + 1
      return alignedOffset(text, body, end, node.value, target, '')
    }
    case 'QUOTE_SINGLE':
      return alignedOffset(text, start + 1, end, node.value, target, "'")
    default:
      return alignedOffset(text, start, end, node.value, target, '')
  }
}

/** How many UTF-16 code units stand before octet `at` of the UTF-8 form. */
function codeUnitsBefore(value: string, at: number): number {
  let octets = 0
  let units = 0
  for (const character of value) {
    const code = character.codePointAt(0) ?? 0
    octets += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    if (octets > at) break
    units += character.length
  }
  return units
}

/**
 * Walks value and source side by side. They differ only where YAML drops indentation, folds a line break into a blank
 * or doubles a quote, so white space that the value does not have is passed over.
 */
function alignedOffset(text: string, from: number, end: number, value: string, target: number, quote: string): number {
  let position = from
  for (let index = 0; index <= target && position < end; index++) {
    const wanted = value[index]
    if (wanted === ' ' && isBlank(text[position]) && text[position] !== ' ') {
      if (index === target) return position
    } else {
      while (position < end && text[position] !== wanted && isBlank(text[position])) position++
      if (index === target) return position
      if (text[position] === quote && text[position + 1] === quote) position++
    }
    position++
  }
  return Math.min(position, end)
}

function isBlank(character: string): boolean {
  return character === ' ' || character === '\t' || character === '\n' || character === '\r'
}

const ESCAPE_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

function doubleQuotedOffset(text: string, from: number, end: number, target: number): number {
  let position = from
  let units = 0
  while (position < end && units < target) {
    if (text[position] === '\\') {
      const letter = text[position + 1]
      const digits = ESCAPE_DIGITS[letter] ?? 0
      if (letter === '\n' || letter === '\r') {
        position = pastBlanks(text, position + 1, end)
        continue
      }
      // Only \U can stand for two code units.
      units += letter === 'U' && Number.parseInt(text.slice(position + 2, position + 10), 16) > 0xffff ? 2 : 1
      position += 2 + digits
    } else if (text[position] === '\n' || text[position] === '\r') {
      const next = pastBlanks(text, position, end)
      const breaks = text.slice(position, next).split('\n').length - 1
      units += Math.max(1, breaks - 1)
      position = next
    } else {
      units++
      position++
    }
  }
  return Math.min(position, end)
}

function pastBlanks(text: string, from: number, end: number): number {
  let position = from
  while (position < end && isBlank(text[position])) position++
  return position
}

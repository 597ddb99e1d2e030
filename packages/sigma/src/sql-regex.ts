/**
 * Patterns written for RE2, which ClickHouse and DuckDB search with. Not what the rule says is handed on but what we read
 * of it: flags are resolved, classes are spelled out, so that nothing depends on how two dialects read the same text.
 *
 * A quantifier always stands behind a group, and octets are written as themselves where they can be: the substring that
 * ClickHouse 18 looks for before it runs a pattern is wrong for `é?` and for `\x41` outside of a class.
 */
import type { CodePointRanges, Node, ParsedPattern } from '@prexy/regex/ast'
import { leastLength } from './least-length.ts'
import { ANY_TEXT, type Pattern } from './pattern.ts'
import { SqlRefusal } from './sql-refusal.ts'

/** Longest pattern that is handed to an engine. Unit: characters. */
export const MAX_SQL_PATTERN_CHARACTERS = 20_000
/** The highest count that RE2 takes. */
export const MAX_SQL_REPEAT = 1_000

const LAST_CODE_POINT = 0x10ffff
const ANY = `[\\x00-${String.fromCodePoint(LAST_CODE_POINT)}]`

/** The pattern in RE2's syntax, true of the same well-formed texts. Throws a {@link SqlRefusal}. */
export function re2OfRegex({ root }: ParsedPattern): string {
  return bounded(printNode(root, true))
}

/** The whole text against patterns with wildcards, of which one has to match. Throws a {@link SqlRefusal}. */
export function re2OfWildcards(patterns: readonly Pattern[]): string {
  const alternatives = [...new Set(patterns.map(printWildcards))]
  return bounded(alternatives.length === 1 ? alternatives[0] : `(?:${alternatives.join('|')})`)
}

/** A wildcard at an end needs no more than that nothing holds the text there. */
function printWildcards(pattern: Pattern): string {
  const isOpen = pattern[0] === ANY_TEXT
  const isOpenBehind = pattern.at(-1) === ANY_TEXT
  const parts = pattern.slice(isOpen ? 1 : 0, isOpenBehind ? -1 : undefined).map((part) => {
    if (typeof part !== 'string') return part === ANY_TEXT ? `(?:${ANY})*` : ANY
    return Array.from(part, (one) => printLiteral(one.codePointAt(0) ?? 0)).join('')
  })
  return `${isOpen ? '' : '\\A'}${parts.join('')}${isOpenBehind ? '' : '\\z'}`
}

function bounded(source: string): string {
  if (source.length <= MAX_SQL_PATTERN_CHARACTERS) return source
  throw new SqlRefusal(`a pattern is longer than ${MAX_SQL_PATTERN_CHARACTERS} characters`)
}

/** `isLast`: nothing of the pattern comes behind the node. */
function printNode(node: Node, isLast: boolean): string {
  switch (node.kind) {
    case 'empty':
      return ''
    case 'class':
      return printClass(node.ranges)
    case 'assert':
      return printAssertion(node, isLast)
    case 'concat':
      return printConcat(node.nodes, isLast)
    case 'alternate':
      return `(?:${node.nodes.map((one) => printNode(one, isLast)).join('|')})`
    case 'capture':
      return `(?:${printNode(node.node, isLast)})`
    case 'repeat': {
      const { min, max } = node
      if (min > MAX_SQL_REPEAT || (max !== Infinity && max > MAX_SQL_REPEAT)) {
        throw new SqlRefusal(`a pattern repeats more than ${MAX_SQL_REPEAT} times`)
      }
      return `(?:${printNode(node.node, isLast && max === 1)})${quantifier(min, max)}`
    }
  }
}

function quantifier(min: number, max: number): string {
  if (max === Infinity) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`
  return min === 0 && max === 1 ? '?' : `{${min},${max}}`
}

function printConcat(nodes: readonly Node[], isLast: boolean): string {
  let behind = 0
  const texts: string[] = []
  for (let index = nodes.length - 1; index >= 0; index--) {
    const node = nodes[index]
    if (node.kind === 'assert' && node.assertion === 'lineStart') {
      // RE2's also stands behind a line break that ends the text, where nothing more can be matched.
      if (behind === 0) refuseAssertion()
      texts.push('(?m:^)')
    } else texts.push(printNode(node, isLast && index === nodes.length - 1))
    behind += leastLength(node)
  }
  return texts.toReversed().join('')
}

function refuseAssertion(): never {
  throw new SqlRefusal('a pattern has an end or begin of a line that RE2 sees otherwise')
}

function printAssertion({ assertion }: Extract<Node, { kind: 'assert' }>, isLast: boolean): string {
  switch (assertion) {
    case 'textStart':
      return '\\A'
    case 'textEnd':
      return '\\z'
    case 'textEndOrFinalNewline':
      return isLast ? '(?:\\n)?\\z' : refuseAssertion()
    case 'lineStart':
      return refuseAssertion()
    case 'lineEnd':
      return '(?m:$)'
    case 'wordBoundary':
      return '\\b'
    case 'notWordBoundary':
      return '\\B'
  }
}

function printClass(ranges: CodePointRanges): string {
  const parts: string[] = []
  let only: number | undefined
  const add = (low: number, high: number): void => {
    if (low > high) return
    only = parts.length === 0 && low === high ? low : undefined
    parts.push(low === high ? printCharacter(low) : `${printCharacter(low)}-${printCharacter(high)}`)
  }
  for (let index = 0; index < ranges.length; index += 2) {
    const [low, high] = [ranges[index], ranges[index + 1]]
    // Well-formed text has no halves of pairs.
    add(low, Math.min(high, 0xd7ff))
    add(Math.max(low, 0xe000), high)
  }
  if (parts.length === 0) return `[^\\x00-${String.fromCodePoint(LAST_CODE_POINT)}]`
  return only !== undefined ? printLiteral(only) : `[${parts.join('')}]`
}

/** A character outside of a class. */
function printLiteral(code: number): string {
  return code < 0x20 || code === 0x7f ? `[${printCharacter(code)}]` : printCharacter(code)
}

/** A character inside of a class. */
function printCharacter(code: number): string {
  const text = String.fromCodePoint(code)
  if (code >= 0x80 || /[\w ]/.test(text)) return text
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, '0')}`
  return `\\${text}`
}

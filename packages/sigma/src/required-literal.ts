/** A text that must stand in every value that a regular expression matches, so that most values need no search. */
import type { CodePointRanges, Node } from '@prexy/regex/ast'
import { foldCase } from './fold.ts'

/** A class of more characters is not looked at: it has at most four case forms when it is one letter. */
const MAX_CASE_FORMS = 4

/** The longest such text, folded; empty when there is none. */
export function requiredLiteral(root: Node): string {
  return longest(literalsOf(root))
}

interface Literals {
  /** The node matches exactly this, but for case; undefined when it may match other texts. */
  readonly exact: string | undefined
  /** Every match begins with, ends with and holds these. */
  readonly prefix: string
  readonly suffix: string
  readonly inner: string
}

const NOTHING: Literals = { exact: undefined, prefix: '', suffix: '', inner: '' }
const EMPTY: Literals = { exact: '', prefix: '', suffix: '', inner: '' }

function longest(literals: Literals): string {
  const { exact, prefix, suffix, inner } = literals
  return [exact ?? '', prefix, suffix, inner].reduce((best, text) => (text.length > best.length ? text : best))
}

function literalsOf(node: Node): Literals {
  switch (node.kind) {
    case 'empty':
    case 'assert':
      return EMPTY
    case 'class': {
      const character = singleFold(node.ranges)
      return character === undefined ? NOTHING : exactly(character)
    }
    case 'capture':
      return literalsOf(node.node)
    case 'concat':
      return node.nodes.map(literalsOf).reduce(concatenate, EMPTY)
    case 'alternate': {
      const branches = node.nodes.map(literalsOf)
      return branches.reduce(either)
    }
    case 'repeat': {
      if (node.min === 0) return NOTHING
      const body = literalsOf(node.node)
      if (node.min === 1 && node.max === 1) return body
      return {
        exact: undefined,
        prefix: body.exact ?? body.prefix,
        suffix: body.exact ?? body.suffix,
        inner: longest(body),
      }
    }
  }
}

function exactly(text: string): Literals {
  return { exact: text, prefix: text, suffix: text, inner: text }
}

function concatenate(a: Literals, b: Literals): Literals {
  if (a.exact !== undefined && b.exact !== undefined) return exactly(a.exact + b.exact)
  const joint = (a.exact ?? a.suffix) + (b.exact ?? b.prefix)
  const inner = [a.inner, b.inner, joint].reduce((best, text) => (text.length > best.length ? text : best))
  return {
    exact: undefined,
    prefix: a.exact === undefined ? a.prefix : a.exact + b.prefix,
    suffix: b.exact === undefined ? b.suffix : a.suffix + b.exact,
    inner,
  }
}

/** What two alternatives have in common. */
function either(a: Literals, b: Literals): Literals {
  if (a.exact !== undefined && a.exact === b.exact) return a
  const prefix = commonStart(a.exact ?? a.prefix, b.exact ?? b.prefix)
  const suffix = reversed(commonStart(reversed(a.exact ?? a.suffix), reversed(b.exact ?? b.suffix)))
  return { exact: undefined, prefix, suffix, inner: prefix.length > suffix.length ? prefix : suffix }
}

function commonStart(a: string, b: string): string {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return a.slice(0, length)
}

function reversed(text: string): string {
  return [...text].reverse().join('')
}

/** The folded form that all characters of a class share. */
function singleFold(ranges: CodePointRanges): string | undefined {
  let fold: string | undefined
  let count = 0
  for (let index = 0; index < ranges.length; index += 2) {
    for (let point = ranges[index]; point <= ranges[index + 1]; point++) {
      if (++count > MAX_CASE_FORMS) return undefined
      const own = foldCase(String.fromCodePoint(point))
      if (fold !== undefined && own !== fold) return undefined
      fold = own
    }
  }
  return fold
}

/**
 * `insert` rules: a snippet at a tag.
 *
 * The tag is found as a browser's tokenizer reads one (HTML Living Standard §13.2.5): `<`, for an end tag `/`, the name
 * in any ASCII letter case, then a blank, `/` or `>`; and it ends at the first `>` that is not inside a quoted value.
 * Where in the document it stands is not looked at: a tag in a comment or a script is a tag.
 *
 * `before` needs to see no more than the name and the byte after it; `after` and `replace` need the whole tag.
 */
import type { Node, PatternMode } from '@prexy/regex/ast'
import { parsePattern } from '@prexy/regex/parse'
import { asciiCaseClosure } from '@prexy/regex/unicode'
import { encodeText } from './template.ts'

/** A tag as `at` gives it: `</head>`, `<body>`. */
export interface TagName {
  readonly isEnd: boolean
  readonly name: string
}

const TAG = /^<(\/?)([A-Za-z][^\t\n\f\r />]*)[\t\n\f\r ]*>$/

/** Undefined for anything but a tag without attributes. */
export function parseTag(at: string): TagName | undefined {
  const found = TAG.exec(at)
  return found === null ? undefined : { isEnd: found[1] === '/', name: found[2] }
}

const NAME_CUT = '[\\t\\n\\f\\r /]'
const NAME_END = '[\\t\\n\\f\\r />]'

/**
 * What follows a tag's name, up to its end. The tokenizer's states, so that a `>` is the end where a browser sees one:
 * names of attributes (the first character may be `=`), then `=` and a value in quotes or without.
 */
const TAG_REST: string = ((): string => {
  const blank = '[\\t\\n\\f\\r ]'
  const names = `[^\\t\\n\\f\\r />][^\\t\\n\\f\\r />=]*(?:${blank}+[^\\t\\n\\f\\r />=]+)*${blank}*`
  const unquoted = `[^\\t\\n\\f\\r >"'][^\\t\\n\\f\\r >]*`
  const value = `=${blank}*(?:"[^"]*"|'[^']*'|${unquoted}${blank})`
  return `[\\t\\n\\f\\r /]*(?:${names}(?:/|${value})[\\t\\n\\f\\r /]*)*(?:${names}(?:=${blank}*(?:${unquoted})?)?)?>`
})()

/**
 * What an insert rule matches: up to the byte after the name, or the whole tag. A tree of octets in either mode, so that
 * text that is not UTF-8 does not hide the end of a tag; it begins and ends with ASCII, so never inside a character.
 */
export function tagNode(tag: TagName, extent: 'start' | 'whole', mode: PatternMode): Node {
  const opening = Array.from(encodeText(`<${tag.isEnd ? '/' : ''}${tag.name}`, mode), (octet): Node => {
    return { kind: 'class', ranges: asciiCaseClosure([octet, octet]), span: NO_SPAN }
  })
  const rest = extent === 'start' ? NAME_END : `(?:>|${NAME_CUT}${TAG_REST})`
  const { root } = parsePattern(rest, { mode: 'octet', flags: { i: false, m: false, s: false, x: false } })
  return { kind: 'concat', nodes: [...opening, root], span: NO_SPAN }
}

const NO_SPAN = { start: 0, end: 0 }

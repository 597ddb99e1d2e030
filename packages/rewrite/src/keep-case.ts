/**
 * `keepCase`: the replacement takes on the letter case of what it replaces.
 *
 * Letters are Unicode's in text mode and ASCII's in octet mode. A word is a run of letters, marks, digits and
 * apostrophes.
 */
import { encodeLatin1, decodeLatin1 } from '@prexy/bytes/latin1'
import { decodeUtf8, encodeUtf8 } from '@prexy/bytes/utf8'

type Mode = 'text' | 'octet'

/**
 * - `lower`, `upper`: every letter is. One capital letter alone counts as `capital`.
 * - `capital`: the first letter is upper case, all others lower.
 * - `title`: several words, each `capital`.
 * - `other`: mixed, or no letters at all.
 */
export type CaseShape = 'lower' | 'upper' | 'capital' | 'title' | 'other'

/** Whether a text has letters that come in two cases; without any there is nothing to keep. */
export function hasCase(text: string, mode: Mode): boolean {
  const { lower, upper } = mappings(mode)
  return lower(text) !== upper(text)
}

/** How `text` is written. */
export function caseShape(text: string, mode: Mode): CaseShape {
  const { lower, upper } = mappings(mode)
  const letters = [...text].filter((character) => isUpper(character, mode) || isLower(character, mode))
  if (letters.length === 0) return 'other'
  if (lower(text) === text) return 'lower'
  if (letters.length > 1 && upper(text) === text) return 'upper'
  const [first, ...others] = letters
  if (isUpper(first, mode) && others.every((character) => isLower(character, mode))) return 'capital'
  const words = wordsOf(text, mode).filter((word) => lower(word) !== upper(word))
  return words.every((word) => capitalized(lower(word), mode) === word) ? 'title' : 'other'
}

/**
 * The replacement for a match. `lower` and `upper` map every letter; `capital` raises the first letter and `title` the
 * first of each word, unless the replacement has capitals already, which then is a spelling to keep (`iPhone`); `other`
 * takes it as it is written.
 */
export function caseKeeper(replacement: string, mode: Mode): (match: Uint8Array) => Uint8Array {
  const { lower, upper } = mappings(mode)
  const encode = mode === 'octet' ? encodeLatin1 : encodeUtf8
  const decode = mode === 'octet' ? decodeLatin1 : decodeUtf8
  const isSpelled = lower(replacement) !== replacement
  const title = replacement.replace(wordPattern(mode), (word) => capitalized(word, mode))
  const forms: Readonly<Record<CaseShape, Uint8Array>> = {
    lower: encode(lower(replacement)),
    upper: encode(upper(replacement)),
    capital: encode(isSpelled ? replacement : capitalized(replacement, mode)),
    title: encode(isSpelled ? replacement : title),
    other: encode(replacement),
  }
  // A text is found in a handful of cases only, and far more often than that.
  const known = new Map<string, Uint8Array>()
  return (match) => {
    const key = decodeLatin1(match)
    const form = known.get(key) ?? forms[caseShape(decode(match), mode)]
    if (known.size < MAX_KNOWN_CASES) known.set(key, form)
    return form
  }
}

/** Cases of a text whose form is remembered, per rule; a long text has more of them than memory. */
const MAX_KNOWN_CASES = 32

/** With its first letter in upper case. */
function capitalized(text: string, mode: Mode): string {
  const characters = [...text]
  const at = characters.findIndex((character) => isLower(character, mode) || isUpper(character, mode))
  if (at < 0) return text
  return [...characters.slice(0, at), mappings(mode).upper(characters[at]), ...characters.slice(at + 1)].join('')
}

function wordsOf(text: string, mode: Mode): readonly string[] {
  return text.match(wordPattern(mode)) ?? []
}

function wordPattern(mode: Mode): RegExp {
  return mode === 'octet' ? /[A-Za-z0-9']+/g : /[\p{L}\p{M}\p{N}'’]+/gu
}

function isUpper(character: string, mode: Mode): boolean {
  return mappings(mode).lower(character) !== character
}

function isLower(character: string, mode: Mode): boolean {
  return mappings(mode).upper(character) !== character
}

interface Mappings {
  readonly lower: (text: string) => string
  readonly upper: (text: string) => string
}

const UNICODE: Mappings = { lower: (text) => text.toLowerCase(), upper: (text) => text.toUpperCase() }
const ASCII: Mappings = {
  lower: (text) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
  upper: (text) => text.replace(/[a-z]+/g, (letters) => letters.toUpperCase()),
}

function mappings(mode: Mode): Mappings {
  return mode === 'octet' ? ASCII : UNICODE
}

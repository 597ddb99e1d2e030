/**
 * Case folding: what "case-insensitive" means everywhere in this package.
 *
 * Unicode simple case folding, character by character: `K` (Kelvin) is `k`, `ſ` is `s`, `ς` is `σ`, while `ß`, whose
 * capital is two letters, is only itself. A fold never depends on its neighbours, so a text contains another one
 * exactly when the folded texts do.
 */

const NON_ASCII = /[^\0-\x7f]/
const folds = new Map<number, string>()

/** The folded form of a text. O(length); ASCII takes the short way. */
export function foldCase(text: string): string {
  if (!NON_ASCII.test(text)) return text.toLowerCase()
  let folded = ''
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    folded += code < 0x80 ? character.toLowerCase() : foldWide(code, character)
  }
  return folded
}

function foldWide(code: number, character: string): string {
  const known = folds.get(code)
  if (known !== undefined) return known
  const upper = character.toUpperCase()
  // İ has no simple fold: its small form is two characters.
  const lower = (isOneCharacter(upper) ? upper : character).toLowerCase()
  const folded = isOneCharacter(lower) ? lower : character
  folds.set(code, folded)
  return folded
}

function isOneCharacter(text: string): boolean {
  return text.length === 1 || (text.length === 2 && (text.codePointAt(0) ?? 0) > 0xffff)
}

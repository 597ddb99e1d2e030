import type { CodePointRanges, PatternMode } from './ast.ts'

/**
 * Classes with a name. `\d \w \s` and the POSIX classes are ASCII in both modes; `\h` and `\v` are Perl's, which go
 * beyond ASCII as far as the mode reaches.
 */

const DIGIT: CodePointRanges = [0x30, 0x39]
const WORD: CodePointRanges = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a]
const SPACE: CodePointRanges = [0x09, 0x0d, 0x20, 0x20]
const SPACE_WITHOUT_VERTICAL_TAB: CodePointRanges = [0x09, 0x0a, 0x0c, 0x0d, 0x20, 0x20]
const HORIZONTAL_OCTETS: CodePointRanges = [0x09, 0x09, 0x20, 0x20, 0xa0, 0xa0]
const HORIZONTAL_CHARACTERS: CodePointRanges = [
  ...HORIZONTAL_OCTETS,
  0x1680,
  0x1680,
  0x2000,
  0x200a,
  0x202f,
  0x202f,
  0x205f,
  0x205f,
  0x3000,
  0x3000,
]
const VERTICAL_OCTETS: CodePointRanges = [0x0a, 0x0d, 0x85, 0x85]
const VERTICAL_CHARACTERS: CodePointRanges = [...VERTICAL_OCTETS, 0x2028, 0x2029]

/** The class of `\d`, `\w`, `\s`, `\h` or `\v` by its small letter; undefined for other letters. */
export function escapedClass(letter: string, mode: PatternMode, nginx: boolean): CodePointRanges | undefined {
  switch (letter) {
    case 'd':
      return DIGIT
    case 'w':
      return WORD
    case 's':
      return nginx ? SPACE_WITHOUT_VERTICAL_TAB : SPACE
    case 'h':
      return mode === 'text' ? HORIZONTAL_CHARACTERS : HORIZONTAL_OCTETS
    case 'v':
      return mode === 'text' ? VERTICAL_CHARACTERS : VERTICAL_OCTETS
    default:
      return undefined
  }
}

/** By the name between `[:` and `:]`. */
export const POSIX_CLASSES: ReadonlyMap<string, CodePointRanges> = new Map([
  ['alnum', [0x30, 0x39, 0x41, 0x5a, 0x61, 0x7a]],
  ['alpha', [0x41, 0x5a, 0x61, 0x7a]],
  ['ascii', [0x00, 0x7f]],
  ['blank', [0x09, 0x09, 0x20, 0x20]],
  ['cntrl', [0x00, 0x1f, 0x7f, 0x7f]],
  ['digit', DIGIT],
  ['graph', [0x21, 0x7e]],
  ['lower', [0x61, 0x7a]],
  ['print', [0x20, 0x7e]],
  ['punct', [0x21, 0x2f, 0x3a, 0x40, 0x5b, 0x60, 0x7b, 0x7e]],
  ['space', SPACE],
  ['upper', [0x41, 0x5a]],
  ['word', WORD],
  ['xdigit', [0x30, 0x39, 0x41, 0x46, 0x61, 0x66]],
])

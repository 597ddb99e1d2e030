import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parsePattern } from '../src/parse.ts'
import { propertyRanges, unicodeCaseClosure } from '../src/unicode.ts'
import { BINARY_PROPERTIES, CATEGORY_NAMES, SCRIPT_NAMES, UNICODE_VERSION } from '../src/unicode-tables.ts'
import { rangesContain } from './ranges-contain.ts'

// The runtime's own RegExp is the other opinion. It speaks for its own version of Unicode only.
const sameUnicode = process.versions.unicode === UNICODE_VERSION
if (!sameUnicode) {
  process.stdout.write(
    `not compared with RegExp: tables are Unicode ${UNICODE_VERSION}, the runtime ${process.versions.unicode}\n`,
  )
}

const scalar = fc.oneof(
  fc.integer({ min: 0, max: 0xd7ff }),
  fc.integer({ min: 0xe000, max: 0x2ffff }),
  fc.integer({ min: 0x30000, max: 0x10ffff }),
)

/** Both ends of every range and their neighbours outside, where a wrong table would differ. */
function probesOf(ranges: readonly number[]): number[] {
  const probes = new Set<number>()
  for (let i = 0; i < ranges.length; i += 2) {
    for (const point of [ranges[i] - 1, ranges[i], ranges[i + 1], ranges[i + 1] + 1]) {
      if (point >= 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff)) probes.add(point)
    }
  }
  return [...probes]
}

const names: [name: string, value: string | undefined, expression: string][] = [
  ...CATEGORY_NAMES.map((row): [string, string, string] => ['gc', row.split(' ')[1], `gc=${row.split(' ')[0]}`]),
  ...['L', 'LC', 'M', 'N', 'P', 'S', 'Z', 'C'].map((n): [string, undefined, string] => [n, undefined, n]),
  ...SCRIPT_NAMES.filter((row) => row !== 'Unknown Zzzz').flatMap((row): [string, string, string][] => {
    const [long, code] = row.split(' ')
    return [
      ['Script', long, `sc=${code}`],
      ['scx', code, `scx=${code}`],
    ]
  }),
  ...[...BINARY_PROPERTIES, 'Any', 'ASCII', 'Assigned'].map((row): [string, undefined, string] => {
    const [long] = row.split(' ')
    return [long, undefined, long]
  }),
]

describe('properties', () => {
  test.runIf(sameUnicode)('have the members that RegExp gives them', () => {
    for (const [name, value, expression] of names) {
      const ranges = propertyRanges(name, value) ?? []
      const oracle = new RegExp(`^\\p{${expression}}$`, 'u')
      const wrong = probesOf(ranges).filter(
        (point) => rangesContain(ranges, point) !== oracle.test(String.fromCodePoint(point)),
      )
      expect([expression, wrong]).toEqual([expression, []])
    }
  })

  test.runIf(sameUnicode)('have no members elsewhere', () => {
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.array(scalar, { minLength: 20, maxLength: 20 }), (row, points) => {
        const [name, value, expression] = row
        const ranges = propertyRanges(name, value) ?? []
        const oracle = new RegExp(`^\\p{${expression}}$`, 'u')
        for (const point of points) {
          expect([expression, point, rangesContain(ranges, point)]).toEqual([
            expression,
            point,
            oracle.test(String.fromCodePoint(point)),
          ])
        }
      }),
    )
  })

  test('every name means one thing', () => {
    const own = [...CATEGORY_NAMES, ...SCRIPT_NAMES, ...BINARY_PROPERTIES.map((row) => row.split(' ', 2).join(' '))]
    const seen = new Map<string, string>()
    for (const row of own) {
      for (const name of new Set(row.split(' '))) {
        const loose = name.toLowerCase().replaceAll('_', '')
        expect([name, seen.get(loose) ?? row]).toEqual([name, row])
        seen.set(loose, row)
      }
    }
  })
})

describe('simple case folding', () => {
  const cased = Array.from({ length: 0x20000 }, (_, point) => point).filter((point) => {
    if (point >= 0xd800 && point <= 0xdfff) return false
    const char = String.fromCodePoint(point)
    return char.toLowerCase() !== char || char.toUpperCase() !== char
  })

  test.runIf(sameUnicode)('makes equal what RegExp makes equal', () => {
    const wrong: string[] = []
    for (const point of cased) {
      const char = String.fromCodePoint(point)
      const closure = unicodeCaseClosure([point, point])
      const oracle = new RegExp(`^\\u{${point.toString(16)}}$`, 'iu')
      // U+1FD3 and U+0390 meet only in their upper case of three characters.
      const others = [char.toLowerCase(), char.toUpperCase(), char.toUpperCase().toLowerCase(), '\u0390', '\ufb06']
      for (const other of [...others, ...closure.map((member) => String.fromCodePoint(member))]) {
        const [first, ...rest] = Array.from(other, (each) => each.codePointAt(0) ?? 0)
        if (rest.length > 0) continue
        if (rangesContain(closure, first) !== oracle.test(other)) wrong.push(`${char} ${other}`)
      }
    }
    expect(wrong).toEqual([])
  })

  test('has the classes of more than two', () => {
    expect(unicodeCaseClosure([0x4b, 0x4b])).toEqual([0x4b, 0x4b, 0x6b, 0x6b, 0x212a, 0x212a])
    expect(unicodeCaseClosure([0x73, 0x73])).toEqual([0x53, 0x53, 0x73, 0x73, 0x17f, 0x17f])
    expect(unicodeCaseClosure([0xe5, 0xe5])).toEqual([0xc5, 0xc5, 0xe5, 0xe5, 0x212b, 0x212b])
    expect(unicodeCaseClosure([0x1c4, 0x1c4])).toEqual([0x1c4, 0x1c6])
    expect(unicodeCaseClosure([0x3b9, 0x3b9])).toEqual([0x345, 0x345, 0x399, 0x399, 0x3b9, 0x3b9, 0x1fbe, 0x1fbe])
    expect(unicodeCaseClosure([0x390, 0x390])).toEqual([0x390, 0x390, 0x1fd3, 0x1fd3])
    // Turkish i and sharp s in upper case have no simple mapping to a single ASCII letter.
    expect(unicodeCaseClosure([0x69, 0x69])).toEqual([0x49, 0x49, 0x69, 0x69])
    expect(unicodeCaseClosure([0x131, 0x131])).toEqual([0x131, 0x131])
  })

  test('is closed: closing twice adds nothing', () => {
    fc.assert(
      fc.property(scalar, fc.integer({ min: 0, max: 400 }), (low, more) => {
        const high = Math.min(low + more, low < 0xd800 ? 0xd7ff : 0x10ffff)
        const once = unicodeCaseClosure([low, high])
        expect(unicodeCaseClosure(once)).toEqual(once)
      }),
    )
  })
})

/** The same class in our syntax and in that of RegExp with flag v, which folds before it negates, as we do. */
interface ClassText {
  readonly ours: string
  readonly theirs: string
}

function both(ours: string, theirs: string): ClassText {
  return { ours, theirs }
}

const interesting = fc.constantFrom(
  0x41,
  0x4b,
  0x53,
  0x5a,
  0x61,
  0x6b,
  0x73,
  0x7a,
  0xb5,
  0xc5,
  0xdf,
  0xe5,
  0xff,
  0x130,
  0x131,
  0x178,
  0x17f,
  0x1c5,
  0x345,
  0x390,
  0x398,
  0x3a3,
  0x3c2,
  0x3c3,
  0x3d1,
  0x3f4,
  0x3bc,
  0x10d0,
  0x1c80,
  0x1c90,
  0x1e9e,
  0x1fbe,
  0x1fd3,
  0x2126,
  0x212a,
  0x212b,
  0xab70,
  0x13a0,
  0xfb05,
  0xfb06,
  0x10400,
  0x10428,
  0x1e900,
  0x1e943,
  0x1f600,
)
const member = fc.oneof(interesting, scalar)
const item: fc.Arbitrary<ClassText> = fc.oneof(
  member.map((point) => both(`\\x{${point.toString(16)}}`, `\\u{${point.toString(16)}}`)),
  fc.tuple(member, fc.integer({ min: 0, max: 70 })).map(([low, more]) => {
    const high = Math.min(low + more, low < 0xd800 ? 0xd7ff : 0x10ffff)
    const ends = [low.toString(16), high.toString(16)]
    return both(`\\x{${ends[0]}}-\\x{${ends[1]}}`, `\\u{${ends[0]}}-\\u{${ends[1]}}`)
  }),
  fc
    .tuple(fc.constantFrom('p', 'P'), fc.constantFrom('Lu', 'Ll', 'L', 'Nd', 'Cased', 'sc=Greek', 'scx=Latin', 'Zs'))
    .map(([letter, name]) => both(`\\${letter}{${name}}`, `\\${letter}{${name}}`)),
  fc.constant(both('\\d', '\\d')),
)
const classText = fc.tuple(fc.boolean(), fc.array(item, { minLength: 1, maxLength: 4 })).map(([negated, items]) => {
  const open = negated ? '[^' : '['
  return both(`${open}${items.map((i) => i.ours).join('')}]`, `${open}${items.map((i) => i.theirs).join('')}]`)
})

test.runIf(sameUnicode)('classes have the members that RegExp gives them, negated and caseless', () => {
  fc.assert(
    fc.property(
      classText,
      fc.boolean(),
      fc.array(member, { minLength: 10, maxLength: 30 }),
      (text, caseless, points) => {
        const flags = { i: caseless, m: false, s: false, x: false }
        const { root } = parsePattern(text.ours, { mode: 'text', flags })
        if (root.kind !== 'class') throw new Error(root.kind)
        const oracle = new RegExp(`^${text.theirs}$`, caseless ? 'iv' : 'v')
        const { ranges } = root
        for (const point of points) {
          expect([point.toString(16), rangesContain(ranges, point)]).toEqual([
            point.toString(16),
            oracle.test(String.fromCodePoint(point)),
          ])
        }
      },
    ),
    { numRuns: 500 },
  )
})

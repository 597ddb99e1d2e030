import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type CodePointRanges, type Node, PatternError, type PatternMode, type Span } from '../src/ast.ts'
import { type ParseOptions, parsePattern } from '../src/parse.ts'

const PIECES = [
  'a k é € 😀 3 1000 , . ^ $ | ( ) ( ) (?: (?<n > (?i (?x) (? # [ ] [^ - [: :] alpha * + ? *? { } {2} {2, {3,5}',
  '\\ \\d \\W \\b \\x \\x{ 41 \\o{ \\c \\p {Lu} \\P{ \\0 \\1 \\N \\Q',
].flatMap((line) => line.split(' '))
const piece = fc.constantFrom(...PIECES, ' ', '\n')
const pattern = fc.oneof(
  fc.array(piece, { maxLength: 16 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary', maxLength: 12 }),
)
const options: fc.Arbitrary<ParseOptions> = fc.record({
  mode: fc.constantFrom('text' as const, 'octet' as const),
  flags: fc.record({ i: fc.boolean(), m: fc.boolean(), s: fc.boolean(), x: fc.boolean() }),
})
const anyOptions = fc
  .tuple(options, fc.boolean())
  .map(([chosen, nginx]): ParseOptions => (nginx ? { ...chosen, compat: 'nginx' } : chosen))

/** What is wrong with a tree; empty for a sound one. */
function flawsOf(node: Node, outer: Span, mode: PatternMode): string[] {
  const { start, end } = node.span
  const flaws = start <= end && outer.start <= start && end <= outer.end ? [] : [`span ${start} to ${end}`]
  switch (node.kind) {
    case 'class':
      if (!isCanonical(node.ranges, mode)) flaws.push(`ranges ${node.ranges.join(' ')}`)
      return flaws
    case 'concat':
    case 'alternate':
      if (node.nodes.length < 2) flaws.push(`${node.kind} of one`)
      if (node.nodes.some((inner) => inner.kind === node.kind)) flaws.push(`${node.kind} in ${node.kind}`)
      return [...flaws, ...node.nodes.flatMap((inner) => flawsOf(inner, node.span, mode))]
    case 'repeat':
      if (node.min > node.max || node.max === 0) flaws.push(`counts ${node.min} to ${node.max}`)
      return [...flaws, ...flawsOf(node.node, node.span, mode)]
    case 'capture':
      return [...flaws, ...flawsOf(node.node, node.span, mode)]
    default:
      return flaws
  }
}

function isCanonical(ranges: CodePointRanges, mode: PatternMode): boolean {
  const last = mode === 'text' ? 0x10ffff : 0xff
  return ranges.every((bound, i) => {
    if (i % 2 === 1) return true
    const high = ranges[i + 1]
    const apart = i === 0 || bound > ranges[i - 1] + 1
    const noSurrogates = mode === 'octet' || bound > 0xdfff || high < 0xd800
    return bound >= 0 && bound <= high && high <= last && apart && noSurrogates
  })
}

/** Undefined when the pattern is refused as it should be. */
function flawsOfParse(text: string, chosen: ParseOptions): string[] | undefined {
  const octets = chosen.mode === 'text' ? new TextEncoder().encode(text).length : text.length
  try {
    const { root, groupCount, groupNames } = parsePattern(text, chosen)
    const flaws = flawsOf(root, { start: 0, end: octets }, chosen.mode)
    for (const index of groupNames.values()) if (index < 1 || index > groupCount) flaws.push(`group ${index}`)
    return flaws
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    return error.at >= 0 && error.at <= octets && error.message !== '' ? undefined : [`error at ${error.at}`]
  }
}

test('any text becomes a sound tree or is refused inside its own bounds', () => {
  let accepted = 0
  fc.assert(
    fc.property(pattern, anyOptions, (text, chosen) => {
      const flaws = flawsOfParse(text, chosen)
      if (flaws !== undefined) accepted++
      expect(flaws ?? []).toEqual([])
    }),
    { numRuns: 5_000 },
  )
  // The pieces must not be so wild that nothing parses.
  expect(accepted).toBeGreaterThan(500)
})

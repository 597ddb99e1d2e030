/**
 * The engine against the reference, against itself under every cut of the body, and against JavaScript's RegExp.
 * Found failures belong into regressions/*.json, in the form in which a failure prints its row; they are replayed first.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { parsePattern } from '@prexy/regex/parse'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  BROKEN_TEXT,
  bodyOf,
  CHARACTERS,
  type CaseRule,
  caseRule,
  countGroups,
  LETTERS,
  latin1,
  literalRule,
  OCTETS,
  type Palette,
  type PatternTree,
  patternTree,
  printJavaScript,
  printPattern,
  type RewriteCase,
  rewriteCase,
  toNode,
  toOptions,
  toReference,
  toRule,
} from './src/arbitraries.ts'
import { compareNginxLimit, compareStream, octetString, outputComparison, type Subject } from './src/compare.ts'
import { drive } from './src/drive.ts'
import { itHolds } from './src/properties.ts'
import { createReference, type Reference, rewriteWhole, startOfBody, tokenize } from './src/reference.ts'
import { type CaseRow, printRow, referenceOfRules, toPatternFlags } from './src/rows.ts'
import { cutBody, forEachSplit, randomSplit } from './src/splits.ts'

const REGRESSIONS = new URL('./regressions/', import.meta.url)

function readRegressions(): CaseRow[] {
  return readdirSync(REGRESSIONS)
    .filter((name) => name.endsWith('.json'))
    .flatMap((name): CaseRow[] => JSON.parse(readFileSync(new URL(name, REGRESSIONS), 'utf8')))
}

function subjectOf(made: RewriteCase, name: string, limits: Pick<CaseRow, 'options'>['options'] = {}): Subject {
  const rules = made.rules.map(toRule)
  const options = { ...toOptions(made), ...limits }
  return {
    reference: toReference(made),
    ruleSet: compileRuleSet(rules, options),
    body: made.body,
    row: { name, rules, options },
  }
}

describe('regressions', () => {
  it.each(readRegressions())('$name', (row) => {
    const body = latin1(row.body)
    const { maxHeldBytes = 65_536, overflow = 'skip' } = row.options
    const subject = {
      reference: referenceOfRules(row.rules, row.options),
      ruleSet: compileRuleSet(row.rules, row.options),
      body,
      row,
    }
    if (row.options.compat === 'nginx' && row.options.maxHeldBytes !== undefined) {
      compareNginxLimit(subject, row.split, maxHeldBytes)
      return
    }
    compareStream(subject, row.split, { maxHeldBytes, overflow })
    if (row.options.maxHeldBytes === undefined) forEachSplit(body, outputComparison(subject))
  })
})

describe('output', () => {
  const shapes: readonly [name: string, palette: Palette, maxRules: number, maxPieces: number, runs: number][] = [
    ['overlapping letters', LETTERS, 3, 16, 250],
    ['octets with assertions', OCTETS, 3, 24, 250],
    ['characters', CHARACTERS, 3, 16, 150],
    ['text with broken characters', BROKEN_TEXT, 2, 16, 150],
  ]
  for (const [name, palette, maxRules, maxPieces, runs] of shapes) {
    itHolds(
      `of ${name} equals the reference however the body is cut`,
      rewriteCase({ palette, maxRules, maxPieces }),
      runs,
      (made) => {
        const compare = outputComparison(subjectOf(made, name))
        forEachSplit(made.body, compare)
        compare(randomSplit(made.body.length, 7), 7)
      },
    )
  }

  itHolds(
    'of long bodies with rare matches equals the reference',
    fc.record({
      made: rewriteCase({ palette: OCTETS, maxRules: 3, maxPieces: 40 }),
      filler: fc.integer({ min: 20, max: 400 }),
    }),
    40,
    ({ made, filler }) => {
      const body = made.body.flatMap((byte, i) => (i % 5 === 4 ? [...new Array(filler).fill(0x78), byte] : [byte]))
      const compare = outputComparison(subjectOf({ ...made, body }, 'long bodies'))
      compare([body.length])
      compare(body.map(() => 1))
      for (let seed = 0; seed < 4; seed += 1) compare(randomSplit(body.length, seed), seed)
    },
  )

  itHolds(
    'of many literals equals the reference',
    fc.record({
      rules: fc.array(literalRule({ ...LETTERS, letters: [0x61, 0x62, 0x63, 0x64, 0x65] }, 8), {
        minLength: 20,
        maxLength: 80,
      }),
      body: fc.array(fc.constantFrom(0x61, 0x62, 0x63, 0x64, 0x65, 0x2e, 0x24, 0x41, 0x78), {
        maxLength: 250,
        size: 'max',
      }),
    }),
    25,
    ({ rules, body }) => {
      const made: RewriteCase = { mode: 'octet', priority: 'first', compat: undefined, rules, body }
      const compare = outputComparison(subjectOf(made, 'many literals'))
      compare([body.length])
      for (let seed = 0; seed < 4; seed += 1) compare(randomSplit(body.length, seed), seed)
    },
  )

  itHolds(
    'of a body that no rule touches is the body, whatever bytes it has',
    fc.record({ body: fc.uint8Array({ maxLength: 200, size: 'max' }), seed: fc.nat() }),
    200,
    ({ body, seed }) => {
      const rules = [
        { regex: '\\x{10fffd}+', with: '!' },
        { text: '\u{10fffc}no\u00e9', with: '' },
      ]
      const got = drive(compileRuleSet(rules), [...body], randomSplit(body.length, seed))
      expect(octetString(got.output)).toBe(octetString([...body]))
    },
  )

  itHolds(
    'with some rules left out is that of the other rules alone',
    fc.record({ made: rewriteCase({ palette: OCTETS, maxRules: 4, maxPieces: 20 }), mask: fc.nat({ max: 15 }) }),
    150,
    ({ made, mask }) => {
      const active = Uint8Array.from(made.rules, (_, rule) => (mask >> rule) & 1)
      const kept = made.rules.filter((_, rule) => active[rule] === 1)
      const wanted = rewriteWhole(toReference({ ...made, rules: kept }), made.body)
      const ruleSet = compileRuleSet(made.rules.map(toRule), toOptions(made))
      const got = drive(ruleSet, made.body, randomSplit(made.body.length, mask), { active })
      expect([octetString(got.output), got.hits.filter((_, rule) => active[rule] === 1), active]).toEqual([
        octetString(wanted.output),
        wanted.hits,
        active,
      ])
    },
  )

  itHolds(
    'of bodies that share a rule set and take turns is that of each alone',
    fc.record({
      made: rewriteCase({ palette: OCTETS, maxRules: 3, maxPieces: 20 }),
      bodies: fc.array(bodyOf(OCTETS, 20), { minLength: 2, maxLength: 4 }),
      seed: fc.nat(),
    }),
    80,
    ({ made, bodies, seed }) => {
      const ruleSet = compileRuleSet(made.rules.map(toRule), toOptions(made))
      const lanes = bodies.map((body, i) => {
        const output: number[] = []
        const sink = { write: (chunk: Uint8Array): boolean => output.push(...chunk) >= 0 }
        return {
          body,
          output,
          rewriter: ruleSet.createRewriter(sink),
          chunks: cutBody(body, randomSplit(body.length, seed + i)),
        }
      })
      for (let turn = 0; lanes.some(({ chunks }) => turn < chunks.length); turn += 1) {
        for (const { chunks, rewriter } of lanes) if (turn < chunks.length) rewriter.write(chunks[turn])
      }
      for (const { rewriter } of lanes) rewriter.end()
      const reference = toReference(made)
      expect(lanes.map(({ output }) => octetString(output))).toEqual(
        bodies.map((body) => octetString(rewriteWhole(reference, body).output)),
      )
    },
  )
})

describe('what is held', () => {
  const shapes: readonly [name: string, palette: Palette, runs: number][] = [
    ['overlapping letters', LETTERS, 120],
    ['octets with assertions', OCTETS, 60],
    ['text with broken characters', BROKEN_TEXT, 20],
  ]
  for (const [name, palette, runs] of shapes) {
    const made = rewriteCase({ palette, maxRules: 2, maxPieces: 7 })
    itHolds(`of ${name} is the least possible after every byte`, made, runs, (value) => {
      compareStream(
        subjectOf(value, name),
        value.body.map(() => 1),
        { maxHeldBytes: 65_536, overflow: 'skip' },
      )
    })
  }
})

describe('the limit', () => {
  const shapes: readonly [name: string, palette: Palette, maxPieces: number, runs: number][] = [
    ['overlapping letters', LETTERS, 14, 50],
    ['octets with assertions', OCTETS, 10, 25],
    ['text with broken characters', BROKEN_TEXT, 8, 15],
  ]
  for (const [name, palette, maxPieces, runs] of shapes) {
    const limited = fc.record({
      made: rewriteCase({ palette, maxRules: 2, maxPieces }).map((made) => ({ ...made, compat: undefined })),
      maxHeldBytes: fc.integer({ min: 4, max: 6 }),
      overflow: fc.constantFrom('skip' as const, 'skip' as const, 'passthrough' as const, 'abort' as const),
      seed: fc.nat({ max: 1_000 }),
    })
    itHolds(
      `settles the text before the byte that exceeds it, wherever chunks end, in ${name}`,
      limited,
      runs,
      ({ made, maxHeldBytes, overflow, seed }) => {
        const subject = subjectOf(made, name, { maxHeldBytes, overflow })
        compareStream(subject, [made.body.length], { maxHeldBytes, overflow })
        compareStream(subject, randomSplit(made.body.length, seed), { maxHeldBytes, overflow })
      },
    )
  }

  const nginx = fc.record({
    made: rewriteCase({ palette: LETTERS, maxRules: 2, maxPieces: 14 }).map((made) => ({
      ...made,
      compat: 'nginx' as const,
      priority: 'first' as const,
    })),
    maxHeldBytes: fc.integer({ min: 0, max: 5 }),
    seed: fc.nat({ max: 1_000 }),
  })
  itHolds('is looked at when a write ends in compat: nginx', nginx, 60, ({ made, maxHeldBytes, seed }) => {
    const split = randomSplit(made.body.length, seed).filter((size) => size > 0)
    compareNginxLimit(subjectOf(made, 'nginx limit', { maxHeldBytes }), split, maxHeldBytes)
  })
})

describe('the parser', () => {
  for (const palette of [OCTETS, CHARACTERS]) {
    itHolds(
      `reads ${palette.mode} patterns as they were meant`,
      fc.record({ tree: patternTree(palette), isCaseless: fc.boolean(), body: bodyOf(palette, 20) }),
      300,
      ({ tree, isCaseless, body }) => {
        fc.pre(!isCaseless || !/\\[wW]/.test(printPattern(tree)))
        const { mode } = palette
        const parsed = parsePattern(printPattern(tree), { mode, flags: toPatternFlags(isCaseless ? 'i' : '') })
        const meant = toNode(tree, mode, isCaseless)
        const [fromText, fromTree] = [parsed.root, meant].map((root) => {
          const rule = { root, groupCount: countGroups(tree), replacement: [], max: Infinity }
          const reference: Reference = createReference([rule], { priority: 'first', mode, compat: undefined })
          return tokenize(reference, body, startOfBody(reference))
        })
        expect(fromText).toEqual(fromTree)
        expect(parsed.groupCount).toBe(countGroups(tree))
      },
    )
  }
})

/** Whether the pattern can match nothing; then JavaScript's loops over it differ from ours. */
function canBeEmpty(tree: PatternTree): boolean {
  switch (tree.kind) {
    case 'empty':
    case 'assert':
      return true
    case 'concat':
      return tree.parts.every(canBeEmpty)
    case 'alternate':
      return tree.parts.some(canBeEmpty)
    case 'group':
      return canBeEmpty(tree.part)
    case 'repeat':
      return tree.min === 0 || canBeEmpty(tree.part)
    default:
      return false
  }
}

/** Loops are where the two differ: over what can be empty, and over groups, which JavaScript forgets each time. */
function isCommonGround(tree: PatternTree): boolean {
  if (tree.kind === 'concat' || tree.kind === 'alternate') return tree.parts.every(isCommonGround)
  if (tree.kind === 'group') return isCommonGround(tree.part)
  return tree.kind !== 'repeat' || (!canBeEmpty(tree.part) && countGroups(tree.part) === 0 && isCommonGround(tree.part))
}

/** What a tokenizer built on RegExp makes of the body: each rule in order, at each position. */
function rewriteWithRegExp(rules: readonly CaseRule[], text: string, isText: boolean): string {
  const patterns = rules.map(
    ({ pattern, isCaseless }) => new RegExp(printJavaScript(pattern), `y${isText ? 'u' : ''}${isCaseless ? 'i' : ''}`),
  )
  let output = ''
  let at = 0
  while (at <= text.length) {
    let found: RegExpExecArray | null = null
    let winner = 0
    for (const [rule, pattern] of patterns.entries()) {
      pattern.lastIndex = at
      found = pattern.exec(text)
      winner = rule
      if (found !== null) break
    }
    if (found !== null) {
      output += `<${winner}:${Array.from(found, (group) => group ?? '').join('|')}>`
      if (found[0] !== '') {
        at += found[0].length
        continue
      }
    }
    const step = isText && at < text.length ? String.fromCodePoint(text.codePointAt(at) ?? 0).length : 1
    output += text.slice(at, at + step)
    at += step
  }
  return output
}

/**
 * Common ground of the two languages: no loop over what can be empty or has groups; `$`, `^`, `\s` and `.` written out
 * in JavaScript; caseless only in text mode, where both fold as Unicode says; well-formed text.
 */
describe("JavaScript's RegExp", () => {
  for (const palette of [OCTETS, CHARACTERS]) {
    const rules = fc.array(
      caseRule(palette).filter((rule) => isCommonGround(rule.pattern)),
      { minLength: 1, maxLength: 3 },
    )
    itHolds(
      `agrees in ${palette.mode} mode`,
      fc.record({ rules, body: bodyOf(palette, 14), seed: fc.nat() }),
      250,
      ({ rules, body, seed }) => {
        const isText = palette.mode === 'text'
        const tame = rules.map((rule, i): CaseRule => {
          const groups = Array.from({ length: countGroups(rule.pattern) }, (_, group) => `|\${${group + 1}}`)
          return {
            ...rule,
            with: `<${i}:$&${groups.join('')}>`,
            max: Infinity,
            isCaseless: rule.isCaseless && isText,
            between: undefined,
          }
        })
        const made: RewriteCase = { mode: palette.mode, priority: 'first', compat: undefined, rules: tame, body }
        const text = isText
          ? new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(body))
          : octetString(body)
        const wanted = rewriteWithRegExp(tame, text, isText)
        const wantedOctets = isText ? octetString([...new TextEncoder().encode(wanted)]) : wanted
        const subject = subjectOf(made, 'RegExp')
        const split = randomSplit(body.length, seed)
        const row = printRow({ ...subject.row, body: octetString(body), split })
        // The reference is held to the same oracle: two that agree with each other may still both be wrong.
        expect([octetString(rewriteWhole(subject.reference, body).output), row]).toEqual([wantedOctets, row])
        expect([octetString(drive(subject.ruleSet, body, split).output), row]).toEqual([wantedOctets, row])
      },
    )
  }
})

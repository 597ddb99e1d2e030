/** What it means that the engine and the reference agree, with failures that can be read and replayed. */
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { drive, type Drive } from './drive.ts'
import { type Reference, rewriteWhole } from './reference.ts'
import { type StreamOptions, type StreamRecord, streamNginxReference, streamReference } from './reference-stream.ts'
import { type CaseRow, printRow } from './rows.ts'
import type { Split } from './splits.ts'

/** A comparison about to be made: everything that a failure has to show. */
export interface Subject {
  readonly reference: Reference
  readonly ruleSet: RuleSet
  readonly body: readonly number[]
  readonly row: Omit<CaseRow, 'body' | 'split'>
}

export function octetString(octets: readonly number[]): string {
  return octets.map((octet) => String.fromCharCode(octet)).join('')
}

function fail(subject: Subject, split: Split, what: string, wanted: unknown, got: unknown): never {
  const row = { ...subject.row, body: octetString(subject.body), split }
  throw new Error(
    [
      `the engine and the reference differ in ${what}`,
      `  wanted ${JSON.stringify(wanted)}`,
      `  got    ${JSON.stringify(got)}`,
      `  row    ${printRow(row)}`,
    ].join('\n'),
  )
}

function driveOrFail(subject: Subject, split: Split, pauseSeed?: number): Drive {
  try {
    return drive(subject.ruleSet, subject.body, split, pauseSeed === undefined ? {} : { pauseSeed })
  } catch (error) {
    return fail(subject, split, 'that the engine throws', 'no error', error instanceof Error ? error.stack : error)
  }
}

/** Output and hits, for a body that stays below the limit. A comparison fit for `forEachSplit`. */
export function outputComparison(subject: Subject): (split: Split, pauseSeed?: number) => void {
  const wanted = rewriteWhole(subject.reference, subject.body)
  const wantedOutput = octetString(wanted.output)
  return (split, pauseSeed) => {
    const got = driveOrFail(subject, split, pauseSeed)
    const how = pauseSeed === undefined ? '' : ` (pauses by seed ${pauseSeed})`
    if (octetString(got.output) !== wantedOutput)
      fail(subject, split, `output${how}`, wantedOutput, octetString(got.output))
    if (String(got.hits) !== String(wanted.hits)) fail(subject, split, `hits${how}`, wanted.hits, got.hits)
    if (got.overflows !== 0 || got.aborted) fail(subject, split, `overflows${how}`, 0, got.overflows)
  }
}

/** Continuations tried per prefix: at first, and before a disagreement counts as one. */
const USUAL_CONTINUATIONS = 100
const MAX_CONTINUATIONS = 4_000

/**
 * Output after every write, `heldBytes` after every write, hits and overflows. Where the engine waits for more than the
 * reference does, the reference looks further ahead before that counts as a disagreement.
 */
export function compareStream(subject: Subject, split: Split, limit: Omit<StreamOptions, 'continuations'>): void {
  const got = driveOrFail(subject, split)
  for (let continuations = USUAL_CONTINUATIONS; ; continuations *= 6) {
    const wanted = streamReference(subject.reference, subject.body, split, { ...limit, continuations })
    if (wanted.isUndecided) return
    const difference = findDifference(wanted, got)
    if (difference === undefined) return
    if (!difference.mayBeCaution || continuations >= MAX_CONTINUATIONS) {
      fail(subject, split, difference.what, difference.wanted, difference.got)
    }
  }
}

interface Difference {
  readonly what: string
  readonly wanted: unknown
  readonly got: unknown
  /** The engine did less than wanted, which a longer continuation may justify. */
  readonly mayBeCaution: boolean
}

function findDifference(wanted: StreamRecord, got: Drive): Difference | undefined {
  const mayBeCaution = got.overflows > wanted.overflows
  if (wanted.overflows !== got.overflows) {
    return { what: 'overflows', wanted: wanted.overflows, got: got.overflows, mayBeCaution }
  }
  if (wanted.aborted !== got.aborted)
    return { what: 'aborting', wanted: wanted.aborted, got: got.aborted, mayBeCaution }
  const [output, most, least] = [got.output, wanted.output, wanted.leastOutput].map(octetString)
  if (!most.startsWith(output) || !output.startsWith(least)) {
    return { what: 'output (at least, at most)', wanted: [least, most], got: output, mayBeCaution: true }
  }
  if (!wanted.aborted && String(wanted.hits) !== String(got.hits)) {
    return { what: 'hits', wanted: wanted.hits, got: got.hits, mayBeCaution: true }
  }
  for (const [i, { leastOutput, mostOutput, leastHeld, mostHeld }] of wanted.writes.entries()) {
    const sent = got.outputs[i]
    if (sent === undefined)
      return { what: `the number of writes`, wanted: wanted.writes.length, got: got.outputs.length, mayBeCaution: true }
    // An empty match at the very start may wait for the first byte.
    const isDue = got.written[i] > 0
    if ((isDue && sent.length < leastOutput.length) || sent.length > mostOutput.length) {
      const bounds = [octetString(leastOutput), octetString(mostOutput)]
      return {
        what: `what is out after write ${i} (at least, at most)`,
        wanted: bounds,
        got: octetString(sent),
        mayBeCaution: sent.length < leastOutput.length,
      }
    }
    const held = got.held[i]
    if (held < leastHeld || held > mostHeld) {
      return {
        what: `heldBytes after write ${i} (at least, at most)`,
        wanted: [leastHeld, mostHeld],
        got: held,
        mayBeCaution: held > mostHeld,
      }
    }
  }
  return undefined
}

/** Output and overflows with the limit of `compat: nginx`, which looks at where writes end. */
export function compareNginxLimit(subject: Subject, split: Split, maxHeldBytes: number): void {
  const got = driveOrFail(subject, split)
  for (let continuations = USUAL_CONTINUATIONS; ; continuations *= 6) {
    const limit = { maxHeldBytes, continuations }
    const wanted = streamNginxReference(subject.reference, subject.body, split, limit)
    const output = octetString(wanted.output)
    if (wanted.isUndecided || (octetString(got.output) === output && got.overflows === wanted.overflows)) return
    if (continuations >= MAX_CONTINUATIONS) {
      fail(subject, split, 'output and overflows', [output, wanted.overflows], [octetString(got.output), got.overflows])
    }
  }
}

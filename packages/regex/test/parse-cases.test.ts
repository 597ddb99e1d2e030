import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PatternError } from '../src/ast.ts'
import { parsePattern } from '../src/parse.ts'

/** Not part of the repository: lies beside it where it is at hand. */
const CASES = join(import.meta.dirname, '../../../../shared/cases/regex-perl.jsonl')

interface Row {
  readonly regexes: readonly string[]
  readonly flags: string
  readonly flags_per_regex: readonly string[] | null
  readonly expected: { readonly error?: boolean }
}

/** Rows that we decide otherwise on purpose: line, reason. There are none. */
const EXCEPTIONS: ReadonlyMap<number, string> = new Map()

const present = existsSync(CASES)
if (!present) process.stdout.write(`conformance cases not run: ${CASES} is not there\n`)

function refusalOf(row: Row): string | undefined {
  try {
    row.regexes.forEach((regex, i) => {
      const i_ = (row.flags_per_regex?.[i] ?? row.flags).includes('i')
      parsePattern(regex, { mode: 'octet', compat: 'nginx', flags: { i: i_, m: true, s: true, x: false } })
    })
    return undefined
  } catch (error) {
    if (error instanceof PatternError) return error.message
    throw error
  }
}

test.runIf(present)('every conformance pattern parses or is refused as expected', () => {
  const lines = readFileSync(CASES, 'utf8').trimEnd().split('\n')
  const wrong: string[] = []
  lines.forEach((line, i) => {
    const row: Row = JSON.parse(line)
    const refused = refusalOf(row)
    const differs = (refused !== undefined) !== (row.expected.error === true)
    if (differs !== EXCEPTIONS.has(i + 1))
      wrong.push(`line ${i + 1}: ${row.regexes.join('  ')}: ${refused ?? 'accepted'}`)
  })
  expect(lines.length).toBeGreaterThan(0)
  expect(wrong).toEqual([])
})

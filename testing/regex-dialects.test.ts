/**
 * The table of pattern syntax in docs/compat.md, cell by cell: each example is tried by prexy, by the RegExp of the
 * runtime, by Perl and by RE2.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { RuleSetError } from '@prexy/rewrite/rules'
import { RE2 } from 're2-wasm'
import { describe, expect, test } from 'vitest'
import { missingPrograms } from './src/programs.ts'

const PAGE = join(fileURLToPath(new URL('..', import.meta.url)), 'docs/compat.md')

interface Row {
  readonly pattern: string
  readonly text: string
  readonly match: string
  /** `yes`: it finds the match. `no`: it refuses the pattern. `other`: it finds another, or none. See also {@link NEWER}. */
  readonly cells: Readonly<Record<Engine, string>>
}
type Engine = 'prexy' | 'JavaScript' | 'Perl' | 'RE2'

const code = (cell: string): string =>
  cell
    .trim()
    .replace(/^`+ ?| ?`+$/g, '')
    .replaceAll('\\|', '|')
    .replaceAll('⏎', '\n')

function readTable(): readonly Row[] {
  const page = readFileSync(PAGE, 'utf8')
  const table = page.slice(page.indexOf('| syntax | example |'))
  return table
    .slice(0, table.indexOf('\n\n'))
    .split('\n')
    .slice(2)
    .map((line) => {
      const [, , pattern, text, match, prexy, JavaScript, Perl, RE2] = line.split(/(?<!\\)\|/)
      return {
        pattern: code(pattern),
        text: code(text),
        match: code(match),
        cells: { prexy: prexy.trim(), JavaScript: JavaScript.trim(), Perl: Perl.trim(), RE2: RE2.trim() },
      }
    })
}

const rows = readTable()

/** Found text, or undefined if the pattern is refused; `''` also stands for no match, since no row asks for an empty one. */
type Finder = (pattern: string, text: string) => string | undefined

function findByPrexy(pattern: string, text: string): string | undefined {
  let out = ''
  try {
    const rewriter = compileRuleSet([{ regex: pattern, with: '\u0001$&\u0002', flags: '', once: true }]).createRewriter(
      {
        write(chunk) {
          out += Buffer.from(chunk).toString('utf8')
          return true
        },
      },
    )
    rewriter.write(Buffer.from(text))
    rewriter.end()
  } catch (error) {
    if (error instanceof RuleSetError) return undefined
    throw error
  }
  return /\u0001([^]*?)\u0002/.exec(out)?.[1] ?? ''
}

function findByRegExp(pattern: string, text: string): string | undefined {
  let compiled: RegExp
  try {
    compiled = new RegExp(pattern, 'u')
  } catch {
    return undefined
  }
  return compiled.exec(text)?.[0] ?? ''
}

function findByRe2(pattern: string, text: string): string | undefined {
  try {
    return new RE2(pattern, 'u').exec(text)?.[0] ?? ''
  } catch {
    return undefined
  }
}

/** All at once: a process for each would take longer than all the rest. */
function findByPerl(asked: readonly Row[]): readonly (string | undefined)[] {
  const program = `
    use strict; no warnings; binmode STDIN, ':utf8'; binmode STDOUT, ':utf8'; local $/ = "\\0";
    while (defined(my $pattern = <STDIN>)) {
      my $text = <STDIN>; chomp $pattern; chomp $text;
      my $compiled = eval { qr/$pattern/ };
      print defined $compiled ? ($text =~ $compiled ? "+$&" : '+') : '-', "\\0";
    }`
  const input = asked.map(({ pattern, text }) => `${pattern}\0${text}\0`).join('')
  const { stdout, status, stderr } = spawnSync('perl', ['-e', program], { input, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout
    .split('\0')
    .slice(0, -1)
    .map((answer) => (answer.startsWith('+') ? answer.slice(1) : undefined))
}

/** What the runtimes that this runs under do not agree on. */
const NEWER = 'newer'

function cellOf(found: string | undefined, { match }: Row): string {
  return found === undefined ? 'no' : found === match ? 'yes' : 'other'
}

test('the table has rows, each with an answer of every engine', () => {
  expect(rows.length).toBeGreaterThan(40)
  for (const { match, cells } of rows) {
    expect(match).not.toBe('')
    for (const cell of Object.values(cells)) expect(['yes', 'no', 'other', NEWER]).toContain(cell)
  }
})

describe.each<[Engine, Finder]>([
  ['prexy', findByPrexy],
  ['JavaScript', findByRegExp],
  ['RE2', findByRe2],
])('%s', (engine, find) => {
  test.each(rows.map((row) => [row.pattern, row] as const))('%s', (_, row) => {
    const cell = cellOf(find(row.pattern, row.text), row)
    if (row.cells[engine] === NEWER) expect(['yes', 'no']).toContain(cell)
    else expect(cell).toBe(row.cells[engine])
  })
})

const missing = missingPrograms('perl')
if (missing !== undefined) process.stderr.write(`skipped: pattern syntax in Perl: ${missing}\n`)

test.skipIf(missing !== undefined)('Perl', () => {
  const found = findByPerl(rows)
  expect(rows.map((row, index) => `${row.pattern} ${cellOf(found[index], row)}`)).toEqual(
    rows.map((row) => `${row.pattern} ${row.cells.Perl}`),
  )
})

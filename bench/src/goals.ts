/** Figures against what they must and should be. */
import type { Definition } from './definition.ts'
import { ratioName } from './engine-bench.ts'
import type { Result } from './record.ts'

interface Row {
  readonly subject: string
  readonly must: number
  readonly aim: number
  /** More is better: a ratio; otherwise a time. */
  readonly isRatio: boolean
}

/** "must" holds for the best runtime, and no runtime may be below this share of it. */
const LEAST_SHARE = 2 / 3

/** A line per goal with each runtime's median; nothing for a definition without goals. */
export function goalTable(definition: Definition, results: readonly Result[]): string {
  const rows = rowsOf(definition)
  if (rows.length === 0) return ''
  const runtimes = [...new Set(results.map(({ runtime }) => runtime))]
  const lines = [['goal', ...runtimes, 'must', 'aim', '']]
  for (const row of rows) {
    const show = (value: number): string => (row.isRatio ? `${value.toFixed(2)}x` : `${value.toFixed(1)} ms`)
    const medians = runtimes.map((runtime) =>
      median(results.filter((each) => each.subject === row.subject && each.runtime === runtime)),
    )
    const limits = [`${row.must}${row.isRatio ? 'x' : ' ms'}`, `${row.aim}${row.isRatio ? 'x' : ' ms'}`]
    const shown = medians.map((value) => (value === undefined ? '-' : show(value)))
    lines.push([
      row.subject,
      ...shown,
      ...limits,
      verdict(
        row,
        medians.filter((value) => value !== undefined),
      ),
    ])
  }
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  const text = lines.map((line) =>
    line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join('  '),
  )
  return `\n${text.map((line) => line.trimEnd()).join('\n')}\n`
}

function rowsOf(definition: Definition): Row[] {
  if (definition.model === 'engine' || definition.model === 'sigma') {
    return definition.goals.map((goal) => ({ ...goal, subject: ratioName(goal), isRatio: true }))
  }
  if (definition.model !== 'compile') return []
  return definition.subjects.map(({ name, must, aim }) => ({ subject: name, must, aim, isRatio: false }))
}

function verdict({ must, aim, isRatio }: Row, medians: readonly number[]): string {
  if (medians.length === 0) return 'not measured'
  const best = isRatio ? Math.max(...medians) : Math.min(...medians)
  const worst = isRatio ? Math.min(...medians) : Math.max(...medians)
  const reaches = (value: number, limit: number): boolean => (isRatio ? value >= limit : value <= limit)
  const evenMust = isRatio ? must * LEAST_SHARE : must / LEAST_SHARE
  if (!reaches(best, must)) return 'missed'
  if (!reaches(worst, evenMust)) return 'met, but not by every runtime'
  return reaches(best, aim) ? 'aim reached' : 'met'
}

function median(results: readonly Result[]): number | undefined {
  if (results.length === 0) return undefined
  const values = results.map(({ value }) => value).sort((a, b) => a - b)
  return (values[(values.length - 1) >> 1] + values[values.length >> 1]) / 2
}

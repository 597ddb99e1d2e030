/** Figures against what they must and should be. */
import { besideRatioName } from './beside-bench.ts'
import { SLOWEST } from './corpus-bench.ts'
import type { Definition } from './definition.ts'
import { ratioName } from './engine-bench.ts'
import { proxyRatioName } from './proxy-bench.ts'
import type { Result } from './record.ts'

interface Row {
  readonly subject: string
  readonly must: number
  readonly aim: number
  /** `x`, ` MB/s`: more is better. Of everything else less is. */
  readonly unit: 'x' | ' ms' | 'x the time' | ' KB' | ' MB' | ' MB/s'
}

/** "must" holds for the best runtime, and no runtime may be below this share of it. */
const LEAST_SHARE = 2 / 3

/** A line per goal with each runtime's median; nothing for a definition without goals. */
export function goalTable(definition: Definition, results: readonly Result[]): string {
  const rows = rowsOf(definition)
  if (rows.length === 0) return ''
  const subjects = new Set(rows.map(({ subject }) => subject))
  const runtimes = [...new Set(results.filter(({ subject }) => subjects.has(subject)).map(({ runtime }) => runtime))]
  const lines = [['goal', ...runtimes, 'must', 'aim', '']]
  for (const row of rows) {
    const show = (value: number): string => `${value.toFixed(row.unit.startsWith('x') ? 2 : 1)}${row.unit}`
    const medians = runtimes.map((runtime) =>
      median(results.filter((each) => each.subject === row.subject && each.runtime === runtime)),
    )
    const limits = [`${row.must}${row.unit}`, `${row.aim}${row.unit}`]
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
  switch (definition.model) {
    case 'engine':
    case 'sigma':
    case 'evtx':
      return definition.goals.map((goal) => ({ ...goal, subject: ratioName(goal), unit: 'x' }))
    case 'corpus':
      return [{ ...definition, subject: SLOWEST, unit: 'x' }]
    case 'compile':
      return definition.subjects.map(({ name, must, aim }) => ({ subject: name, must, aim, unit: ' ms' }))
    case 'proxy':
      return definition.goals.map((goal) => ({ ...goal, subject: proxyRatioName(goal), unit: 'x the time' }))
    case 'beside':
      return definition.goals.map((goal) => ({ ...goal, subject: besideRatioName(goal), unit: 'x the time' }))
    case 'connections':
      return definition.goals.map((goal) => ({ ...goal, unit: ' KB' }))
    case 'sites':
    case 'start':
      return definition.goals.map((goal) => ({ ...goal, unit: ' ms' }))
    case 'hunt':
      return definition.goals.map((goal) => ({ ...goal, unit: ` ${goal.unit}` }))
    case 'inspector':
      return definition.goals.map((goal) => ({
        ...goal,
        unit: goal.unit === 'x the time' ? goal.unit : ` ${goal.unit}`,
      }))
    case 'workers':
      return definition.goals.map((goal) => ({ ...goal, unit: 'x' }))
    case 'msgpack':
    case 'libc':
    case 'fleet':
    case 'techniques':
      return []
  }
}

function verdict({ must, aim, unit }: Row, medians: readonly number[]): string {
  if (medians.length === 0) return 'not measured'
  const isRatio = unit === 'x' || unit === ' MB/s'
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

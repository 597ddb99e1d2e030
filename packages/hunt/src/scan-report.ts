/** What was read and what could not be: counts of everything, and the first reasons with their places. */

export interface ScanProblem {
  readonly path: string
  /** A line, a value, or a byte: what `unit` says. */
  readonly at: number
  readonly unit: 'line' | 'value' | 'byte'
  readonly reason: string
  /** Something was lost. Otherwise it is a warning. */
  readonly isLoss: boolean
}

/** Reasons that are kept for each source. */
export const MAX_KEPT_PROBLEMS = 20

/** Of one piece of work; those of all are added up. */
export interface ScanReport {
  events: number
  bytes: number
  /** Lines and records, those without events included. */
  records: number
  badRecords: number
  warnings: number
  recovered: number
  /** Events that a filter of times, hosts, channels or ids left out. */
  filtered: number
  /** Events of JSON whose log source is not known. */
  unrouted: number
  problems: ScanProblem[]
}

export function emptyReport(): ScanReport {
  return {
    events: 0,
    bytes: 0,
    records: 0,
    badRecords: 0,
    warnings: 0,
    recovered: 0,
    filtered: 0,
    unrouted: 0,
    problems: [],
  }
}

export function addProblem(report: ScanReport, problem: ScanProblem): void {
  if (problem.isLoss) report.badRecords++
  else report.warnings++
  if (report.problems.length < MAX_KEPT_PROBLEMS) report.problems.push(problem)
}

/** `other` comes behind; `firstLine` is what its lines begin behind. */
export function addReport(report: ScanReport, other: ScanReport, firstLine: number): void {
  report.events += other.events
  report.bytes += other.bytes
  report.records += other.records
  report.badRecords += other.badRecords
  report.warnings += other.warnings
  report.recovered += other.recovered
  report.unrouted += other.unrouted
  report.filtered += other.filtered
  for (const problem of other.problems) {
    if (report.problems.length >= MAX_KEPT_PROBLEMS) return
    report.problems.push(problem.unit === 'line' ? { ...problem, at: problem.at + firstLine } : problem)
  }
}

/**
 * A timeline as one page without anything from elsewhere. Everything that events and rules say is text: the page has no
 * script, and its policy allows none.
 */
import type { Level } from '@prexy/sigma/levels'
import { cellText } from './row-text.ts'
import { frequencyLine, type HuntSummary } from './summary.ts'
import type { Cell, Column } from './timeline-row.ts'

/** Rows of one level that the page shows; all are counted. */
export const MAX_REPORT_ROWS_PER_LEVEL = 1_000

export interface ReportRow {
  readonly level: Level | undefined
  readonly cells: readonly Cell[]
}

/** Keeps what a report shows of the rows that go by. */
export class ReportRows {
  readonly #rows: Map<Level | undefined, ReportRow[]>

  constructor() {
    this.#rows = new Map()
  }

  add(row: ReportRow): void {
    const known = this.#rows.get(row.level)
    if (known === undefined) this.#rows.set(row.level, [row])
    else if (known.length < MAX_REPORT_ROWS_PER_LEVEL) known.push(row)
  }

  get(level: Level | undefined): readonly ReportRow[] {
    return this.#rows.get(level) ?? []
  }
}

export interface ReportFacts {
  readonly title: string
  /** Lines about what was read and what was not. */
  readonly notes: readonly string[]
  readonly columns: readonly Column[]
  /** Of a time in milliseconds since 1970. */
  writeTime(ms: number): string
}

const STYLE =
  'body{font:14px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:90rem;padding:0 1rem;color:#1b1f24;background:#fff}' +
  'h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}' +
  'th,td{border-bottom:1px solid #d9dee3;padding:.3rem .5rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}' +
  'th{background:#f3f5f7;position:sticky;top:0}.n{text-align:right}.bars{font-family:monospace;white-space:pre;color:#0a58ca}' +
  '.emergency,.critical{color:#8f1d1d;font-weight:600}.high{color:#b5480c;font-weight:600}.medium{color:#7a5d00}' +
  '.low,.informational{color:#44515e}@media(prefers-color-scheme:dark){body{background:#14181d;color:#e3e8ed}' +
  'th{background:#20262d}th,td{border-color:#333b44}.emergency,.critical{color:#ff8f8f}.high{color:#ffb07a}.medium{color:#e6cf6b}' +
  '.low,.informational{color:#a9b6c3}.bars{color:#7db4ff}}'

/** Text of a page. Control characters and directions that turn text around are shown as what they are. */
export function escapeHtml(text: string): string {
  return text.replace(
    /[&<>"'\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => ENTITIES.get(character) ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
])

export function htmlReport(summary: HuntSummary, rows: ReportRows, facts: ReportFacts): string {
  const parts = [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">",
    '<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width">',
    `<title>${escapeHtml(facts.title)}</title><style>${STYLE}</style></head><body>`,
    `<h1>${escapeHtml(facts.title)}</h1>`,
    `<p>${summary.hits} hits in ${summary.events} events`,
    summary.firstMs === undefined || summary.lastMs === undefined
      ? '</p>'
      : `, from ${escapeHtml(facts.writeTime(summary.firstMs))} to ${escapeHtml(facts.writeTime(summary.lastMs))}</p>`,
    summary.frequency.length === 0 ? '' : `<p class="bars">${frequencyLine(summary.frequency)}</p>`,
    '<h2>Levels</h2>',
    table(
      ['Level', 'Hits', 'Rules', 'Day with most', 'Hosts with most'],
      summary.levels.map(({ level, hits, rules, topDay, topHosts }) => [
        levelCell(level),
        number(hits),
        number(rules),
        cell(topDay === undefined ? '' : `${topDay[0]} (${topDay[1]})`),
        cell(
          topHosts
            .slice(0, 3)
            .map(([host, count]) => `${host} (${count})`)
            .join(', '),
        ),
      ]),
    ),
    '<h2>Rules with most hits</h2>',
    table(
      ['Level', 'Rule', 'Hits'],
      summary.levels.flatMap(({ level, topRules }) =>
        topRules.map(([title, hits]) => [levelCell(level), cell(title), number(hits)]),
      ),
    ),
  ]
  for (const { level, hits } of summary.levels) {
    const shown = rows.get(level)
    parts.push(`<h2>${escapeHtml(level ?? 'without a level')}</h2>`)
    if (shown.length < hits) {
      parts.push(`<p>The first ${shown.length} of ${hits}; the CSV and JSON forms have all of them.</p>`)
    }
    parts.push(
      table(
        facts.columns,
        shown.map(({ cells }) => cells.map((one) => cell(cellText(one)))),
      ),
    )
  }
  parts.push('<h2>What was read</h2><ul>')
  for (const note of facts.notes) parts.push(`<li>${escapeHtml(note)}</li>`)
  parts.push('</ul></body></html>\n')
  return parts.join('')
}

function cell(text: string): string {
  return `<td>${escapeHtml(text)}</td>`
}

function number(value: number): string {
  return `<td class="n">${value}</td>`
}

function levelCell(level: Level | undefined): string {
  return `<td class="${level ?? ''}">${level ?? ''}</td>`
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = heads.map((text) => `<th>${escapeHtml(text)}</th>`).join('')
  return `<table><thead><tr>${head}</tr></thead><tbody>${rows.map((cells) => `<tr>${cells.join('')}</tr>`).join('')}</tbody></table>`
}

/** The figures in docs: tables made of bench/record, so that no page says what was not measured. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Definition } from './definition.ts'
import { type Figure, Figures } from './figures.ts'
import { fleetReport } from './fleet-report.ts'
import { markdownTable, replaceFigures } from './markdown.ts'

const RUNTIMES = [
  ['node24', 'Node.js 24'],
  ['node', 'Node.js 20'],
  ['bun', 'Bun 1.4'],
] as const

/** Writes the figures of all pages in `docs` and README.md anew; the names of those that have any. */
export function writeFigures(root: string, definitions: ReadonlyMap<string, Definition>): readonly string[] {
  const tables = figureTables(new Figures(join(root, 'bench/record')), definitions)
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  const written: string[] = []
  for (const name of ['README.md', ...pages.map((page) => `docs/${page}`)]) {
    const path = join(root, name)
    const text = readFileSync(path, 'utf8')
    if (!text.includes('<!-- figures ')) continue
    writeFileSync(path, replaceFigures(text, tables))
    written.push(name)
  }
  return written
}

export function figureTables(
  figures: Figures,
  definitions: ReadonlyMap<string, Definition>,
): ReadonlyMap<string, () => string> {
  const fleet = definitions.get('fleet')
  return new Map([
    ['libc', () => libcTable(figures)],
    ['start', () => startTable(figures)],
    ['requests', () => requestTable(figures)],
    ['memory', () => memoryTable(figures)],
    ['engine', () => engineTable(figures)],
    ['techniques', () => techniqueTable(figures)],
    ['history', () => historyTable(figures)],
    ['fleet', () => (fleet?.model === 'fleet' ? fleetReport(figures, fleet) : 'no fleet is defined')],
  ])
}

function libcTable(figures: Figures): string {
  const rows = [
    ['allocate', 'allocations of 16 to 1,039 octets'],
    ['rare', 'memchr, no hit'],
    ['dense', 'memchr, a hit every 45 octets'],
    ['text', 'strstr, near misses'],
  ].flatMap(([task, what]) =>
    [1, 2, 4].map((threads) => {
      const subject = `${task}, ${threads} thread${threads === 1 ? '' : 's'}`
      const cell = (runtime: string): string => shown(figures.find('libc', subject, runtime))
      return [
        `${what}, ${threads} thread${threads === 1 ? '' : 's'}`,
        cell('glibc'),
        cell('musl'),
        cell('glibc / musl'),
      ]
    }),
  )
  return `${markdownTable(['per CPU second', 'glibc', 'musl', 'ratio'], rows)}\n\n${provenance(figures.find('libc', 'rare, 1 thread', 'musl'), 'libc')}`
}

function startTable(figures: Figures): string {
  return byRuntime(figures, 'start', ['CPU to the first page', 'the runtime alone', 'memory'])
}

function requestTable(figures: Figures): string {
  const rows = RUNTIMES.flatMap(([runtime, title]) =>
    [1_024, 102_400, 1_048_576].flatMap((bytes) => {
      const cost = figures.find('proxy-sub-filter', `prexy ${bytes} B`, runtime)
      if (cost === undefined) return []
      const rate = 1e6 / cost.value
      const body = `${bytes / 1_024} KB`
      return [[`${body}, ${title}`, `${cost.value.toFixed(0)} us`, rate.toFixed(0), ((rate * bytes) / 1e6).toFixed(0)]]
    }),
  )
  const figure = figures.find('proxy-sub-filter', 'prexy 1024 B', 'node24')
  return `${markdownTable(['body', 'CPU time', 'requests/s of a core', 'MB/s of a core'], rows)}\n\n${provenance(figure, 'proxy-sub-filter')}`
}

function memoryTable(figures: Figures): string {
  const rows = RUNTIMES.map(([runtime, title]) => {
    const sites = (subject: string): string => shown(figures.find('proxy-sites', subject, runtime))
    return [
      title,
      shown(figures.find('start', 'memory', runtime)),
      shown(figures.find('proxy-idle-memory', 'prexy', runtime)),
      sites('memory after the start'),
      sites('memory after 300 sites'),
      sites('start, CPU'),
    ]
  })
  const head = [
    'runtime',
    'a process',
    'a connection that waits',
    '10,000 sites known',
    '300 of them compiled',
    'CPU time of that start',
  ]
  return `${markdownTable(head, rows)}\n\n${provenance(figures.find('proxy-sites', 'start, CPU', 'node24'), 'proxy-sites')}`
}

function engineTable(figures: Figures): string {
  const definitions = ['engine-5-rules', 'engine-no-match', 'engine-101-literals', 'engine-5000-literals']
  const subjects = ['prexy', 'dfa-loop', 'regexp-replace', 'hyperscan']
  const rows = definitions.map((definition) => [
    definition,
    ...subjects.map((subject) => shown(figures.find(definition, subject, 'node24'))),
  ])
  return `${markdownTable(['MB/s, Node.js 24', ...subjects], rows)}\n\n${provenance(figures.find('engine-5-rules', 'prexy', 'node24'), 'engine-5-rules')}`
}

function techniqueTable(figures: Figures): string {
  const techniques = figures.subjects('techniques').filter((subject) => !/: (?:before|after)$/.test(subject))
  const rows = techniques.map((technique) => [
    technique,
    ...RUNTIMES.map(([runtime]) => shown(figures.find('techniques', technique, runtime))),
  ])
  const head = ['times as fast', ...RUNTIMES.map(([, title]) => title)]
  return `${markdownTable(head, rows)}\n\n${provenance(figures.find('techniques', techniques[0] ?? '', 'node24'), 'techniques')}`
}

/** Ratios to a peer, which differ less with the load of the machine than the figures do. */
const HISTORY = [
  ['engine-5-rules', 'prexy / dfa-loop', 'more'],
  ['engine-5-rules', 'prexy / hyperscan', 'more'],
  ['engine-no-match', 'prexy / hyperscan', 'more'],
  ['proxy-sub-filter', 'prexy / nginx-sub-filter 1024 B', 'less'],
  ['proxy-sub-filter', 'prexy / nginx-sub-filter 102400 B', 'less'],
  ['proxy-sub-filter', 'prexy / nginx-sub-filter 1048576 B', 'less'],
] as const

function historyTable(figures: Figures): string {
  const rows = HISTORY.map(([definition, subject, better]) => {
    const cell = (age: 'oldest' | 'newest'): string => {
      const figure = figures.find(definition, subject, 'node24', age)
      return figure === undefined ? '-' : `${figure.value.toFixed(2)}x`
    }
    return [`${definition}: ${subject} (${better} is better)`, cell('oldest'), cell('newest')]
  })
  return markdownTable(['Node.js 24', 'first record', 'newest'], rows)
}

function byRuntime(figures: Figures, definition: string, subjects: readonly string[]): string {
  const rows = RUNTIMES.map(([runtime, title]) => [
    title,
    ...subjects.map((subject) => shown(figures.find(definition, subject, runtime))),
  ])
  return `${markdownTable(['', ...subjects], rows)}\n\n${provenance(figures.find(definition, subjects[0], 'node24'), definition)}`
}

function shown(figure: Figure | undefined): string {
  if (figure === undefined) return '-'
  const { value, unit } = figure
  return `${value.toFixed(value < 10 ? 1 : 0)}${unit === 'x' ? 'x' : ` ${unit}`}`
}

/** When, how busy the machine was, and how to do it again. */
function provenance(figure: Figure | undefined, definition: string): string {
  if (figure === undefined) return `Not measured yet: \`npm run bench -- ${definition} --record\`.`
  return `Measured on ${figure.date} at a load of ${figure.load.toFixed(1)}; \`npm run bench -- ${definition} --record\` does it again.`
}

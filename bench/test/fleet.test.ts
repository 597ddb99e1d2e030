import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { type FleetDefinition, type FleetScenario, readDefinitions } from '../src/definition.ts'
import { Figures } from '../src/figures.ts'
import { type FleetCosts, fleetSize, requestCostUs } from '../src/fleet.ts'
import { fleetReport } from '../src/fleet-report.ts'
import { markdownTable, replaceFigures } from '../src/markdown.ts'
import { figureTables } from '../src/pages.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const definitions = readDefinitions(join(ROOT, 'bench/definitions'))
const definition = definitions.get('fleet')
if (definition?.model !== 'fleet') throw new Error('fleet is no fleet definition')
const fleet: FleetDefinition = definition

const folder = mkdtempSync(join(tmpdir(), 'prexy-figures-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('figures of earlier runs', () => {
  const head = 'time,definition,subject,runtime,value,unit,load,machine'
  writeFileSync(
    join(folder, 'a.csv'),
    `${head}
2026-11-30T10:00:00.000Z,d,one, two,node v20.1.0,5,ms,0.10,m
2026-12-01T10:00:00.000Z,d,one, two,node v20.1.0,1,ms,0.10,m
2026-12-01T10:00:00.000Z,d,one, two,node v20.1.0,9,ms,0.30,m
2026-12-01T10:00:00.000Z,d,one, two,node24 v24.1.0,7,ms,0.10,m
`,
  )
  writeFileSync(join(folder, 'b.csv'), `${head}\n2026-12-01T10:00:00.000Z,d,one, two,node v20.1.0,3,ms,0.20,m\n`)
  const figures = new Figures(folder)

  test('are the median of the newest run, of one runtime', () => {
    expect(figures.find('d', 'one, two', 'node')).toEqual({ value: 3, unit: 'ms', date: '2026-12-01', load: 0.2 })
    expect(figures.find('d', 'one, two', 'node24')?.value).toBe(7)
  })

  test('that are not there are told with the command that makes them', () => {
    expect(figures.find('d', 'one', 'node')).toBeUndefined()
    expect(() => figures.require('d', 'one', 'node')).toThrow('npm run bench -- d --record')
  })
})

const COSTS: FleetCosts = {
  requestUs: [
    [1_000, 100],
    [100_000, 300],
    [1_000_000, 1_200],
  ],
  tlsUs: 50,
  connectionBytes: 10_000,
  processBytes: 50e6,
  siteBytes: 30_000,
  compiledSiteBytes: 300_000,
  siteStartMs: 1,
}
const SMALL: FleetScenario = {
  name: 'small',
  sites: 100,
  requestsPerSecond: 1_000,
  bodyBytes: 1_000,
  connections: 1_000,
  tls: false,
}

describe('the cost model', () => {
  test.each([
    [1_000, 100],
    [50_500, 200],
    [100_000, 300],
    [550_000, 750],
    [1_900_000, 2_100],
  ])('a response of %d bytes lies on the line between two that were measured', (bytes, expected) => {
    expect(requestCostUs(COSTS, bytes)).toBeCloseTo(expected)
  })

  test('cores are CPU time by what is to be used of them', () => {
    const size = fleetSize(COSTS, SMALL, { ...fleet, utilization: 0.5 })
    expect(size.cores).toBeCloseTo(0.2)
    expect(size).toMatchObject({ machines: 1, groups: 1 })
    expect(fleetSize(COSTS, { ...SMALL, tls: true }, { ...fleet, utilization: 0.5 }).cores).toBeCloseTo(0.3)
  })

  test('sites are divided when a process cannot hold them or start with them in time', () => {
    const many = fleetSize(COSTS, { ...SMALL, sites: 1_000_000 }, fleet)
    expect(many.groups).toBeGreaterThan(1)
    expect(many.machines).toBeGreaterThanOrEqual(many.groups)
    expect(many.startSeconds).toBeLessThanOrEqual(fleet.machine.startSeconds)
    expect(many.bytesPerMachine).toBeLessThanOrEqual(fleet.machine.memoryGigabytes * 1e9)
  })

  test('more of anything never takes less', () => {
    const base = fleetSize(COSTS, SMALL, fleet)
    for (const more of [
      { sites: 500_000 },
      { requestsPerSecond: 500_000 },
      { bodyBytes: 900_000, requestsPerSecond: 100_000 },
      { connections: 50_000_000 },
      { tls: true },
    ]) {
      const size = fleetSize(COSTS, { ...SMALL, ...more }, fleet)
      expect(size.machines).toBeGreaterThanOrEqual(base.machines)
      expect(size.cores).toBeGreaterThanOrEqual(base.cores)
      expect(size.bytesPerMachine * size.machines).toBeGreaterThanOrEqual(base.bytesPerMachine * base.machines)
    }
  })
})

describe('pages', () => {
  test('tables take the place of what stood between the marks', () => {
    const page = 'a\n<!-- figures x -->\nold\n<!-- /figures -->\nb\n'
    const tables = new Map([['x', () => markdownTable(['k', 'v'], [['1', '2']])]])
    const made = replaceFigures(page, tables)
    expect(made).toBe('a\n<!-- figures x -->\n\n| k | v |\n| --- | ---: |\n| 1 | 2 |\n\n<!-- /figures -->\nb\n')
    expect(replaceFigures(made, tables)).toBe(made)
    const empty = 'a\n<!-- figures x -->\n<!-- /figures -->\nkept\n<!-- figures x -->\n<!-- /figures -->\n'
    expect(replaceFigures(empty, tables)).toContain('\nkept\n')
    expect(() => replaceFigures(page, new Map())).toThrow('no figures are called "x"')
  })

  const figures = new Figures(join(ROOT, 'bench/record'))

  test('every figure that a page has can be made from the records', () => {
    const tables = figureTables(figures, definitions)
    const names = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)]
      .filter((name) => name.endsWith('.md'))
      .flatMap((name) => [...readFileSync(join(ROOT, name), 'utf8').matchAll(/<!-- figures ([\w-]+) -->/g)])
      .map(([, name]) => name)
    for (const name of names) expect(tables.get(name)?.()).toMatch(/^\| /)
  })

  test('the fleet is worked out from the records', () => {
    expect(
      fleetReport(figures, fleet)
        .split('\n')
        .filter((line) => line.startsWith('| both')),
    ).toHaveLength(2)
  })
})

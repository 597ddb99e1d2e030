import { describe, expect, test } from 'vitest'
import { loadConfig } from '../src/load.ts'
import { formatProblem } from '../src/problem.ts'
import { showConfig } from '../src/show.ts'
import { memoryFiles } from './memory-files.ts'

const TOKEN = '0123456789abcdef-token'

function load(admin: string, more = '') {
  const text = `listen: 8080\nupstream: http://127.0.0.1:9000\nadmin: ${admin}\n${more}`
  return loadConfig('prexy.yaml', memoryFiles({ 'prexy.yaml': text }), { TOKEN, SHORT: 'short' })
}

describe('the admin listener', () => {
  test.each<[string, object]>([
    ['{}', { listen: { host: '127.0.0.1', port: 9901 }, hosts: [], openMetrics: false }],
    ['{listen: 9000}', { listen: { host: '127.0.0.1', port: 9000 }, hosts: [], openMetrics: false }],
    [
      "{listen: '[::1]:0', hosts: a.example}",
      { listen: { host: '::1', port: 0 }, hosts: ['a.example'], openMetrics: false },
    ],
    ["{listen: '*:9000', openMetrics: true}", { listen: { port: 9000 }, hosts: [], openMetrics: true }],
    [
      '{token: "${env:TOKEN}"}',
      { listen: { host: '127.0.0.1', port: 9901 }, token: TOKEN, hosts: [], openMetrics: false },
    ],
  ])('%s', (admin, expected) => {
    expect(load(admin).value?.admin).toEqual(expected)
  })

  test.each<[string, string]>([
    ['{token: short}', 'prexy.yaml:3:16: admin.token: has 5 characters and needs 16'],
    ['{token: "${env:SHORT}"}', 'prexy.yaml:3:16: admin.token: has 5 characters and needs 16'],
    ['{token: "${env:NONE}"}', 'prexy.yaml:3:17: admin.token: the variable NONE of the environment is not set'],
    ['{listen: nowhere}', 'prexy.yaml:3:17: admin.listen: '],
    ['{port: 9000}', 'prexy.yaml:3:9: admin.port: '],
  ])('%s is refused', (admin, problem) => {
    const problems = load(admin).problems.map(formatProblem)
    expect(problems).toHaveLength(1)
    expect(problems[0].slice(0, problem.length)).toBe(problem)
  })

  test.each<[string, object]>([
    ['{}', { origins: [] }],
    [
      '{origins: "https://Shop.example", maxEventsPerSecond: 10}',
      { origins: ['https://shop.example'], maxEventsPerSecond: 10 },
    ],
    [
      '{token: "${env:TOKEN}", origins: [http://a:1, https://b]}',
      { token: TOKEN, origins: ['http://a:1', 'https://b'] },
    ],
  ])('takes events of applications: %s', (ingest, expected) => {
    expect(load(`{ingest: ${ingest}}`, 'record: {}').value?.admin?.ingest).toEqual(expected)
  })

  test.each<[string, string, string]>([
    ['{ingest: {}}', '', 'admin.ingest: takes events for recordings, and nothing is recorded'],
    ['{ingest: {token: short}}', 'record: {}', 'admin.ingest.token: has 5 characters and needs 16'],
    [`{token: ${TOKEN}, ingest: {token: ${TOKEN}}}`, 'record: {}', 'admin.ingest.token: is the token of the listener'],
    ['{ingest: {origins: "*"}}', 'record: {}', 'is no origin; write it like https://shop.example'],
    ['{ingest: {origins: https://a/path}}', 'record: {}', 'is no origin; write it like https://shop.example'],
  ])('%s %s is refused', (admin, more, problem) => {
    const problems = load(admin, more).problems.map(formatProblem)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(problem)
  })

  test('is shown without the token for events', () => {
    const { value, assembly } = load(`{ingest: {token: ${TOKEN}}}`, 'record: {}')
    if (value === undefined || assembly === undefined) throw new Error('it has no errors')
    expect(showConfig(assembly, value).join('\n')).not.toContain(TOKEN)
  })

  test('is shown without its token', () => {
    const { value, assembly } = load(`{token: ${TOKEN}}`)
    if (value === undefined || assembly === undefined) throw new Error('it has no errors')
    const shown = showConfig(assembly, value).join('\n')
    expect(shown).not.toContain(TOKEN)
    expect(shown).toMatch(/^ +token: "\*{3}"/m)
  })
})

/** What sites and routes say of the addresses where they are served, and of patterns. */
import { expect, test } from 'vitest'
import { loadConfig, textAsFile } from '../src/load.ts'
import { formatProblem } from '../src/problem.ts'

function load(text: string): ReturnType<typeof loadConfig> {
  return loadConfig('f.yaml', textAsFile(text, 'f.yaml'))
}

const LISTEN = 'listen: [{address: 80, name: outer}, {address: 127.0.0.1:81, name: inner}]\n'

test('a host may have a site on each listener, and no two on one', () => {
  const site = (listener: string): string => `  - {host: a.test, listener: ${listener}, upstream: http://10.0.0.1}\n`
  const good = load(`${LISTEN}sites:\n${site('outer')}${site('inner')}`)
  expect(good.problems).toEqual([])
  expect(good.value?.sites.map(({ hosts, listeners }) => [hosts, listeners])).toEqual([
    [['a.test'], ['outer']],
    [['a.test'], ['inner']],
  ])
  expect(load(`${LISTEN}sites:\n${site('outer')}${site('[inner, outer]')}`).problems.map(formatProblem)).toEqual([
    'f.yaml:4:12: sites[1].host: a.test is a host in f.yaml:3 already; keep it in one of the two',
  ])
})

test('a listener that is not there is told', () => {
  const { problems } = load(`${LISTEN}routes:\n  - {listener: inne, upstream: http://10.0.0.1}\n`)
  expect(problems.map(formatProblem)).toEqual([
    'f.yaml:3:16: routes[0].listener: no entry of listen has the name inne; did you mean inner?',
  ])
})

test('patterns are there for those who compile them, each with its place', () => {
  const { value, patterns } = load(
    `routes:\n  - hostRegex: ^a\n    pathRegex: [x, {regex: y, flags: i, not: true}]\n    upstream: http://10.0.0.1\n`,
  )
  expect(value?.routes[0]?.name).toBe('~^a ~x !~*y')
  expect(patterns.map(({ place, ...pattern }) => [pattern, place.path.join('.')])).toEqual([
    [{ regex: 'x' }, 'routes.0.pathRegex.0'],
    [{ regex: 'y', flags: 'i', not: true }, 'routes.0.pathRegex.1.regex'],
    [{ regex: '^a' }, 'routes.0.hostRegex'],
  ])
})

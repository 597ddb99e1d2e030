import { expect, test } from 'vitest'
import { nearMiss } from '../src/near-miss.ts'

const KEYS = ['listen', 'upstream', 'rules', 'rewrite', 'routes', 'log']

test.each([
  ['lisen', 'listen'],
  ['lsiten', 'listen'],
  ['Listen', 'listen'],
  ['upstreams', 'upstream'],
  ['rule', 'rules'],
  ['route', 'routes'],
  ['rewrites', 'rewrite'],
  ['logs', 'log'],
  ['x', undefined],
  ['frobnicate', undefined],
  ['', undefined],
  ['listen'.repeat(20_000), undefined],
])('%s', (word, meant) => {
  expect(nearMiss(word, KEYS)).toBe(meant)
})

import { expect, test } from 'vitest'
import { prepareConditions } from '../src/conditions.ts'
import type { GateRoute } from '../src/gate-route.ts'
import { decide } from '../src/gate.ts'
import { upstreamRequestFields } from '../src/validators.ts'
import { BASE_CODINGS } from './codings.ts'

const ROUTE: GateRoute = {
  conditions: prepareConditions([{ types: ['text/html'], paths: ['/**/*a*b*/**/*.html', '/api/**'] }]),
  ruleSetHash: '0123456789abcdef',
  ignoreNoTransform: false,
  lastModified: { kind: 'remove' },
  variesBy: [],
  alwaysNew: false,
  codings: BASE_CODINGS,
  charsets: 'any',
  compression: undefined,
}

function threeLetters(i: number): string {
  return (i % 36 ** 3).toString(36).padStart(3, '0')
}

/** Values that fill a head up to its limit and that a careless reader takes quadratic time for. */
const FILLINGS: readonly (readonly [string, (bytes: number) => string])[] = [
  ['commas', (bytes) => ','.repeat(bytes)],
  ['elements', (bytes) => 'a,'.repeat(bytes / 2)],
  ['names of one length', (bytes) => Array.from({ length: bytes / 5 }, (_, i) => `x${threeLetters(i)}`).join(',')],
  ['quotes', (bytes) => '"'.repeat(bytes)],
  ['tags', (bytes) => '"",'.repeat(bytes / 3)],
  ['semicolons', (bytes) => ';'.repeat(bytes)],
  ['parameters', (bytes) => `text/html${';a=b'.repeat(bytes / 4)}`],
  ['backslashes in quotes', (bytes) => `"${'\\'.repeat(bytes)}`],
  ['blanks', (bytes) => `a${' '.repeat(bytes)}b`],
]
const NAMES = [
  'Connection',
  'Accept-Encoding',
  'If-None-Match',
  'Cache-Control',
  'Content-Type',
  'Content-Encoding',
  'Vary',
]

/** Sixteen times what a head may hold: linear work takes some 30 milliseconds here, quadratic work half a second or more. */
const BYTES = 16 * 32_768
const MOST_CPU_MS = 400

/** Whether the work takes that little of a processor at least once out of eight; a loaded machine does not count. */
function isQuick(work: () => void): boolean {
  for (let run = 0; run < 8; run++) {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    if ((user + system) / 1_000 < MOST_CPU_MS) return true
  }
  return false
}

test('no value costs time that grows faster than it does', () => {
  const slow: string[] = []
  for (const name of NAMES) {
    for (const [kind, fill] of FILLINGS) {
      // Short fields around it, which every name in a list is compared with.
      const fields = [name, fill(BYTES), ...Array.from({ length: 240 }, (_, i) => (i % 2 === 0 ? 'Xaab' : ''))]
      const quick = isQuick(() => {
        upstreamRequestFields({ method: 'GET', path: '/a/b', fields, minorVersion: 1 }, ROUTE)
        decide({ method: 'GET', path: '/a/b.html', fields }, { status: 200, fields }, ROUTE)
      })
      if (!quick) slow.push(`${name}, ${kind}`)
    }
  }
  expect(slow).toEqual([])
})

test('nor does any path', () => {
  const slow: string[] = []
  for (const piece of ['/', '/a', '/.', '/..', '%', '%41', '%2e/', 'ab', '/ab']) {
    const path = `/${piece.repeat(BYTES / 8 / piece.length)}`
    const request = { method: 'GET', path, fields: [], minorVersion: 1 }
    if (!isQuick(() => upstreamRequestFields(request, ROUTE))) slow.push(piece)
  }
  expect(slow).toEqual([])
})

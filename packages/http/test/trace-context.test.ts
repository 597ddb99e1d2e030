import { expect, test } from 'vitest'
import { settleTrace, validTraceparent } from '../src/trace-context.ts'

const OWN = '00-11111111111111111111111111111111-2222222222222222-01'
const TOLD = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test.each([
  [TOLD, true],
  ['cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', true],
  ['cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes', true],
  [`${TOLD}-more`, false],
  ['ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', false],
  ['00-00000000000000000000000000000000-b7ad6b7169203331-01', false],
  ['00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01', false],
  [TOLD.toUpperCase(), false],
  [`${TOLD},${TOLD}`, false],
  ['', false],
])('%s', (value, isValid) => {
  expect(validTraceparent(value)).toBe(isValid ? value : undefined)
})

test.each<[string, readonly string[], Parameters<typeof settleTrace>[1], boolean, 'told' | 'own' | 'none']>([
  ['passed', ['Traceparent', TOLD], 'pass', false, 'told'],
  ['nothing to pass', [], 'pass', false, 'none'],
  ['what does not hold is passed, and not told of', ['traceparent', 'x'], 'pass', false, 'none'],
  ['continued', ['traceparent', TOLD], 'begin', false, 'told'],
  ['begun', [], 'begin', false, 'own'],
  ['begun in place of what does not hold', ['traceparent', 'x'], 'begin', false, 'own'],
  ['begun in place of two', ['traceparent', TOLD, 'traceparent', TOLD], 'begin', false, 'own'],
  ['begun in place of a stranger’s', ['traceparent', TOLD], 'restart', false, 'own'],
  ['a trusted peer’s', ['traceparent', TOLD], 'restart', true, 'told'],
])('%s', (_what, lines, policy, isTrusted, result) => {
  const fields = ['Accept', '*/*', ...lines, 'TraceState', 'vendor=1']
  const before = [...fields]
  const value = settleTrace(fields, policy, isTrusted, () => OWN)
  if (result === 'own') {
    expect(value).toBe(OWN)
    expect(fields).toEqual(['Accept', '*/*', 'traceparent', OWN])
  } else {
    expect(value).toBe(result === 'told' ? TOLD : undefined)
    expect(fields).toEqual(before)
  }
})

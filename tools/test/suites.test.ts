import { expect, test } from 'vitest'
import { addCounts, closingLine } from '../suites.mjs'

test('the closing line adds the suites up', () => {
  const all = [
    { passed: 3, failed: 0, skipped: 0 },
    { passed: 2, failed: 1, skipped: 0 },
  ]
  expect(closingLine(addCounts(all))).toBe('5 passed, 1 failed')
  expect(closingLine(addCounts([...all, { passed: 0, failed: 0, skipped: 2 }]))).toBe('5 passed, 1 failed, 2 skipped')
})

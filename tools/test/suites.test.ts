import { expect, test } from 'vitest'
import { addCounts, closingLine, isWorthAnotherRun } from '../suites.mjs'

test('the closing line adds the suites up', () => {
  const all = [
    { passed: 3, failed: 0, skipped: 0 },
    { passed: 2, failed: 1, skipped: 0 },
  ]
  expect(closingLine(addCounts(all))).toBe('5 passed, 1 failed')
  expect(closingLine(addCounts([...all, { passed: 0, failed: 0, skipped: 2 }]))).toBe('5 passed, 1 failed, 2 skipped')
})

test('a failure runs once more, but for a property that failed', () => {
  const failure = { file: 'a.test.ts', name: 'a' }
  expect(isWorthAnotherRun({ ...failure, message: 'Test timed out in 30000ms.' })).toBe(true)
  expect(isWorthAnotherRun({ ...failure, message: 'Property failed after 3 tests\n{ seed: 1, path: "2" }' })).toBe(
    false,
  )
})

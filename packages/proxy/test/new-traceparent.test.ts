import { validTraceparent } from '@prexy/http/trace-context'
import { expect, test } from 'vitest'
import { newTraceparent } from '../src/new-traceparent.ts'

test('what begins is valid, and never the same', () => {
  const all = Array.from({ length: 100 }, newTraceparent)
  for (const one of all) expect(validTraceparent(one)).toBe(one)
  expect(new Set(all).size).toBe(100)
})

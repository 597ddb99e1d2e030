import { expect, test } from 'vitest'
import { decodedPath } from '../src/request-target.ts'

test.each([
  ['/a/b?c=/../d', '/a/b'],
  ['//a///b//', '/a/b/'],
  ['/a%2Fb%2e', '/a/b.'],
  ['/x/../a', '/a'],
  ['/x%2f..%2Fa', '/a'],
  ['/a//../b', '/b'],
  ['/a/./b/.', '/a/b/'],
  ['/a/b/..', '/a/'],
  ['/%C3%A9%3f%25', '/\u00c3\u00a9?%'],
  ['/...', '/...'],
  ['/%zz', undefined],
  ['/%4', undefined],
  ['/%00', undefined],
  ['/a%0A', undefined],
  ['/%7f', undefined],
  ['/..', undefined],
  ['/a/../../b', undefined],
])('%s is read as %s', (path, expected) => {
  expect(decodedPath(path)).toBe(expected)
})

import { expect, it } from 'vitest'
import { announcedTrailers } from '../src/validators.ts'

it.each([
  ['nothing is announced', [], undefined, undefined],
  ['a name', ['Trailer', 'X-Sum'], 'X-Sum', 'X-Sum'],
  ['names in lines and lists', ['Trailer', 'a, B', 'trailer', ' c ,,'], 'a, B, c', 'a, B, c'],
  [
    'what may not follow a body',
    ['Trailer', 'Content-Length, Set-Cookie, X-Forwarded-For, Host'],
    undefined,
    undefined,
  ],
  ['what is no name', ['Trailer', 'a b, "x", ?, d'], 'd', 'd'],
  [
    'digests, which a changed body does not have',
    ['Trailer', 'Content-Digest, X-Sum'],
    'Content-Digest, X-Sum',
    'X-Sum',
  ],
  ['digests alone', ['Trailer', 'Digest, Content-MD5'], 'Digest, Content-MD5', undefined],
])('of announced trailers are announced on: %s', (_name, fields, unchanged, changed) => {
  expect([announcedTrailers(fields, false), announcedTrailers(fields, true)]).toEqual([unchanged, changed])
})

import { expect, test } from 'vitest'
import { isPublicSuffix } from '../src/public-suffix.ts'

test.each(['com', 'localhost', 'co.uk', 'com.au', 'ac.jp', 'github.io', 'cloudfront.net'])('%s is nobody’s', (host) => {
  expect(isPublicSuffix(host)).toBe(true)
})

test.each(['example.com', 'me.github.io', 'example.co.uk', 'www.com', 'co.example.uk', 'a.co', 'github.io.example'])(
  '%s is somebody’s',
  (host) => {
    expect(isPublicSuffix(host)).toBe(false)
  },
)

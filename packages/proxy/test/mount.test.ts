import { describe, expect, test } from 'vitest'
import { mountedTarget, mountOf, mountResponse } from '../src/mount.ts'

describe('paths of requests', () => {
  test.each<[string, string, string, string | undefined]>([
    ['/shop', '/', '/shop', '/'],
    ['/shop', '/', '/shop?q=/shop', '/?q=/shop'],
    ['/shop', '/', '/shop/', '/'],
    ['/shop', '/', '/shop/a%20b/?x', '/a%20b/?x'],
    ['/shop/', '/', '/shop/a', '/a'],
    ['/shop', '/', '/shopping', undefined],
    ['/shop', '/', '/', undefined],
    ['/shop', '/', '/%73hop/a', '/a'],
    ['/shop', '/app', '/shop/a', '/app/a'],
    ['/shop', '/app', '/shop', '/app'],
    ['/', '/app', '/a', '/app/a'],
    ['/', '/app', '/', '/app/'],
    ['/', '/app/', '/a//b', '/app/a//b'],
    // Out of the mount and out of the folder of the upstream.
    ['/', '/app', '/../secret', '/app/secret'],
    ['/', '/app', '/%2e%2e/secret', '/app/secret'],
    ['/shop', '/app', '/shop/../admin', undefined],
    ['/shop', '/app', '/shop/x/../../admin', undefined],
    ['/shop', '/app', '/shop/x/../y', '/app/y'],
    ['/shop', '/app', '/x/../shop/y', '/app/y'],
    ['/shop', '/', '//shop/y', undefined],
  ])('%s to %s: %s', (at, to, target, expected) => {
    expect(mountedTarget(mountOf(at, to), target)).toBe(expected)
  })
})

describe('fields of responses', () => {
  const OURS = ['a.example', '10.0.0.1:8080']
  test.each<[string, string, string, string, string]>([
    ['/shop', '/', 'Location', '/x?y#z', '/shop/x?y#z'],
    ['/shop', '/', 'Location', '/', '/shop/'],
    ['/shop', '/', 'location', 'http://a.example/x', 'http://a.example/shop/x'],
    ['/shop', '/', 'Location', 'https://A.example:443', 'https://A.example:443/shop/'],
    ['/shop', '/', 'Location', 'http://10.0.0.1:8080/x', 'http://10.0.0.1:8080/shop/x'],
    ['/shop', '/', 'Location', 'http://b.example/x', 'http://b.example/x'],
    ['/shop', '/', 'Location', '//a.example/x', '//a.example/x'],
    ['/shop', '/', 'Location', 'x/y', 'x/y'],
    ['/shop', '/', 'Location', '?x', '?x'],
    ['/shop', '/', 'Location', 'mailto:a', 'mailto:a'],
    ['/shop', '/app', 'Location', '/app/x', '/shop/x'],
    ['/shop', '/app', 'Location', '/app', '/shop'],
    ['/shop', '/app', 'Location', '/other', '/other'],
    ['/shop', '/app', 'Location', '/apple', '/apple'],
    ['/', '/app', 'Location', '/app/x', '/x'],
    ['/', '/app', 'Location', '/app', '/'],
    ['/shop', '/', 'Content-Location', '/x', '/shop/x'],
    ['/shop', '/', 'Set-Cookie', 'a=/; Path=/', 'a=/; Path=/shop'],
    ['/shop', '/', 'Set-Cookie', 'a=b; path=/x/ ; Secure', 'a=b; path=/shop/x/ ; Secure'],
    ['/shop', '/', 'Set-Cookie', 'a=b; HttpOnly', 'a=b; HttpOnly'],
    ['/shop', '/', 'Set-Cookie', '__Host-a=b; Path=/; Secure', '__Host-a=b; Path=/; Secure'],
    ['/shop', '/app', 'Set-Cookie', 'a=b; Path=/app', 'a=b; Path=/shop'],
    ['/shop', '/app', 'Set-Cookie', 'a=b; Path=/', 'a=b; Path=/shop'],
    ['/shop', '/app', 'Set-Cookie', 'a=b; Path=/other', 'a=b; Path=/other'],
    ['/', '/app', 'Set-Cookie', 'a=b; Path=/app/x', 'a=b; Path=/x'],
    ['/', '/app', 'Set-Cookie', 'a=b; Path=/', 'a=b; Path=/'],
    ['/shop', '/', 'Link', '</x>', '</x>'],
  ])('%s to %s, %s: %s', (at, to, name, value, expected) => {
    const fields = ['X', 'y', name, value]
    const changed = mountResponse(mountOf(at, to), fields, OURS)
    expect(fields).toEqual(['X', 'y', name, expected])
    expect(changed).toEqual(value === expected ? [] : [name.toLowerCase()])
  })
})

/** Header fields that name hosts, under domain rules, without a proxy around. */
import { isFieldValue } from '@prexy/http/fields'
import { mapRequestFields, mapResponseFields } from '@prexy/http/host-fields'
import { hostMapOf, hostMapper } from '@prexy/rewrite/host-map'
import type { DomainRule } from '@prexy/rewrite/rules'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'

const keep: readonly DomainRule[] = [{ domain: 'a.example', to: 'b.test', subdomains: 'keep' }]
const ignore: readonly DomainRule[] = [{ domain: 'a.example', to: 'b.test' }]
const merge: readonly DomainRule[] = [{ domain: 'a.example', to: 'b.test', subdomains: 'map' }]

function down(
  rules: readonly DomainRule[],
  fields: readonly string[],
): { fields: string[]; changed: readonly string[] } {
  const map = hostMapOf(rules)
  if (map === undefined) throw new Error('no map')
  const mapDown = hostMapper(map.down)
  const mapUp = hostMapper(map.up)
  const copy = [...fields]
  const changed = mapResponseFields(copy, mapDown, () => ({
    originHosts: ['a.example'],
    clientHost: 'b.test',
    mapDown,
    mapUp,
    othersUp: [],
    clientNames: map.clientNames,
  }))
  return { fields: copy, changed }
}

function up(rules: readonly DomainRule[], fields: readonly string[]): { fields: string[]; changed: readonly string[] } {
  const map = hostMapOf(rules)
  if (map === undefined) throw new Error('no map')
  const copy = [...fields]
  return { changed: mapRequestFields(copy, hostMapper(map.up)), fields: copy }
}

describe('of a response', () => {
  test.each([
    ['Location', 'http://a.example/login', 'http://b.test/login'],
    [
      'Location',
      'https://a.example:8443/x?u=https%3A%2F%2Fa.example%2F',
      'https://b.test:8443/x?u=https%3A%2F%2Fb.test%2F',
    ],
    ['LOCATION', '//A.Example', '//b.test'],
    ['Location', '/login?next=%2Fa', '/login?next=%2Fa'],
    ['Location', 'https://a.example.org/', 'https://a.example.org/'],
    ['Location', 'https://x.a.example/', 'https://x.b.test/'],
    ['Content-Location', 'https://a.example/en/', 'https://b.test/en/'],
    ['Refresh', '5; url=https://a.example/', '5; url=https://b.test/'],
    ['Refresh', "0;URL='https://a.example/'", "0;URL='https://b.test/'"],
    [
      'Link',
      '<https://a.example/s.css>; rel=preload, <https://cdn.a.example/>; rel=preconnect; anchor="https://a.example/x"',
      '<https://b.test/s.css>; rel=preload, <https://cdn.b.test/>; rel=preconnect; anchor="https://b.test/x"',
    ],
    ['Access-Control-Allow-Origin', 'https://a.example', 'https://b.test'],
    ['Access-Control-Allow-Origin', '*', '*'],
    ['Access-Control-Allow-Origin', 'null', 'null'],
    ['Timing-Allow-Origin', 'https://a.example, *', 'https://b.test, *'],
    [
      'Content-Security-Policy',
      "default-src 'self' https://a.example *.a.example wss://a.example:9000; report-uri https://a.example/csp",
      "default-src 'self' https://b.test *.b.test wss://b.test:9000; report-uri https://b.test/csp",
    ],
    ['Content-Security-Policy-Report-Only', 'img-src https://*.cdn.a.example', 'img-src https://*.cdn.b.test'],
    ['Content-Security-Policy', "script-src 'sha256-abc=' *.other.example", "script-src 'sha256-abc=' *.other.example"],
    ['Permissions-Policy', 'geolocation=(self "https://*.a.example")', 'geolocation=(self "https://*.b.test")'],
    ['Reporting-Endpoints', 'main="https://a.example/r"', 'main="https://b.test/r"'],
    [
      'Report-To',
      '{"endpoints":[{"url":"https:\\/\\/a.example\\/r"}]}',
      '{"endpoints":[{"url":"https:\\/\\/b.test\\/r"}]}',
    ],
    ['SourceMap', 'https://a.example/a.map', 'https://b.test/a.map'],
    ['X-Frame-Options', 'ALLOW-FROM https://a.example', 'ALLOW-FROM https://b.test'],
    ['X-Pingback', 'https://a.example/xmlrpc.php', 'https://b.test/xmlrpc.php'],
    ['Set-Cookie', 's=a.example; Domain=a.example', 's=a.example; Domain=b.test'],
    ['Alt-Svc', 'clear', 'clear'],
    // What is hashed, signed or about something else stays.
    ['WWW-Authenticate', 'Digest realm="a.example", nonce="x"', 'Digest realm="a.example", nonce="x"'],
    ['Server', 'a.example', 'a.example'],
    ['Strict-Transport-Security', 'max-age=9; includeSubDomains', 'max-age=9; includeSubDomains'],
    ['Via', '1.1 a.example', '1.1 a.example'],
    ['ETag', '"a.example"', '"a.example"'],
  ])('%s: %s', (name, value, expected) => {
    const { fields, changed } = down(keep, [name, value])
    expect(fields).toEqual([name, expected])
    expect(changed).toEqual(value === expected ? [] : [name.toLowerCase()])
  })

  test('Alt-Svc goes', () => {
    const { fields, changed } = down(ignore, [
      'A',
      '1',
      'Alt-Svc',
      'h3=":443"',
      'alt-svc',
      'h2="a.example:443"',
      'B',
      '2',
    ])
    expect(fields).toEqual(['A', '1', 'B', '2'])
    expect(changed).toEqual(['alt-svc'])
  })

  test('each line by itself, order and case kept', () => {
    const { fields, changed } = down(keep, [
      'Set-Cookie',
      'a=1; Domain=a.example',
      'link',
      '<https://a.example/>',
      'set-cookie',
      'b=2',
      'Link',
      '</x>',
    ])
    expect(fields).toEqual([
      'Set-Cookie',
      'a=1; Domain=b.test',
      'link',
      '<https://b.test/>',
      'set-cookie',
      'b=2',
      'Link',
      '</x>',
    ])
    expect(changed).toEqual(['set-cookie', 'link'])
  })

  test.each([
    [ignore, '*.a.example a.example x.a.example', '*.a.example b.test x.a.example'],
    [merge, '*.a.example a.example x.a.example', 'b.test b.test b.test'],
    [merge, 'https://*.a.example:*', 'https://b.test:*'],
  ])('a wildcard under %j', (rules, value, expected) => {
    expect(down(rules, ['Content-Security-Policy', value]).fields[1]).toBe(expected)
  })

  it('only if the value is one: no line of another field can begin in it', () => {
    const octet = fc.integer({ min: 0, max: 255 }).map((unit) => String.fromCharCode(unit))
    const piece = fc.oneof(
      octet,
      fc.constantFrom('a.example', '*.a.example', 'https://', '%0d%0a', '\r\n', '\0', '; Domain='),
    )
    const name = fc.constantFrom('Location', 'Set-Cookie', 'Content-Security-Policy', 'Link', 'Refresh')
    const value = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(name, value, (fieldName, text) => {
        const mapped = down(keep, [fieldName, text]).fields[1]
        expect(isFieldValue(mapped) || mapped === text).toBe(true)
        const controls = (one: string): number => [...one].filter((unit) => unit < ' ' && unit !== '\t').length
        expect(controls(mapped)).toBeLessThanOrEqual(controls(text))
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('of a request', () => {
  test.each([
    ['Origin', 'http://b.test:8080', 'http://a.example:8080'],
    ['Origin', 'https://www.b.test', 'https://www.a.example'],
    ['Origin', 'null', 'null'],
    [
      'Referer',
      'https://b.test/login?next=https%3A%2F%2Fb.test%2F',
      'https://a.example/login?next=https%3A%2F%2Fa.example%2F',
    ],
    ['Referer', 'https://evil.example/?b.test.evil.example', 'https://evil.example/?b.test.evil.example'],
    [
      'Cookie',
      's=1; home=b.test; next=https%3A%2F%2Fb.test%2F',
      's=1; home=a.example; next=https%3A%2F%2Fa.example%2F',
    ],
    ['Destination', 'https://b.test/dav/x', 'https://a.example/dav/x'],
    ['If', '<https://b.test/x> (<urn:uuid:1>)', '<https://a.example/x> (<urn:uuid:1>)'],
    ['Host', 'b.test', 'b.test'],
    ['X-Forwarded-Host', 'b.test', 'b.test'],
    ['User-Agent', 'b.test', 'b.test'],
    ['Authorization', 'Digest uri="https://b.test/"', 'Digest uri="https://b.test/"'],
  ])('%s: %s', (name, value, expected) => {
    const { fields, changed } = up(keep, [name, value])
    expect(fields).toEqual([name, expected])
    expect(changed).toEqual(value === expected ? [] : [name.toLowerCase()])
  })
})

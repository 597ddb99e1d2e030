import { decodeLatin1, encodeLatin1 } from '@prexy/bytes/latin1'
import { encodeUtf8 } from '@prexy/bytes/utf8'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { domainRulesOf, type HostMap, hostMapOf, hostMapper } from '../src/host-map.ts'
import { compileRuleSet } from '../src/rule-set.ts'
import type { DomainRule } from '../src/rules.ts'
import type { RuleSet } from '../src/rewriter.ts'

function mapOf(rules: readonly DomainRule[]): HostMap {
  const map = hostMapOf(rules)
  if (map === undefined) throw new Error('no map')
  return map
}

const octets = (text: string): string => decodeLatin1(encodeUtf8(text))

describe('a field value', () => {
  const down = hostMapper(mapOf([{ domain: 'a.example', to: 'b.test' }]).down)
  test.each([
    ['a URL', 'https://a.example/x?y#z', 'https://b.test/x?y#z'],
    ['a URL with a port', 'http://a.example:8080/', 'http://b.test:8080/'],
    ['no scheme', '//a.example/x', '//b.test/x'],
    ['a URL in another', '/login?next=https%3A%2F%2Fa.example%2Fx', '/login?next=https%3A%2F%2Fb.test%2Fx'],
    ['one encoded twice', '/l?u=https%253a%252f%252fa.example', '/l?u=https%253a%252f%252fb.test'],
    ['a list', 'https://a.example, https://A.Example', 'https://b.test, https://b.test'],
    ['JSON', '[{"url":"https:\\/\\/a.example\\/r"}]', '[{"url":"https:\\/\\/b.test\\/r"}]'],
    ['a full stop', 'a.example.', 'b.test.'],
    ['a user', 'http://me@a.example/', 'http://me@b.test/'],
    ['an encoded sign', '%40a.example%22a.example%3Da.example', '%40b.test%22b.test%3Db.test'],
    ['a percent sign of its own', '100%a.example', '100%b.test'],
  ])('with %s', (_, value, expected) => {
    expect(down(value)).toBe(expected)
  })

  test.each([
    '',
    '/relative?x=1',
    'https://nota.example/',
    'https://a.example.org/',
    'https://x.a.example/',
    'my-a.example',
    'a.example-b a.example_b a.example1',
    '%41a.example',
    '%2Ea.example',
    '\\na.example',
    '2Fa.example',
  ])('stays: %j', (value) => {
    expect(down(value)).toBe(value)
  })

  test.each<[NonNullable<DomainRule['subdomains']>, string, string]>([
    ['keep', 'https://www.a.example/ x.y.a.example a.example', 'https://www.b.test/ x.y.b.test b.test'],
    ['map', 'https://www.a.example/ x.y.a.example a.example', 'https://b.test/ b.test b.test'],
    ['map', 'next=https%3A%2F%2Fx.a.example &%252Fx.a.example', 'next=https%3A%2F%2Fb.test &%252Fb.test'],
    ['ignore', 'https://www.a.example/ a.example', 'https://www.a.example/ b.test'],
  ])('under subdomains: %s: %s', (subdomains, value, expected) => {
    expect(hostMapper(mapOf([{ domain: 'a.example', to: 'b.test', subdomains }]).down)(value)).toBe(expected)
  })

  test('with letters beyond ASCII is found in each spelling and written as xn--', () => {
    const map = mapOf([{ domain: 'bücher.example', to: 'livres-été.test' }])
    const value = octets('https://xn--bcher-kva.example https://bücher.example https://b%C3%BCcher.example')
    const found = hostMapper(map.down)(value)
    expect(found.split(' ')).toEqual(Array(3).fill('https://xn--livres-t-h1ab.test'))
    expect(hostMapper(map.up)('https://xn--livres-t-h1ab.test')).toBe('https://xn--bcher-kva.example')
  })
})

describe('up', () => {
  const rules: readonly DomainRule[] = [
    { domain: 'a.example', to: 'b.test', subdomains: 'keep' },
    { domain: 'cdn.example', to: 'b.test' },
    { domain: 'm.example', to: 'n.test', subdomains: 'map' },
    { domain: 'same.example', to: 'SAME.example' },
  ]
  const up = hostMapper(mapOf(rules).up)
  test.each([
    ['b.test', 'a.example'],
    ['http://www.b.test:81/', 'http://www.a.example:81/'],
    ['n.test', 'm.example'],
    ['x.n.test', 'x.n.test'],
    ['a.example', 'a.example'],
  ])('%s is %s', (client, origin) => {
    expect(up(client)).toBe(origin)
  })

  it('has no rule that changes nothing', () => {
    expect(mapOf(rules).rules).toHaveLength(3)
    expect(
      hostMapOf([
        { domain: 'a.example', to: 'A.example' },
        { text: 'a', with: 'b' },
      ]),
    ).toBeUndefined()
  })
})

describe('the mapper says what the rule set for bodies says', () => {
  const sets: readonly (readonly DomainRule[])[] = [
    [{ domain: 'a.ex', to: 'b.te' }],
    [{ domain: 'a.ex', to: 'b.te', subdomains: 'keep' }],
    [{ domain: 'a.ex', to: 'b.te', subdomains: 'map' }],
    [
      { domain: 'w.a.ex', to: 'c.te' },
      { domain: 'a.ex', to: 'b.te', subdomains: 'keep' },
    ],
    [
      { domain: 'a.ex', to: 'b.te', subdomains: 'map' },
      { domain: 'w.a.ex', to: 'c.te', subdomains: 'keep' },
    ],
  ]
  const pieces = ['a.ex', 'A.EX', 'w.', 'x.', '.', '-', '/', '%2F', '%252F', '%40', '1', ' ', 'ü']
  const odd = [...pieces, '%25', '%2e', '%41', '%', '%ff']
  const textOf = (of: readonly string[]): fc.Arbitrary<string> =>
    fc.array(fc.constantFrom(...of), { maxLength: 12 }).map((list) => list.join(''))

  it.each(sets.map((rules) => [JSON.stringify(rules), rules] as const))('%s', (_, rules) => {
    const map = mapOf(rules)
    for (const names of [map.down, map.up]) {
      const mapper = hostMapper(names)
      const set = compileRuleSet(domainRulesOf(names), { mode: 'octet' })
      // Behind an escape of a name's own characters, `map` in a body takes the escape for the beginning of the name.
      const takesBelow = names.some(({ subdomains }) => subdomains === 'map')
      const text = takesBelow ? textOf(pieces).filter((value) => !/%[0-9A-F]+\./.test(value)) : textOf(odd)
      fc.assert(
        fc.property(text, (value) => {
          expect(mapper(value)).toBe(throughEngine(set, value))
        }),
        { numRuns: 200 },
      )
    }
  })
})

function throughEngine(set: RuleSet, text: string): string {
  let output = ''
  const rewriter = set.createRewriter({
    write(chunk) {
      output += decodeLatin1(chunk)
      return true
    },
  })
  rewriter.write(encodeLatin1(text))
  rewriter.end()
  return output
}

it('costs no more on a hostile value than on a long one', () => {
  const mapper = hostMapper(mapOf([{ domain: 'a.example', to: 'b.test', subdomains: 'map' }]).down)
  for (const piece of ['x.', 'a.', 'aaaaaaaa', '%', '%25', 'a.example.', '-', '/x']) {
    const value = `${piece.repeat(Math.ceil(65_536 / piece.length))}example`
    const start = performance.now()
    mapper(value)
    expect(performance.now() - start).toBeLessThan(2_000)
  }
})

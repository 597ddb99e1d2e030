/** T28: whatever the domain rules, no cookie reaches a host that it would not have reached at the origin. */
import { mapSetCookie } from '@prexy/http/set-cookie'
import { hostMapOf, hostMapper } from '@prexy/rewrite/host-map'
import type { DomainRule } from '@prexy/rewrite/rules'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'

interface Site {
  readonly rules: readonly DomainRule[]
  /** The name that the client asked for. */
  readonly client: string
  /** Another name of the origin's, such as its address. */
  readonly upstream?: string
}

function mapped({ rules, client, upstream }: Site, cookie: string): string {
  const map = hostMapOf(rules)
  if (map === undefined) throw new Error('no map')
  const mapUp = hostMapper(map.up)
  return mapSetCookie(cookie, {
    originHosts: [mapUp(client), ...(upstream === undefined ? [] : [upstream])],
    clientHost: client,
    mapDown: hostMapper(map.down),
    mapUp,
    othersUp: [],
    clientNames: map.clientNames,
  })
}

const keep = (domain: string, to: string): DomainRule => ({ domain, to, subdomains: 'keep' })
const KEEP = { rules: [keep('a.example', 'b.test')], client: 'b.test' }
const WWW = { rules: [keep('a.example', 'b.test')], client: 'www.b.test' }
const IGNORE = { rules: [{ domain: 'a.example', to: 'b.test' }], client: 'b.test' }
const MAP: Site = { rules: [{ domain: 'a.example', to: 'b.test', subdomains: 'map' }], client: 'b.test' }

describe('the domain of a cookie', () => {
  test.each<[what: string, site: Site, cookie: string, expected: string]>([
    ['is mapped with all below it', KEEP, 's=1; Domain=a.example; Path=/', 's=1; Domain=b.test; Path=/'],
    ['is mapped for a name below', WWW, 's=1; Domain=a.example', 's=1; Domain=b.test'],
    ['below another is mapped', WWW, 's=1; Domain=www.a.example', 's=1; Domain=www.b.test'],
    ['may have a dot in front', KEEP, 's=1; Domain=.a.example', 's=1; Domain=b.test'],
    ['may be in any letter case', KEEP, 's=1; DOMAIN=A.Example; secure', 's=1; DOMAIN=b.test; secure'],
    ['may have blanks around', KEEP, 's=1; domain = a.example ;HttpOnly', 's=1; domain =b.test;HttpOnly'],
    ['goes when names below are not mapped', IGNORE, 's=1; Domain=a.example; Path=/x', 's=1; Path=/x'],
    ['goes when all names become one', MAP, 's=1; Domain=a.example', 's=1'],
    ['goes with all but the first dot', IGNORE, 's=1; Domain=.a.example; SameSite=Lax', 's=1; SameSite=Lax'],
    [
      'goes when it is a parent of the mapped name',
      { rules: [keep('shop.a.example', 'shop.b.test')], client: 'shop.b.test' },
      's=1; Domain=a.example',
      's=1',
    ],
    [
      'stays when it holds both names',
      { rules: [{ domain: 'www.a.example', to: 'copy.a.example' }], client: 'copy.a.example' },
      's=1; Domain=a.example',
      's=1; Domain=a.example',
    ],
    [
      'goes when another site lives below the new name',
      { rules: [keep('a.example', 'b.test'), { domain: 'z.example', to: 'x.b.test' }], client: 'b.test' },
      's=1; Domain=a.example',
      's=1',
    ],
    [
      'goes when another site lives below a name that would stay',
      {
        rules: [
          { domain: 'www.a.example', to: 'copy.a.example' },
          { domain: 'z.example', to: 'x.a.example' },
        ],
        client: 'copy.a.example',
      },
      's=1; Domain=a.example',
      's=1',
    ],
    [
      'stays mapped when the site below is its own',
      { rules: [keep('a.example', 'b.test'), { domain: 'i.a.example', to: 'x.b.test' }], client: 'b.test' },
      's=1; Domain=a.example',
      's=1; Domain=b.test',
    ],
    [
      'of the origin goes for a client that asked for an address',
      { rules: [keep('a.example', 'b.test')], client: '127.0.0.1', upstream: 'a.example' },
      's=1; Domain=a.example',
      's=1',
    ],
    [
      'that is an address goes',
      { rules: [keep('10.0.0.1', 'b.test')], client: 'b.test' },
      's=1; Domain=10.0.0.1',
      's=1',
    ],
    [
      'never becomes an address',
      { rules: [keep('a.example', '10.0.0.1')], client: '10.0.0.1' },
      's=1; Domain=a.example',
      's=1',
    ],
    [
      'never becomes a single label',
      { rules: [keep('a.example', 'localhost')], client: 'localhost' },
      's=1; Domain=a.example',
      's=1',
    ],
    [
      'never becomes a registry',
      { rules: [keep('a.example', 'co.uk')], client: 'www.co.uk' },
      's=1; Domain=a.example',
      's=1',
    ],
    [
      'never becomes a platform',
      { rules: [keep('a.example', 'github.io')], client: 'me.github.io' },
      's=1; Domain=a.example',
      's=1',
    ],
    [
      'may become a name below a platform',
      { rules: [keep('a.example', 'me.github.io')], client: 'me.github.io' },
      's=1; Domain=a.example',
      's=1; Domain=me.github.io',
    ],
    [
      'with letters beyond ASCII is mapped in its xn-- form',
      { rules: [keep('bücher.example', 'b.test')], client: 'b.test' },
      's=1; Domain=xn--bcher-kva.example',
      's=1; Domain=b.test',
    ],
    ['counts as the last one', KEEP, 's=1; Domain=x.example; Domain=a.example', 's=1; Domain=b.test'],
    ['leaves nothing of earlier ones', IGNORE, 's=1; Domain=x.example; Domain=a.example; Secure', 's=1; Secure'],
    [
      'below a mapped name leads back there',
      { ...KEEP, client: 'x.b.test' },
      's=1; Domain=x.a.example',
      's=1; Domain=x.b.test',
    ],
    [
      'of one of two names with one copy goes',
      {
        rules: [
          { domain: 'a.example', to: 'b.test' },
          { domain: 'www.a.example', to: 'b.test' },
        ],
        client: 'b.test',
      },
      's=1; Domain=a.example',
      's=1',
    ],
  ])('%s', (_, site, cookie, expected) => {
    expect(mapped(site, cookie)).toBe(expected)
  })
})

describe('a cookie stays octet for octet', () => {
  test.each<[what: string, site: Site, cookie: string]>([
    ['without a domain', KEEP, 's=1; Path=/; Secure; HttpOnly; SameSite=None; Max-Age=9'],
    ['with the domain of a sibling, which browsers refuse', KEEP, 's=1; Domain=x.a.example'],
    ['with a sibling under map, which the copy merges', MAP, 's=1; Domain=x.a.example'],
    ['with the domain of another site', KEEP, 's=1; Domain=other.example'],
    ['with a domain that only ends alike', KEEP, 's=1; Domain=b.a.example.org'],
    ['with a part of a label', KEEP, 's=1; Domain=xample'],
    ['with the domain of the copy', KEEP, 's=1; Domain=b.test'],
    ['with a port in its domain', KEEP, 's=1; Domain=a.example:8080'],
    ['with an empty domain', KEEP, 's=1; Domain=; Path=/'],
    ['with a domain without a value', KEEP, 's=1; Domain; Path=/'],
    ['with an empty domain after one', KEEP, 's=1; Domain=a.example; Domain='],
    ['with two dots', KEEP, 's=1; Domain=..a.example'],
    ['named __Host-', KEEP, '__Host-s=1; Secure; Path=/; Domain=a.example'],
    ['named __host-', IGNORE, '__host-s=1; Secure; Path=/; Domain=a.example'],
    ['without a name but __Host- as a value', IGNORE, '=__Host-s=1; Domain=a.example'],
    ['whose value speaks of a domain', KEEP, 's="a.example, Domain=a.example"'],
    ['whose value names the origin', KEEP, 'next=https%3A%2F%2Fa.example%2F; Path=/'],
    ['whose path names it', KEEP, 's=1; Path=/a.example'],
  ])('%s', (_, site, cookie) => {
    expect(mapped(site, cookie)).toBe(cookie)
  })

  test('but for the domain: __Secure- cookies keep Secure', () => {
    expect(mapped(KEEP, '__Secure-s=1; Secure; Domain=a.example')).toBe('__Secure-s=1; Secure; Domain=b.test')
  })
})

/** Who gets a cookie that `host` sets, as RFC 6265 §5.3 has it: undefined if it is refused. */
function scopeOf(cookie: string, host: string): ((other: string) => boolean) | undefined {
  const domain = /; Domain=\.?([^;]*)/i.exec(cookie)?.[1]?.toLowerCase()
  if (domain === undefined) return (other) => other === host
  const matches = (other: string): boolean => other === domain || other.endsWith(`.${domain}`)
  return matches(host) ? matches : undefined
}

describe('for any rules', () => {
  const names = ['a.ex', 'w.a.ex', 'x.w.a.ex', 'b.te', 'w.b.te', 'x.b.te', 'c.b.te', 'ex', 'te', 'z.ex', 'y.z.ex']
  const name = fc.constantFrom(...names)
  const rule = fc.record({
    domain: name,
    to: name,
    subdomains: fc.constantFrom<'keep' | 'map' | 'ignore'>('keep', 'map', 'ignore'),
  })

  it('a mapped cookie reaches no host whose origin would not have got it', () => {
    let kept = 0
    let dropped = 0
    fc.assert(
      fc.property(fc.array(rule, { minLength: 1, maxLength: 3 }), name, name, (rules, client, domain) => {
        const map = hostMapOf(rules)
        if (map === undefined) return
        const up = hostMapper(map.up)
        const before = scopeOf(`s=1; Domain=${domain}`, up(client))
        const cookie = mapped({ rules, client }, `s=1; Domain=${domain}`)
        if (cookie === `s=1; Domain=${domain}`) return
        const after = scopeOf(cookie, client)
        if (after === undefined) return
        expect(before).toBeDefined()
        if (cookie.includes('Domain')) kept++
        else dropped++
        for (const host of [...names, ...names.map((one) => `q.${one}`)]) {
          if (after(host) && !(before?.(up(host)) ?? false)) {
            throw new Error(`${JSON.stringify(rules)}: ${client} sets ${cookie}, which ${host} gets`)
          }
        }
      }),
      { numRuns: 3_000 },
    )
    expect(kept).toBeGreaterThan(10)
    expect(dropped).toBeGreaterThan(10)
  })
})

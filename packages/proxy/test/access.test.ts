import { describe, expect, test } from 'vitest'
import { Access } from '../src/access.ts'
import { CompiledSets, type DeferredRuleSet } from '../src/compiled-sets.ts'
import { HostTable } from '../src/host-table.ts'
import { errorPage } from '../src/own-pages.ts'
import { hashPassword, parsePasswordHash, PasswordCheck } from '../src/password-check.ts'
import { RateLimiter } from '../src/rate-limiter.ts'
import { compileRuleSet } from '@prexy/rewrite/rule-set'

/** `right`, hashed at the least cost, so that the tests take little. */
const HASH = '$scrypt$ln=10,r=8,p=1$c2FsdHNhbHRzYWx0c2FsdA$'
const NO_FIELDS: readonly string[] = []

describe('addresses', () => {
  test.each<[string, { allow?: string[]; deny?: string[] }, string | undefined, boolean]>([
    ['no list', {}, '192.0.2.1', true],
    ['no list, no address', {}, undefined, true],
    ['in the list', { allow: ['192.0.2.0/24'] }, '192.0.2.1', true],
    ['not in the list', { allow: ['192.0.2.0/24'] }, '198.51.100.1', false],
    ['not known', { allow: ['192.0.2.0/24'] }, undefined, false],
    ['no address', { allow: ['192.0.2.0/24'] }, 'unknown', false],
    ['denied', { deny: ['192.0.2.1'] }, '192.0.2.1', false],
    ['denied though allowed', { allow: ['192.0.2.0/24'], deny: ['192.0.2.1'] }, '192.0.2.1', false],
    ['beside the denied one', { allow: ['192.0.2.0/24'], deny: ['192.0.2.1'] }, '192.0.2.2', true],
    ['all of IPv6 is no IPv4', { allow: ['::/0'] }, '192.0.2.1', false],
    ['an IPv4 address in the form of IPv6', { deny: ['192.0.2.1'] }, '::ffff:192.0.2.1', false],
    ['a range of IPv6', { allow: ['2001:db8::/32'] }, '2001:db8:1::1', true],
  ])('%s', (_what, lists, address, passes) => {
    const refusal = new Access(lists).judge(address, NO_FIELDS, 0)
    expect(refusal).toEqual(passes ? undefined : expect.objectContaining({ code: 'E_FORBIDDEN', status: 403 }))
  })
})

describe('how often', () => {
  const limit = { name: 'x', requests: 2, seconds: 10, burst: 3 }

  test('a burst passes, then one for each share of the time', () => {
    const limiter = new RateLimiter(limit, 10)
    expect([0, 0, 0, 0].map((at) => limiter.take('a', at))).toEqual([0, 0, 0, 5])
    expect(limiter.take('a', 4_999)).toBe(1)
    expect(limiter.take('a', 5_000)).toBe(0)
    expect(limiter.take('a', 5_001)).toBe(5)
    // A rest fills the bucket, and no more than that.
    expect([0, 0, 0, 0].map(() => limiter.take('a', 1_000_000))).toEqual([0, 0, 0, 5])
  })

  test('each client has a bucket, and at most so many are kept', () => {
    const limiter = new RateLimiter({ ...limit, burst: 1 }, 2)
    expect(['a', 'b', 'a'].map((client) => limiter.take(client, 0))).toEqual([0, 0, 5])
    // The third client takes the place of b, which asked before a.
    expect(limiter.take('c', 0)).toBe(0)
    expect(limiter.clients).toBe(2)
    expect(limiter.take('a', 0)).toBe(5)
    expect(limiter.take('b', 0)).toBe(0)
  })

  test('a million addresses take the room of the limit', () => {
    const limiter = new RateLimiter(limit, 1_000)
    for (let n = 0; n < 1_000_000; n++) limiter.take(String(n), 0)
    expect(limiter.clients).toBe(1_000)
  })

  test('addresses of one /64 are one client, IPv4 addresses each its own', () => {
    const access = new Access({ rateLimiter: new RateLimiter({ ...limit, burst: 1 }, 10) })
    const passes = (address: string): boolean => access.judge(address, NO_FIELDS, 0) === undefined
    expect(['2001:db8::1', '2001:db8::2', '2001:db8:0:1::1'].map(passes)).toEqual([true, false, true])
    expect(['192.0.2.1', '192.0.2.2', '192.0.2.1', '::ffff:192.0.2.2'].map(passes)).toEqual([true, true, false, false])
  })

  test('says when to come again', () => {
    const access = new Access({ rateLimiter: new RateLimiter({ ...limit, burst: 1 }, 10) })
    expect(access.judge('192.0.2.1', NO_FIELDS, 0)).toBeUndefined()
    expect(access.judge('192.0.2.1', NO_FIELDS, 0)).toMatchObject({
      status: 429,
      fields: ['Retry-After', '5'],
      detail: 'rateLimit of x',
    })
  })
})

describe('passwords', () => {
  const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`

  test('what was printed is what is read, with another salt each time', async () => {
    const [one, other] = await Promise.all([hashPassword('pässword'), hashPassword('pässword')])
    expect(one).not.toBe(other)
    const check = new PasswordCheck('r', { a: one, b: other })
    expect(await check.check(basic('a:pässword'))).toBe('right')
    expect(await check.check(basic('b:pässword'))).toBe('right')
    expect(await check.check(basic('a:password'))).toBe('wrong')
  })

  test.each([
    ['no field', undefined],
    ['another scheme', 'Bearer abc'],
    ['no base64', 'Basic @@@'],
    ['no colon', basic('a')],
    ['a wrong name', basic('b:right')],
    ['a wrong password', basic('a:wrong')],
    ['an empty one', basic('a:')],
    ['too long', basic(`a:${'x'.repeat(5_000)}`)],
  ])('%s', async (_what, authorization) => {
    const { hash } = parsePasswordHash(`${HASH}${'A'.repeat(43)}`) ?? {}
    expect(hash?.length).toBe(32)
    const check = new PasswordCheck('r', { a: `${HASH}${'A'.repeat(43)}` })
    expect(await check.check(authorization)).toBe('wrong')
  })

  test('what was right is known, and asks for no hashing again', async () => {
    const check = new PasswordCheck('r', { a: await hashPassword('x') })
    const first = check.check(basic('a:x'))
    expect(first).toBeInstanceOf(Promise)
    await first
    expect(check.check(basic('a:x'))).toBe('right')
  })

  test('guesses that come faster than they can be hashed are turned away', async () => {
    const check = new PasswordCheck('r', { a: `${HASH}${'A'.repeat(43)}` })
    const verdicts = Array.from({ length: 100 }, (_, n) => check.check(basic(`a:${n}`)))
    expect(verdicts.filter((verdict) => verdict === 'busy').length).toBeGreaterThan(50)
    expect(new Set(await Promise.all(verdicts))).toEqual(new Set(['wrong', 'busy']))
    expect(await check.check(basic('a:again'))).toBe('wrong')
  })

  test.each([
    '',
    'secret',
    '$2y$05$abc',
    '$scrypt$ln=30,r=8,p=1$c2FsdHNhbHQ$AAAA',
    '$scrypt$ln=15,r=8,p=1$c2FsdHNhbHQ$AA',
  ])('is no hash: %s', (text) => {
    expect(parsePasswordHash(text)).toBeUndefined()
    expect(() => new PasswordCheck('r', { a: text })).toThrow('the password of a')
  })
})

describe('which site a host belongs to', () => {
  const table = new HostTable<string>()
  for (const host of ['a.example', '*.a.example', '*.b.a.example', 'X.b.a.example', '*.example']) table.add(host, host)
  test.each([
    ['a.example', 'a.example'],
    ['x.b.a.example', 'X.b.a.example'],
    ['y.b.a.example', '*.b.a.example'],
    ['b.a.example', '*.a.example'],
    ['ba.example', '*.example'],
    ['example', undefined],
    ['', undefined],
    ['.example', undefined],
    ['..example', '*.example'],
    ['other.org', undefined],
  ])('%s', (host, expected) => {
    expect(table.find(host)).toBe(expected)
  })
  test('a host has one site', () => {
    expect(() => table.add('A.example', 'z')).toThrow('belongs to two sites')
  })
})

describe('compiled sets', () => {
  const deferred = (key: string, compiled: string[]): DeferredRuleSet => ({
    key,
    rules: [],
    compile() {
      compiled.push(key)
      return compileRuleSet([])
    },
  })
  test('equal sets are compiled once, and the one that was used least recently is forgotten', () => {
    const compiled: string[] = []
    const forgotten: string[] = []
    const sets = new CompiledSets(2)
    const use = (key: string, user: string): { touch(): void; release(): void } =>
      sets.use(deferred(key, compiled), () => forgotten.push(user))
    const a = use('a', 'a1')
    use('b', 'b1')
    use('a', 'a2')
    a.touch()
    use('c', 'c1')
    expect([compiled, forgotten, sets.size]).toEqual([['a', 'b', 'c'], ['b1'], 2])
    use('b', 'b2')
    expect([compiled, forgotten]).toEqual([
      ['a', 'b', 'c', 'b'],
      ['b1', 'a1', 'a2'],
    ])
    // Who has let go of a set is not told.
    use('c', 'c2').release()
    use('b', 'b3')
    use('d', 'd1')
    expect(forgotten.slice(3)).toEqual(['c1'])
  })
})

describe('pages for errors', () => {
  const page = (text: string): { body: Uint8Array; type: string } => ({ body: Buffer.from(text), type: 'text/html' })
  const pages = { '502': page('<b>${status} ${reason} ä ${exchange} ${other}</b>'), '5xx': page('5'), '404': page('4') }
  test.each([
    [502, '<b>502 Bad Gateway ä 7 ${other}</b>'],
    [503, '5'],
    [404, '4'],
    [400, undefined],
  ])('%s', (status, expected) => {
    const found = errorPage(pages, status, 7)
    expect(found === undefined ? undefined : Buffer.from(found.body).toString()).toBe(expected)
  })
})

import { describe, expect, it } from 'vitest'
import { AddressCache, type AddressCacheInit, familiesInTurn, type Resolve } from '../src/address-cache.ts'

describe('addresses of both families', () => {
  it.each([
    { found: ['::1', '::2', '127.0.0.1'], tried: ['::1', '127.0.0.1', '::2'] },
    { found: ['127.0.0.1', '127.0.0.2', '::1', '::2', '::3'], tried: ['127.0.0.1', '::1', '127.0.0.2', '::2', '::3'] },
    { found: ['127.0.0.1', '127.0.0.1'], tried: ['127.0.0.1'] },
    { found: ['::1', '127.0.0.1', '::2'], preferred: '::2', tried: ['::2', '::1', '127.0.0.1'] },
    { found: ['::1', '127.0.0.1'], preferred: '10.0.0.1', tried: ['::1', '127.0.0.1'] },
    { found: [], tried: [] },
  ])('$found with $preferred first are tried as $tried', ({ found, preferred, tried }) => {
    expect(familiesInTurn(found, preferred)).toEqual(tried)
  })
})

type Answer = readonly string[] | Error

/** A cache whose lookups are answered by hand, and what it tells. */
function cacheOf(init: Partial<AddressCacheInit> = {}): {
  readonly cache: AddressCache
  /** Answers the lookup that is under way. */
  readonly answer: (answer: Answer) => void
  readonly pending: () => number
  readonly told: string[]
  /** What connecting would be given; an error's message. */
  readonly look: () => Promise<string>
} {
  const asked: Parameters<Resolve>[1][] = []
  const told: string[] = []
  const cache = new AddressCache({
    host: 'app.test',
    maxAgeMs: 60_000,
    resolve: (_host, done) => asked.push(done),
    onChange: (addresses) => told.push(`changed to ${addresses.join(' ')}`),
    onFailure: ({ message }) => told.push(`failed: ${message}`),
    ...init,
  })
  return {
    cache,
    answer: (answer) => {
      const done = asked.shift()
      if (answer instanceof Error) done?.(answer, [])
      else done?.(undefined, answer)
    },
    pending: () => asked.length,
    told,
    look: () =>
      new Promise((resolve) => {
        cache.lookup('app.test', { all: true }, (error, found) => {
          if (error !== null) resolve(error.message)
          else resolve(typeof found === 'string' ? found : found.map(({ address }) => address).join(' '))
        })
      }),
  }
}

describe('a name', () => {
  it('is looked up once for all that ask meanwhile, and not again while its addresses are young', async () => {
    const { look, answer, pending } = cacheOf()
    const both = [look(), look()]
    expect(pending()).toBe(1)
    answer(['10.0.0.1', '10.0.0.2'])
    expect(await Promise.all(both)).toEqual(['10.0.0.1 10.0.0.2', '10.0.0.1 10.0.0.2'])
    expect(await look()).toBe('10.0.0.1 10.0.0.2')
    expect(pending()).toBe(0)
  })

  it('that is not found fails for all that ask, and is asked for again', async () => {
    const { look, answer, told } = cacheOf()
    const first = look()
    answer(new Error('no such name'))
    expect(await first).toBe('no such name')
    const second = look()
    answer([])
    expect(await second).toBe('app.test has no address')
    expect(told).toEqual([])
  })

  it('keeps its old addresses while looking it up fails', async () => {
    const { look, answer, told } = cacheOf({ maxAgeMs: 0 })
    const first = look()
    answer(['10.0.0.1'])
    await first
    const second = look()
    answer(new Error('DNS is down'))
    expect(await second).toBe('10.0.0.1')
    expect(told).toEqual(['failed: DNS is down'])
  })

  it('keeps them, too, while a lookup takes longer than STALE_WAIT_MS', async () => {
    const { look, answer, pending } = cacheOf({ maxAgeMs: 0 })
    const first = look()
    answer(['10.0.0.1'])
    await first
    expect(await look()).toBe('10.0.0.1')
    expect(pending()).toBe(1)
  })

  it('tells of others, but not of another order, and begins with the one that answered last', async () => {
    const { cache, answer, told, look } = cacheOf()
    cache.refresh()
    answer(['10.0.0.1', '10.0.0.2'])
    cache.prefer('10.0.0.2')
    expect(await look()).toBe('10.0.0.2 10.0.0.1')
    cache.refresh()
    answer(['10.0.0.1', '10.0.0.2'])
    expect([told, await look()]).toEqual([[], '10.0.0.2 10.0.0.1'])
    cache.refresh()
    answer(['10.0.0.3', '10.0.0.2'])
    expect(told).toEqual(['changed to 10.0.0.2 10.0.0.3'])
  })

  it('leaves out what may not be connected to, and keeps nothing in its place', async () => {
    const { cache, answer, look } = cacheOf({ maxAgeMs: 0, allowsAddress: (address) => !address.startsWith('127.') })
    cache.refresh()
    answer(['127.0.0.1', '10.0.0.1'])
    expect(cache.addresses).toEqual(['10.0.0.1'])
    const second = look()
    answer(['127.0.0.1'])
    expect(await second).toBe('app.test has no address that may be connected to')
  })
})

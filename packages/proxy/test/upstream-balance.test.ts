import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Candidate, pickServer } from '../src/upstream-balance.ts'
import { Ejection } from '../src/upstream-ejection.ts'

interface Server extends Candidate {
  readonly name: string
  busy: number
}

function servers(...some: readonly (Partial<Server> & { readonly name: string })[]): Server[] {
  return some.map((one) => ({ weight: 1, backup: false, isUp: true, hasRoom: true, busy: 0, credit: 0, ...one }))
}

function picks(list: readonly Server[], count: number, tried: readonly Server[] = []): string {
  return Array.from({ length: count }, () => pickServer(list, 'round-robin', tried)?.name ?? '-').join(' ')
}

describe('round robin', () => {
  it.each([
    { what: 'takes each in turn', list: servers({ name: 'a' }, { name: 'b' }), order: 'a b a b a b' },
    {
      what: 'spreads the turns of a heavy one',
      list: servers({ name: 'a', weight: 5 }, { name: 'b' }, { name: 'c' }),
      order: 'a a b a c a a',
    },
    {
      what: 'leaves out what is down or full',
      list: servers({ name: 'a', isUp: false }, { name: 'b' }, { name: 'c', hasRoom: false }, { name: 'd' }),
      order: 'b d b d',
    },
    {
      what: 'leaves backups alone while another is up, though it is full',
      list: servers({ name: 'a', hasRoom: false }, { name: 'b', backup: true }),
      order: '- -',
    },
    {
      what: 'takes backups once no other is up',
      list: servers({ name: 'a', isUp: false }, { name: 'b', backup: true }, { name: 'c', backup: true }),
      order: 'b c b',
    },
    {
      what: 'takes all when none is up',
      list: servers({ name: 'a', isUp: false }, { name: 'b', isUp: false, backup: true }),
      order: 'a b a',
    },
  ])('$what', ({ list, order }) => {
    expect(picks(list, order.split(' ').length)).toBe(order)
  })

  it('takes a backup, and then what is down, for a request that was tried on the others', () => {
    const [a, b, c] = servers({ name: 'a' }, { name: 'b', backup: true }, { name: 'c', isUp: false })
    expect(picks([a, b, c], 2, [a])).toBe('b b')
    expect(picks([a, b, c], 2, [a, b])).toBe('c c')
    expect(picks([a, b, c], 1, [a, b, c])).toBe('-')
  })

  it('gives each its share exactly, whatever the weights', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 6 }), (weights) => {
        const list = servers(...weights.map((weight, index) => ({ name: String(index), weight })))
        const total = weights.reduce((sum, weight) => sum + weight, 0)
        const order = picks(list, total).split(' ')
        expect(weights.map((_, index) => order.filter((name) => name === String(index)).length)).toEqual(weights)
        expect(list.map(({ credit }) => credit)).toEqual(weights.map(() => 0))
      }),
      { numRuns: 200 },
    )
  })
})

describe('least connections', () => {
  it.each([
    { what: 'takes the least busy', busy: [2, 1, 3], weights: [1, 1, 1], taken: 'b b' },
    { what: 'takes equally busy ones in turn', busy: [1, 2, 1], weights: [1, 1, 1], taken: 'a c a c' },
    { what: 'counts requests by weight', busy: [3, 2, 9], weights: [2, 1, 9], taken: 'c' },
  ])('$what', ({ busy, weights, taken }) => {
    const list = servers(...['a', 'b', 'c'].map((name, index) => ({ name, busy: busy[index], weight: weights[index] })))
    const order = taken.split(' ').map(() => pickServer(list, 'least-connections', [])?.name)
    expect(order.join(' ')).toBe(taken)
  })
})

describe('ejection', () => {
  const limits = { failures: 3, windowMs: 1_000, baseMs: 100, maxMs: 350 }

  it('comes after so many failures in a row within the window', () => {
    const ejection = new Ejection(limits)
    expect([0, 400].map((now) => ejection.failed(now))).toEqual([false, false])
    ejection.answered()
    expect([500, 600, 1_601].map((now) => ejection.failed(now))).toEqual([false, false, false])
    // The first of the last three is 600: too long ago by now.
    expect(ejection.failed(1_602)).toBe(false)
    expect(ejection.failed(1_603)).toBe(true)
  })

  it('lasts twice as long each time, up to the most, and begins anew after that long without one', () => {
    const ejection = new Ejection(limits)
    const times: number[] = []
    let now = 0
    for (let i = 0; i < 4; i++) {
      const forMs = ejection.eject(now)
      times.push(forMs)
      now += forMs
      ejection.returned(now)
      now += 10
    }
    expect(times).toEqual([100, 200, 350, 350])
    expect(ejection.eject(now + 351)).toBe(100)
  })

  it('comes after one failure on trial, and after all of them once that is over', () => {
    const ejection = new Ejection(limits)
    ejection.eject(0)
    ejection.returned(100)
    expect([ejection.onTrial, ejection.failed(101)]).toEqual([true, true])
    ejection.eject(101)
    ejection.returned(301)
    ejection.answered()
    expect([ejection.onTrial, ejection.failed(302), ejection.failed(303), ejection.failed(304)]).toEqual([
      false,
      false,
      false,
      true,
    ])
  })

  it('never comes with failures: 0', () => {
    const ejection = new Ejection({ ...limits, failures: 0 })
    expect(Array.from({ length: 20 }, (_, now) => ejection.failed(now)).includes(true)).toBe(false)
  })
})

import { expect, test } from 'vitest'
import { Handovers, Holding } from '../src/handovers.ts'
import { HANDOVER_BURST, HANDOVERS_PER_SECOND, HandoverBudget, mayKeep } from '../src/intake-share.ts'
import type { Order } from '../src/worker-messages.ts'

test.each([
  // own, others, workers
  [0, 0, 2, true],
  [1, 0, 2, true],
  [2, 0, 2, true],
  [3, 0, 2, false],
  [5, 4, 2, true],
  [6, 3, 2, false],
  [10, 0, 1, true],
  [1, 14, 8, true],
  [56, 44, 2, true],
  [58, 42, 2, false],
])('with %i of its own and %i of others, one of %i workers keeps another: %s', (own, others, workers, keeps) => {
  expect(mayKeep(own, others, workers)).toBe(keeps)
})

test('whatever comes one after the other, no worker keeps more than its share and two, of many an eighth more', () => {
  for (const workers of [2, 3, 8]) {
    for (let total = 0; total < 300; total++) {
      let own = 0
      while (own < total && mayKeep(own, total - own - 1, workers)) own++
      const share = Math.ceil(total / workers)
      expect(own).toBeLessThanOrEqual(share + 1 + Math.floor(share / 8))
    }
  }
})

test('handing over is bounded in number and over time', () => {
  const budget = new HandoverBudget(0)
  let taken = 0
  while (budget.take(0)) taken++
  expect(taken).toBe(HANDOVER_BURST)
  while (budget.take(1_000)) taken++
  expect(taken).toBe(HANDOVER_BURST + HANDOVERS_PER_SECOND)
  while (budget.take(1_000_000)) taken++
  expect(taken).toBe(2 * HANDOVER_BURST + HANDOVERS_PER_SECOND)
})

function primary(...open: number[]): { readonly handovers: Handovers; readonly sent: [number, Order][] } {
  const holdings = new Map<number, Holding>()
  for (const [index, count] of open.entries()) {
    const holding = new Holding()
    holding.open = count
    holdings.set(index + 1, holding)
  }
  const sent: [number, Order][] = []
  return { sent, handovers: new Handovers(holdings, (to, order) => sent.push([to, order])) }
}

test('the first that answers and has no more gets it', () => {
  const { handovers, sent } = primary(5, 2, 3)
  handovers.onOffer(1, { kind: 'offer', id: 7, open: 5 })
  expect(sent.splice(0)).toEqual([
    [2, { kind: 'ask', offer: 1 }],
    [3, { kind: 'ask', offer: 1 }],
  ])
  handovers.onFree(3, { kind: 'free', offer: 1, open: 3 })
  expect(sent.splice(0)).toEqual([[1, { kind: 'give', id: 7, offer: 1, to: 3 }]])
  handovers.onFree(2, { kind: 'free', offer: 1, open: 2 })
  expect(sent).toEqual([])
})

test('counts of answers are believed, and what is on its way counts', () => {
  const { handovers, sent } = primary(2, 0)
  for (const id of [1, 2]) handovers.onOffer(1, { kind: 'offer', id, open: 2 })
  sent.length = 0
  handovers.onFree(2, { kind: 'free', offer: 1, open: 2 })
  handovers.onFree(2, { kind: 'free', offer: 2, open: 2 })
  expect(sent.splice(0)).toEqual([
    [1, { kind: 'give', id: 1, offer: 1, to: 2 }],
    [1, { kind: 'keep', id: 2 }],
  ])
  // The giver kept it after all, so there is room again: its own count is 3 now.
  handovers.onKept({ kind: 'kept', offer: 1, to: 2 })
  handovers.onOffer(1, { kind: 'offer', id: 3, open: 3 })
  sent.length = 0
  handovers.onFree(2, { kind: 'free', offer: 3, open: 3 })
  expect(sent).toEqual([[1, { kind: 'give', id: 3, offer: 3, to: 2 }]])
})

test('without anybody else a connection is kept', () => {
  const { handovers, sent } = primary(5)
  handovers.onOffer(1, { kind: 'offer', id: 7, open: 5 })
  expect(sent).toEqual([[1, { kind: 'keep', id: 7 }]])
})

test('each is told how many the others hold', () => {
  const { handovers, sent } = primary(5, 2, 3)
  handovers.tellCounts()
  expect(sent).toEqual([
    [1, { kind: 'others', open: 5 }],
    [2, { kind: 'others', open: 8 }],
    [3, { kind: 'others', open: 7 }],
  ])
})

import { type LiveBatch, LiveFeed } from '@prexy/record/live-feed'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const event = (number: number, bytes = 1): Uint8Array => new Uint8Array(bytes).fill(number)
const numbers = (batch: LiveBatch | undefined): number[] => (batch?.events ?? []).map((bytes) => bytes[0])

function feedOf(count: number, limits: ConstructorParameters<typeof LiveFeed>[0] = {}): LiveFeed {
  const feed = new LiveFeed(limits)
  for (let number = 1; number <= count; number++) feed.publish(event(number))
  return feed
}

describe('a viewer', () => {
  test('sees what comes after it did, and is told once until it has taken all', () => {
    const feed = feedOf(3)
    let told = 0
    const viewer = feed.subscribe({}, () => told++)
    expect(viewer?.take(100)).toBeUndefined()
    feed.publish(event(4))
    feed.publish(event(5))
    expect(told).toBe(1)
    expect(viewer?.take(100)).toEqual({ sequence: 4, events: [event(4), event(5)], dropped: 0 })
    feed.publish(event(6))
    expect(told).toBe(2)
    expect(numbers(viewer?.take(100))).toEqual([6])
    expect(viewer?.take(100)).toBeUndefined()
  })

  test('takes so many bytes, and one event however large', () => {
    const feed = new LiveFeed()
    const viewer = feed.subscribe({}, () => {})
    for (const [number, bytes] of [
      [1, 5],
      [2, 5],
      [3, 50],
      [4, 1],
    ])
      feed.publish(event(number, bytes))
    expect(numbers(viewer?.take(10))).toEqual([1, 2])
    expect(numbers(viewer?.take(10))).toEqual([3])
    expect(numbers(viewer?.take(10))).toEqual([4])
  })

  test('that does not keep up is told how many it missed, and costs the others nothing', () => {
    const feed = feedOf(0, { maxEvents: 4 })
    const slow = feed.subscribe({}, () => {})
    const fast = feed.subscribe({}, () => {})
    for (let number = 1; number <= 10; number++) {
      feed.publish(event(number))
      expect(numbers(fast?.take(100))).toEqual([number])
    }
    expect(slow?.take(100)).toEqual({ sequence: 7, events: [7, 8, 9, 10].map((n) => event(n)), dropped: 6 })
    expect(slow?.dropped).toBe(6)
    expect(fast?.dropped).toBe(0)
  })

  test.each([
    ['where it was', 3, [4, 5], 0],
    ['at the end', 5, [], 0],
    ['before what is kept', 0, [3, 4, 5], 2],
    ['beyond the end', 99, [], 0],
  ])('that comes back goes on %s', (_where, sequence, seen, dropped) => {
    const feed = feedOf(5, { maxEvents: 3 })
    const batch = feed.subscribe({ after: { feed: feed.id, sequence } }, () => {})?.take(100)
    expect(numbers(batch)).toEqual(seen)
    expect(batch?.dropped ?? 0).toBe(dropped)
  })

  test('that comes back to another feed begins with the oldest event', () => {
    const feed = feedOf(2)
    expect(numbers(feed.subscribe({ after: { feed: 'another', sequence: 77 } }, () => {})?.take(9))).toEqual([1, 2])
    expect(numbers(feed.subscribe({ fromOldest: true }, () => {})?.take(9))).toEqual([1, 2])
  })
})

test('keeps no more than maxEvents and maxBytes', () => {
  const feed = feedOf(0, { maxEvents: 5, maxBytes: 10 })
  for (let number = 1; number <= 20; number++) {
    feed.publish(event(number, (number % 4) + 1))
    expect(feed.keptBytes).toBeLessThanOrEqual(10)
    expect(feed.newest - feed.oldest + 1).toBeLessThanOrEqual(5)
    expect(feed.at(number)?.length).toBe((number % 4) + 1)
  }
  feed.publish(event(21, 999))
  expect([feed.oldest, feed.newest, feed.keptBytes]).toEqual([22, 21, 0])
  feed.publish(event(22))
  expect(feed.at(22)).toEqual(event(22))
})

test('keeps events as they were, wherever the memory ends, and the last ones that fit', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 1, max: 40 }),
      fc.array(fc.integer({ min: 0, max: 45 }), { maxLength: 60 }),
      (maxEvents, maxBytes, sizes) => {
        const feed = new LiveFeed({ maxEvents, maxBytes })
        const viewer = feed.subscribe({}, () => {})
        let seen = 0
        for (const [at, size] of sizes.entries()) {
          feed.publish(event(at + 1, size))
          expect(feed.newest).toBe(at + 1)
          expect(feed.keptBytes).toBeLessThanOrEqual(maxBytes)
          expect(feed.at(at + 1)).toEqual(size > maxBytes ? undefined : event(at + 1, size))
          for (let kept = feed.oldest; kept <= feed.newest; kept++) {
            expect(feed.at(kept)).toEqual(event(kept, sizes[kept - 1]))
          }
          if (size % 3 !== 0) continue
          const batch = viewer?.take(1_000)
          expect(batch?.sequence).toBe(seen + (batch?.dropped ?? 0) + 1)
          seen += (batch?.dropped ?? 0) + (batch?.events.length ?? 0)
          expect(seen).toBe(at + 1)
        }
      },
    ),
  )
})

test('has maxViewers viewers, and says when it is watched', () => {
  const watched: boolean[] = []
  const feed = new LiveFeed({ maxViewers: 2 }, (isWatched) => watched.push(isWatched))
  const one = feed.subscribe({}, () => {})
  const two = feed.subscribe({}, () => {})
  expect(feed.subscribe({}, () => {})).toBeUndefined()
  one?.close()
  one?.close()
  expect([feed.viewers, watched]).toEqual([1, [true]])
  two?.close()
  expect([feed.viewers, watched]).toEqual([0, [true, false]])
})

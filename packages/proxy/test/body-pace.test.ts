import { TimerWheel } from '@prexy/net/timer-wheel'
import { expect, it } from 'vitest'
import { BodyPace } from '../src/body-pace.ts'

const TICK_MS = 250

function wheelAndPace(bytesPerSecond: number): { pass: (ms: number) => void; pace: BodyPace } {
  const wheel = new TimerWheel({ drive: 'manual' })
  return { pass: (ms) => wheel.advance(ms / TICK_MS), pace: new BodyPace(wheel, 10_000, bytesPerSecond) }
}

it('waiting uses the grace up, and octets give it back, up to what there was', () => {
  const { pass, pace } = wheelAndPace(100)
  expect(pace.wait(0)).toBe(10_000)
  pass(4_000)
  expect(pace.wait(0)).toBe(6_000)
  pass(1_000)
  expect(pace.wait(200)).toBe(7_000)
  expect(pace.wait(1_000_000)).toBe(10_000)
  pass(20_000)
  expect(pace.wait(1_000_001)).toBe(0)
})

it('time in which nobody waits does not count', () => {
  const { pass, pace } = wheelAndPace(100)
  pace.wait(0)
  pass(4_000)
  pace.rest()
  pass(60_000)
  pace.rest()
  expect(pace.wait(0)).toBe(6_000)
})

it('without a least rate there is always time', () => {
  const { pass, pace } = wheelAndPace(0)
  pace.wait(0)
  pass(60_000)
  expect(pace.wait(0)).toBeGreaterThan(0)
  pass(60_000)
  expect(pace.wait(1)).toBeGreaterThan(0)
})

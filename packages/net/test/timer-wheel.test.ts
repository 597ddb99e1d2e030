import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Timer, TimerWheel } from '../src/timer-wheel.ts'

const TICK = 100

function manual(): TimerWheel {
  return new TimerWheel({ tickMs: TICK, drive: 'manual' })
}

it('never fires early, and at most two ticks late, for any delay', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100_000 }), fc.integer({ min: 0, max: 300 }), (delay, before) => {
      const wheel = manual()
      wheel.advance(before)
      let at = -1
      let now = 0
      const timer = new Timer(wheel, () => {
        at = now
      })
      timer.arm(delay)
      while (at === -1) {
        now += TICK
        wheel.advance(1)
      }
      // `now` may be almost one tick more than what passed, because the timer was armed within a tick.
      return now - TICK >= delay && now <= delay + 2 * TICK && !timer.armed
    }),
  )
})

it('any sequence of arming, disarming and passing time fires like a plain list of deadlines', () => {
  const command = fc.oneof(
    fc.record({ kind: fc.constant('arm' as const), timer: fc.nat(4), delay: fc.integer({ min: 0, max: 60_000 }) }),
    fc.record({ kind: fc.constant('disarm' as const), timer: fc.nat(4) }),
    fc.record({ kind: fc.constant('release' as const), timer: fc.nat(4) }),
    fc.record({ kind: fc.constant('pass' as const), ticks: fc.integer({ min: 1, max: 400 }) }),
  )
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      const wheel = manual()
      let tick = 0
      const fired: string[] = []
      const expected: string[] = []
      const deadlines: (number | undefined)[] = Array.from({ length: 5 }, () => undefined)
      const timers = deadlines.map((_, i) => new Timer(wheel, () => fired.push(`${i}@${tick}`)))
      for (const step of commands) {
        if (step.kind === 'arm') {
          timers[step.timer].arm(step.delay)
          deadlines[step.timer] = tick + Math.ceil(step.delay / TICK) + 1
        } else if (step.kind === 'pass') {
          for (let i = 0; i < step.ticks; i++) {
            tick++
            for (const [timer, deadline] of deadlines.entries()) {
              if (deadline !== tick) continue
              expected.push(`${timer}@${tick}`)
              deadlines[timer] = undefined
            }
            wheel.advance(1)
          }
        } else {
          timers[step.timer][step.kind]()
          deadlines[step.timer] = undefined
        }
      }
      expect(fired.toSorted()).toEqual(expected.toSorted())
      for (const timer of timers) timer.release()
      expect(wheel.linked).toBe(0)
    }),
  )
})

it('handlers may arm, disarm and release any timer', () => {
  const wheel = manual()
  const fired: string[] = []
  const again = new Timer(wheel, () => {
    fired.push('again')
    if (fired.length < 3) again.arm(TICK)
  })
  const victim = new Timer(wheel, () => fired.push('victim'))
  const killer = new Timer(wheel, () => {
    fired.push('killer')
    victim.release()
  })
  again.arm(0)
  wheel.advance(10)
  expect(fired).toEqual(['again', 'again', 'again'])
  // Later linked timers come first in a slot.
  victim.arm(TICK)
  killer.arm(TICK)
  wheel.advance(5)
  expect(fired.slice(3)).toEqual(['killer'])
})

it('runs by itself, and stops its interval when no timer is linked', async () => {
  const wheel = new TimerWheel({ tickMs: 5 })
  await new Promise<void>((resolve) => new Timer(wheel, resolve).arm(10))
  expect(wheel.linked).toBe(0)
})

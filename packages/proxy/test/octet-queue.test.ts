import { RequestParser } from '@prexy/http/request-parser'
import { plainResponse } from '@prexy/testing/raw-origin'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { OctetQueue } from '../src/octet-queue.ts'
import { setUp } from './harness.ts'

describe('octets that wait', () => {
  it('come out in order, whatever is put in, taken and put back', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('push' as const), bytes: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.nat(3_000)) }),
      fc.record({ kind: fc.constant('take' as const), bytes: fc.nat(3_000) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = new OctetQueue()
        const taken: Uint8Array[] = []
        let model = Buffer.alloc(0)
        let next = 0
        for (const { kind, bytes } of steps) {
          if (kind === 'push') {
            const chunk = Uint8Array.from({ length: bytes }, () => next++ & 0xff)
            queue.push(chunk)
            model = Buffer.concat([model, chunk])
          } else {
            const chunk = queue.take()
            if (chunk === undefined) continue
            const used = Math.min(bytes, chunk.length)
            taken.push(chunk.subarray(0, used))
            queue.putBack(chunk.subarray(used))
          }
          expect(queue.bytes).toBe(model.length - taken.reduce((sum, { length }) => sum + length, 0))
        }
        for (let chunk = queue.take(); chunk !== undefined; chunk = queue.take()) taken.push(chunk)
        expect(queue.empty).toBe(true)
        // Also that nothing was written over what had been taken.
        expect(Buffer.concat(taken).equals(model)).toBe(true)
      }),
    )
  })

  it('one by one are few chunks', () => {
    const queue = new OctetQueue()
    for (let i = 0; i < 65_536; i++) queue.push(Uint8Array.of(i & 0xff))
    let chunks = 0
    while (queue.take() !== undefined) chunks++
    expect(chunks).toBe(16)
  })
})

it('a later request that comes octet by octet is parsed in few steps once its turn has come', async () => {
  let answer = (): void => {}
  await using setup = await setUp({
    script: async (connection) => {
      await connection.readRequest()
      await new Promise<void>((resolve) => {
        answer = resolve
      })
      await connection.send(plainResponse('first'))
      await connection.readRequest()
      await connection.send(plainResponse('second'))
      await connection.ended
    },
  })
  const client = await setup.connect()
  await client.send('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n')
  await setup.reached('upstream-connected')
  const later = `GET /2 HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(3_000)}\r\n\r\n`
  for (const octet of later) {
    await client.send(octet)
    await new Promise(setImmediate)
  }
  const read = vi.spyOn(RequestParser.prototype, 'read')
  answer()
  expect((await client.readResponse()).body.toString()).toBe('first')
  expect((await client.readResponse()).body.toString()).toBe('second')
  const steps = read.mock.calls.length
  read.mockRestore()
  expect(steps).toBeLessThan(20)
  expect(setup.events.length).toBe(2)
})

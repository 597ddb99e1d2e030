import { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { buffer } from 'node:stream/consumers'
import { createNodeTransform } from '@prexy/net/node-transform'
import { RewriteAborted } from '@prexy/rewrite/rewriter'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { expect, test } from 'vitest'

const ab = compileRuleSet([{ text: 'ab', with: '<ab>' }])

test.each([
  [[], ''],
  [['ab'], '<ab>'],
  [['a', 'b', 'a'], '<ab>a'],
])('%j becomes %j', async (chunks, expected) => {
  const source = Readable.from(chunks.map((chunk) => Buffer.from(chunk)))
  const result = await buffer(source.pipe(createNodeTransform((sink) => ab.createRewriter(sink))))
  expect(result.toString()).toBe(expected)
})

test('a reader that stops reading stops the writer in the middle of a chunk', async () => {
  const thousandfold = compileRuleSet([{ text: 'a', with: 'b'.repeat(1_000) }])
  const transform = createNodeTransform((sink) => thousandfold.createRewriter(sink))
  let length = 0
  let largest = 0
  const slow = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, callback) {
      length += chunk.length
      largest = Math.max(largest, transform.readableLength)
      setImmediate(callback)
    },
  })
  await pipeline(Readable.from([Buffer.from('a'.repeat(10_000))]), transform, slow)
  expect(length).toBe(10_000_000)
  expect(largest).toBeLessThan(400_000)
})

test('overflow: abort destroys the stream', async () => {
  const set = compileRuleSet([{ regex: 'x.*y', with: '$&' }], { maxHeldBytes: 4, overflow: 'abort' })
  const transform = createNodeTransform((sink) => set.createRewriter(sink))
  const done = pipeline(
    Readable.from([Buffer.from('x123456789')]),
    transform,
    new Writable({ write: (_c, _e, done) => done() }),
  )
  await expect(done).rejects.toThrow(RewriteAborted)
})

test('destroying the stream abandons the rewriter', async () => {
  let abandoned = 0
  const transform = createNodeTransform(() => ({
    write: (chunk) => chunk.length,
    blocked: false,
    end: () => true,
    abandon: () => {
      abandoned++
    },
  }))
  transform.destroy()
  await new Promise((resolve) => transform.once('close', resolve))
  expect(abandoned).toBe(1)
})

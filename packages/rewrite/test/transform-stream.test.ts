import { describe, expect, test } from 'vitest'
import { RewriteAborted } from '../src/rewriter.ts'
import { compileRuleSet } from '../src/rule-set.ts'
import { createRewriteStream } from '../src/transform-stream.ts'

function bodyOf(chunks: readonly string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      controller.close()
    },
  })
}

const ab = compileRuleSet([{ text: 'ab', with: '<ab>' }])

describe('createRewriteStream', () => {
  test.each([
    [[], ''],
    [['ab'], '<ab>'],
    [['a', 'b', 'a'], '<ab>a'],
    [['', 'xa', '', 'bx', ''], 'x<ab>x'],
  ])('%j becomes %j', async (chunks, expected) => {
    const readable = bodyOf(chunks).pipeThrough(createRewriteStream(ab))
    expect(await new Response(readable).text()).toBe(expected)
  })

  test('what comes out is the reader’s to keep', async () => {
    const kept: Uint8Array[] = []
    const reader = bodyOf(['xab', 'yab', 'z']).pipeThrough(createRewriteStream(ab)).getReader()
    for (let result = await reader.read(); !result.done; result = await reader.read()) kept.push(result.value)
    expect(kept.map((chunk) => new TextDecoder().decode(chunk)).join('')).toBe('x<ab>y<ab>z')
  })

  test('variables', async () => {
    const set = compileRuleSet([{ regex: 'h', with: '${host}' }])
    const readable = bodyOf(['h']).pipeThrough(createRewriteStream(set, { variables: { host: 'a.example' } }))
    expect(await new Response(readable).text()).toBe('a.example')
  })

  test('a reader that stops reading stops the writer in the middle of a chunk', async () => {
    const thousandfold = compileRuleSet([{ text: 'a', with: 'b'.repeat(1_000) }])
    const { readable, writable } = createRewriteStream(thousandfold)
    const writer = writable.getWriter()
    let written = false
    const writing = writer.write(new TextEncoder().encode('a'.repeat(10_000))).then(() => {
      written = true
    })
    const reader = readable.getReader()
    let length = 0
    for (let reads = 0; reads < 5; reads++) {
      const { value } = await reader.read()
      length += value?.length ?? 0
      expect(value?.length).toBeLessThan(200_000)
    }
    expect(written).toBe(false)
    const closing = writing.then(() => writer.close())
    for (let result = await reader.read(); !result.done; result = await reader.read()) length += result.value.length
    await closing
    expect(length).toBe(10_000_000)
  })

  test('overflow: abort fails the readable end', async () => {
    const set = compileRuleSet([{ regex: 'x.*y', with: '$&' }], { maxHeldBytes: 4, overflow: 'abort' })
    const readable = bodyOf(['ab', 'x123456789']).pipeThrough(createRewriteStream(set))
    await expect(new Response(readable).text()).rejects.toThrow(RewriteAborted)
  })

  test('a reader that cancels ends the writer', async () => {
    const { readable, writable } = createRewriteStream(ab)
    const writer = writable.getWriter()
    await readable.cancel(new Error('enough'))
    await expect(writer.write(new Uint8Array(1))).rejects.toThrow('enough')
  })

  test('a writer that aborts ends the reader', async () => {
    const { readable, writable } = createRewriteStream(ab)
    const reading = new Response(readable).text()
    await writable.abort(new Error('broken'))
    await expect(reading).rejects.toThrow('broken')
  })
})

/** What decoded objects are made of, however they were built: key by key, by a constructor of the pool, by a known shape. */
import { Decoder, decode } from '@prexy/msgpack/decode'
import { encode } from '@prexy/msgpack/encode'
import fc from 'fast-check'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext, runInThisContext } from 'node:vm'
import { describe, expect, test } from 'vitest'

const isBun = process.versions.bun !== undefined

test.each([1, 2, 10, 15, 16, 19, 20, 24, 31, 32, 33, 60])(
  'an object of %d keys is the same the first time and the hundredth',
  (size) => {
    const value = Object.fromEntries(
      Array.from({ length: size }, (_, i) => [`of-${size}-${i}`, i % 3 === 0 ? `v${i}` : i / 2]),
    )
    const bytes = encode(value)
    const first = JSON.stringify(decode(bytes))
    expect(first).toBe(JSON.stringify(value))
    for (let round = 0; round < 100; round++) {
      const decoded: unknown = decode(bytes)
      expect(JSON.stringify(decoded)).toBe(first)
      expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype)
    }
  },
)

test('objects of 20 to 60 keys never become dictionaries in V8', (context) => {
  if (isBun) return context.skip('the engine of Bun cannot be asked in which mode an object is')
  setFlagsFromString('--allow-natives-syntax')
  const hasFastProperties = runInThisContext('(object) => %HasFastProperties(object)') as (object: unknown) => boolean
  for (let size = 20; size <= 60; size++) {
    const bytes = encode(Object.fromEntries(Array.from({ length: size }, (_, i) => [`fast-${size}-${i}`, i])))
    for (let round = 0; round < 40; round++) expect(hasFastProperties(decode(bytes)), `${size} keys`).toBe(true)
  }
})

test('maps that share their first keys and then differ keep apart', () => {
  const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'dd', 'eee', 'ffff', 'a-longer-key', 'a-longer-kez'), {
    maxLength: 6,
  })
  const object = keys.map((names) => Object.fromEntries(names.map((name, i) => [name, `${name}${i}`])))
  fc.assert(
    fc.property(fc.array(object, { minLength: 10, maxLength: 60 }), (objects) => {
      expect(decode(encode(objects))).toEqual(objects)
    }),
    { numRuns: 100, interruptAfterTimeLimit: 5_000 },
  )
})

test('the values of nested maps do not get into each other', () => {
  const value = { a: { b: { c: 1, d: 2 }, e: [{ b: 1 }, { b: { c: 3, d: 4 } }] }, f: 5 }
  for (let round = 0; round < 50; round++) expect(decode(encode(value))).toEqual(value)
})

test('thousands of different keys are read, and the shapes known before still are', () => {
  const steady = encode({ steadyA: 1, steadyB: 'two' })
  for (let i = 0; i < 6_000; i++) {
    const value = { [`k${i}`]: i, [`l${i * 7}`]: 'x', steadyA: 0 }
    if (JSON.stringify(decode(encode(value))) !== JSON.stringify(value)) throw new Error(`wrong for ${i}`)
    if (i % 100 === 0) expect(decode(steady)).toEqual({ steadyA: 1, steadyB: 'two' })
  }
})

describe('a known shape', () => {
  const keys = ['kind', 'size']
  let made = 0
  const decoder = new Decoder({
    shapes: [
      {
        keys,
        make: (values, base) => {
          made++
          return { kind: values[base], size: values[base + 1] }
        },
      },
    ],
  })

  test('is made by its literal, from the first map on', () => {
    made = 0
    expect(
      decoder.decode(
        encode([
          { kind: 'a', size: 1 },
          { kind: 'b', size: [2] },
        ]),
      ),
    ).toEqual([
      { kind: 'a', size: 1 },
      { kind: 'b', size: [2] },
    ])
    expect(made).toBe(2)
  })

  test('is told from others', () => {
    made = 0
    const others = [{ kind: 'a' }, { size: 1, kind: 'a' }, { kind: 'a', size: 1, more: 2 }]
    expect(decoder.decode(encode(others))).toEqual(others)
    expect(made).toBe(0)
  })
})

test('a decoder keeps neither its input nor what it made of it', async (context) => {
  if (isBun) return context.skip('the collector of Bun looks at the stack, and keeps what it takes for a reference')
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const decoder = new Decoder()
  function run(): WeakRef<object>[] {
    const input = encode({ a: { b: 'x'.repeat(1_000) }, list: [[1]] })
    const value = decoder.decode(input) as { a: object; list: object }
    const broken = encode({ first: ['y'.repeat(50)], then: { a: [1], b: 2 } })
    expect(() => decoder.decode(broken.subarray(0, broken.length - 1))).toThrow('Insufficient')
    return [input.buffer, broken.buffer, value, value.a, value.list].map((held) => new WeakRef(held))
  }
  const held = run()
  // What a weak reference was just made to lives until the current task ends.
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  expect(held.map((reference) => reference.deref())).toEqual(new Array(5).fill(undefined))
})

describe('strings that come again', () => {
  test('are the same for keys of every length and at every place of the input', () => {
    const text = fc.string({ unit: 'binary', maxLength: 140 })
    fc.assert(
      fc.property(fc.array(text, { maxLength: 30 }), fc.nat(40), (texts, shift) => {
        const value = ['x'.repeat(shift), ...texts, ...texts]
        expect(decode(encode(value))).toEqual(value)
      }),
      { numRuns: 300, interruptAfterTimeLimit: 5_000 },
    )
  })

  test('that share ends and length are told apart', () => {
    for (let size = 2; size <= 140; size++) {
      const texts = Array.from({ length: size }, (_, i) => `${'a'.repeat(i)}b${'a'.repeat(size - i - 1)}`)
      const value = [...texts, ...texts]
      if (JSON.stringify(decode(encode(value))) !== JSON.stringify(value)) throw new Error(`wrong for ${size}`)
    }
  })
})

/** Round trips against two other codecs, over generated values, and mutations of what they wrote. */
import { decode as theirDecode, encode as theirEncode } from '@msgpack/msgpack'
import { decode, Decoder } from '@prexy/msgpack/decode'
import { encode } from '@prexy/msgpack/encode'
import { DecodeError } from '@prexy/msgpack/errors'
import fc from 'fast-check'
import { Packr } from 'msgpackr'
import { expect, test } from 'vitest'
import { toHex } from './format-table.ts'

const isLong = process.env.PREXY_LONG !== undefined
const RUNS = isLong ? 20_000 : 300
/** A failure is shrunk no longer than this. */
const LIMIT = { numRuns: RUNS, interruptAfterTimeLimit: isLong ? 300_000 : 8_000 }

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ maxLength: 20 }),
  fc.constantFrom('a', 'ab', 'kind', 'a'.repeat(31), 'ä'.repeat(16), '€'.repeat(90), 'x'.repeat(300)),
)
const key = fc
  .oneof(text, fc.constantFrom('id', 'name', 'kind', 'payload', '0', '12', 'constructor'))
  .filter((name) => name !== '__proto__')
const scalar = fc.oneof(
  text,
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.uint8Array({ maxLength: 40 }),
  fc.date({ noInvalidDate: true }),
)
const { value: anything } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalar, fc.array(tie('value'), { maxLength: 5 }), tie('map')),
  map: fc.array(fc.tuple(key, tie('value')), { maxLength: 6 }).map((pairs) => Object.fromEntries(pairs)),
}))

/** -0 is where we differ on purpose: we keep it. */
const hasNegativeZero = (value: unknown): boolean =>
  Object.is(value, -0) ||
  (typeof value === 'object' &&
    value !== null &&
    !ArrayBuffer.isView(value) &&
    Object.values(value).some(hasNegativeZero))

test('what we write, we read', () => {
  fc.assert(
    fc.property(anything, (value) => {
      expect(decode(encode(value))).toEqual(value)
    }),
    LIMIT,
  )
})

test('we write the bytes that @msgpack/msgpack writes', () => {
  fc.assert(
    fc.property(anything, (value) => {
      fc.pre(!hasNegativeZero(value))
      expect(toHex(encode(value))).toBe(toHex(theirEncode(value)))
    }),
    LIMIT,
  )
})

test('we write with sorted keys, floats and without undefined as @msgpack/msgpack does', () => {
  const withUndefined = fc.dictionary(fc.string({ maxLength: 3 }), fc.oneof(anything, fc.constant(undefined)))
  const options = fc.record({
    sortKeys: fc.boolean(),
    ignoreUndefined: fc.boolean(),
    forceFloat32: fc.boolean(),
    forceIntegerToFloat: fc.boolean(),
  })
  fc.assert(
    fc.property(withUndefined, options, (value, choice) => {
      fc.pre(!hasNegativeZero(value))
      expect(toHex(encode(value, choice))).toBe(toHex(theirEncode(value, choice)))
    }),
    LIMIT,
  )
})

test('we read what msgpackr writes, and it reads what we write', () => {
  const packr = new Packr({ useRecords: false, variableMapSize: true, int64AsType: 'number' })
  // It cuts milliseconds of dates before 1970 and renames no key but __proto__.
  fc.assert(
    fc.property(anything, (value) => {
      const written = new Uint8Array(packr.pack(value))
      expect(decode(written)).toEqual(theirDecode(written, { useBigInt64: false }))
      expect(decode(encode(packr.unpack(encode(value))))).toEqual(packr.unpack(encode(value)))
    }),
    LIMIT,
  )
})

test('damaged input gives a value or an error, and the decoder is as good as before', () => {
  const decoder = new Decoder()
  const mutation = fc.record({ at: fc.nat(), byte: fc.nat(255), cut: fc.nat(3) })
  fc.assert(
    fc.property(anything, fc.array(mutation, { minLength: 1, maxLength: 4 }), (value, mutations) => {
      const bytes = encode(value)
      for (const { at, byte } of mutations) bytes[at % bytes.length] = byte
      const input = bytes.subarray(0, Math.max(1, bytes.length - mutations[0].cut))
      let ours: unknown
      let isOurs = true
      try {
        ours = decoder.decode(input)
      } catch (error) {
        expect(error).toBeInstanceOf(DecodeError)
        expect((error as DecodeError).offset).toBeLessThanOrEqual(input.length)
        isOurs = false
      }
      expect(decoder.decode(encode({ a: [1, 'x'] }))).toEqual({ a: [1, 'x'] })
      if (isOurs) expect(decoder.decode(encode(ours))).toEqual(ours)
    }),
    { ...LIMIT, numRuns: RUNS * 3 },
  )
})

test('random bytes never raise anything but a DecodeError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), (bytes) => {
      try {
        decode(bytes)
      } catch (error) {
        expect(error).toBeInstanceOf(DecodeError)
      }
    }),
    { ...LIMIT, numRuns: RUNS * 3 },
  )
})

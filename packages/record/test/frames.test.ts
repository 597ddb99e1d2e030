import { encode } from '@prexy/msgpack/encode'
import { decodeMulti } from '@prexy/msgpack/decode'
import { crc32 } from '@prexy/bytes/crc32.hot'
import { type Damage, encodeFrame, type Frame, FrameScanner, MARK_BYTES, MAX_FRAME_BYTES } from '@prexy/record/frames'
import { decodeHeader, encodeHeader, encodeIndex } from '@prexy/record/segment-header'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const SALT = 0x5eed_1234
const HEADER = { run: '4f2a9c01', number: 1, session: 's', createdAtMs: 1_764_547_200_000, salt: SALT }

interface Made {
  readonly bytes: Uint8Array
  /** Where each frame of events begins and ends. */
  readonly frames: readonly { readonly start: number; readonly end: number; readonly value: number }[]
}

/** Frame `n` holds the map `{ n }` and as many octets of padding as `sizes` says. */
function makeSegment(sizes: readonly number[]): Made {
  const parts = [encodeHeader(HEADER)]
  let offset = parts[0].length
  const frames = sizes.map((size, value) => {
    const frame = encodeFrame('events', 1, encode({ n: value, pad: new Uint8Array(size).fill(value) }), offset, SALT)
    parts.push(frame)
    const start = offset
    offset += frame.length
    return { start, end: offset, value }
  })
  return { bytes: Buffer.concat(parts), frames }
}

function saltOf(payload: Uint8Array): number | undefined {
  const header = decodeHeader(payload)
  return typeof header === 'string' ? undefined : header.salt
}

interface Scanned {
  readonly values: number[]
  readonly damages: Damage[]
}

function scan(bytes: Uint8Array, cut: (bytes: Uint8Array) => readonly Uint8Array[] = (all) => [all]): Scanned {
  const scanner = new FrameScanner(saltOf)
  const values: number[] = []
  const damages: Damage[] = []
  const take = (frame: Frame | Damage): void => {
    if (frame.kind === 'damage') damages.push(frame)
    if (frame.kind === 'events') for (const value of decodeMulti(frame.payload)) values.push(numberOf(value))
  }
  for (const chunk of cut(bytes)) for (const frame of scanner.push(chunk)) take(frame)
  for (const frame of scanner.end()) take(frame)
  return { values, damages }
}

function numberOf(value: unknown): number {
  if (typeof value !== 'object' || value === null || !('n' in value) || typeof value.n !== 'number')
    throw new Error('?')
  return value.n
}

const pieces =
  (size: number) =>
  (bytes: Uint8Array): readonly Uint8Array[] =>
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size))

const SMALL = makeSegment([0, 40, 3, 90, 0])

test('a segment is MessagePack from its first byte to its last', () => {
  const values = [...decodeMulti(SMALL.bytes)]
  expect(values.filter((value) => typeof value === 'object' && value !== null && 'n' in value)).toHaveLength(5)
})

test.each([1, 2, 3, 17, 18, 19, 64, 1_000])('frames are found however the bytes are cut: pieces of %i', (size) => {
  expect(scan(SMALL.bytes, pieces(size))).toEqual({ values: [0, 1, 2, 3, 4], damages: [] })
})

test('cut off at any byte, a segment loses the frame that is cut and none before it', () => {
  for (let length = 0; length <= SMALL.bytes.length; length++) {
    for (const cut of [(all: Uint8Array) => [all], pieces(7)]) {
      const { values, damages } = scan(SMALL.bytes.subarray(0, length), cut)
      const whole = SMALL.frames.filter(({ end }) => end <= length)
      expect({ length, values }).toEqual({ length, values: whole.map(({ value }) => value) })
      const isBetween = length === 0 || SMALL.frames.some(({ start, end }) => start === length || end === length)
      const kept = whole.at(-1)?.end ?? 0
      if (!isBetween && length > kept)
        expect({ length, reasons: damages.map(({ reason }) => reason) }).toMatchObject({ length })
      for (const { reason } of damages) expect(reason).toBe('cut')
    }
  }
})

test('with any byte changed, a segment loses the frame of that byte and no other', () => {
  for (let at = 0; at < SMALL.bytes.length; at++) {
    for (const change of [0x01, 0x80, 0xff]) {
      const bytes = Uint8Array.from(SMALL.bytes)
      bytes[at] ^= change
      const { values, damages } = scan(bytes, pieces(50))
      const hit = SMALL.frames.find(({ start, end }) => start <= at && at < end)
      const expected = SMALL.frames.filter((frame) => frame !== hit).map(({ value }) => value)
      expect({ at, change, values }).toEqual({ at, change, values: expected })
      expect({ at, change, damages: damages.length }).toEqual({ at, change, damages: 1 })
    }
  }
})

test('bytes removed, put in or overwritten anywhere cost the frames that they touch and none before them', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 6 }),
      fc.nat(),
      fc.nat({ max: 30 }),
      fc.uint8Array({ maxLength: 40 }),
      fc.integer({ min: 1, max: 200 }),
      (sizes, place, removed, added, size) => {
        const made = makeSegment(sizes)
        const at = place % (made.bytes.length + 1)
        const bytes = Buffer.concat([made.bytes.subarray(0, at), added, made.bytes.subarray(at + removed)])
        const { values } = scan(bytes, pieces(size))
        const unchanged = made.frames.filter(({ start, end }) =>
          Buffer.from(bytes.subarray(start, end)).equals(made.bytes.subarray(start, end)),
        )
        const expected = unchanged.map(({ value }) => value)
        if (at >= made.frames[0].start) expect(values).toEqual(expected)
        else for (const value of values) expect(expected).toContain(value)
      },
    ),
    { numRuns: 400 },
  )
})

describe('bytes that somebody has recorded', () => {
  test('are not taken for a frame while the next one is looked for', () => {
    // A recorded body that is itself a frame, with any salt that its author could know.
    const forged = encodeFrame('events', 1, encode({ n: 99 }), 0, 0)
    const payload = encode({ n: 1, body: Buffer.concat([forged, forged]) })
    const header = encodeHeader(HEADER)
    const first = encodeFrame('events', 1, payload, header.length, SALT)
    const second = encodeFrame('events', 1, encode({ n: 2 }), header.length + first.length, SALT)
    const bytes = Buffer.concat([header, first, second])
    bytes[header.length + 3] ^= 1
    expect(scan(bytes).values).toEqual([2])
  })

  test('of marks without end are passed in linear time', () => {
    const mark = new Uint8Array(MARK_BYTES)
    mark[0] = 0xd8
    mark[1] = 0x45
    mark[2] = 0x02
    const bytes = Buffer.concat([encodeHeader(HEADER), ...Array.from({ length: 50_000 }, () => mark)])
    const { values, damages } = scan(bytes, pieces(4_096))
    expect([values.length, damages.length]).toEqual([0, 1])
  })
})

test('a length that is only claimed costs no memory', () => {
  const header = encodeHeader(HEADER)
  const frame = encodeFrame('events', 1, new Uint8Array(0), header.length, SALT)
  const view = new DataView(frame.buffer)
  for (const length of [MAX_FRAME_BYTES, MAX_FRAME_BYTES + 1, 0xffff_ffff]) {
    view.setUint32(2, length)
    view.setUint32(14, crc32(frame, 0, 14, (SALT + header.length) >>> 0))
    const before = process.memoryUsage().arrayBuffers
    const { values, damages } = scan(Buffer.concat([header, frame, new Uint8Array(1_000)]), pieces(100))
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000)
    expect([values.length, damages.length]).toEqual([0, 1])
  }
})

test('a header of another version says so', () => {
  const other = encode({ format: 'prexy-recording', version: 7 })
  expect(decodeHeader(other)).toBe('has version 7 of the format; this prexy reads version 1')
  expect(decodeHeader(encode([1]))).toBe('is no recording of prexy')
  expect(decodeHeader(new Uint8Array([0xc1]))).toBe('is no recording of prexy')
  expect(encodeIndex([]).length).toBeGreaterThan(0)
})

/**
 * What is broken, by accident or on purpose. Nothing throws, nothing takes long, and each loss is counted with its place
 * and reason.
 */
import { CHUNK_BYTES } from '@prexy/evtx/chunk'
import { EvtxDecoder } from '@prexy/evtx/decoder'
import { EvtxError } from '@prexy/evtx/errors'
import { DEFAULT_LIMITS } from '@prexy/evtx/limits'
import { isLoss } from '@prexy/evtx/problems'
import { generateEvents } from '@prexy/testing/evtx-events'
import {
  evtxValue as v,
  type EvtxContent,
  type EvtxElement,
  type EvtxNode,
  type EvtxTemplate,
} from '@prexy/testing/evtx-values'
import { ChunkWriter, sealChunk, writeEvtx, writeEvtxFile } from '@prexy/testing/evtx-writer'
import { describe, expect, test } from 'vitest'
import { codes, fileOf, readAll, readWith, type Reading } from './reading.ts'

const isLong = process.env.PREXY_LONG !== undefined
const MUTATIONS = isLong ? 100_000 : 1_000
const HEADER = 4_096
const FIRST_RECORD = HEADER + 512

/** Ten events in one chunk of which only the used part is kept. */
const events = generateEvents(10, 3)
const file = writeEvtx(events)
const used = new DataView(file.buffer).getUint32(HEADER + 48, true)

/** The provider, the event's template, or that there is none. */
function kindOf(content: EvtxContent): string {
  if (!('template' in content)) return 'none'
  const nested = content.values.at(-1)
  return nested !== undefined && 'nested' in nested && 'template' in nested.nested ? nested.nested.template.guid : ''
}

function ids(reading: Reading): readonly number[] {
  return reading.records.map(({ id }) => id)
}

/** The file with some bytes changed, its checksums right or not. */
function patched(bytes: Uint8Array, patch: (view: DataView, bytes: Uint8Array) => void, seal = true): Uint8Array {
  const copy = bytes.slice()
  patch(new DataView(copy.buffer), copy)
  if (seal) sealChunk(copy.subarray(HEADER, HEADER + CHUNK_BYTES))
  return copy
}

function offsetOf(index: number): number {
  const { records } = readAll(file)
  return records[index].offset
}

describe('no event log', () => {
  test.each([
    ['nothing', new Uint8Array(0)],
    ['text', Uint8Array.from({ length: 5_000 }, () => 0x61)],
    ['zeros', new Uint8Array(100_000)],
    ['half a magic', file.slice(0, 7)],
  ])('%s is refused with the one error that there is', (_, bytes) => {
    expect(() => readAll(bytes)).toThrow(EvtxError)
    expect(() => readAll(bytes)).toThrow('this is no Windows event log: it has neither a file header nor a chunk')
  })

  test('a header alone is a log without records', () => {
    expect(ids(readAll(file.slice(0, 128)))).toEqual([])
    expect(ids(readAll(file.slice(0, HEADER)))).toEqual([])
  })

  test('chunks alone are a log without a header', () => {
    const reading = readAll(file.slice(HEADER))
    expect(ids(reading)).toEqual(events.map(({ id }) => id))
    expect(codes(reading.report)).toEqual(['file-header'])
  })
})

describe('cut off', () => {
  test('at every byte, a file gives the records that are whole', () => {
    const ends = readAll(file).records.map((_, i, all) => all[i + 1]?.offset ?? HEADER + used)
    const decoder = new EvtxDecoder()
    for (let length = 16; length < HEADER + used; length += length < HEADER ? 97 : 1) {
      if (length < 128) continue
      const seen = [...decoder.readFile(file.subarray(0, length))].length
      // Templates stand in the first record that uses them, so every whole record can be read.
      expect(`${length}: ${seen}`).toBe(`${length}: ${ends.filter((end) => end <= length).length}`)
    }
  })

  test('says so once, and what the cut took', () => {
    const reading = readAll(file.slice(0, offsetOf(4) + 100))
    expect(ids(reading)).toEqual([1, 2, 3, 4])
    expect(codes(reading.report)).toEqual(['chunk-truncated', 'record-header'])
    expect(reading.report.badRecords).toBe(1)
  })
})

describe('checksums', () => {
  test('that are wrong are warnings', () => {
    const bytes = patched(file, (view) => view.setUint32(HEADER + 124, 1, true), false)
    bytes[20]++
    bytes[FIRST_RECORD + 16]++
    const reading = readAll(bytes)
    expect(ids(reading)).toHaveLength(10)
    expect(codes(reading.report)).toEqual(['file-header-checksum', 'chunk-header-checksum', 'records-checksum'])
    expect(reading.report.problems.some(({ code }) => isLoss(code))).toBe(false)
  })

  test('are not looked at when told so, or when the chunk says that it has none', () => {
    const wrong = patched(file, (view) => view.setUint32(HEADER + 52, 1, true), false)
    expect(codes(readAll(wrong, { checksums: 'ignore' }).report)).toEqual([])
    expect(codes(readAll(patched(wrong, (view) => view.setUint32(HEADER + 120, 4, true), false)).report)).toEqual([])
    const without = (view: DataView) => {
      view.setUint32(HEADER + 52, 0, true)
      view.setUint32(HEADER + 124, 0, true)
    }
    expect(codes(readAll(patched(file, without, false)).report)).toEqual([])
  })
})

describe('sizes and offsets', () => {
  test.each([
    ['nothing', 0],
    ['less than a record', 27],
    ['more than the chunk', 65_536],
    ['4 GiB', 0xffff_ffff],
  ])('a record of %s costs that record', (_, size) => {
    const at = offsetOf(3)
    const reading = readAll(patched(file, (view) => view.setUint32(at + 4, size, true)))
    expect(ids(reading)).toEqual([1, 2, 3, 5, 6, 7, 8, 9, 10])
    expect(reading.report.problems).toEqual([
      {
        code: 'record-header',
        offset: at,
        reason: expect.stringMatching(
          `^a record of ${size} bytes where one should begin; the next one is \\d+ bytes on$`,
        ),
        recordId: undefined,
      },
    ])
  })

  test('a record whose magic is gone costs that record', () => {
    const reading = readAll(patched(file, (_, bytes) => bytes.fill(0, offsetOf(3), offsetOf(3) + 4)))
    expect(ids(reading)).toEqual([1, 2, 3, 5, 6, 7, 8, 9, 10])
    expect(codes(reading.report)).toEqual(['record-header'])
  })

  test('the two sizes of a record may differ', () => {
    const reading = readAll(patched(file, (view) => view.setUint32(offsetOf(4) - 4, 1, true)))
    expect(ids(reading)).toHaveLength(10)
    expect(codes(reading.report)).toEqual(['record-size'])
  })

  test.each([
    ['0', 0],
    ['inside of the header', 511],
    ['past the chunk', 65_537],
    ['4 GiB', 0xffff_ffff],
  ])('free space from %s on is not believed', (_, offset) => {
    const reading = readAll(patched(file, (view) => view.setUint32(HEADER + 48, offset, true)))
    expect(ids(reading)).toHaveLength(10)
    expect(codes(reading.report)).toContain('chunk-header')
  })

  test('free space that begins too early hides records of a sound chunk, and none of a file that was not closed', () => {
    const bytes = patched(file, (view) => view.setUint32(HEADER + 48, offsetOf(6) - HEADER, true))
    expect(ids(readAll(bytes))).toEqual([1, 2, 3, 4, 5, 6])
    bytes[120] = 1
    expect(ids(readAll(bytes))).toHaveLength(10)
  })

  test('free space that begins too late has no records in it', () => {
    const reading = readAll(patched(file, (view) => view.setUint32(HEADER + 48, 65_536, true)))
    expect(ids(reading)).toHaveLength(10)
    expect(codes(reading.report)).toEqual([])
  })

  test('a value that goes past its record costs that record', () => {
    const template: EvtxTemplate = {
      guid: '{00000001-0000-0000-0000-000000000000}',
      root: { element: 'E', children: [{ slot: 0 }] },
    }
    const bytes = fileOf([
      { template, values: [v.string('a')] },
      { template, values: [v.string('b')] },
    ])
    const second = readAll(bytes).records[1].offset
    const descriptor = second + 24 + 4 + 10 + 4
    const reading = readAll(patched(bytes, (view) => view.setUint16(descriptor, 0xffff, true)))
    expect(ids(reading)).toEqual([1])
    expect(reading.report.problems).toEqual([
      {
        code: 'record',
        offset: second,
        reason: expect.stringMatching(/^the values of a template go \d+ bytes past their record$/),
        recordId: 2,
      },
    ])
  })

  test('a claim of 4 billion values is not believed', () => {
    const template: EvtxTemplate = { guid: '{00000001-0000-0000-0000-000000000000}', root: { element: 'E' } }
    const bytes = fileOf([
      { template, values: [] },
      { template, values: [] },
    ])
    const second = readAll(bytes).records[1].offset
    const reading = readAll(patched(bytes, (view) => view.setUint32(second + 24 + 4 + 10, 0xffff_ffff, true)))
    expect(reading.report.problems.map(({ reason }) => reason)).toEqual(['a template instance with 4294967295 values'])
  })
})

describe('a chunk', () => {
  const three = writeEvtx(generateEvents(9, 3), { recordsPerChunk: 3 })

  test('without a header costs its records, and no others', () => {
    const reading = readAll(
      patched(three, (_, bytes) => bytes.fill(0x78, HEADER + CHUNK_BYTES, HEADER + CHUNK_BYTES + 8), false),
    )
    expect(ids(reading)).toEqual([1, 2, 3, 7, 8, 9])
    expect(reading.report.problems).toEqual([
      { code: 'chunk', offset: HEADER + CHUNK_BYTES, reason: 'a chunk without a header', recordId: undefined },
    ])
  })

  test('of zeros is an empty place', () => {
    const reading = readAll(
      patched(three, (_, bytes) => bytes.fill(0, HEADER + CHUNK_BYTES, HEADER + 2 * CHUNK_BYTES), false),
    )
    expect(ids(reading)).toEqual([1, 2, 3, 7, 8, 9])
    expect([reading.report.emptyChunks, reading.report.problems.length]).toEqual([1, 0])
  })

  test('is looked for everywhere when there is no file header', () => {
    const shifted = new Uint8Array(three.length)
    shifted.set(three.subarray(HEADER), 777)
    expect(ids(readAll(shifted))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})

describe('content on purpose', () => {
  const guid = (n: number): string => `{${n.toString(16).padStart(8, '0')}-0000-0000-0000-000000000000}`
  const nest = (depth: number): EvtxElement => {
    let element: EvtxElement = { element: 'E', children: ['x'] }
    for (let i = 1; i < depth; i++) element = { element: 'E', children: [element] }
    return element
  }
  const chain = (depth: number, slots: number): EvtxContent => {
    const children: EvtxNode[] = Array.from({ length: slots }, () => ({ slot: 0, type: 0x21 }))
    const template: EvtxTemplate = { guid: guid(1), root: { element: 'E', children } }
    let content: EvtxContent = { element: 'E', children: ['x'] }
    for (let i = 0; i < depth; i++) content = { template, values: [v.nested(content)] }
    return content
  }

  test.each<readonly [what: string, content: EvtxContent, reason: string]>([
    ['elements nested deeper than maxElementDepth', nest(257), 'elements nested deeper than 256 (maxElementDepth)'],
    [
      'the same in a template',
      { template: { guid: guid(1), root: nest(257) }, values: [] },
      'elements nested deeper than 256 (maxElementDepth)',
    ],
    [
      'fragments nested deeper than maxFragmentDepth',
      chain(33, 1),
      'fragments nested deeper than 32 (maxFragmentDepth)',
    ],
    [
      'elements of nested templates that add up',
      {
        template: { guid: guid(1), root: { element: 'A', children: [nest(200), { slot: 0 }] } },
        values: [v.nested({ template: { guid: guid(2), root: nest(60) }, values: [] })],
      },
      'elements nested deeper than 256 (maxElementDepth)',
    ],
    ['a name of more than 1,024 characters', { element: 'n'.repeat(1_025) }, 'a name of 1025 characters'],
    [
      'an instance in a definition',
      {
        template: {
          guid: guid(1),
          root: { element: 'A', children: [{ template: { guid: guid(2), root: { element: 'B' } }, values: [] }] },
        },
        values: [],
      },
      'a template inside of a template',
    ],
    [
      'a substitution without a template',
      { element: 'A', children: [{ slot: 0 }] },
      'a substitution outside of a template',
    ],
    [
      'a literal of a type without a size',
      { element: 'A', children: [{ literal: v.binary(1) }] },
      'a literal value of type 0xe',
    ],
  ])('%s is refused', (_, content, reason) => {
    const reading = readAll(fileOf([{ element: 'Before' }, content, { element: 'After' }]))
    expect(reading.records.map(({ xml }) => xml)).toEqual(['<Before/>', '<After/>'])
    expect(codes(reading.report)).toEqual(['record'])
    expect(reading.report.problems[0].reason).toContain(reason)
  })

  test('what is just allowed is read', () => {
    expect(readAll(fileOf([nest(256)])).records[0].xml).toHaveLength(256 * 7 + 1)
    expect(readAll(fileOf([chain(32, 1)])).records[0].xml).toHaveLength(33 * 7 + 1)
    expect(readAll(fileOf([{ element: 'n'.repeat(1_024) }])).records[0].xml).toHaveLength(1_027)
  })

  test.each<readonly [what: string, content: EvtxContent]>([
    [
      'a value of 20,000 characters named 2,000 times',
      {
        template: {
          guid: guid(1),
          root: { element: 'E', children: Array.from({ length: 2_000 }, () => ({ slot: 0 })) },
        },
        values: [v.string('x'.repeat(20_000))],
      },
    ],
    ['templates that double thirty times', chain(30, 2)],
    [
      'arrays in arrays',
      {
        template: {
          guid: guid(1),
          root: {
            element: 'A',
            children: [
              { slot: 0 },
              {
                element: 'B',
                children: [{ slot: 0 }, { slot: 1 }, { element: 'C', children: [{ slot: 1 }, { slot: 2 }] }],
              },
            ],
          },
        },
        values: Array.from({ length: 3 }, () => v.strings(...'a'.repeat(2_000))),
      },
    ],
  ])('%s: more than maxRenderedUnits is not rendered', (_, content) => {
    const reading = readAll(fileOf([content, { element: 'After' }]))
    const [first, last] = reading.records
    expect([first.xml, first.object, first.json]).toEqual([undefined, undefined, undefined])
    expect((first.fields ?? []).map(([, value]) => value).join('').length).toBeLessThanOrEqual(1_048_576)
    expect(last.xml).toBe('<After/>')
    expect(codes(reading.report)).toEqual(Array.from({ length: 4 }, () => 'record-too-large'))
    expect(reading.report.problems.map(({ reason }) => reason)).toContain(
      'the record renders to more than 1048576 units (maxRenderedUnits)',
    )
  })

  test('definitions that overlap are parsed up to maxTemplateBytesPerChunk', () => {
    // Every instance has a definition of its own, which begins four bytes after the one before and ends with the chunk.
    const chunk = new Uint8Array(CHUNK_BYTES)
    const view = new DataView(chunk.buffer)
    chunk.set(new ChunkWriter(1).finish())
    let at = 512
    for (let i = 0; i < 500; i++) {
      view.setUint32(at, 0x2a2a, true)
      view.setUint32(at + 4, 48, true)
      chunk.set([0x0f, 1, 1, 0, 0x0c, 1], at + 24)
      view.setUint32(at + 34, 40_000 + i * 4, true)
      view.setUint32(at + 44, 48, true)
      at += 48
    }
    for (let definition = 40_000; definition < 42_024; definition += 4) view.setUint32(definition, 20_000, true)
    for (let i = 0; i < 500; i++) view.setUint32(512 + i * 48 + 30, view.getUint32(40_000 + i * 4 + 4, true), true)
    view.setUint32(48, at, true)
    const reading = readAll(writeEvtxFile([chunk], 1))
    expect(reading.report.problems.map(({ reason }) => reason)).toContain(
      'the chunk defines more than 262144 bytes of templates (maxTemplateBytesPerChunk)',
    )
    expect(reading.report.badRecords + reading.records.length).toBe(500)
  })

  test('templates without end are forgotten and read again, and shapes too', () => {
    const limits = { maxKeptTemplateBytes: 2_000, maxKeptFields: 6 }
    const contents = Array.from({ length: 60 }, (_, i) => ({
      template: { guid: guid(i % 20), root: { element: `E${i % 20}`, children: [{ slot: 0 }] } },
      values: [i % 2 === 0 ? v.string('x') : v.strings('x', 'y')],
    }))
    const reading = readAll(
      writeEvtx(
        contents.map((content, id) => ({ id, time: 0n, content })),
        { recordsPerChunk: 10 },
      ),
      { limits },
    )
    expect(reading.records.map(({ xml }) => xml)).toEqual(readAll(fileOf(contents)).records.map(({ xml }) => xml))
    expect(reading.records.map(({ fields }) => fields)).toEqual(
      readAll(fileOf(contents)).records.map(({ fields }) => fields),
    )
  })

  test('problems are all counted and the first maxProblems kept', () => {
    const contents = Array.from({ length: 20 }, () => ({ element: 'A', children: [{ slot: 0 }] }))
    const { report } = readAll(fileOf(contents), { limits: { maxProblems: 5 } })
    expect([report.problems.length, report.counts.get('record'), report.badRecords]).toEqual([5, 20, 20])
  })

  test('limits have the defaults that the manual says', () => {
    expect(DEFAULT_LIMITS).toEqual({
      maxElementDepth: 256,
      maxFragmentDepth: 32,
      maxRenderedUnits: 1_048_576,
      maxFields: 16_384,
      maxTemplateBytesPerChunk: 262_144,
      maxKeptTemplateBytes: 4_194_304,
      maxKeptFields: 262_144,
      maxProblems: 1_000,
      maxRememberedRecords: 1_000_000,
    })
  })
})

describe('changed at random', () => {
  const INTERESTING = [0, 1, 2, 4, 7, 0x0c, 0x0d, 0x0f, 0x21, 0x2a, 0x40, 0x41, 0x7f, 0x80, 0x81, 0xfe, 0xff]

  test(`${MUTATIONS} times, a file is read to its end`, { timeout: 3_600_000 }, () => {
    let state = 12_345
    const random = (bound: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return Math.floor((state / 4_294_967_296) * bound)
    }
    // One event of each kind that there is.
    const kinds = [...new Map(generateEvents(120, 4).map((event) => [kindOf(event.content), event])).values()]
    const small = writeEvtx(kinds)
    const bytes = small.slice(0, HEADER + new DataView(small.buffer).getUint32(HEADER + 48, true) + 64)
    const decoders = [new EvtxDecoder(), new EvtxDecoder({ slack: 'recover', checksums: 'ignore' })]
    let worstMs = 0
    for (let round = 0; round < MUTATIONS; round++) {
      const undo: (readonly [at: number, byte: number])[] = []
      for (let changes = 1 + random(6); changes > 0; changes--) {
        const at = random(8) === 0 ? random(bytes.length) : HEADER + random(bytes.length - HEADER)
        undo.push([at, bytes[at]])
        bytes[at] = random(2) === 0 ? INTERESTING[random(INTERESTING.length)] : random(256)
      }
      const before = performance.now()
      try {
        for (const record of readWith(decoders[round % 2], bytes)) {
          if (record.json !== undefined) JSON.parse(record.json)
          if (record.xml !== undefined && !WELL_FORMED_START.test(record.xml)) throw new Error(record.xml)
        }
      } catch (error) {
        if (!(error instanceof EvtxError)) throw new Error(`round ${round}: ${JSON.stringify(undo)}`, { cause: error })
      }
      worstMs = Math.max(worstMs, performance.now() - before)
      for (const [at, byte] of undo.toReversed()) bytes[at] = byte
    }
    expect(worstMs).toBeLessThan(5_000)
    expect(kinds).toHaveLength(5)
    // The decoders are as good as new.
    for (const decoder of decoders)
      expect([...readWith(decoder, file)].map(({ xml }) => xml)).toEqual(readAll(file).records.map(({ xml }) => xml))
  })

  const WELL_FORMED_START = /^<[\p{L}_:?]/u
})

describe('in free space', () => {
  // A chunk that was used again: new records overwrote the begin of old ones.
  const old = new ChunkWriter(1)
  for (const event of generateEvents(60, 5)) old.tryAdd(event)
  const fresh = new ChunkWriter(1_000)
  for (const event of generateEvents(12, 6)) fresh.tryAdd({ ...event, id: event.id + 1_000 })
  const reused = old.finish().slice()
  reused.set(fresh.finish().subarray(0, fresh.end))
  const bytes = writeEvtxFile([reused], 2_000)

  test('nothing is looked for by itself', () => {
    const reading = readAll(bytes)
    expect(reading.records).toHaveLength(12)
    expect(reading.report.recoveredRecords).toBe(0)
  })

  test('records are recovered whose templates are still known', () => {
    const { records, report } = readAll(bytes, { slack: 'recover' })
    const recovered = records.filter(({ isRecovered }) => isRecovered)
    expect(records.slice(0, 12).every(({ isRecovered }) => !isRecovered)).toBe(true)
    expect(recovered.length).toBeGreaterThan(20)
    expect(report.recoveredRecords).toBe(recovered.length)
    expect(report.problems).toEqual([])
    const originals = new Map(readAll(writeEvtxFile([old.finish()], 1)).records.map((record) => [record.id, record]))
    for (const { id, xml, json, time } of recovered) {
      expect([xml, json, time]).toEqual([originals.get(id)?.xml, originals.get(id)?.json, originals.get(id)?.time])
    }
  })

  test('copies of records that were given out are left out', () => {
    const { records, report } = readAll(writeEvtxFile([old.finish(), reused], 2_000), { slack: 'recover' })
    expect(records).toHaveLength(60 + 12)
    expect(report.recoveredRecords).toBe(0)
    expect(report.duplicateRecords).toBeGreaterThan(20)
  })

  test('copies are given out when no more can be remembered', () => {
    const options = { slack: 'recover', limits: { maxRememberedRecords: 5 } } as const
    const { report } = readAll(writeEvtxFile([old.finish(), reused], 2_000), options)
    expect(report.recoveredRecords).toBeGreaterThan(10)
  })

  test('records of a chunk without a header are recovered, and of a file whose begin is lost', () => {
    const chunk = old.finish().slice()
    chunk.fill(0xee, 0, 8)
    const { records } = readAll(writeEvtxFile([chunk], 2_000), { slack: 'recover' })
    expect(records.map(({ id }) => id)).toEqual(
      generateEvents(60, 5)
        .slice(0, old.records)
        .map(({ id }) => id),
    )
    const tail = writeEvtx(generateEvents(200, 9)).slice(HEADER + 30_000)
    const reading = readAll(tail, { slack: 'recover' })
    expect(reading.records.length).toBeGreaterThan(100)
  })

  test('chunks are found where bytes are missing', () => {
    const whole = writeEvtx(generateEvents(300, 4))
    const cut = new Uint8Array([...whole.subarray(0, HEADER + 40_000), ...whole.subarray(HEADER + 43_333)])
    const plain = readAll(whole)
    const { records } = readAll(cut, { slack: 'recover' })
    expect(records.length).toBeGreaterThan(plain.records.length - 12)
    expect(records.length).toBeLessThan(plain.records.length)
  })
})

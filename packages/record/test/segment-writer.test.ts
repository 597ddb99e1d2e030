import { chmod, mkdir, readdir, readFile, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RecordedEvent } from '@prexy/events/recorded-event'
import { pruneRecordings, segmentFiles } from '@prexy/record/retention'
import {
  findEvent,
  openRecordings,
  openSegment,
  readColumns,
  readEvents,
  RecordingError,
  type EventFilter,
} from '@prexy/record/segment-reader'
import { describe, expect, onTestFinished, test } from 'vitest'
import { addExchanges, encoded, exchange, RUN, START_MS, startWriter, temporaryDirectory } from './recorded.ts'

async function eventsIn(directory: string, filter: EventFilter = {}): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  const { segments } = await openRecordings(directory)
  for (const segment of segments) {
    for await (const read of readEvents(segment, filter)) if (read.kind === 'event') events.push(read.event)
  }
  return events
}

async function sequencesIn(directory: string, filter: EventFilter = {}): Promise<number[]> {
  return (await eventsIn(directory, filter)).map(({ sequence }) => sequence)
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1)

describe('events come back', () => {
  test('as they were, from a sealed segment with an index', async () => {
    await using directory = await temporaryDirectory()
    const setup = startWriter(directory.path)
    addExchanges(setup, 1, 500)
    await setup.writer.stop()
    const { segments, unreadable } = await openRecordings(directory.path)
    expect(unreadable).toEqual([])
    expect(segments).toHaveLength(1)
    const [segment] = segments
    expect(segment.isSealed).toBe(true)
    expect(segment.header).toMatchObject({ run: RUN, session: 'test', number: 1 })
    expect(segment.entries.length).toBeGreaterThan(1)
    const events = await eventsIn(directory.path)
    expect(events.map(({ sequence }) => sequence)).toEqual(upTo(500))
    const { detail: _none, ...wanted } = exchange(7)
    expect(events[6]).toEqual(wanted)
    expect(setup.stops).toEqual([])
  })

  test('from a segment that is still written to', async () => {
    await using directory = await temporaryDirectory()
    const setup = startWriter(directory.path)
    addExchanges(setup, 1, 300)
    await setup.writer.sync()
    const { segments } = await openRecordings(directory.path)
    expect(segments[0]).toMatchObject({ isSealed: false, damages: [] })
    expect(await sequencesIn(directory.path)).toEqual(upTo(300))
    await setup.writer.stop()
  })

  test('after flushMs without another call', async () => {
    await using directory = await temporaryDirectory()
    const setup = startWriter(directory.path, { limits: { flushMs: 5 } })
    addExchanges(setup, 1, 1)
    await expect.poll(() => sequencesIn(directory.path)).toEqual([1])
    await setup.writer.stop()
  })

  test('by time and by sequence, and only the frames that may hold them are read', async () => {
    await using directory = await temporaryDirectory()
    const setup = startWriter(directory.path)
    addExchanges(setup, 1, 1_000)
    await setup.writer.stop()
    const between = { fromMs: START_MS + 5_000, toMs: START_MS + 5_030 }
    expect(await sequencesIn(directory.path, between)).toEqual([500, 501, 502, 503])
    expect(await sequencesIn(directory.path, { firstSequence: 999 })).toEqual([999, 1_000])
    expect(await findEvent(directory.path, RUN, 321)).toMatchObject({ sequence: 321, target: '/item/321' })
    expect(await findEvent(directory.path, RUN, 1_001)).toBeUndefined()
    expect(await findEvent(directory.path, '00000000', 1)).toBeUndefined()
    // What is not read cannot be missed: the other frames are overwritten.
    const [{ path, entries }] = (await openRecordings(directory.path)).segments
    const bytes = await readFile(path)
    const wanted = entries.findIndex(({ firstSequence, lastSequence }) => firstSequence <= 321 && lastSequence >= 321)
    for (const [at, { offset }] of entries.entries()) if (at !== wanted) bytes.fill(0, offset, offset + 18)
    await writeFile(path, bytes)
    expect(await findEvent(directory.path, RUN, 321)).toMatchObject({ sequence: 321 })
  })

  test('as columns, and a row leads back to its event', async () => {
    await using directory = await temporaryDirectory()
    const setup = startWriter(directory.path, { limits: { maxSegmentBytes: 200_000 } })
    addExchanges(setup, 1, 700)
    await setup.writer.stop()
    const { segments } = await openRecordings(directory.path)
    expect(segments.length).toBeGreaterThan(1)
    const { table, read } = await readColumns(segments, [
      { name: 'status', path: ['status'], kind: 'number' },
      { name: 'total', path: ['timings', 'endUs'], kind: 'number' },
      { name: 'host', path: ['host'], kind: 'dictionary' },
    ])
    expect(table.rows).toBe(700)
    expect(table.columns[2]).toMatchObject({ values: [undefined, 'shop.example'] })
    for (const row of [0, 1, 350, 699]) expect(await read(row)).toMatchObject({ sequence: row + 1 })
    expect(await read(700)).toBeUndefined()
  })
})

describe('a segment', () => {
  test('is sealed before it is longer than maxSegmentBytes', async () => {
    await using directory = await temporaryDirectory()
    const setup = startWriter(directory.path, { limits: { maxSegmentBytes: 150_000 } })
    addExchanges(setup, 1, 1_000)
    await setup.writer.stop()
    const { segments } = await openRecordings(directory.path)
    expect(segments.length).toBeGreaterThan(3)
    expect(segments.map(({ header }) => header.number)).toEqual(upTo(segments.length))
    for (const { bytes, isSealed } of segments) expect([bytes < 155_000, isSealed]).toEqual([true, true])
    expect(await sequencesIn(directory.path)).toEqual(upTo(1_000))
  })

  test('is sealed when it is older than maxSegmentMs, whether or not more comes', async () => {
    await using directory = await temporaryDirectory()
    const setup = startWriter(directory.path, { limits: { maxSegmentMs: 20, flushMs: 1 } })
    addExchanges(setup, 1, 1)
    await expect
      .poll(async () => (await openRecordings(directory.path)).segments.map(({ isSealed }) => isSealed))
      .toEqual([true])
    addExchanges(setup, 2, 2)
    await setup.writer.stop()
    expect(await sequencesIn(directory.path)).toEqual([1, 2])
    expect((await segmentFiles(directory.path)).length).toBe(2)
  })

  test('is for its owner only, as the directory is, whatever the umask', async () => {
    await using directory = await temporaryDirectory()
    const before = process.umask(0)
    try {
      const path = join(directory.path, 'a', 'b')
      const setup = startWriter(path)
      addExchanges(setup, 1, 1)
      await setup.writer.stop()
      const [{ name }] = await segmentFiles(path)
      expect((await stat(path)).mode & 0o777).toBe(0o700)
      expect((await stat(join(path, name))).mode & 0o777).toBe(0o600)
      expect(setup.warnings).toEqual([])
    } finally {
      process.umask(before)
    }
  })

  test('in a directory that others may write to comes with a warning', async () => {
    await using directory = await temporaryDirectory()
    await chmod(directory.path, 0o777)
    const setup = startWriter(directory.path)
    addExchanges(setup, 1, 1)
    await setup.writer.stop()
    expect(setup.warnings).toEqual([
      `others may write to the recordings in ${directory.path}; chmod 700 keeps them to yourself`,
    ])
  })

  test('cut off anywhere on disk is read up to there, and damage is told of', async () => {
    await using directory = await temporaryDirectory()
    const setup = startWriter(directory.path)
    addExchanges(setup, 1, 200)
    await setup.writer.sync()
    const [{ name, bytes }] = await segmentFiles(directory.path)
    const path = join(directory.path, name)
    const { entries } = await openSegment(path)
    for (let length = bytes; length > 300; length -= 7_919) {
      await truncate(path, length)
      const segment = await openSegment(path)
      const whole = entries.filter((_, at) => (entries.at(at + 1)?.offset ?? bytes) <= length)
      expect(await sequencesIn(directory.path)).toEqual(upTo(whole.at(-1)?.lastSequence ?? 0))
      if (length < bytes) expect(segment.damages.map(({ reason }) => reason)).toEqual(['cut'])
    }
    await setup.writer.stop()
  })
})

test('files that are no recordings are named, and the others read', async () => {
  await using directory = await temporaryDirectory()
  const setup = startWriter(directory.path)
  addExchanges(setup, 1, 3)
  await setup.writer.stop()
  const name = '20200101T000000000Z-00000000-000001.prexyrec'
  await writeFile(join(directory.path, name), 'no')
  await writeFile(join(directory.path, 'notes.txt'), 'mine')
  const { segments, unreadable } = await openRecordings(directory.path)
  expect(segments).toHaveLength(1)
  expect(unreadable).toEqual([
    { path: join(directory.path, name), reason: `${join(directory.path, name)}: is no recording of prexy` },
  ])
  await expect(openSegment(join(directory.path, 'absent'))).rejects.toThrow(RecordingError)
})

describe('what the disk does not take', () => {
  test('is dropped at the queue, beyond maxQueuedBytes', async () => {
    await using directory = await temporaryDirectory()
    const { writer } = startWriter(directory.path, { limits: { maxQueuedBytes: 10_000 } })
    let taken = 0
    for (let sequence = 1; sequence <= 100; sequence++) {
      if (writer.add(new Uint8Array(1_000).fill(0xc0), sequence, START_MS)) taken++
      expect(writer.queuedBytes).toBeLessThanOrEqual(10_000)
    }
    expect(taken).toBe(9)
    await writer.sync()
    expect(writer.queuedBytes).toBe(0)
    expect(writer.add(encoded(exchange(101)), 101, START_MS)).toBe(true)
    await writer.stop()
  })

  test.each([
    ['a file where the directory should be', async (path: string) => await writeFile(path, ''), /has stopped: .*/],
    ['a link that leads nowhere', async (path: string) => await symlink('/nonexistent/x', path), /has stopped: .*/],
  ])('ends the recording and nothing else: %s', async (_what, prepare, reason) => {
    await using directory = await temporaryDirectory()
    const path = join(directory.path, 'target')
    await prepare(path)
    const setup = startWriter(join(path, 'inside'))
    addExchanges(setup, 1, 2)
    await setup.writer.sync()
    expect(setup.stops).toHaveLength(1)
    expect(setup.stops[0]).toMatch(reason)
    expect(setup.writer.add(encoded(exchange(3)), 3, START_MS)).toBe(false)
    await setup.writer.stop()
    expect(setup.stops).toHaveLength(1)
  })
})

describe('old segments', () => {
  async function withSegments(
    sizes: readonly number[],
    ageMs: (at: number) => number,
    isSealed = true,
  ): Promise<string> {
    const directory = await temporaryDirectory()
    onTestFinished(() => directory[Symbol.asyncDispose]())
    for (const [at, size] of sizes.entries()) {
      const name = `2026010${at + 1}T000000000Z-0000000${at}-000001.prexyrec`
      const octets = new Uint8Array(size)
      // What a sealed segment ends with.
      if (isSealed) octets.set([0xd8, 0x5a], size - 18)
      await writeFile(join(directory.path, name), octets)
      const changed = (Date.now() - ageMs(at)) / 1_000
      await utimes(join(directory.path, name), changed, changed)
    }
    return directory.path
  }

  test('go by age', async () => {
    const path = await withSegments([20, 20, 20], (at) => [500_000, 400_000, 100][at])
    const pruned = await pruneRecordings(path, { maxAgeMs: 450_000 })
    expect(pruned.map(({ why, bytes }) => [why, bytes])).toEqual([['age', 20]])
    expect(await readdir(path)).toHaveLength(2)
  })

  test('go by size, oldest first, but not those that may be in use', async () => {
    const path = await withSegments([40, 40, 40, 40], () => 100_000)
    expect(await pruneRecordings(path, { maxTotalBytes: 100 }, { dryRun: true })).toHaveLength(2)
    expect(await readdir(path)).toHaveLength(4)
    expect((await pruneRecordings(path, { maxTotalBytes: 100 })).map(({ name }) => name.slice(0, 8))).toEqual([
      '20260101',
      '20260102',
    ])
    const used = await withSegments([40, 40, 40], () => 100_000, false)
    expect(await pruneRecordings(used, { maxTotalBytes: 10, maxAgeMs: 1 })).toEqual([])
    expect(await pruneRecordings(used, { maxTotalBytes: 10 }, { nowMs: Date.now() + 3 * 86_400_000 })).toHaveLength(3)
    const own = await withSegments([40, 40, 40], () => 100_000, false)
    expect(await pruneRecordings(own, { maxTotalBytes: 100 }, { ownRun: '00000000' })).toHaveLength(1)
  })

  test('are all that is ever removed', async () => {
    const path = await withSegments([20], () => 900_000)
    await mkdir(join(path, '20250101T000000000Z-00000000-000001.prexyrec'))
    await writeFile(join(path, 'letters.txt'), 'dear')
    await symlink(join(path, 'letters.txt'), join(path, '20250102T000000000Z-00000000-000001.prexyrec'))
    await pruneRecordings(path, { maxAgeMs: 1, maxTotalBytes: 0 })
    expect(await readdir(path)).toHaveLength(3)
  })

  test('go while the writer writes new ones', async () => {
    await using directory = await temporaryDirectory()
    const limits = { maxSegmentBytes: 70_000 }
    const setup = startWriter(directory.path, { limits, retention: { maxTotalBytes: 300_000 } })
    for (let first = 1; first <= 2_000; first += 100) {
      addExchanges(setup, first, first + 99)
      await setup.writer.sync()
    }
    await setup.writer.stop()
    const files = await segmentFiles(directory.path)
    expect(files.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(400_000)
    expect((await sequencesIn(directory.path)).at(-1)).toBe(2_000)
  })
})

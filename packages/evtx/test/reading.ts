/** Files read whole, for tests that look at everything. */
import { EvtxDecoder, type EvtxOptions } from '@prexy/evtx/decoder'
import type { EvtxReport } from '@prexy/evtx/problems'
import type { EventObject } from '@prexy/evtx/render-object'
import type { Scalar } from '@prexy/evtx/values'
import { writeEvtx, type EvtxFileOptions, type EvtxRecordInput } from '@prexy/testing/evtx-writer'
import type { EvtxContent } from '@prexy/testing/evtx-values'

export interface ReadRecord {
  readonly id: number
  readonly time: string
  readonly offset: number
  readonly isRecovered: boolean
  readonly xml: string | undefined
  readonly json: string | undefined
  readonly object: EventObject | undefined
  readonly fields: readonly (readonly [path: string, value: Scalar | undefined])[] | undefined
  readonly shape: number | undefined
}

export interface Reading {
  readonly records: readonly ReadRecord[]
  readonly report: EvtxReport
}

export function readAll(bytes: Uint8Array, options: EvtxOptions = {}): Reading {
  const decoder = new EvtxDecoder(options)
  return { records: [...readWith(decoder, bytes)], report: decoder.report }
}

export function* readWith(decoder: EvtxDecoder, bytes: Uint8Array): Generator<ReadRecord> {
  for (const record of decoder.readFile(bytes)) {
    const row = record.fields()
    yield {
      id: record.id,
      time: record.time,
      offset: record.offset,
      isRecovered: record.isRecovered,
      fields: row?.shape.fields.map(({ path }, i) => [path, row.scalar(i)] as const),
      shape: row?.shape.id,
      xml: record.toXml(),
      json: record.toJson(),
      object: record.toObject(),
    }
  }
}

/** One record of that content, in a file of its own. */
export function readContent(content: EvtxContent): ReadRecord {
  const { records, report } = readAll(writeEvtx([{ id: 1, time: 0n, content }]))
  if (records.length !== 1) throw new Error(`${records.length} records: ${JSON.stringify(report.problems)}`)
  return records[0]
}

export function fileOf(contents: readonly EvtxContent[], options: EvtxFileOptions = {}): Uint8Array {
  const records: EvtxRecordInput[] = contents.map((content, i) => ({ id: i + 1, time: BigInt(i) * 10_000n, content }))
  return writeEvtx(records, options)
}

export function codes(report: EvtxReport): readonly string[] {
  return report.problems.map(({ code }) => code)
}

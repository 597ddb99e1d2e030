/**
 * One sample of an EVTX bench, in a process of its own: `evtx-sample.js READER PEERS SECONDS FILE...`. Prints one JSON
 * line, an {@link EvtxSample}.
 */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { EvtxDecoder, type EvtxOptions } from '@prexy/evtx/decoder'
import type { EvtxRecord } from '@prexy/evtx/record'
import type { EvtxReaderName } from './definition.ts'

export interface EvtxSample {
  /** Of files, by CPU time, after a first reading that does not count. */
  readonly megabytesPerSecond: number
  readonly recordsPerSecond: number
}

/** The part of @ts-evtx/core that is used here. */
interface TsEvtx {
  evtx(path: string): { forEach(each: (event: object) => void): Promise<void> }
  readonly EvtxFile: { open(path: string): Promise<{ records(): Iterable<{ renderXml(): string }> }> }
}

/** Reads a file and says how many records it had. */
type Reader = (path: string) => Promise<number> | number

/** The other parser does not look at the checksums of chunks. */
const OPTIONS: EvtxOptions = { checksums: 'ignore' }

/** What was made of records must not be for nothing. */
let sink = 0

function ourReader(each: (record: EvtxRecord) => void): Reader {
  const decoder = new EvtxDecoder(OPTIONS)
  return (path) => {
    let records = 0
    for (const record of decoder.readFile(readFileSync(path))) {
      each(record)
      records++
    }
    return records
  }
}

async function makeReader(name: EvtxReaderName, peers: string): Promise<Reader> {
  switch (name) {
    case 'prexy shapes':
      return ourReader((record) => void (sink += record.fields()?.shape.id ?? 0))
    case 'prexy fields':
      return ourReader((record) => {
        const row = record.fields()
        if (row === undefined) return
        for (let field = 0; field < row.length; field++) if (row.text(field) !== undefined) sink++
      })
    case 'prexy objects':
      return ourReader((record) => void (sink += record.toObject() === undefined ? 0 : 1))
    case 'prexy JSON':
      return ourReader((record) => void (sink += record.toJson()?.length ?? 0))
    case 'prexy XML':
      return ourReader((record) => void (sink += record.toXml()?.length ?? 0))
    case '@ts-evtx/core objects':
    case '@ts-evtx/core XML':
      return theirReader(name, peers)
  }
}

async function theirReader(name: EvtxReaderName, peers: string): Promise<Reader> {
  const url = pathToFileURL(join(peers, 'node_modules/@ts-evtx/core/dist/index.js')).href
  const { evtx, EvtxFile } = (await import(url)) as TsEvtx
  if (name === '@ts-evtx/core objects') {
    return async (path) => {
      let records = 0
      await evtx(path).forEach(() => void records++)
      return records
    }
  }
  return async (path) => {
    let records = 0
    for (const record of (await EvtxFile.open(path)).records()) {
      sink += record.renderXml().length
      records++
    }
    return records
  }
}

async function measure(reader: Reader, seconds: number, files: readonly string[]): Promise<EvtxSample> {
  const readAll = async (): Promise<number> => {
    let records = 0
    for (const file of files) records += await reader(file)
    return records
  }
  await readAll()
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
  let rounds = 0
  let records = 0
  const before = process.cpuUsage()
  for (const until = performance.now() + seconds * 1_000; rounds === 0 || performance.now() < until; rounds++) {
    records += await readAll()
  }
  const { user, system } = process.cpuUsage(before)
  if (sink < 0) throw new Error('nothing was read')
  const cpuSeconds = (user + system) / 1e6
  return { megabytesPerSecond: (bytes * rounds) / 1e6 / cpuSeconds, recordsPerSecond: records / cpuSeconds }
}

const [name, peers, seconds, ...files] = process.argv.slice(2)
const reader = await makeReader(name as EvtxReaderName, peers)
process.stdout.write(`${JSON.stringify(await measure(reader, Number(seconds), files))}\n`)

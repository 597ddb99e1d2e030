/** Recorded events and segments for tests. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExchangeRecord } from '@prexy/events/recorded-event'
import { encode } from '@prexy/msgpack/encode'
import { SegmentWriter, type WriterInit } from '@prexy/record/segment-writer'

export const RUN = '4f2a9c01'
export const START_MS = 1_764_547_200_000

/** A plain exchange; `over` says what is different. */
export function exchange(sequence: number, over: Partial<ExchangeRecord> = {}): ExchangeRecord {
  return {
    kind: 'exchange',
    version: 2,
    run: RUN,
    sequence,
    startedAtMs: START_MS + sequence * 10,
    exchangeId: sequence,
    connectionId: 1,
    requestNumber: sequence,
    client: '192.0.2.7',
    timings: {
      requestHeadUs: 100,
      upstreamAskedUs: 150,
      upstreamConnectedUs: 400,
      responseHeadUs: 5_000,
      rewriteUs: 30,
      endUs: 9_000,
    },
    method: 'GET',
    host: 'shop.example',
    target: `/item/${sequence}`,
    status: 200,
    route: 'shop',
    upstream: '127.0.0.1:9000',
    clientInBytes: 80,
    clientOutBytes: 1_200,
    upstreamOutBytes: 0,
    upstreamInBytes: 1_000,
    outcome: 'completed',
    detail: undefined,
    treatment: {
      kind: 'rewritten',
      decode: 'identity',
      encode: 'identity',
      stats: { hits: [2, 0], overflows: 0, peakHeldBytes: 12, inBytes: 1_000, outBytes: 1_010 },
    },
    request: { minorVersion: 1, fields: ['Host', 'shop.example', 'Accept', '*/*'] },
    response: {
      status: 200,
      fields: ['Content-Type', 'text/html'],
      sentFields: ['Content-Type', 'text/html', 'Content-Length', '1010'],
    },
    ...over,
  }
}

export function encoded(event: ExchangeRecord): Uint8Array {
  return encode(event, { ignoreUndefined: true })
}

/** A directory that is gone afterwards. */
export async function temporaryDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'prexy-record-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

export interface WriterSetup {
  readonly writer: SegmentWriter
  readonly stops: string[]
  readonly warnings: string[]
}

export function startWriter(directory: string, over: Partial<WriterInit> = {}): WriterSetup {
  const stops: string[] = []
  const warnings: string[] = []
  const writer = new SegmentWriter({
    directory,
    run: RUN,
    session: 'test',
    onStopped: (reason) => stops.push(reason),
    onWarning: (text) => warnings.push(text),
    ...over,
  })
  return { writer, stops, warnings }
}

/** Adds plain exchanges `first` to `last`. */
export function addExchanges({ writer }: WriterSetup, first: number, last: number): void {
  for (let sequence = first; sequence <= last; sequence++) {
    const event = exchange(sequence)
    writer.add(encoded(event), sequence, event.startedAtMs)
  }
}

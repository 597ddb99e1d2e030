/**
 * Truths about the public sample set of Hayabusa, when a checkout of it is given: PREXY_EVTX_SAMPLES=folder. Nothing of it
 * is in this repository.
 */
import { expect, test } from 'vitest'
import { createScanner, piecesOf } from '../src/scan.ts'
import { findSources } from '../src/sources.ts'
import { PLAIN } from './reading.ts'

const FOLDER = process.env['PREXY_EVTX_SAMPLES']
if (FOLDER === undefined) process.stdout.write('hunt: public samples not read: PREXY_EVTX_SAMPLES is not set\n')

test.runIf(FOLDER !== undefined)(
  'all records of the public samples are events, with their channels and ids',
  async () => {
    const { sources } = await findSources([FOLDER ?? ''], { format: undefined, onProgress() {} })
    const scanner = createScanner(sources, PLAIN, { stdin: undefined, pause: () => undefined })
    const pairs = new Set<string>()
    let events = 0
    let bad = 0
    for (const [index, source] of sources.entries()) {
      for (const task of piecesOf(source, index, PLAIN)) {
        const report = await scanner.scan(task, ({ channel, eventId }) => {
          pairs.add(`${channel} ${eventId ?? ''}`)
        })
        events += report.events
        bad += report.badRecords
      }
    }
    expect({ events, bad, pairs: pairs.size }).toEqual({ events: 24_661, bad: 0, pairs: 362 })
  },
  120_000,
)

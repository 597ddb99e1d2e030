/**
 * Other programs' readings of the same files: Debian's `evtxexport` of generated ones, and public samples when
 * `PREXY_EVTX_SAMPLES` names their folder.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EvtxDecoder } from '@prexy/evtx/decoder'
import { generateEvents } from '@prexy/testing/evtx-events'
import { writeEvtx } from '@prexy/testing/evtx-writer'
import { findProgram } from '@prexy/testing/programs'
import { describe, expect, test } from 'vitest'

const samples = process.env.PREXY_EVTX_SAMPLES
const evtxexport = findProgram('evtxexport')
const missing =
  evtxexport === undefined
    ? ' (skipped: evtxexport not found through PATH; on Debian: apt-get install libevtx-utils)'
    : ''

/**
 * What both are known to write differently, made alike: 64-bit numbers in hexadecimal are padded there, times have nine
 * digits, indentation, quoting of ends of lines.
 */
function plain(xml: string): string {
  return xml
    .replace(/0x0*([0-9a-f]+)/gi, (_, digits: string) => `0x${digits.toLowerCase()}`)
    .replace(/(T\d\d:\d\d:\d\d\.\d{7})00Z/g, '$1Z')
    .replace(/&#13;|\r/g, '')
    .replace(/&apos;/g, "'")
    .replace(/&quot;/g, '"')
    .replace(/<(\w+)([^<>]*)><\/\1>/g, '<$1$2/>')
    .replace(/>\s+</g, '><')
    .trim()
}

function exported(program: string, file: string): readonly string[] {
  const xml = execFileSync(program, ['-f', 'xml', file], {
    encoding: 'utf8',
    maxBuffer: 1 << 30,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return xml.match(/<Event[ >][\s\S]*?<\/Event>/g) ?? []
}

describe(`evtxexport${missing}`, () => {
  test.skipIf(evtxexport === undefined)('gives the same XML of generated records', () => {
    const folder = mkdtempSync(join(tmpdir(), 'prexy-evtx-'))
    try {
      // It cannot read records without a template.
      const events = generateEvents(400, 21).filter(({ content }) => 'template' in content)
      const bytes = writeEvtx(events)
      const file = join(folder, 'generated.evtx')
      writeFileSync(file, bytes)
      const theirs = exported(evtxexport ?? '', file).map(plain)
      const ours = Array.from(new EvtxDecoder().readFile(bytes), (record) => plain(record.toXml() ?? ''))
      expect(ours).toHaveLength(events.length)
      expect(ours).toEqual(theirs)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

function sampleFiles(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return sampleFiles(path)
      return entry.name.endsWith('.evtx') ? [path] : []
    })
}

const whyNoSamples =
  samples === undefined ? ' (skipped: PREXY_EVTX_SAMPLES does not name a folder of public samples)' : ''

describe(`public samples${whyNoSamples}`, () => {
  test.skipIf(samples === undefined)('are read with few losses, in all renderings', { timeout: 600_000 }, () => {
    const decoder = new EvtxDecoder()
    let channels = 0
    let withoutTemplate = 0
    for (const file of sampleFiles(samples ?? '')) {
      for (const record of decoder.readFile(readFileSync(file))) {
        const xml = record.toXml() ?? ''
        const json = record.toJson() ?? ''
        expect(xml).toMatch(/^<Event[ >/]/)
        JSON.parse(json)
        const row = record.fields()
        const channel = row?.shape.indexOf('Event.System.Channel') ?? -1
        if (row?.text(channel) !== undefined) channels++
        if (row !== undefined && typeof row.scalar(row.shape.indexOf('Event.System.EventID')) === 'string')
          withoutTemplate++
      }
    }
    const { report } = decoder
    process.stdout.write(
      `samples: ${report.records} records, ${channels} with a channel, ${withoutTemplate} with a textual id, ` +
        `${report.badRecords} bad; ${JSON.stringify(Object.fromEntries(report.counts))}\n`,
    )
    expect(report.badRecords).toBeLessThanOrEqual(report.records / 1_000)
    expect(channels).toBeGreaterThan(report.records * 0.99)
  })
})

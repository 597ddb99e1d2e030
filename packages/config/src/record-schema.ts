/** The part of the configuration that says what is recorded, where, and how much of it is kept. */
import { z } from 'zod'
import { type OneOrMore, oneOrMore } from './rule-schema.ts'

export interface RawRecordBodies {
  readonly maxBodyBytes?: number
  readonly maxBytesByType?: Readonly<Record<string, number>>
  readonly samplePercent?: number
  readonly maxBodyMemoryBytes?: number
}

export interface RawRecord {
  readonly directory?: string
  readonly session?: string
  readonly tags?: OneOrMore<string>
  readonly routes?: OneOrMore<string>
  readonly samplePercent?: number
  readonly redact?: boolean
  readonly secretNames?: OneOrMore<string>
  readonly bodies?: RawRecordBodies
  readonly maxSegmentBytes?: number
  readonly maxSegmentMs?: number
  readonly maxTotalBytes?: number
  readonly maxAgeMs?: number
  readonly flushMs?: number
  readonly syncMs?: number
  readonly maxQueuedBytes?: number
  readonly maxLiveEvents?: number
  readonly maxLiveBytes?: number
  readonly maxViewers?: number
}

const GIGABYTE = 1_073_741_824

const percent = z.int().min(0).max(100)
const bodyBytes = z.int().min(0).max(4_194_304)
const name = z.string().min(1).max(100)

const bodiesSchema: z.ZodType<RawRecordBodies> = z
  .strictObject({
    maxBodyBytes: bodyBytes
      .exactOptional()
      .describe('Bytes of each body that are kept, before and after the rules; the rest is left out.'),
    maxBytesByType: z
      .record(
        z.string().regex(/^(?:\*|[\w.+-]+\/(?:\*|[\w.+-]+))$/, 'is no media type like text/html or image/*'),
        bodyBytes,
      )
      .exactOptional()
      .describe(
        'Other numbers of bytes for some media types, `text/html` or `image/*`; the first that fits counts, 0 keeps none. ' +
          'Without it: none of images, sound, films and fonts.',
      ),
    samplePercent: percent
      .exactOptional()
      .describe('How many of 100 recorded exchanges have their bodies kept, chosen at random.'),
    maxBodyMemoryBytes: z
      .int()
      .min(65_536)
      .max(16 * GIGABYTE)
      .exactOptional()
      .describe('Bytes of bodies that are kept of exchanges under way; what comes when it is used up is left out.'),
  })
  .describe('Which bodies are recorded. Without it: none.')

export const recordSchema: z.ZodType<RawRecord> = z
  .strictObject({
    directory: z
      .string()
      .min(1)
      .exactOptional()
      .describe(
        'Where recordings are written; made if it is not there, for its owner only. Without it: they are kept in memory, ' +
          'for those who watch.',
      ),
    session: name.exactOptional().describe('What this run of the proxy is called. Without it: the time of its start.'),
    tags: oneOrMore(name).exactOptional().describe('Words to find the session by.'),
    routes: oneOrMore(name)
      .exactOptional()
      .describe('Names of the routes whose exchanges are recorded. Without it: all, and what no route takes.'),
    samplePercent: percent.exactOptional().describe('How many of 100 exchanges are recorded, chosen at random.'),
    redact: z
      .boolean()
      .exactOptional()
      .describe(
        '`true` (the default) takes credentials, cookies and tokens out of header fields, queries and bodies before ' +
          'anything is kept; `false` records them as they are.',
      ),
    secretNames: oneOrMore(name)
      .exactOptional()
      .describe(
        'Further names of header fields, parameters and keys whose values are taken out; `*` at the end stands for anything.',
      ),
    bodies: bodiesSchema.exactOptional(),
    maxSegmentBytes: z
      .int()
      .min(65_536)
      .max(2 * GIGABYTE)
      .exactOptional()
      .describe('Bytes of one file; then the next is begun.'),
    maxSegmentMs: z
      .int()
      .min(1_000)
      .max(86_400_000)
      .exactOptional()
      .describe('How long one file is written to; then the next is begun.'),
    maxTotalBytes: z
      .int()
      .min(0)
      .exactOptional()
      .describe('Bytes of all recordings in the directory; beyond it the oldest files are removed.'),
    maxAgeMs: z.int().min(1_000).exactOptional().describe('Recordings whose last event is older are removed.'),
    flushMs: z
      .int()
      .min(1)
      .max(60_000)
      .exactOptional()
      .describe('How long an event may wait to be written together with others: what a killed proxy loses.'),
    syncMs: z
      .int()
      .min(1)
      .max(3_600_000)
      .exactOptional()
      .describe('How often what was written is brought to the disk: what a machine without power loses.'),
    maxQueuedBytes: z
      .int()
      .min(65_536)
      .max(GIGABYTE)
      .exactOptional()
      .describe('Bytes of events that may wait for a slow disk; what comes then is dropped and counted.'),
    maxLiveEvents: z
      .int()
      .min(1)
      .max(1_000_000)
      .exactOptional()
      .describe('The last events, kept in memory for those who watch.'),
    maxLiveBytes: z
      .int()
      .min(65_536)
      .max(4 * GIGABYTE)
      .exactOptional()
      .describe('Bytes of them.'),
    maxViewers: z.int().min(1).max(1_000).exactOptional().describe('How many may watch at one time.'),
  })
  .describe('What is recorded of the exchanges, and where. Without it: nothing.')

/**
 * Two ways to do the same, side by side, in one process: `techniques-sample.js SECONDS`. Each pair gives the same result, or it
 * stops. Prints one JSON line, a list of {@link TechniqueSample}.
 */
import { closeSync, openSync, writeSync, writevSync } from 'node:fs'
import { mulberry32 } from './random.ts'

export interface TechniqueSample {
  readonly technique: string
  /** CPU time of one run of each way. */
  readonly beforeUs: number
  readonly afterUs: number
}

interface Pair {
  readonly technique: string
  readonly before: () => number
  readonly after: () => number
}

const random = mulberry32(1)
const WORDS = 'lorem ipsum dolor www.other.test sit amet www.example.net consectetur <a href=x> adipiscing'.split(' ')
const page = Buffer.from(Array.from({ length: 8_000 }, () => WORDS[random() % WORDS.length]).join(' '))
const text = page.toString('latin1')
const NEEDLE = 'www.example.org'
const needleBytes = Buffer.from(NEEDLE)
const LESS_THAN = 0x3c
const NAMES = ['content-type', 'content-length', 'etag', 'cache-control', 'vary', 'server', 'date', 'x-request-id']
const heads = Array.from({ length: 400 }, () => Buffer.from(NAMES[random() % NAMES.length]))
const chunks = Array.from({ length: 256 }, (_, i) => page.subarray(i * 128, i * 128 + 128))
const table = new Int32Array(64 * 256).map(() => (random() % 64) << 8)
const rows = Array.from({ length: 64 }, (_, state) => ({
  next: Array.from(table.subarray(state * 256, state * 256 + 256), (entry) => entry >> 8),
}))
const nowhere = openSync('/dev/null', 'w')

interface Fields {
  [name: string]: number | undefined
}

function fields(i: number): Fields {
  return { status: 200, bytes: i, hits: i & 7, held: 0, route: 1 }
}

const PAIRS: readonly Pair[] = [
  {
    technique: 'a pattern compiled once, not in the loop',
    before: () => count(WORDS, (word) => new RegExp('^[a-z]+$', 'u').test(word)),
    after: (() => {
      const pattern = /^[a-z]+$/u
      return () => count(WORDS, (word) => pattern.test(word))
    })(),
  },
  {
    technique: 'indexOf for a literal, not a pattern',
    before: () => text.search(/www\.example\.org/),
    after: () => text.indexOf(NEEDLE),
  },
  {
    technique: 'octets searched as they are, not decoded first',
    before: () => page.toString('utf8').indexOf(NEEDLE),
    after: () => page.indexOf(needleBytes),
  },
  {
    technique: 'the first octet looked at before the rest',
    before: () => countAt((at) => page.subarray(at, at + 7).toString('latin1') === '<a href'),
    after: () => countAt((at) => page[at] === LESS_THAN && page.subarray(at, at + 7).toString('latin1') === '<a href'),
  },
  {
    technique: 'lengths compared before texts',
    before: () => count(heads, (head) => head.toString('latin1').toLowerCase() === 'content-length'),
    after: () =>
      count(heads, (head) => head.length === 14 && head.toString('latin1').toLowerCase() === 'content-length'),
  },
  {
    technique: 'a shared string for what comes again',
    before: () => heads.reduce((sum, head) => sum + head.toString('latin1').length, 0),
    after: () => heads.reduce((sum, head) => sum + nameOf(head).length, 0),
  },
  {
    technique: 'a view, not a copy',
    before: () => chunks.reduce((sum, chunk) => sum + new Uint8Array(chunk).length, 0),
    after: () => chunks.reduce((sum, chunk) => sum + chunk.subarray(0).length, 0),
  },
  {
    technique: 'one vectored write, not many',
    before: () => chunks.reduce((sum, chunk) => sum + writeSync(nowhere, chunk), 0),
    after: () => writevSync(nowhere, chunks),
  },
  {
    technique: 'one table of integers, not objects with arrays',
    before: () => {
      let state = 0
      for (let at = 0; at < page.length; at++) state = rows[state].next[page[at]]
      return state
    },
    after: () => {
      let state = 0
      for (let at = 0; at < page.length; at++) state = table[state + page[at]]
      return state >> 8
    },
  },
  {
    technique: 'an index, not an iterator, over octets',
    before: () => {
      let sum = 0
      for (const octet of page) sum += octet
      return sum
    },
    after: () => {
      let sum = 0
      for (let at = 0; at < page.length; at++) sum += page[at]
      return sum
    },
  },
  {
    technique: 'a field set to undefined, not deleted',
    before: () => sumOf((object) => delete object.held),
    after: () => sumOf((object) => (object.held = undefined)),
  },
  {
    technique: 'all fields in one order, not as they come',
    before: () => {
      let sum = 0
      for (let i = 0; i < 1_000; i++)
        sum += read(i % 3 === 0 ? { b: 1, a: i } : i % 3 === 1 ? { a: i, b: 1 } : { c: 0, a: i })
      return sum
    },
    after: () => {
      let sum = 0
      for (let i = 0; i < 1_000; i++) sum += readSame({ a: i, b: 1, c: 0 })
      return sum
    },
  },
]

function read(object: { readonly a: number; readonly b?: number; readonly c?: number }): number {
  return object.a
}

function readSame(object: { readonly a: number; readonly b: number; readonly c: number }): number {
  return object.a
}

function sumOf(forget: (object: Fields) => unknown): number {
  let sum = 0
  for (let i = 0; i < 1_000; i++) {
    const object = fields(i)
    forget(object)
    sum += (object.bytes ?? 0) + (object.hits ?? 0)
  }
  return sum
}

function count<T>(items: readonly T[], fits: (item: T) => boolean): number {
  let hits = 0
  for (const item of items) if (fits(item)) hits++
  return hits
}

function countAt(fits: (at: number) => boolean): number {
  let hits = 0
  for (let at = 0; at < 4_096; at++) if (fits(at)) hits++
  return hits
}

function nameOf(head: Uint8Array): string {
  for (const name of NAMES) {
    if (name.length !== head.length || name.charCodeAt(0) !== head[0] || name.charCodeAt(1) !== head[1]) continue
    return name
  }
  return Buffer.from(head).toString('latin1')
}

function cpuUs(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** Runs it for so much CPU time; microseconds a run. */
function timed(run: () => number, expected: number, microseconds: number): number {
  const begun = cpuUs()
  let runs = 0
  let now = begun
  do {
    for (let i = 0; i < 8; i++) if (run() !== expected) throw new Error('the two ways differ')
    runs += 8
    now = cpuUs()
  } while (now < begun + microseconds)
  return (now - begun) / runs
}

const TURNS = 5
const microseconds = (Number(process.argv[2]) * 1e6) / TURNS
const samples: TechniqueSample[] = PAIRS.map(({ technique, before, after }) => {
  const expected = after()
  timed(before, expected, microseconds)
  timed(after, expected, microseconds)
  const [a, b]: [number[], number[]] = [[], []]
  for (let turn = 0; turn < TURNS; turn++) {
    a.push(timed(before, expected, microseconds))
    b.push(timed(after, expected, microseconds))
  }
  return {
    technique,
    beforeUs: a.toSorted((x, y) => x - y)[TURNS >> 1],
    afterUs: b.toSorted((x, y) => x - y)[TURNS >> 1],
  }
})
closeSync(nowhere)
process.stdout.write(`${JSON.stringify(samples)}\n`)

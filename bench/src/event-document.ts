/**
 * The recording that the MessagePack benches decode: events of a proxy session, the same bytes for the same number. What
 * an exchange looks like is `@prexy/events`'; the other kinds are what applications add to a session.
 *
 * The figures follow a recording of 250,000 events whose statistics are known: 144 MB, 2.6 maps and 23 keys for an event, 13
 * string values of which a quarter never came before, half of them up to 12 bytes and a tenth above 47.
 */
import { encode } from '@msgpack/msgpack'
import {
  type BodyTreatment,
  EXCHANGE_EVENT_VERSION,
  type ExchangeEvent,
  type ExchangeOutcome,
} from '@prexy/events/exchange'
import { mulberry32 } from './random.ts'

export const MOST_EVENTS = 1_000_000

/** What surrounds an event of any kind in a recording. */
export interface RecordedEvent {
  readonly seq: number
  readonly time: Date
  readonly session: string
  readonly source: string
  readonly kind: string
  readonly level: string
  readonly name: string
  readonly durationMs: number
  /** 32 digits, never the same twice. */
  readonly trace: string
  readonly payload: object
}

const METHODS = ['GET', 'GET', 'GET', 'GET', 'POST', 'PUT', 'HEAD'] as const
const HOSTS = ['www.shop.example', 'static.shop.example', 'api.shop.example:8443', 'img.shop.example'] as const
const ROUTES = ['shop', 'static', 'api', 'images', 'legacy-search'] as const
const UPSTREAMS = ['10.0.0.11:8080', '10.0.0.12:8080', '10.0.0.13:8080', '[fd00::21]:8080'] as const
const STATUSES = [200, 200, 200, 200, 304, 301, 404, 500] as const
const LEVELS = ['info', 'info', 'info', 'debug', 'warn', 'error'] as const
const SOURCES = ['proxy', 'proxy', 'shop-web', 'shop-api', 'browser', 'worker'] as const
const AGENTS = [
  'Mozilla/5.0 (X11; Linux x64; rv:153.0) Gecko/20100101 Firefox/153.0',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
  'curl/8.14.1',
] as const
const WORDS = (
  'order item cart user customer payment invoice delivery address session cache index query result page product category ' +
  'price stock image upload token refresh retry timeout connection'
).split(' ')

/** The events as one MessagePack array, as @msgpack/msgpack encodes them. At most {@link MOST_EVENTS}. */
export function eventDocument(count: number): Uint8Array {
  if (!Number.isInteger(count) || count < 0 || count > MOST_EVENTS)
    throw new RangeError(`no document of ${count} events`)
  let bytes = new Uint8Array(1024 + count * 640)
  bytes.set([0xdd, count >>> 24, (count >>> 16) & 0xff, (count >>> 8) & 0xff, count & 0xff])
  let size = 5
  for (const event of events(count)) {
    const encoded = encode(event)
    if (size + encoded.length > bytes.length) {
      const larger = new Uint8Array(bytes.length * 2)
      larger.set(bytes)
      bytes = larger
    }
    bytes.set(encoded, size)
    size += encoded.length
  }
  return bytes.slice(0, size)
}

export function* events(count: number): Generator<RecordedEvent, void, undefined> {
  const random = mulberry32(7)
  const session = hex(random, 16)
  let startedAtMs = Date.UTC(2026, 10, 30, 8)
  for (let seq = 1; seq <= count; seq++) {
    startedAtMs += random() % 40
    const [kind, payload] = payloadOf(seq, startedAtMs, random)
    yield {
      seq,
      time: new Date(startedAtMs),
      session,
      source: kind === 'exchange' ? 'proxy' : pick(SOURCES, random),
      kind,
      level: pick(LEVELS, random),
      name: `${pick(WORDS, random)}.${pick(WORDS, random)}`,
      durationMs: (random() % 1_000_000) / 1_024,
      trace: hex(random, 32),
      payload,
    }
  }
}

/** The kind of an event and what is particular to it. */
function payloadOf(seq: number, startedAtMs: number, random: () => number): [string, object] {
  const roll = random() % 100
  if (roll < 30) return ['exchange', exchange(seq, startedAtMs, random)]
  if (roll < 50) {
    return [
      'log',
      {
        logger: pick(SOURCES, random),
        message: sentence(random),
        requestId: hex(random, 16),
        line: random() % 900,
        file: `/app/src/${pick(WORDS, random)}/${pick(WORDS, random)}.js`,
        user: `user-${random() % 50_000}@shop.example`,
      },
    ]
  }
  if (roll < 64) {
    return [
      'query',
      {
        database: 'shop',
        statement: `SELECT * FROM ${pick(WORDS, random)} WHERE ${pick(WORDS, random)}_id = $1 AND ${pick(WORDS, random)} > $2 AND ${pick(WORDS, random)} IS NOT NULL ORDER BY created_at DESC LIMIT ${random() % 500}`,
        rows: random() % 500,
        plan: pick(['index', 'seq', 'bitmap'], random),
        connection: random() % 32,
        parameters: octets(random, 16 + (random() % 185)),
        user: `user-${random() % 50_000}@shop.example`,
      },
    ]
  }
  if (roll < 76) {
    return [
      'span',
      {
        traceId: hex(random, 32),
        spanId: hex(random, 16),
        parentId: hex(random, 16),
        operation: `${pick(METHODS, random)} /${pick(WORDS, random)}`,
        startUs: random() % 1_000_000,
        endUs: random() % 10_000_000,
        sampled: random() % 2 === 0,
        attributes: { component: pick(SOURCES, random), host: pick(HOSTS, random), status: pick(STATUSES, random) },
      },
    ]
  }
  if (roll < 86) {
    return [
      'request',
      {
        method: pick(METHODS, random),
        url: `https://${pick(HOSTS, random)}${path(random)}`,
        headers: {
          host: pick(HOSTS, random),
          'user-agent': pick(AGENTS, random),
          referer: `https://${pick(HOSTS, random)}${path(random)}`,
          accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
          'accept-language': 'de,en-US;q=0.7,en;q=0.3',
          'accept-encoding': 'gzip, deflate, br',
          cookie: `[redacted ${random() % 90} bytes]`,
          'x-request-id': hex(random, 32),
        },
        bodyBytes: random() % 60_000,
      },
    ]
  }
  if (roll < 92) {
    return [
      'metric',
      {
        unit: 'ms',
        p50: random() / 0x1000000,
        p95: random() / 0x400000,
        p99: random() / 0x200000,
        count: random() % 9_000,
      },
    ]
  }
  if (roll < 97) {
    return [
      'websocket',
      {
        opcode: random() % 3,
        direction: pick(['in', 'out'], random),
        bytes: random() % 9_000,
        sample: octets(random, 16 + (random() % 185)),
      },
    ]
  }
  return [
    'error',
    {
      type: pick(['TypeError', 'TimeoutError', 'RangeError'], random),
      message: sentence(random),
      stack: Array.from(
        { length: 3 + (random() % 11) },
        () =>
          `    at ${pick(WORDS, random)} (/app/src/${pick(WORDS, random)}/${pick(WORDS, random)}.js:${random() % 900}:9)`,
      ).join('\n'),
      code: pick(['E_TIMEOUT', 'E_LIMIT', 'E_STATE'], random),
      handled: random() % 2 === 0,
    },
  ]
}

/** An exchange of the recording. */
export function exchange(exchangeId: number, startedAtMs: number, random: () => number): ExchangeEvent {
  const bytes = 200 + (random() % 90_000)
  const responseHeadUs = 900 + (random() % 200_000)
  const isRoutine = random() % 20 !== 0
  const outcome: ExchangeOutcome = isRoutine
    ? 'completed'
    : pick(['client-aborted', 'upstream-timeout', 'answered'] as const, random)
  return {
    version: EXCHANGE_EVENT_VERSION,
    exchangeId,
    connectionId: exchangeId >>> 3,
    requestNumber: 1 + (exchangeId & 7),
    startedAtMs,
    timings: {
      requestHeadUs: 20 + (random() % 900),
      upstreamConnectedUs: random() % 4 === 0 ? 300 + (random() % 600) : undefined,
      responseHeadUs,
      endUs: responseHeadUs + (random() % 90_000),
    },
    method: pick(METHODS, random),
    host: pick(HOSTS, random),
    target: path(random),
    status: pick(STATUSES, random),
    route: pick(ROUTES, random),
    upstream: pick(UPSTREAMS, random),
    clientInBytes: 300 + (random() % 1_200),
    clientOutBytes: bytes + 420,
    upstreamOutBytes: random() % 900,
    upstreamInBytes: bytes,
    outcome,
    detail: isRoutine ? undefined : sentence(random),
    treatment: treatment(bytes, random),
  }
}

function treatment(bytes: number, random: () => number): BodyTreatment {
  const roll = random() % 10
  if (roll < 5) return { kind: 'passed', reason: pick(['content-type', 'status', 'no-rules'] as const, random) }
  if (roll < 6) return { kind: 'head-only', reason: 'not-modified' }
  const hits = Array.from({ length: 5 }, () => random() % 200)
  const stats = {
    hits,
    overflows: 0,
    peakHeldBytes: random() % 900,
    inBytes: bytes,
    outBytes: bytes + (random() % 500),
  }
  return { kind: 'rewritten', decode: pick(['gzip', 'br', 'identity'], random), encode: 'gzip', stats }
}

function path(random: () => number): string {
  const query =
    random() % 2 === 0
      ? `?id=${hex(random, 16)}&page=${random() % 20}&session=${hex(random, 16)}&utm_source=newsletter&utm_campaign=spring`
      : ''
  return `/${pick(WORDS, random)}/${pick(WORDS, random)}-${pick(WORDS, random)}-${random() % 1_000_000}${query}`
}

function sentence(random: () => number): string {
  const words = Array.from({ length: 4 + (random() % 26) }, () => pick(WORDS, random))
  return `${random() % 3 === 0 ? 'Größe überschritten – ' : ''}${words.join(' ')} ${random() % 10_000}`
}

function hex(random: () => number, digits: number): string {
  let text = ''
  while (text.length < digits) text += (random() & 0xff).toString(16).padStart(2, '0')
  return text
}

function octets(random: () => number, size: number): Uint8Array {
  return Uint8Array.from({ length: size }, () => random() & 0xff)
}

function pick<T>(from: readonly T[], random: () => number): T {
  return from[random() % from.length]
}

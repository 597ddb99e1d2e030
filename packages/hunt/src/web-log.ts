/** Requests of access logs as events: whatever the log, the fields and views that rules of web servers read. */
import type { FieldScalar, FieldValue, LogSource, SigmaEvent } from '@prexy/sigma/event'
import { WEB_FIELD_NAMES, WEB_SOURCES, webEvent } from '@prexy/sigma/web-event'
import { createTimeReader, type EventTime } from './event-time.ts'
import type { EventEntry, HuntEvent } from './hunt-event.ts'
import { type LogFormat, type LogRole, NO_VALUE, unescapeLogText } from './log-format.ts'

/** Facts of a request as a log gives them: texts, where they have no other type. Empty is what was not recorded. */
export interface RequestFacts {
  /** Milliseconds since 1970, and units of 100 ns beyond them. */
  time: number | undefined
  ticks: number
  method: string
  target: string
  scheme: string | undefined
  host: string | undefined
  version: string | undefined
  userAgent: string | undefined
  referer: string | undefined
  cookie: string | undefined
  contentType: string | undefined
  username: string | undefined
  clientAddress: string | undefined
  serverAddress: string | undefined
  serverPort: number | undefined
  status: number | undefined
  requestBytes: number | undefined
  responseBytes: number | undefined
  durationMs: number | undefined
  fields: Map<string, FieldValue> | undefined
  /** What keyword rules search; undefined: the request line and the fields. */
  text: string | undefined
  /** The number that the log itself gives the request. */
  recordId: string | undefined
}

export function noFacts(): RequestFacts {
  return {
    time: undefined,
    ticks: 0,
    method: '',
    target: '',
    scheme: undefined,
    host: undefined,
    version: undefined,
    userAgent: undefined,
    referer: undefined,
    cookie: undefined,
    contentType: undefined,
    username: undefined,
    clientAddress: undefined,
    serverAddress: undefined,
    serverPort: undefined,
    status: undefined,
    requestBytes: undefined,
    responseBytes: undefined,
    durationMs: undefined,
    fields: undefined,
    text: undefined,
    recordId: undefined,
  }
}

export function setTime(facts: RequestFacts, time: EventTime | undefined): void {
  facts.time = time?.ms
  facts.ticks = time?.ticks ?? 0
}

/** An event of a request; the facts are its own from now on. */
export function requestEvent(
  facts: RequestFacts,
  channel: string,
  sources: readonly LogSource[] = WEB_SOURCES,
): HuntEvent {
  return new RequestEvent(facts, channel, sources)
}

/** One for each line of a log: a class, because closures for each would cost as much as reading the line. */
class RequestEvent implements HuntEvent {
  readonly kind = 'web'
  readonly eventId: undefined = undefined
  readonly provider: undefined = undefined
  readonly isRecovered = false
  readonly channel: string
  readonly sources: readonly LogSource[]
  readonly #facts: RequestFacts
  readonly #event: SigmaEvent

  constructor(facts: RequestFacts, channel: string, sources: readonly LogSource[]) {
    this.channel = channel
    this.sources = sources
    this.#facts = facts
    this.#event = webEvent(facts, sources)
  }

  get time(): number | undefined {
    return this.#facts.time
  }

  get ticks(): number {
    return this.#facts.ticks
  }

  get host(): string {
    return this.#facts.host ?? this.#facts.serverAddress ?? ''
  }

  get recordId(): string | undefined {
    return this.#facts.recordId
  }

  get(field: string): FieldValue | undefined {
    return this.#event.get(field)
  }

  text(): string {
    return this.#event.text()
  }

  entries(): readonly EventEntry[] {
    return requestEntries(this.#facts)
  }

  fieldNames(): Iterable<string> {
    const own = this.#facts.fields
    return own === undefined ? WEB_FIELD_NAMES : new Set([...WEB_FIELD_NAMES, ...own.keys()])
  }
}

function requestEntries(facts: RequestFacts): readonly EventEntry[] {
  const entries: [string, FieldScalar][] = []
  const add = (name: string, value: FieldScalar | undefined): void => {
    if (value !== undefined && value !== '') entries.push([name, value])
  }
  add('c-ip', facts.clientAddress)
  add('cs-username', facts.username)
  add('cs-method', facts.method)
  add('c-uri', facts.target)
  add('cs-version', facts.version)
  add('cs-host', facts.host)
  add('sc-status', facts.status)
  add('sc-bytes', facts.responseBytes)
  add('cs-bytes', facts.requestBytes)
  add('cs-user-agent', facts.userAgent)
  add('cs-referer', facts.referer)
  add('cs-cookie', facts.cookie)
  add('cs-content-type', facts.contentType)
  add('time-taken', facts.durationMs)
  add('s-ip', facts.serverAddress)
  add('s-port', facts.serverPort)
  for (const [name, value] of facts.fields ?? []) {
    if (typeof value !== 'object' || value === null) add(name, value)
  }
  return entries
}

type Setter = (facts: RequestFacts, text: string) => void

/** A method is a token of RFC 9110; what else stands where a request should is no request line. */
const REQUEST_LINE = /^([!#$%&'*+.^_`|~A-Za-z0-9-]{1,40}) (.*?)(?: (HTTP\/\d(?:\.\d)?))?$/s

/** `-` and the empty text are what was not recorded. */
export function setterOf(role: LogRole | undefined, name: string): Setter {
  switch (role) {
    case 'ignored':
      return () => {}
    case 'time': {
      const read = createTimeReader()
      return (facts, text) => {
        setTime(facts, read(text))
      }
    }
    case 'request':
      return (facts, text) => setRequestLine(facts, unescapeLogText(text))
    case 'target':
      return (facts, text) => {
        facts.target = unescapeLogText(text)
      }
    case 'path':
      return (facts, text) => {
        if (facts.target === '' || facts.target.startsWith('?')) facts.target = unescapeLogText(text) + facts.target
      }
    case 'query':
      return (facts, text) => {
        if (facts.target.includes('?')) return
        facts.target += text.startsWith('?') ? unescapeLogText(text) : `?${unescapeLogText(text)}`
      }
    case 'method':
      return (facts, text) => {
        facts.method = text
      }
    case undefined:
      return (facts, text) => {
        facts.fields ??= new Map()
        facts.fields.set(name.replaceAll(' ', ''), unescapeLogText(text))
      }
    case 'seconds':
      return durationSetter(1_000)
    case 'milliseconds':
      return durationSetter(1)
    case 'microseconds':
      return durationSetter(0.001)
    case 'status':
      return (facts, text) => {
        facts.status = countOf(text)
      }
    case 'response-bytes':
      return (facts, text) => {
        facts.responseBytes ??= countOf(text)
      }
    case 'request-bytes':
      return (facts, text) => {
        facts.requestBytes = countOf(text)
      }
    case 'server-port':
      return (facts, text) => {
        facts.serverPort = countOf(text)
      }
    default: {
      const key = TEXT_KEYS[role]
      return (facts, text) => {
        facts[key] ??= unescapeLogText(text)
      }
    }
  }
}

const TEXT_KEYS = {
  client: 'clientAddress',
  user: 'username',
  version: 'version',
  scheme: 'scheme',
  referer: 'referer',
  'user-agent': 'userAgent',
  host: 'host',
  cookie: 'cookie',
  'content-type': 'contentType',
  server: 'serverAddress',
} as const

function durationSetter(unitMs: number): Setter {
  return (facts, text) => {
    const value = Number(text)
    if (Number.isFinite(value)) facts.durationMs = value * unitMs
  }
}

function countOf(text: string): number | undefined {
  const value = Number(text)
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** The whole line is the target where it is no request line: scanners and broken clients send anything. */
export function setRequestLine(facts: RequestFacts, line: string): void {
  const match = REQUEST_LINE.exec(line)
  if (match === null) {
    facts.target = line
    return
  }
  facts.method = match[1]
  facts.target = match[2]
  facts.version = match[3]
}

/** Reads lines of a format. Undefined: the line is not of it, or has no time that can be read. */
export function createLineReader(format: LogFormat, channel: string): (line: string) => HuntEvent | undefined {
  const setters = format.fields.map(({ role, name }) => setterOf(role, name))
  const hasTime = format.fields.some(({ role }) => role === 'time')
  return (line) => {
    const texts = format.split(line)
    if (texts === undefined) return undefined
    const facts = noFacts()
    for (let index = 0; index < setters.length; index++) {
      const text = texts[index]
      if (text !== NO_VALUE && text !== '') setters[index](facts, text)
    }
    if (hasTime && facts.time === undefined) return undefined
    return requestEvent(facts, channel)
  }
}

const W3C_ROLES: ReadonlyMap<string, LogRole> = new Map<string, LogRole>([
  ['c-ip', 'client'],
  ['cs-username', 'user'],
  ['cs-method', 'method'],
  ['cs-uri', 'target'],
  ['cs-uri-stem', 'path'],
  ['cs-uri-query', 'query'],
  ['cs-version', 'version'],
  ['cs-host', 'host'],
  ['cs(host)', 'host'],
  ['cs(user-agent)', 'user-agent'],
  ['cs(referer)', 'referer'],
  ['cs(cookie)', 'cookie'],
  ['s-ip', 'server'],
  ['s-port', 'server-port'],
  ['sc-status', 'status'],
  ['sc-bytes', 'response-bytes'],
  ['cs-bytes', 'request-bytes'],
])

/** A reader of W3C extended logs, as IIS writes them: directives say what the fields are, and may change. */
export interface W3cReader {
  /** `directive`: a line that only says how to read the next ones. `bad`: a line with another number of fields. */
  read(line: string): HuntEvent | 'directive' | 'bad'
}

export function createW3cReader(): W3cReader {
  let names: readonly string[] = []
  let setters: readonly Setter[] = []
  let [date, time] = ['', '']
  const readTime = createTimeReader()
  const compile = (fields: readonly string[]): void => {
    names = fields
    setters = fields.map((name) => {
      if (name === 'date') {
        return (_, text) => {
          date = text
        }
      }
      if (name === 'time') {
        return (_, text) => {
          time = text
        }
      }
      // IIS counts milliseconds.
      if (name === 'time-taken') return setterOf('milliseconds', name)
      return setterOf(W3C_ROLES.get(name.toLowerCase()), name)
    })
  }
  return {
    read(line) {
      if (line.startsWith('#')) {
        if (line.startsWith('#Fields:')) compile(line.slice(8).trim().split(/\s+/))
        if (line.startsWith('#Date:')) date = line.slice(6).trim().slice(0, 10)
        return 'directive'
      }
      if (line === '') return 'directive'
      const texts = line.split(/[ \t]/)
      if (names.length === 0 || texts.length !== names.length) return 'bad'
      const facts = noFacts()
      for (const [index, text] of texts.entries()) {
        if (text === NO_VALUE || text === '') continue
        setters[index](facts, isBlankEncoded(names[index]) ? text.replaceAll('+', ' ') : text)
      }
      setTime(facts, time === '' ? undefined : readTime(`${date} ${time}`))
      return facts.time === undefined ? 'bad' : requestEvent(facts, 'w3c')
    },
  }
}

/** IIS writes `+` for a blank in header fields, where a blank would end the field. */
function isBlankEncoded(name: string): boolean {
  return name.startsWith('cs(')
}

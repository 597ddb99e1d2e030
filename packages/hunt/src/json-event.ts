/**
 * JSON records as events, whoever wrote them: events of Windows in the shapes of evtx_dump, Winlogbeat, NXLog and Splunk;
 * requests as nginx, Caddy, Traefik, the Elastic Common Schema and prexy itself log them; audit logs of AWS; and anything
 * with a mapping. Wrappers of search engines are taken off first.
 */
import type { FieldScalar, FieldValue, LogSource } from '@prexy/sigma/event'
import { WEB_SOURCES } from '@prexy/sigma/web-event'
import { windowsAliases, windowsSources } from '@prexy/sigma/windows-sources'
import { type EventTime, parseEventTime } from './event-time.ts'
import type { FieldMap } from './field-map.ts'
import { type EventEntry, type HuntEvent, ruleName } from './hunt-event.ts'
import { isJsonObject, type JsonObject, type JsonValue } from './json-records.ts'
import { noFacts, requestEvent, type RequestFacts, setRequestLine, setTime } from './web-log.ts'

/** Fields of one record; further ones are left out. */
export const MAX_JSON_FIELDS = 4_096
/** Objects inside each other; what is deeper is left out. */
export const MAX_JSON_DEPTH = 32

/** Keys of wrappers whose value is the record, and of those whose value is a list of records. */
const RECORD_KEYS = ['_source', 'result', 'preview_result']
const LIST_KEYS = ['results', 'Records', 'records', 'events', 'hits']

/** The records of one JSON value: the value itself, or what a search engine wrapped. */
export function recordsOf(value: JsonValue, map: FieldMap | undefined, depth = 0): readonly JsonObject[] {
  if (depth > MAX_JSON_DEPTH) return []
  if (Array.isArray(value)) return value.flatMap((item: JsonValue) => recordsOf(item, map, depth + 1))
  if (!isJsonObject(value)) return []
  if (map?.record !== undefined) {
    const found = valueAt(value, map.record)
    return found === undefined ? [] : recordsOf(found, { ...map, record: undefined }, depth + 1)
  }
  for (const key of RECORD_KEYS) {
    const inside = memberOf(value, key)
    if (isJsonObject(inside)) return [inside]
  }
  for (const key of LIST_KEYS) {
    const inside = memberOf(value, key)
    if (Array.isArray(inside) && inside.length > 0 && inside.every(isJsonObject))
      return recordsOf(inside, map, depth + 1)
    if (key === 'hits' && isJsonObject(inside)) return recordsOf(inside, map, depth + 1)
  }
  return [value]
}

function memberOf(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** The value at a dotted path; a key with dots in it comes before a path. */
function valueAt(object: JsonObject, path: string): JsonValue | undefined {
  const whole = memberOf(object, path)
  if (whole !== undefined) return whole
  let value: JsonValue | undefined = object
  for (const key of path.split('.')) {
    if (!isJsonObject(value)) return undefined
    value = memberOf(value, key)
  }
  return value
}

/** All leaves by their dotted names, without blanks; lists of scalars and of objects are lists of values. */
export function flatten(object: JsonObject): Map<string, FieldValue> {
  const fields = new Map<string, FieldValue>()
  const add = (name: string, value: FieldScalar): void => {
    const known = fields.get(name)
    if (known === undefined) {
      if (fields.size < MAX_JSON_FIELDS) fields.set(name, value)
    } else if (Array.isArray(known)) {
      const list: readonly FieldScalar[] = known
      fields.set(name, [...list, value])
    } else if (known === null || typeof known !== 'object') fields.set(name, [known, value])
  }
  const visit = (value: JsonValue, name: string, depth: number): void => {
    if (depth > MAX_JSON_DEPTH) return
    if (Array.isArray(value)) {
      const isPlain = value.every((item: JsonValue) => item === null || typeof item !== 'object')
      if (isPlain && !fields.has(name) && fields.size < MAX_JSON_FIELDS) {
        const list: FieldScalar[] = []
        for (const item of value as readonly JsonValue[]) {
          if (item === null || typeof item !== 'object') list.push(item)
        }
        fields.set(name, list)
      } else for (const item of value as readonly JsonValue[]) visit(item, name, depth + 1)
    } else if (isJsonObject(value)) {
      for (const [key, inside] of Object.entries(value)) {
        visit(inside, name === '' ? ruleName(key) : `${name}.${ruleName(key)}`, depth + 1)
      }
    } else if (value === null || typeof value !== 'object') add(name, value)
  }
  visit(object, '', 0)
  return fields
}

/** What a reader of JSON is told beside the records. */
export interface JsonEventOptions {
  readonly map: FieldMap | undefined
  /** What a person says the records are; undefined: what they look like. */
  readonly logsource: LogSource | undefined
}

/** Records whose log source is not known: no rule is tried on them. */
export const UNKNOWN_SOURCES: readonly LogSource[] = []

/** Makes events of records; log sources of one kind are one array, as the matcher wants it. */
export function createJsonReader(options: JsonEventOptions): (record: JsonObject) => HuntEvent {
  const asked = options.map?.logsource ?? options.logsource
  const given = asked === undefined ? undefined : [asked]
  return (record) => {
    const windows = windowsRecord(record)
    if (windows !== undefined && options.map === undefined) return windowsJsonEvent(windows, record, given)
    const fields = flatten(record)
    const { map } = options
    if (map !== undefined) {
      for (const [name, path] of map.fields) {
        const value = fields.get(ruleName(path))
        if (value !== undefined) fields.set(name, value)
      }
    }
    const facts = requestFacts(fields, map)
    if (facts !== undefined && (given === undefined || isWebSource(given[0]))) {
      return requestEvent(facts, channelOf(fields, map, 'json'), given ?? WEB_SOURCES)
    }
    return otherEvent(fields, map, given)
  }
}

function isWebSource({ category, service, product }: LogSource): boolean {
  return category === 'webserver' || category === 'proxy' || (service === undefined && product === undefined)
}

function channelOf(fields: ReadonlyMap<string, FieldValue>, map: FieldMap | undefined, otherwise: string): string {
  const path = map?.channel
  return (path === undefined ? undefined : textAt(fields, [path])) ?? otherwise
}

const TIME_NAMES = [
  '@timestamp',
  'timestamp',
  'time',
  'Time',
  'eventTime',
  'EventTime',
  'TimeCreated',
  'TimeGenerated',
  '_time',
  'ts',
  'date',
  'time_local',
  'time_iso8601',
  'StartUTC',
  'startTime',
  'msec',
]

function timeIn(fields: ReadonlyMap<string, FieldValue>, names: readonly string[]): EventTime | undefined {
  for (const name of names) {
    const value = fields.get(name)
    if (typeof value !== 'string' && typeof value !== 'number') continue
    const time = parseEventTime(value)
    if (time !== undefined) return time
  }
  return undefined
}

function textAt(fields: ReadonlyMap<string, FieldValue>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = fields.get(name)
    const first = Array.isArray(value) ? (value as readonly FieldScalar[])[0] : value
    if (typeof first === 'string' && first !== '' && first !== '-') return first
    if (typeof first === 'number' || typeof first === 'bigint') return String(first)
  }
  return undefined
}

function numberAt(fields: ReadonlyMap<string, FieldValue>, names: readonly string[]): number | undefined {
  const text = textAt(fields, names)
  const value = text === undefined ? NaN : Number(text)
  return Number.isFinite(value) ? value : undefined
}

/** Where requests have what, by the names of the taxonomy first. */
const WEB_NAMES = {
  method: [
    'cs-method',
    'http.request.method',
    'request_method',
    'RequestMethod',
    'request.method',
    'requestMethod',
    'httpRequest.requestMethod',
    'http_method',
    'method',
    'verb',
  ],
  target: [
    'c-uri',
    'cs-uri',
    'request_uri',
    'requestURI',
    'RequestPath',
    'request.uri',
    'url.original',
    'http.request.target',
    'httpRequest.requestUrl',
    'requestUri',
    'uri',
    'url',
    'target',
    'path',
    'url.path',
    'uri_path',
    'cs-uri-stem',
  ],
  query: ['cs-uri-query', 'c-uri-query', 'url.query', 'uri_query', 'query_string', 'args', 'query'],
  line: ['request', 'request_line', 'RequestLine'],
  status: [
    'sc-status',
    'http.response.status_code',
    'status',
    'status_code',
    'DownstreamStatus',
    'response',
    'httpRequest.status',
    'statusCode',
  ],
  client: [
    'c-ip',
    'src_ip',
    'client.ip',
    'source.ip',
    'source.address',
    'remote_addr',
    'remote_ip',
    'request.remote_ip',
    'ClientHost',
    'ClientAddr',
    'httpRequest.remoteIp',
    'clientip',
    'client_ip',
    'remoteAddress',
    'client',
  ],
  host: [
    'cs-host',
    'http_host',
    'request.host',
    'RequestHost',
    'url.domain',
    'destination.domain',
    'server_name',
    'vhost',
    'host',
    'host.name',
  ],
  userAgent: [
    'cs-user-agent',
    'c-useragent',
    'http_user_agent',
    'user_agent.original',
    'request.headers.User-Agent',
    'request_User-Agent',
    'httpRequest.userAgent',
    'http_user_agent',
    'userAgent',
    'user_agent',
    'agent',
  ],
  referer: [
    'cs-referer',
    'cs-referrer',
    'http_referer',
    'http.request.referrer',
    'request.headers.Referer',
    'request_Referer',
    'httpRequest.referer',
    'referrer',
    'referer',
  ],
  cookie: ['cs-cookie', 'http_cookie', 'request.headers.Cookie'],
  username: ['cs-username', 'user.name', 'remote_user', 'ClientUsername', 'user_id', 'request.user', 'user'],
  version: ['cs-version', 'server_protocol', 'RequestProtocol', 'request.proto', 'http.version', 'protocol'],
  scheme: ['scheme', 'url.scheme', 'RequestScheme'],
  contentType: ['cs-content-type', 'content_type', 'request.headers.Content-Type', 'http.request.mime_type'],
  responseBytes: [
    'sc-bytes',
    'http.response.bytes',
    'http.response.body.bytes',
    'body_bytes_sent',
    'bytes_sent',
    'DownstreamContentSize',
    'httpRequest.responseSize',
    'bytesOut',
    'size',
    'bytes',
  ],
  requestBytes: ['cs-bytes', 'http.request.bytes', 'request_length', 'RequestContentSize', 'bytesIn', 'bytes_read'],
  server: ['s-ip', 'dst_ip', 'server.ip', 'destination.ip', 'server_addr', 'upstream'],
  milliseconds: ['time-taken', 'totalMs', 'duration_ms', 'responseTime'],
  seconds: ['request_time', 'duration'],
} as const

const METHOD = /^[A-Z][A-Z_-]{0,30}$/

/** The facts of a request, when the record is about one: it has a method and a target, or a request line. */
function requestFacts(fields: Map<string, FieldValue>, map: FieldMap | undefined): RequestFacts | undefined {
  const facts = noFacts()
  const at = (role: keyof typeof WEB_NAMES): string | undefined => textAt(fields, WEB_NAMES[role])
  const line = at('line')
  const method = at('method')
  const target = at('target')
  if (method !== undefined && METHOD.test(method) && target !== undefined) {
    facts.method = method
    facts.target = target
    const query = at('query')
    if (query !== undefined && !target.includes('?')) facts.target += query.startsWith('?') ? query : `?${query}`
    facts.version = at('version')
  } else if (line !== undefined && / (?:\/|https?:|\*)/.test(line)) setRequestLine(facts, line)
  else return undefined
  setTime(facts, timeIn(fields, map?.time === undefined ? TIME_NAMES : [map.time]))
  facts.status = numberAt(fields, WEB_NAMES.status)
  facts.clientAddress = at('client')
  facts.host = (map?.host === undefined ? undefined : textAt(fields, [map.host])) ?? at('host')
  facts.userAgent = at('userAgent')
  facts.referer = at('referer')
  facts.cookie = at('cookie')
  facts.username = at('username')
  facts.scheme = at('scheme')
  facts.contentType = at('contentType')
  facts.responseBytes = numberAt(fields, WEB_NAMES.responseBytes)
  facts.requestBytes = numberAt(fields, WEB_NAMES.requestBytes)
  facts.serverAddress = at('server')
  const seconds = numberAt(fields, WEB_NAMES.seconds)
  facts.durationMs = numberAt(fields, WEB_NAMES.milliseconds) ?? (seconds === undefined ? undefined : seconds * 1_000)
  facts.fields = ownFields(fields)
  return facts
}

/** What a record says beside the facts of a request; names of the taxonomy are left to the views. */
function ownFields(fields: Map<string, FieldValue>): Map<string, FieldValue> {
  const own = new Map<string, FieldValue>()
  for (const [name, value] of fields) if (!TAXONOMY.has(name)) own.set(name, value)
  return own
}

const TAXONOMY: ReadonlySet<string> = new Set([
  'c-uri',
  'cs-uri',
  'cs-uri-query',
  'c-uri-query',
  'cs-uri-stem',
  'c-uri-stem',
  'c-uri-extension',
  'cs-host',
  'r-dns',
  'cs-method',
  'sc-status',
  'sc-bytes',
  'cs-bytes',
  'c-ip',
  'src_ip',
  's-ip',
  'dst_ip',
  'cs-user-agent',
  'c-useragent',
  'cs-referer',
  'cs-referrer',
  'cs-cookie',
  'cs-username',
  'cs-version',
  'cs-content-type',
  'time-taken',
  'date',
  'time',
])

const HOST_NAMES = [
  'host.name',
  'host.hostname',
  'Computer',
  'computer_name',
  'Hostname',
  'hostname',
  'agent.hostname',
  'host',
]

const CLOUDTRAIL: readonly LogSource[] = [{ product: 'aws', service: 'cloudtrail' }]

function otherEvent(
  fields: ReadonlyMap<string, FieldValue>,
  map: FieldMap | undefined,
  given: readonly LogSource[] | undefined,
): HuntEvent {
  const isCloudTrail = fields.has('eventSource') && fields.has('eventName') && fields.has('awsRegion')
  const time = timeIn(fields, map?.time === undefined ? TIME_NAMES : [map.time])
  const eventId = map?.eventId === undefined ? undefined : numberAt(fields, [map.eventId])
  return {
    sources: given ?? (isCloudTrail ? CLOUDTRAIL : UNKNOWN_SOURCES),
    time: time?.ms,
    ticks: time?.ticks ?? 0,
    host: textAt(fields, map?.host === undefined ? HOST_NAMES : [map.host]) ?? '',
    channel: channelOf(fields, map, isCloudTrail ? 'aws/cloudtrail' : 'json'),
    eventId,
    recordId: undefined,
    provider: undefined,
    isRecovered: false,
    kind: 'other',
    get: (field) => fields.get(field),
    text: () => textOfFields(fields),
    entries: () => entriesOf(fields, NO_NAMES),
    fieldNames: () => fields.keys(),
  }
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** Values, a line each, as they are: keywords must find a path with its single backslashes. */
function textOfFields(fields: ReadonlyMap<string, FieldValue>): string {
  const lines: string[] = []
  for (const [name, value] of fields) {
    if (Array.isArray(value)) for (const item of value as readonly FieldScalar[]) lines.push(`${name}: ${String(item)}`)
    else if (typeof value !== 'object' || value === null) lines.push(`${name}: ${String(value)}`)
  }
  return lines.join('\n')
}

function entriesOf(fields: ReadonlyMap<string, FieldValue>, without: ReadonlySet<string>): readonly EventEntry[] {
  const entries: EventEntry[] = []
  for (const [name, value] of fields) {
    if (without.has(name)) continue
    if (Array.isArray(value)) {
      for (const item of value as readonly FieldScalar[]) entries.push([name, item])
    } else if (typeof value !== 'object' || value === null) entries.push([name, value])
  }
  return entries
}

/** Where a record has the parts of an event of Windows. */
interface WindowsRecord {
  readonly channel: string
  readonly eventId: number
  readonly host: string
  readonly provider: string | undefined
  readonly recordId: string | undefined
  readonly time: EventTime | undefined
  readonly data: JsonObject
  readonly system: JsonObject
}

/** An element as evtx_dump writes it: its text, or an object with `#text` beside its attributes. */
function elementText(value: JsonValue | undefined): string | undefined {
  const inside = isJsonObject(value) ? memberOf(value, '#text') : value
  if (typeof inside === 'string') return inside
  return typeof inside === 'number' ? String(inside) : undefined
}

function attributeOf(system: JsonObject, element: string, name: string): string | undefined {
  const value = memberOf(system, element)
  const attributes = isJsonObject(value) ? memberOf(value, '#attributes') : undefined
  const found = isJsonObject(attributes) ? attributes : memberOf(system, `${element}_attributes`)
  return isJsonObject(found) ? elementText(memberOf(found, name)) : undefined
}

function firstText(object: JsonObject, names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = elementText(valueAt(object, name))
    if (text !== undefined && text !== '') return text
  }
  return undefined
}

function timeAt(object: JsonObject, names: readonly string[]): EventTime | undefined {
  const text = firstText(object, names)
  return text === undefined ? undefined : parseEventTime(text)
}

function windowsRecord(record: JsonObject): WindowsRecord | undefined {
  const event = memberOf(record, 'Event')
  const system = isJsonObject(event) ? memberOf(event, 'System') : undefined
  if (isJsonObject(event) && isJsonObject(system)) return dumpedRecord(event, system)
  const winlog = memberOf(record, 'winlog')
  const beat = isJsonObject(winlog) ? winlog : record
  const data = memberOf(beat, 'event_data')
  const user = memberOf(beat, 'user_data')
  const channel = firstText(beat, ['channel', 'log_name', 'Channel', 'LogName'])
  const id = Number(firstText(beat, ['event_id', 'EventID', 'EventId', 'EventCode']) ?? NaN)
  if (channel === undefined || !Number.isInteger(id)) return undefined
  const inside = isJsonObject(data) ? data : isJsonObject(user) ? user : undefined
  return {
    channel,
    eventId: id,
    host: firstText(beat, ['computer_name', 'Computer', 'ComputerName', 'Hostname', 'host']) ?? '',
    provider: firstText(beat, ['provider_name', 'source_name', 'SourceName', 'ProviderName', 'Provider_Name']),
    recordId: firstText(beat, ['record_id', 'EventRecordID', 'RecordNumber', 'record_number']),
    time:
      timeAt(beat, ['time_created']) ??
      timeAt(record, ['@timestamp', 'EventTime', 'TimeCreated', 'SystemTime', 'UtcTime', '_time', 'timestamp']),
    data: inside ?? record,
    system: record,
  }
}

function dumpedRecord(event: JsonObject, system: JsonObject): WindowsRecord | undefined {
  const channel = elementText(memberOf(system, 'Channel'))
  const id = Number(elementText(memberOf(system, 'EventID')) ?? NaN)
  if (channel === undefined || !Number.isInteger(id)) return undefined
  const data = memberOf(event, 'EventData')
  const user = memberOf(event, 'UserData')
  const time = attributeOf(system, 'TimeCreated', 'SystemTime')
  return {
    channel,
    eventId: id,
    host: elementText(memberOf(system, 'Computer')) ?? '',
    provider: attributeOf(system, 'Provider', 'Name'),
    recordId: elementText(memberOf(system, 'EventRecordID')),
    time: time === undefined ? undefined : parseEventTime(time),
    data: isJsonObject(data) ? data : isJsonObject(user) ? withoutRoot(user) : {},
    system,
  }
}

/** User data have one element around all others, whose name rules do not write. */
function withoutRoot(user: JsonObject): JsonObject {
  const inside = Object.entries(user).filter(([name]) => !name.endsWith('_attributes') && name !== '#attributes')
  const [only] = inside
  return inside.length === 1 && isJsonObject(only[1]) ? only[1] : user
}

function windowsJsonEvent(
  windows: WindowsRecord,
  record: JsonObject,
  given: readonly LogSource[] | undefined,
): HuntEvent {
  const { channel, eventId, data, system } = windows
  let fields: Map<string, FieldValue> | undefined
  const allFields = (): Map<string, FieldValue> => (fields ??= windowsFields(windows))
  const read = (field: string): FieldValue | undefined => allFields().get(field)
  const type = read('EventType')
  const aliases = windowsAliases(channel, eventId)
  return {
    sources: given ?? windowsSources(channel, eventId, typeof type === 'string' ? type : undefined),
    time: windows.time?.ms,
    ticks: windows.time?.ticks ?? 0,
    host: windows.host,
    channel,
    eventId,
    recordId: windows.recordId,
    provider: windows.provider,
    isRecovered: false,
    kind: 'windows',
    get(field) {
      const found = read(field)
      if (found !== undefined) return found
      const alias = aliases.get(field)
      return alias === undefined ? undefined : read(alias)
    },
    text: () => textOfFields(flatten(system === record ? record : { ...system, ...data })),
    entries: () => entriesOf(windowsData(windows), WINDOWS_COLUMNS),
    fieldNames: () => new Set([...allFields().keys(), ...aliases.keys()]),
  }
}

/** Data elements without names are a list called Data. */
function windowsData({ data }: WindowsRecord): Map<string, FieldValue> {
  const fields = flatten(data)
  const unnamed = fields.get('Data.#text')
  if (unnamed !== undefined) {
    fields.delete('Data.#text')
    fields.set('Data', unnamed)
  }
  return fields
}

function windowsFields(windows: WindowsRecord): Map<string, FieldValue> {
  const fields = windowsData(windows)
  const set = (name: string, value: FieldValue | undefined): void => {
    if (value !== undefined && !fields.has(name)) fields.set(name, value)
  }
  for (const [name, value] of [...fields]) {
    const dot = name.lastIndexOf('.')
    if (dot >= 0) set(name.slice(dot + 1), value)
  }
  set('EventID', windows.eventId)
  set('Channel', windows.channel)
  set('Computer', windows.host === '' ? undefined : windows.host)
  set('Provider_Name', windows.provider)
  set('EventRecordID', windows.recordId)
  for (const [name, value] of Object.entries(windows.system)) {
    if (value === null || typeof value !== 'object') set(ruleName(name), value)
  }
  return fields
}

const WINDOWS_COLUMNS: ReadonlySet<string> = new Set([
  'EventID',
  'Channel',
  'Computer',
  'Provider_Name',
  'EventRecordID',
])

/** A mapping from the fields of a JSON log to those that rules read, written by a person in a YAML file. */
import { parseDocument } from 'yaml'
import type { LogSource } from '@prexy/sigma/event'

export interface FieldMap {
  /** Where in a value its record is: `_source`, `result.event`. */
  readonly record: string | undefined
  readonly time: string | undefined
  readonly host: string | undefined
  readonly channel: string | undefined
  readonly eventId: string | undefined
  readonly logsource: LogSource | undefined
  /** Names that rules use, and where their values are. */
  readonly fields: ReadonlyMap<string, string>
}

/** Why a mapping cannot be used. */
export class FieldMapError extends Error {
  override readonly name: string = 'FieldMapError'
}

const TEXT_KEYS = ['record', 'time', 'host', 'channel', 'eventId'] as const
const SOURCE_KEYS = ['category', 'product', 'service'] as const

/** Reads a mapping. Throws a {@link FieldMapError} with the place of what is wrong. */
export function readFieldMap(text: string, file: string): FieldMap {
  const document = parseDocument(text)
  const [error] = document.errors
  if (error !== undefined) {
    const [line] = error.linePos ?? []
    throw new FieldMapError(`${file}:${line?.line ?? 1}: ${error.message.split('\n', 1)[0]}`)
  }
  const value: unknown = document.toJS({ maxAliasCount: 0 })
  const map = textMap(value, file, 'the mapping')
  const known = [...TEXT_KEYS, 'logsource', 'fields']
  const unknown = Object.keys(map).find((key) => !known.includes(key))
  if (unknown !== undefined) {
    throw new FieldMapError(`${file}: ${unknown}: there is no such key; there are ${known.join(', ')}`)
  }
  const [record, time, host, channel, eventId] = TEXT_KEYS.map((key) => textOf(map[key], file, key))
  const fields = textMap(map['fields'] ?? {}, file, 'fields')
  const logsource = map['logsource'] === undefined ? undefined : textMap(map['logsource'], file, 'logsource')
  return {
    record,
    time,
    host,
    channel,
    eventId,
    logsource: logsource === undefined ? undefined : sourceOf(logsource, file),
    fields: new Map(Object.entries(fields).map(([name, path]) => [name, textOf(path, file, `fields.${name}`) ?? ''])),
  }
}

function sourceOf(map: Readonly<Record<string, unknown>>, file: string): LogSource {
  const [category, product, service] = SOURCE_KEYS.map((key) => textOf(map[key], file, `logsource.${key}`))
  return { category, product, service }
}

function textMap(value: unknown, file: string, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new FieldMapError(`${file}: ${path}: this is a map of keys`)
  }
  return { ...value }
}

function textOf(value: unknown, file: string, path: string): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  throw new FieldMapError(`${file}: ${path}: this is a text`)
}

/** Reads `category=webserver,product=apache`. Throws a {@link FieldMapError}. */
export function parseLogSource(text: string): LogSource {
  const found = new Map<string, string>()
  for (const part of text.split(',')) {
    const [key, value] = part.split('=', 2).map((one) => one.trim())
    if (!SOURCE_KEYS.some((known) => known === key) || value === undefined || value === '') {
      throw new FieldMapError(`"${part}" is no part of a log source; write ${SOURCE_KEYS.join('=..., ')}=...`)
    }
    found.set(key, value.toLowerCase())
  }
  return { category: found.get('category'), product: found.get('product'), service: found.get('service') }
}

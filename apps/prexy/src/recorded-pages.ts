/** Responses that were recorded, by prexy or as HAR by something else, as pages that rules can be tried on. */
import { open, readFile, stat } from 'node:fs/promises'
import type { ExchangeRecord, RecordedEvent } from '@prexy/events/recorded-event'
import { Redactor } from '@prexy/events/redact'
import { endToEndFields, type FieldList } from '@prexy/http/fields'
import { urlOf } from '@prexy/record/event-json'
import { fromHar, MAX_HAR_BYTES } from '@prexy/record/har'
import { newRun } from '@prexy/record/recorder'
import { CommandError } from './exit-codes.ts'
import { asCommandError, selectEvents } from './record-select.ts'
import { formatBytes } from './terminal.ts'
import type { FetchedPage } from './try-fetch.ts'
import type { TryRequest } from './try-run.ts'

export interface RecordedPage {
  readonly page: FetchedPage
  readonly request: TryRequest
  /** Octets that the body had, if some of them were not recorded. */
  readonly wholeBytes: number | undefined
}

/** Why rules cannot be tried on a response. */
export type Untried = 'there was no response' | 'its body was not recorded' | 'it cannot be said again'

/**
 * The exchanges of a HAR file, a recording's directory or one segment of it, in their order. What is wrong with the file is
 * told on standard error.
 */
export async function* recordedExchanges(path: string, secrets: boolean): AsyncGenerator<ExchangeRecord> {
  const events = (await isHar(path)) ? harEvents(path, secrets) : selectEvents(path, secrets ? { secrets } : {})
  for await (const event of events) if (event.kind === 'exchange') yield event
}

async function isHar(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).isDirectory()) return false
    const handle = await open(path)
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0)
      return /^(?:\u00ef\u00bb\u00bf)?\s*\{/.test(buffer.toString('latin1', 0, bytesRead))
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw asCommandError(error)
  }
}

async function* harEvents(path: string, secrets: boolean): AsyncGenerator<RecordedEvent> {
  const { size } = await stat(path)
  if (size > MAX_HAR_BYTES) throw new CommandError(`${path} has more than ${formatBytes(MAX_HAR_BYTES)}`)
  const { events, problems } = fromHar(await readFile(path, 'utf8'), newRun())
  for (const problem of problems) process.stderr.write(`prexy: ${path}: ${problem}\n`)
  const redactor = secrets ? undefined : new Redactor()
  for (const event of events) yield redactor === undefined ? event : redactor.exchange(event)
}

/** Fields that a request has of its own here. */
const REQUEST_FIELDS = /^(?:host|content-length|accept-encoding|expect|upgrade|range|if-.*)$/i
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FIELD_VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/

/** `host`: what clients would ask for, if it is another than was asked for. */
export function recordedPage(event: ExchangeRecord, host: string | undefined): RecordedPage | Untried {
  const { response, bodies, treatment } = event
  if (response === undefined || response.status < 200 || response.status > 999) return 'there was no response'
  const body = bodies?.response
  if (body?.octets === undefined || (body.octets.length === 0 && body.bytes > 0)) return 'its body was not recorded'
  // HAR has bodies without content coding, and recordings have those that rules saw so.
  const isDecoded = treatment === undefined || treatment.kind === 'rewritten'
  const fields = sayable(endToEndFields(response.fields), (name) => isDecoded && /^content-encoding$/i.test(name))
  const requestFields = sayable(endToEndFields(event.request?.fields ?? []), (name) => REQUEST_FIELDS.test(name))
  const address = urlOf(event)
  const isSayable = fields !== undefined && requestFields !== undefined && /^[A-Z]{1,20}$/.test(event.method)
  if (!isSayable || event.method === 'CONNECT' || !URL.canParse(address)) return 'it cannot be said again'
  const url = new URL(address)
  return {
    page: { url, status: response.status, reason: '', fields, body: body.octets },
    request: { method: event.method, host: host ?? url.host, fields: requestFields },
    wholeBytes: body.bytes > body.octets.length ? body.bytes : undefined,
  }
}

/** The fields without those that `isLeftOut` names; undefined if one could not be a line of a head. */
function sayable(fields: FieldList, isLeftOut: (name: string) => boolean): readonly string[] | undefined {
  const said: string[] = []
  for (let at = 0; at < fields.length; at += 2) {
    const [name, value] = [fields[at], fields[at + 1]]
    if (isLeftOut(name)) continue
    if (!FIELD_NAME.test(name) || !FIELD_VALUE.test(value)) return undefined
    said.push(name, value)
  }
  return said
}

/** Sends a recorded request once more, to an upstream that the person names. */
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { IncomingMessage } from 'node:http'
import type { ExchangeRecord } from '@prexy/events/recorded-event'
import { REDACTED } from '@prexy/events/redact-text'
import { isFieldValue, isToken, setHasName, nameSet, CONNECTION_NAMES, FRAMING_NAMES } from '@prexy/http/fields'
import { CommandError, EXIT_NONE, EXIT_OK } from './exit-codes.ts'
import { namedEvent } from './record-select.ts'
import { writeStandardOutput } from './standard-output.ts'
import { formatBytes, stylesFor } from './terminal.ts'

/** How long the upstream may be silent. */
export const REPLAY_TIMEOUT_MS = 30_000
/** Octets of the answer that are read. */
export const MAX_REPLAY_BYTES: number = 64 * 1024 * 1024

const NOT_SENT = nameSet([...CONNECTION_NAMES, ...FRAMING_NAMES, 'expect', 'host', 'x-prexy-replay'])

export interface ReplayFlags {
  readonly to: string
  readonly host?: string
  readonly body?: boolean
  readonly json?: boolean
  readonly secrets?: boolean
}

export async function replayEvent(path: string, name: string, flags: ReplayFlags): Promise<number> {
  const upstream = upstreamOf(flags.to)
  const event = await namedEvent(path, name, flags.secrets === true)
  if (event.kind !== 'exchange' || event.request === undefined)
    throw new CommandError(`${name} is no request that can be sent`)
  const body = bodyOf(event, name)
  const fields = fieldsOf(event, flags.host)
  if (fields.some((value) => value.includes(REDACTED)) || event.target.includes(REDACTED)) {
    process.stderr.write('prexy: the recording has no secrets, so the upstream may refuse what it got then\n')
  }
  const answer = await send(upstream, event, fields, body)
  if (flags.body === true) {
    await writeStandardOutput(answer.body)
    return EXIT_OK
  }
  const isSame = event.response?.status === answer.status
  if (flags.json === true) {
    const { status, ms, body: octets } = answer
    const recorded = { status: event.response?.status, bytes: event.upstreamInBytes }
    await writeStandardOutput(`${JSON.stringify({ recorded, replayed: { status, bytes: octets.length, ms } })}\n`)
  } else {
    const style = stylesFor(process.stdout, process.env)
    const paint = isSame ? style.green : style.yellow
    await writeStandardOutput(
      `recorded ${event.response?.status ?? 'no response'}, ${formatBytes(event.upstreamInBytes)}; ` +
        `now ${paint(String(answer.status))}, ${formatBytes(answer.body.length)}, ${answer.ms.toFixed(1)} ms\n`,
    )
  }
  return isSame ? EXIT_OK : EXIT_NONE
}

interface Upstream {
  readonly isTls: boolean
  readonly host: string
  readonly port: number
}

function upstreamOf(text: string): Upstream {
  const parts = /^(https?):\/\/(?:\[([0-9A-Fa-f:.]+)\]|([^\s/?#@:[\]]+))(?::(\d{1,5}))?\/?$/i.exec(text)
  if (parts === null) throw new CommandError(`${text} is no upstream; write it like http://127.0.0.1:9000`)
  const isTls = parts[1].toLowerCase() === 'https'
  const port = parts[4] === undefined ? (isTls ? 443 : 80) : Number(parts[4])
  return { isTls, host: parts[2] ?? parts[3], port }
}

function bodyOf({ request, bodies, clientInBytes }: ExchangeRecord, name: string): Uint8Array | undefined {
  const body = bodies?.requestSent ?? bodies?.request
  if (body?.omitted !== undefined) {
    throw new CommandError(`the body of ${name} was not recorded whole (${body.omitted}), so it cannot be sent`)
  }
  const hasBody = (request?.fields ?? []).some(
    (field, at) => at % 2 === 0 && /^(?:content-length|transfer-encoding)$/i.test(field),
  )
  if (hasBody && body === undefined && clientInBytes > 0) {
    throw new CommandError(`${name} had a body, and bodies were not recorded, so it cannot be sent`)
  }
  return body?.octets
}

/** What the upstream got, as far as it may stand in a head. */
function fieldsOf({ request, host }: ExchangeRecord, own: string | undefined): string[] {
  const recorded = request?.sentFields ?? request?.fields ?? []
  const fields: string[] = []
  let hostSent = own
  for (let at = 0; at < recorded.length; at += 2) {
    const [name, value] = [recorded[at], recorded[at + 1]]
    if (name.toLowerCase() === 'host') hostSent ??= value
    // SECURITY: recordings may come from elsewhere; a line end in a value would be a request of its own.
    if (!setHasName(NOT_SENT, name) && isToken(name) && isFieldValue(value)) fields.push(name, value)
  }
  const wanted = hostSent ?? host ?? ''
  if (!isFieldValue(wanted)) throw new CommandError('the recorded host is none; name one with --host')
  return ['Host', wanted, ...fields]
}

interface Answer {
  readonly status: number
  readonly body: Uint8Array
  readonly ms: number
}

function send(
  upstream: Upstream,
  event: ExchangeRecord,
  fields: string[],
  body: Uint8Array | undefined,
): Promise<Answer> {
  const { method } = event
  const target = event.target.replace(/^https?:\/\/[^/?#]*/i, '')
  const path = target.startsWith('/') || target === '*' ? target : `/${target}`
  if (!isToken(method) || /[^!-~]/.test(path)) throw new CommandError('the recorded method or target cannot be sent')
  const headers = body === undefined || body.length === 0 ? fields : [...fields, 'Content-Length', String(body.length)]
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(new CommandError(`${upstream.host}:${upstream.port}: ${error.message}`))
    const make = upstream.isTls ? httpsRequest : httpRequest
    const { host, port } = upstream
    const request = make(
      { host, port, method, path, headers, timeout: REPLAY_TIMEOUT_MS, agent: false },
      (response) => {
        gather(response).then((octets) => {
          resolve({ status: response.statusCode ?? 0, body: octets, ms: performance.now() - begun })
        }, fail)
      },
    )
    request.on('error', fail)
    request.on('timeout', () => request.destroy(new Error(`was silent for ${REPLAY_TIMEOUT_MS / 1_000} s`)))
    request.end(body)
  })
}

async function gather(response: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response) {
    if (!(chunk instanceof Uint8Array)) continue
    bytes += chunk.length
    if (bytes > MAX_REPLAY_BYTES) {
      response.destroy()
      throw new Error(`answers with more than ${formatBytes(MAX_REPLAY_BYTES)}`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

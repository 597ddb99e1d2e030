/** One page of an origin, as it came: for `prexy try`, which changes nothing and asks once. */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { CommandError } from './exit-codes.ts'
import { formatBytes, printable } from './terminal.ts'
import { VERSION } from './version.ts'

/** Redirects that `--location` follows. */
export const MAX_TRY_REDIRECTS = 10
/** How long an origin may say nothing. */
export const TRY_TIMEOUT_MS = 30_000

/** What browsers ask for, less what only some runtimes can decode. */
const ACCEPT_ENCODING = 'gzip, deflate, br'

export interface FetchedPage {
  readonly url: URL
  readonly status: number
  readonly reason: string
  /** Names and values in turn, as they came. */
  readonly fields: readonly string[]
  /** With its content coding. */
  readonly body: Uint8Array
}

export interface FetchOptions {
  readonly maxBytes: number
  /** Names and values in turn. */
  readonly fields: readonly string[]
  readonly follow: boolean
}

export interface Fetched {
  readonly page: FetchedPage
  /** What led there, oldest first. */
  readonly redirects: readonly { readonly status: number; readonly from: string; readonly to: string }[]
}

/** Throws a CommandError that says what went wrong. */
export async function fetchPage(start: URL, options: FetchOptions): Promise<Fetched> {
  const redirects: { status: number; from: string; to: string }[] = []
  for (let url = start; ; ) {
    const page = await fetchOnce(url, options)
    const next = redirectOf(page)
    if (next === undefined || !options.follow) return { page, redirects }
    if (redirects.length === MAX_TRY_REDIRECTS) {
      throw new CommandError(`${start.href} redirects more than ${MAX_TRY_REDIRECTS} times`)
    }
    redirects.push({ status: page.status, from: url.href, to: next.href })
    url = next
  }
}

/** Where a response sends the client. */
export function redirectOf({ url, status, fields }: FetchedPage): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status)) return undefined
  const at = fields.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'location')
  if (at === -1) return undefined
  try {
    const next = new URL(fields[at + 1], url)
    return next.protocol === 'http:' || next.protocol === 'https:' ? next : undefined
  } catch {
    return undefined
  }
}

function fetchOnce(url: URL, { maxBytes, fields }: FetchOptions): Promise<FetchedPage> {
  const isTls = url.protocol === 'https:'
  const defaults = { 'user-agent': `prexy/${VERSION} (try)`, accept: '*/*', 'accept-encoding': ACCEPT_ENCODING }
  const given = new Set(fields.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase()))
  const own = Object.entries(defaults).filter(([name]) => !given.has(name))
  const headers: [string, string][] = [['Host', url.host], ...own]
  for (let at = 0; at < fields.length; at += 2) headers.push([fields[at], fields[at + 1]])
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      reject(error instanceof CommandError ? error : new CommandError(`${url.href}: ${faultText(error)}`))
    }
    const agent = isTls ? new HttpsAgent() : new HttpAgent()
    const make = isTls ? requestHttps : requestHttp
    const request = make(url, { agent, headers: headers.flat(), timeout: TRY_TIMEOUT_MS }, (response) => {
      readBody(response, maxBytes, url).then((body) => {
        const { statusCode: status = 0, statusMessage: reason = '', rawHeaders } = response
        resolve({ url, status, reason, fields: rawHeaders, body })
      }, fail)
    })
    request.once('timeout', () => {
      request.destroy(new Error(`said nothing for ${TRY_TIMEOUT_MS / 1_000} s`))
    })
    request.once('error', fail)
    request.end()
  })
}

async function readBody(response: IncomingMessage, maxBytes: number, url: URL): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response) {
    if (!(chunk instanceof Uint8Array)) continue
    size += chunk.length
    if (size > maxBytes) {
      throw new CommandError(
        `${url.href}: the body is longer than ${formatBytes(maxBytes)}; --max-bytes allows more than ${maxBytes}`,
      )
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function faultText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code === 'ECONNREFUSED') return 'nothing listens there'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'there is no host of that name'
  return printable(error.message === '' ? code : error.message)
}

/**
 * The admin listener: the API, the inspector's files, and live events. Apart from the data path on purpose: it has its own
 * address (loopback by default), its own limits, and the runtime's HTTP server, whose cost does not matter here.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { Access, type AccessRequest } from './access.ts'
import { type ApiAnswer, fault, findOperation, json } from './api.ts'
import { answerEvents, EVENTS_PATH } from './events-endpoint.ts'
import type { AdminHost } from './host.ts'
import type { Ingest } from './ingest.ts'
import { ClientGone, requestOctets } from './request-octets.ts'

export interface AdminLimits {
  /** Connections; more are closed at once. Default 256. */
  readonly maxConnections: number
  /** Octets of a request's head. Default 16,384. */
  readonly maxHeadBytes: number
  /** Octets of a request's body. Default 4,096: nothing that is sent is larger than a token. */
  readonly maxBodyBytes: number
  /** A request that is not there after this is answered 408. Default 10,000. */
  readonly requestMs: number
}

export const DEFAULT_ADMIN_LIMITS: AdminLimits = {
  maxConnections: 256,
  maxHeadBytes: 16_384,
  maxBodyBytes: 4_096,
  requestMs: 10_000,
}

/** A file of the inspector. */
export interface Asset {
  readonly type: string
  readonly octets: Uint8Array
  /** Its name holds a hash of what is in it. */
  readonly isImmutable: boolean
}

export interface AdminInit {
  /** Port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number }
  readonly token: string
  /** See `AccessInit`. */
  readonly hosts?: readonly string[]
  /** True answers `/metrics` without a token. Default false. */
  readonly openMetrics?: boolean
  readonly host: AdminHost
  /** Absent: events of applications are not taken. */
  readonly ingest?: Ingest
  /** By path; absent: there is no inspector. */
  readonly assets?: ReadonlyMap<string, Asset>
  readonly limits?: Partial<AdminLimits>
  /** Called with faults of ours. */
  readonly onError?: (error: Error) => void
}

export interface AdminServer {
  readonly address: { readonly host: string; readonly port: number }
  stop(): Promise<void>
}

/** Path of the WebSocket with live events. */
export const LIVE_PATH = '/api/live'
const SESSION_PATH = '/api/session'

/** Scripts and styles from here only; `wasm-unsafe-eval` compiles the scan kernel, and allows no script. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/** Opens the listener. Rejects when the address cannot be had. */
export async function startAdmin(init: AdminInit): Promise<AdminServer> {
  const limits = { ...DEFAULT_ADMIN_LIMITS, ...init.limits }
  const access = new Access({ token: init.token, hosts: init.hosts ?? [] })
  const server = createServer({ maxHeaderSize: limits.maxHeadBytes, requestTimeout: limits.requestMs })
  // Counted here: `maxConnections` of the server is not looked at by Bun.
  let connections = 0
  server.on('connection', (socket) => {
    if (connections >= limits.maxConnections) {
      socket.destroy()
      return
    }
    connections++
    socket.once('close', () => {
      connections--
    })
  })
  server.headersTimeout = limits.requestMs
  const { feed } = init.host
  const viewers =
    feed === undefined ? undefined : (await import('./live-viewers.ts')).openViewers(feed, limits.maxBodyBytes)
  const report = (error: unknown): void => {
    init.onError?.(error instanceof Error ? error : new Error(String(error)))
  }
  server.on('request', (request, response) => {
    answer({ init, limits, access, request, response, port: portOf(server) }).catch((error: unknown) => {
      if (error instanceof ClientGone) return
      report(error)
      if (response.headersSent) response.destroy()
      else sendAnswer(request, response, fault(500, 'the admin listener failed; its log says why')).catch(report)
    })
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    const url = urlOf(request)
    const sender = accessRequest(request, true)
    const verdict = access.checkSender(sender) ?? access.checkToken(sender, Date.now())
    if (verdict !== undefined) refuseUpgrade(socket, verdict.status, verdict.reason)
    else if (url.pathname !== LIVE_PATH || viewers === undefined)
      refuseUpgrade(socket, 404, 'there are no live events here')
    else if (!viewers.take(request, socket, head, url.searchParams)) refuseUpgrade(socket, 400, 'after= is FEED:NUMBER')
  })
  server.listen(init.listen.port, init.listen.host)
  await once(server, 'listening')
  return {
    address: { host: init.listen.host, port: portOf(server) },
    async stop() {
      viewers?.close()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      viewers?.terminate()
      await closed
    },
  }
}

interface Call {
  readonly init: AdminInit
  readonly limits: AdminLimits
  readonly access: Access
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly port: number
}

async function answer(call: Call): Promise<void> {
  const { init, access, request, response } = call
  const { host } = init
  const { pathname, searchParams } = urlOf(request)
  const method = request.method ?? 'GET'
  const found = findOperation(method, pathname)
  const open =
    'operation' in found &&
    (found.operation.open === true || (found.operation.open === 'metrics' && init.openMetrics === true))
  const sender = accessRequest(request, false)
  if (pathname === EVENTS_PATH)
    return await sendAnswer(request, response, await answerEvents({ ingest: init.ingest, access, request, sender }))
  // Probes and scrapers call by whatever name they have, and learn nothing that a token protects.
  if (!open) {
    const refused = access.checkSender(sender)
    if (refused !== undefined) return await sendAnswer(request, response, fault(refused.status, refused.reason))
  }
  if (pathname === SESSION_PATH) return await answerSession(call, sender)
  const asset = init.assets?.get(pathname)
  if (asset !== undefined && (method === 'GET' || method === 'HEAD')) return sendAsset(request, response, asset)
  if ('allow' in found && found.allow.length === 0) {
    return await sendAnswer(request, response, fault(404, `there is nothing at ${pathname}`))
  }
  if (!open) {
    const refused = access.checkToken(sender, Date.now())
    if (refused !== undefined) {
      if (refused.status === 401) response.setHeader('WWW-Authenticate', 'Bearer realm="prexy admin"')
      return await sendAnswer(request, response, fault(refused.status, refused.reason))
    }
  }
  if ('allow' in found) {
    response.setHeader('Allow', found.allow.join(', '))
    return await sendAnswer(request, response, fault(405, `${pathname} does not take ${method}`))
  }
  const { operation, name } = found
  return await sendAnswer(request, response, await operation.handle({ host, name, query: searchParams }))
}

/** `POST` with the token signs a browser in, `GET` says whether it is, `DELETE` signs it out. */
async function answerSession({ access, request, response, limits, port }: Call, sender: AccessRequest): Promise<void> {
  const nowMs = Date.now()
  if (request.method === 'GET' || request.method === 'HEAD') {
    return await sendAnswer(request, response, json({ signedIn: access.checkToken(sender, nowMs) === undefined }))
  }
  if (request.method === 'DELETE') {
    response.setHeader('Set-Cookie', access.signOut(sender.cookie, port))
    return await sendAnswer(request, response, json({ signedIn: false }))
  }
  if (request.method !== 'POST') {
    response.setHeader('Allow', 'GET, POST, DELETE')
    return await sendAnswer(request, response, fault(405, 'GET, POST and DELETE are for sessions'))
  }
  const body = await requestOctets(request, limits.maxBodyBytes)
  if (body === undefined)
    return await sendAnswer(request, response, fault(413, `a body has at most ${limits.maxBodyBytes} octets`))
  if (!access.isToken(body.toString('utf8').trim()))
    return await sendAnswer(request, response, fault(401, 'this is not the token'))
  response.setHeader('Set-Cookie', access.signIn(port, nowMs))
  return await sendAnswer(request, response, json({ signedIn: true }))
}

async function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, type, body, headers }: ApiAnswer,
): Promise<void> {
  // What was sent and is not wanted is not waited for.
  if (request.method !== 'GET' && request.method !== 'HEAD' && !request.complete)
    response.setHeader('Connection', 'close')
  response.writeHead(status, {
    ...HEADERS,
    ...(type === undefined ? {} : { 'Content-Type': type }),
    'Cache-Control': 'no-store',
    ...headers,
  })
  if (request.method === 'HEAD') {
    response.end()
    return
  }
  if (typeof body === 'string') {
    response.end(body)
    return
  }
  for await (const chunk of body) {
    if (response.destroyed) return
    if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')])
  }
  response.end()
}

function sendAsset(request: IncomingMessage, response: ServerResponse, { type, octets, isImmutable }: Asset): void {
  response.writeHead(200, {
    ...HEADERS,
    'Content-Type': type,
    'Content-Length': octets.length,
    'Cache-Control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  })
  response.end(request.method === 'HEAD' ? undefined : octets)
}

function refuseUpgrade(socket: Duplex, status: number, reason: string): void {
  const body = `${reason}\n`
  socket.end(
    `HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  )
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  421: 'Misdirected Request',
}

function accessRequest({ method, headers }: IncomingMessage, isAction: boolean): AccessRequest {
  const { host, origin, authorization, cookie } = headers
  return { method: method ?? 'GET', host, origin, authorization, cookie, isAction }
}

/** Only path and query of the target are looked at. */
function urlOf({ url }: IncomingMessage): URL {
  return URL.canParse(url ?? '/', 'http://admin') ? new URL(url ?? '/', 'http://admin') : new URL('http://admin/-')
}

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** The demo shop's own web server: what stands behind prexy, with no idea of it. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { aboutPage, cataloguePieces, homePage, LOGO, orderEvent, productsJson, SCRIPT, STYLE } from './pages.ts'
import { drawPicture } from './picture.ts'

export interface DemoOrigin {
  readonly port: number
  /** How often each path was asked for. */
  readonly requests: ReadonlyMap<string, number>
  stop(): Promise<void>
}

interface Resource {
  readonly type: string
  readonly body: Uint8Array
  readonly encoding?: string
}

const EVENT_INTERVAL_MS = 1_500
const PIECE_INTERVAL_MS = 30

/** Starts the shop on `port`, or on a free one when that is taken. */
export async function startDemoOrigin(port: number): Promise<DemoOrigin> {
  const resources = new Map<string, Resource>([
    ['/', text('text/html; charset=utf-8', homePage())],
    ['/about', { ...text('text/html; charset=utf-8', aboutPage()), body: gzipSync(aboutPage()), encoding: 'gzip' }],
    ['/style.css', text('text/css', STYLE)],
    ['/app.js', text('text/javascript', SCRIPT)],
    ['/logo.svg', text('image/svg+xml', LOGO)],
    ['/api/products.json', text('application/json', productsJson())],
    ['/photo.png', { type: 'image/png', body: drawPicture() }],
  ])
  const requests = new Map<string, number>()
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0]
    requests.set(path, (requests.get(path) ?? 0) + 1)
    response.on('error', () => response.destroy())
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end()
    } else if (path === '/events') {
      void sendEvents(response)
    } else if (path === '/catalogue') {
      void sendSlowly(response, cataloguePieces())
    } else {
      sendResource(request, response, resources.get(path))
    }
  })
  await listen(server, port)
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('the demo origin has no port')
  return {
    port: address.port,
    requests,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function listen(server: Server, port: number): Promise<void> {
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
}

function text(type: string, body: string): Resource {
  return { type, body: Buffer.from(body) }
}

function sendResource(request: IncomingMessage, response: ServerResponse, resource: Resource | undefined): void {
  if (resource === undefined) {
    response.writeHead(404, { 'content-type': 'text/html; charset=utf-8' })
    response.end(
      '<!doctype html><title>Not here</title><h1>Kestrel Coffee has no such page</h1><p><a href="/">Back</a></p>\n',
    )
    return
  }
  const etag = `"${createHash('sha256').update(resource.body).digest('hex').slice(0, 16)}"`
  const validators = { etag, 'last-modified': 'Tue, 03 Mar 2026 07:00:00 GMT', 'cache-control': 'no-cache' }
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, validators).end()
    return
  }
  response.writeHead(200, {
    'content-type': resource.type,
    'content-length': resource.body.length,
    ...(resource.encoding === undefined ? {} : { 'content-encoding': resource.encoding }),
    ...validators,
  })
  response.end(request.method === 'HEAD' ? undefined : resource.body)
}

async function sendEvents(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  for (let number = 1; !response.destroyed; number++) {
    response.write(orderEvent(number))
    await delay(EVENT_INTERVAL_MS, undefined, { ref: false })
  }
}

async function sendSlowly(response: ServerResponse, pieces: readonly string[]): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
  for (const piece of pieces) {
    if (response.destroyed) return
    response.write(piece)
    await delay(PIECE_INTERVAL_MS, undefined, { ref: false })
  }
  response.end()
}

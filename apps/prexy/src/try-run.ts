/**
 * `prexy try`: the page is fetched once, and given to a prexy of its own by an origin on this machine that says what the
 * real one said. So the gate, the codings, the rules and the header fields are those that would serve it.
 */
import { once } from 'node:events'
import { request as requestHttp } from 'node:http'
import { createServer, type Socket } from 'node:net'
import type { BodyTreatment, ExchangeEvent } from '@prexy/events/exchange'
import { endToEndFields } from '@prexy/http/fields'
import { startProxy } from '@prexy/proxy/start-proxy'
import { type ObservedBody, observeRuleSet } from '@prexy/rewrite/observe'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { CommandError } from './exit-codes.ts'
import type { FetchedPage } from './try-fetch.ts'

export interface TryResult {
  readonly treatment: BodyTreatment | undefined
  /** Undefined where the rules did not see the body. */
  readonly body: ObservedBody | undefined
  readonly before: readonly string[]
  /** End-to-end fields as clients would get them; names and values in turn. */
  readonly after: readonly string[]
  readonly status: number
  /** Why the exchange failed, if it did. */
  readonly fault: string | undefined
}

/** What the client of a page would say. */
export interface TryRequest {
  readonly method?: string
  /** What it would ask for. */
  readonly host: string
  /** What else it would send; names and values in turn. */
  readonly fields: readonly string[]
}

/** Rules that are tried on one page after the other. */
export interface RuleTrial extends AsyncDisposable {
  /** One at a time. */
  run(page: FetchedPage, request: TryRequest): Promise<TryResult>
}

export async function startTrial(set: RuleSet): Promise<RuleTrial> {
  const observed = observeRuleSet(set)
  const origin = await startReplay()
  let told: (event: ExchangeEvent) => void = () => {}
  const proxy = await startProxy({
    listen: [{ host: '127.0.0.1', port: 0 }],
    routes: [
      {
        name: 'try',
        upstream: { servers: [{ host: '127.0.0.1', port: origin.port }] },
        rules: observed.set,
      },
    ],
    requestId: 'off',
    onExchange: (event) => told(event),
  })
  return {
    async run(page, request) {
      observed.bodies.length = 0
      origin.say(page)
      const ended = new Promise<ExchangeEvent>((resolve) => {
        told = resolve
      })
      const answer = await ask(proxy.address.port, page.url, request)
      const event = await ended
      return {
        treatment: event.treatment,
        body: observed.bodies.at(-1),
        before: endToEndFields(page.fields),
        after: endToEndFields(answer.fields),
        status: answer.status,
        fault: event.outcome === 'completed' ? undefined : (event.detail ?? event.outcome),
      }
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      await origin[Symbol.asyncDispose]()
    },
  }
}

interface Replay extends AsyncDisposable {
  readonly port: number
  /** What is said from now on. */
  say(page: FetchedPage): void
}

/** The page as the real origin said it, with a length of its own. */
function headOf(page: FetchedPage): Buffer {
  const fields = endToEndFields(page.fields)
  const lines = [`HTTP/1.1 ${page.status} ${page.reason}`]
  for (let at = 0; at < fields.length; at += 2) {
    if (fields[at].toLowerCase() !== 'content-length') lines.push(`${fields[at]}: ${fields[at + 1]}`)
  }
  lines.push(`Content-Length: ${page.body.length}`, 'Connection: close', '', '')
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

/** An origin that says the same to every request. */
async function startReplay(): Promise<Replay> {
  let head: Uint8Array = new Uint8Array(0)
  let body: Uint8Array = head
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    socket.on('error', () => socket.destroy())
    let asked = ''
    socket.on('data', (chunk: Buffer) => {
      asked += chunk.toString('latin1')
      if (!asked.includes('\r\n\r\n')) return
      socket.write(head)
      socket.end(body)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new CommandError('no port of this machine is free')
  return {
    port: address.port,
    say(page) {
      head = headOf(page)
      body = page.body
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function ask(
  port: number,
  url: URL,
  { method = 'GET', host, fields }: TryRequest,
): Promise<{ readonly status: number; readonly fields: readonly string[] }> {
  return new Promise((resolve, reject) => {
    const headers = ['Host', host, 'Accept-Encoding', 'gzip, deflate, br', 'Connection', 'close', ...fields]
    const target = { host: '127.0.0.1', port, method, path: url.pathname + url.search, headers }
    const request = requestHttp(target, (response) => {
      const done = (): void => resolve({ status: response.statusCode ?? 0, fields: response.rawHeaders })
      response.once('end', done)
      // A body that is broken off tells in the event why.
      response.once('error', done)
      response.resume()
    })
    request.once('error', reject)
    request.end()
  })
}

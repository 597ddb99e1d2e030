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

/** `host`: what the client would ask for; `fields`: what else it would send. */
export async function tryRules(
  page: FetchedPage,
  set: RuleSet,
  host: string,
  fields: readonly string[],
): Promise<TryResult> {
  const observed = observeRuleSet(set)
  await using origin = await startReplay(page)
  let told: ((event: ExchangeEvent) => void) | undefined
  const ended = new Promise<ExchangeEvent>((resolve) => {
    told = resolve
  })
  await using proxy = await startProxy({
    listen: [{ host: '127.0.0.1', port: 0 }],
    routes: [
      {
        name: 'try',
        upstream: { servers: [{ host: '127.0.0.1', port: origin.port }] },
        rules: observed.set,
      },
    ],
    requestId: 'off',
    onExchange: (event) => told?.(event),
  })
  const answer = await ask(proxy.address.port, page.url, host, fields)
  const event = await ended
  return {
    treatment: event.treatment,
    body: observed.bodies.at(-1),
    before: endToEndFields(page.fields),
    after: endToEndFields(answer.fields),
    status: answer.status,
    fault: event.outcome === 'completed' ? undefined : (event.detail ?? event.outcome),
  }
}

interface Replay extends AsyncDisposable {
  readonly port: number
}

/** An origin that says to every request what the real one said, with a length of its own. */
async function startReplay(page: FetchedPage): Promise<Replay> {
  const fields = endToEndFields(page.fields)
  const lines = [`HTTP/1.1 ${page.status} ${page.reason}`]
  for (let at = 0; at < fields.length; at += 2) {
    if (fields[at].toLowerCase() !== 'content-length') lines.push(`${fields[at]}: ${fields[at + 1]}`)
  }
  lines.push(`Content-Length: ${page.body.length}`, 'Connection: close', '', '')
  const head = Buffer.from(lines.join('\r\n'), 'latin1')
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
      socket.end(page.body)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new CommandError('no port of this machine is free')
  return {
    port: address.port,
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
  host: string,
  fields: readonly string[],
): Promise<{ readonly status: number; readonly fields: readonly string[] }> {
  return new Promise((resolve, reject) => {
    const headers = ['Host', host, 'Accept-Encoding', 'gzip, deflate, br', 'Connection', 'close', ...fields]
    const request = requestHttp({ host: '127.0.0.1', port, path: url.pathname + url.search, headers }, (response) => {
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

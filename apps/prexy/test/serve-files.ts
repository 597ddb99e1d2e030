/** Serves a configuration of files from this process, in front of an origin that echoes what it is asked. */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ExchangeEvent } from '@prexy/events/exchange'
import { formatProblem } from '@prexy/config/problem'
import { loadConfiguration } from '../src/config-load.ts'
import { startServer } from '../src/serve.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly localAddress?: string
  readonly body?: string
}

export interface ServedFiles extends AsyncDisposable {
  readonly events: readonly ExchangeEvent[]
  readonly port: number
  /** `url`: host and path, `a.example/x`. */
  ask(url: string, asked?: Asked): Promise<Answer>
}

export type Origin = (message: IncomingMessage, response: ServerResponse) => void

function echo(message: IncomingMessage, response: ServerResponse): void {
  response.setHeader('Content-Type', 'text/plain')
  response.end(`${message.method} ${message.url}`)
}

/** `$ORIGIN` in the files is the address of the origin. `path`: what is served of them, a file or a folder. */
export async function serveFiles(
  contents: Readonly<Record<string, string>>,
  init: { readonly path?: string; readonly origin?: Origin; readonly environment?: NodeJS.ProcessEnv } = {},
): Promise<ServedFiles> {
  const origin = createServer(init.origin ?? echo)
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const folder = mkdtempSync(join(tmpdir(), 'prexy-files-'))
  const stopOrigin = (): void => {
    origin.closeAllConnections()
    origin.close()
    rmSync(folder, { recursive: true })
  }
  try {
    for (const [name, text] of Object.entries(contents)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text.replaceAll('$ORIGIN', `http://127.0.0.1:${portOf(origin.address())}`))
    }
    const { config, compiled, problems, changedMs } = loadConfiguration(
      join(folder, init.path ?? 'prexy.yaml'),
      init.environment ?? {},
    )
    if (config === undefined) throw new Error(problems.map(formatProblem).join('\n'))
    const events: ExchangeEvent[] = []
    const log = { exchange: (event: ExchangeEvent) => void events.push(event), flush() {} }
    const proxy = await startServer({ ...config, listen: [{ host: '127.0.0.1', port: 0 }] }, compiled, changedMs, log)
    return {
      events,
      port: proxy.address.port,
      ask: (url, asked) => ask(proxy.address.port, url, asked),
      async [Symbol.asyncDispose]() {
        await proxy.stop(0)
        stopOrigin()
      },
    }
  } catch (error) {
    stopOrigin()
    throw error
  }
}

function portOf(address: string | { readonly port: number } | null): number {
  if (address === null || typeof address === 'string') throw new Error('the origin has no port')
  return address.port
}

async function ask(
  port: number,
  url: string,
  { method = 'GET', headers = {}, localAddress, body: sent }: Asked = {},
): Promise<Answer> {
  const slash = url.indexOf('/')
  const asking = request({
    host: '127.0.0.1',
    port,
    method,
    path: url.slice(slash),
    headers: { Host: url.slice(0, slash), ...headers },
    agent: false,
    ...(localAddress === undefined ? {} : { localAddress }),
  })
  asking.end(sent)
  const [response]: IncomingMessage[] = await once(asking, 'response')
  let body = ''
  for await (const chunk of response.setEncoding('latin1')) body += String(chunk)
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}

/** A proxy with an admin listener, an origin behind it, and a browser in front. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const TOKEN = '0123456789abcdef'
export const EVENTS_TOKEN = 'fedcba9876543210'

const PROGRAM = fileURLToPath(new URL('../../prexy/bin/prexy.mjs', import.meta.url))

export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return ['chromium', 'chromium-browser', 'google-chrome']
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => existsSync(path))
}

export type Answer = (path: string) => {
  readonly type: string
  readonly body: string | Uint8Array
  readonly status?: number
}

export interface RunningProxy {
  readonly site: string
  readonly admin: string
  readonly recordings: string
  readonly pid: number
  stop(): Promise<void>
}

/** `origins`: of pages that may send events; `more`: lines of the configuration. */
export async function startProxy(
  answer: Answer,
  rules: string,
  origins: readonly string[] = [],
  more = '',
): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'prexy-inspector-'))
  const origin = createServer((request, response) => {
    const { type, body, status = 200 } = answer(request.url ?? '/')
    response.writeHead(status, { 'content-type': type })
    response.end(body)
  })
  const port = await listen(origin)
  const file = join(folder, 'prexy.yaml')
  const recordings = join(folder, 'recordings')
  const named = origins.length === 0 ? '' : `, origins: [${origins.join(', ')}]`
  writeFileSync(
    file,
    `listen: 127.0.0.1:0
upstream: http://127.0.0.1:${port}
log: off
admin: {listen: 127.0.0.1:0, token: ${TOKEN}, ingest: {token: ${EVENTS_TOKEN}${named}}}
record: {directory: ${recordings}, bodies: {}}
${more}
rules:
${rules}
`,
  )
  const child = spawn(process.execPath, [PROGRAM, 'serve', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  const [, site, admin] = await output(child, /listening on (\S+)[^]*admin on (\S+\/)\n/)
  return {
    site,
    admin,
    recordings,
    pid: child.pid ?? 0,
    async stop() {
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
      origin.close()
      origin.closeAllConnections()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return address.port
}

async function output({ stderr }: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  let text = ''
  for await (const chunk of stderr ?? []) {
    text += String(chunk)
    const found = pattern.exec(text)
    if (found !== null) {
      stderr?.resume()
      return found
    }
  }
  throw new Error(`the proxy did not start: ${text}`)
}

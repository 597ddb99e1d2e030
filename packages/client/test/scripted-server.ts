/** A server that takes batches as the proxy does, and answers as it is told to. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { decode } from '@prexy/msgpack/decode'

export interface TakenBatch {
  readonly version: number
  readonly source: string
  readonly client: string
  readonly first: number
  readonly sentAtMs: number
  readonly events: readonly Readonly<Record<string, unknown>>[]
}

/** Status and, perhaps, body and Retry-After; `break` ends the connection without an answer, `hold` never answers. */
export type Answer =
  | number
  | 'break'
  | 'hold'
  | { readonly status: number; readonly body?: object; readonly retryAfter?: string }

export interface ScriptedServer {
  readonly url: string
  readonly batches: TakenBatch[]
  readonly authorizations: (string | undefined)[]
  /** What the next requests are answered with; then 200. */
  readonly answers: Answer[]
  /** Resolves when so many batches have come. */
  until(count: number): Promise<void>
  /** Names of all events of batches that were answered with 200, without those that came again. */
  readonly names: () => readonly string[]
  stop(): Promise<void>
}

export async function startScripted(): Promise<ScriptedServer> {
  const batches: TakenBatch[] = []
  const authorizations: (string | undefined)[] = []
  const answers: Answer[] = []
  const taken = new Map<number, string>()
  let wake = (): void => {}
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tests say what it has to be
      const batch = decode(Buffer.concat(chunks)) as TakenBatch
      const answer = answers.shift() ?? 200
      batches.push(batch)
      authorizations.push(request.headers.authorization)
      if (answer === 'break') {
        response.destroy()
      } else if (answer !== 'hold') {
        const { status, body = {}, retryAfter } = typeof answer === 'number' ? { status: answer } : answer
        if (status === 200) {
          for (const [index, { name }] of batch.events.entries()) taken.set(batch.first + index, String(name))
        }
        response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter })
        response.end(JSON.stringify(body))
      }
      wake()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    batches,
    authorizations,
    answers,
    names: () => [...taken.entries()].sort(([a], [b]) => a - b).map(([, name]) => name),
    until: (count) =>
      new Promise((resolve) => {
        wake = () => {
          if (batches.length >= count) resolve()
        }
        wake()
      }),
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

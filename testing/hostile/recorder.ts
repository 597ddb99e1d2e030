/** The end of the line: a node:http server that keeps what it was asked and answers with it. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SeenRequest {
  readonly method: string
  readonly target: string
  /** One character per octet. */
  readonly body: string
}

export interface Recorder {
  readonly port: number
  /** Whole requests, in the order of their ends. One that broke off is none. */
  readonly seen: readonly SeenRequest[]
  stop(): Promise<void>
}

export async function startRecorder(): Promise<Recorder> {
  const seen: SeenRequest[] = []
  const server = createServer((request, response) => {
    const { method = '', url: target = '' } = request
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('error', () => {})
    request.on('end', () => {
      seen.push({ method, target, body: Buffer.concat(parts).toString('latin1') })
      response.setHeader('x-saw', target)
      response.end('seen')
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    seen,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

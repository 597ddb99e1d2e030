import type { IncomingMessage } from 'node:http'

/**
 * The octets of a request's body; undefined if there are more than `maxBytes`, of which nothing is kept. The connection
 * stays open for an answer. Rejects when the client goes.
 */
export function requestOctets(request: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve(undefined)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      chunks.push(chunk)
      if (length <= maxBytes) return
      request.off('data', onData)
      request.pause()
      resolve(undefined)
    }
    request.on('data', onData)
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('error', reject)
    request.once('close', () => reject(new ClientGone()))
  })
}

/** Nobody waits for an answer any more. */
export class ClientGone extends Error {
  override readonly name: string = 'ClientGone'

  constructor() {
    super('the client is gone')
  }
}

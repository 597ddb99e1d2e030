import { once } from 'node:events'
import type { Server } from 'node:http'
import { afterAll } from 'vitest'

/** Opens the origin of a test file on a free port, and closes it after the last test. Resolves with its `host:port`. */
export async function openOrigin(server: Server): Promise<string> {
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the origin has no port')
  return `127.0.0.1:${address.port}`
}

import { once } from 'node:events'
import { createServer, METHODS, request, type Server } from 'node:http'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { encodeLatin1 } from '@prexy/bytes/latin1'
import { hostile } from '@prexy/testing/hostile-octets'
import { REQUESTS } from '@prexy/testing/request-corpus'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requestLog, responseLog, verdict } from './event-log.ts'
import { forward, readRequests } from './hostile.ts'
import { RESPONSES } from './response-corpus.ts'

/*
 * The same octets to node:http (llhttp) over a socket: where both accept or both refuse there is nothing to say, and
 * every difference stands in the corpus by name with its reason. Bun's node:http is another parser.
 */
const isBun = process.versions['bun'] !== undefined
const why = isBun ? ' (not run: this runtime’s node:http is not llhttp)' : ''

function port(server: Pick<Server, 'address'>): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** Requests by name that llhttp is known to judge otherwise, filled from the corpus. */
const expectedDifferences = REQUESTS.filter(({ llhttp }) => llhttp !== undefined).map(({ name }) => name)

describe.skipIf(isBun)(`requests compared with llhttp${why}`, () => {
  let server: Server
  let refused = false
  const seen: string[] = []

  beforeAll(async () => {
    server = createServer((incoming, response) => {
      seen.push(`${incoming.method} ${incoming.url}`)
      incoming.on('error', () => {
        refused = true
      })
      incoming.resume()
      incoming.on('end', () => response.end())
    })
    server.on('checkExpectation', (_, response) => {
      refused = true
      response.writeHead(417).end()
    })
    server.on('clientError', (_, socket) => {
      refused = true
      socket.destroy()
    })
    server.on('connect', (_, socket) => {
      refused = true
      socket.destroy()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  /** Whether llhttp (or node:http around it) refuses. */
  async function llhttpRefuses(raw: string): Promise<boolean> {
    refused = false
    const socket = connect(port(server), '127.0.0.1')
    let answer = ''
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      answer += String(text)
    })
    // A refused connection may be reset while we write; its close is what counts.
    socket.on('error', () => undefined)
    socket.end(encodeLatin1(raw))
    await once(socket, 'close')
    return refused || /^HTTP\/1\.1 4/m.test(answer)
  }

  test('sees exactly the requests that we read, once they are sent on', async () => {
    // Methods that llhttp does not know are left out: it refuses what is no fault of ours.
    const known = new Set<string>(METHODS)
    await fc.assert(
      fc.asyncProperty(hostile(REQUESTS), async (raw) => {
        const requests = readRequests(encodeLatin1(raw)).filter(({ method }) => known.has(method))
        seen.length = 0
        expect(await llhttpRefuses(requests.map(forward).join(''))).toBe(false)
        expect(seen).toEqual(requests.map(({ method, path }) => `${method} ${path}`))
      }),
      { numRuns: 300 },
    )
  })

  test('every difference is one of those named in the corpus', async () => {
    const differences: string[] = []
    for (const { name, raw } of REQUESTS) {
      const ours = verdict(requestLog(encodeLatin1(raw))) !== 'accepted'
      if ((await llhttpRefuses(raw)) !== ours) differences.push(name)
    }
    expect(differences).toEqual(expectedDifferences)
  })
})

/** Responses that llhttp judges otherwise, and why. */
const RESPONSE_DIFFERENCES: Readonly<Record<string, string>> = {
  'reason phrase of 30 KB': 'refuses: we drop the phrase, so its length costs only reading',
  'a body longer than Content-Length': 'refuses: we end the exchange where its length says and drop the connection',
  'HEAD with a body': 'refuses: the same',
  '204 with a body': 'refuses: the same',
  '304 with a body': 'refuses: the same',
  'octets behind the last chunk': 'refuses: the same',
  'Transfer-Encoding unknown': 'accepts and reads until close: what the octets mean nobody knows',
  'Transfer-Encoding gzip until close':
    'accepts and reads until close: the octets would reach the client without the label',
  'Transfer-Encoding gzip, chunked': 'accepts: the same',
  'Transfer-Encoding identity': 'accepts: RFC 9112 §7 has no such coding any more',
  'Transfer-Encoding in HTTP/1.0': 'accepts: an HTTP/1.0 message with it is faulty (RFC 9112 §6.1)',
  'an empty line first': 'accepts: only a request may follow one; here octets of an earlier response are likelier',
  'status 099': 'accepts and delivers 99, which nobody can send on',
  'status 000': 'accepts and delivers 0, which nobody can send on',
  '101 unasked': 'hands the socket over: who did not ask does not know what it speaks',
  '257 headers': 'accepts: it counts octets only',
}

describe.skipIf(isBun)(`responses compared with llhttp${why}`, () => {
  let current = ''
  const sockets = new Set<Socket>()
  const origin = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    socket.once('data', () => socket.end(encodeLatin1(current)))
  })

  beforeAll(async () => {
    await once(origin.listen(0, '127.0.0.1'), 'listening')
  })
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    origin.close()
  })

  function llhttpRefuses(raw: string, method: string): Promise<boolean> {
    current = raw
    return new Promise((resolve) => {
      const outgoing = request({ port: port(origin), host: '127.0.0.1', method, agent: false })
      outgoing.on('error', () => resolve(true))
      outgoing.on('upgrade', (_, socket) => {
        socket.destroy()
        resolve(false)
      })
      outgoing.on('response', (response) => {
        response.on('error', () => resolve(true))
        response.on('end', () => resolve(false))
        response.resume()
      })
      outgoing.end()
    })
  }

  test('every difference is named', async () => {
    const differences: string[] = []
    for (const { name, raw, asked } of RESPONSES) {
      const log = responseLog(encodeLatin1(raw), asked)
      // What follows a whole response harms nobody but the connection: each parser sees that in its own time.
      const ours = verdict(log) !== 'accepted' && !log.includes('end')
      if ((await llhttpRefuses(raw, asked?.method ?? 'GET')) !== ours) differences.push(name)
    }
    expect(differences).toEqual(Object.keys(RESPONSE_DIFFERENCES))
  })
})

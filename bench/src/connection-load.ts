/**
 * A client with many connections: `connection-load.js PORT PATH`, driven by messages. Connections are opened a few at a
 * time, each makes one request and is then kept; `load` lets some of them make requests one after the other.
 */
import { connect, type Socket } from 'node:net'

export type LoadCommand =
  /** Opens connections until there are so many. */
  | { readonly kind: 'open'; readonly connections: number }
  /** The first `active` connections make requests for so long. */
  | { readonly kind: 'load'; readonly active: number; readonly seconds: number }
  /** Every connection makes one request. */
  | { readonly kind: 'touch' }

export interface LoadReport {
  readonly requests: number
  /** Connections that are lost, and answers other than 200. */
  readonly failures: number
}

const OPENING_AT_ONCE = 50
const HEAD_END = Buffer.from('\r\n\r\n')

interface Client {
  readonly socket: Socket
  /** Octets of the current response that are still to come; undefined while its head is. */
  left: number | undefined
  answered: (() => void) | undefined
}

const [port, path] = [Number(process.argv[2]), process.argv[3]]
const request = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
const clients: Client[] = []
let failures = 0

function open(): Promise<Client> {
  return new Promise((resolve) => {
    const client: Client = { socket: connect({ host: '127.0.0.1', port, noDelay: true }), left: 0, answered: undefined }
    const failed = (): void => {
      failures++
      client.answered?.()
      resolve(client)
    }
    client.socket.on('error', () => {})
    client.socket.on('close', failed)
    client.socket.on('data', (chunk) => receive(client, chunk))
    client.socket.once('connect', () => resolve(client))
  })
}

/** Responses have a Content-Length or are chunked and end with the last chunk; none comes before it is asked for. */
function receive(client: Client, chunk: Buffer): void {
  let octets = chunk
  if (client.left === undefined) {
    const end = chunk.indexOf(HEAD_END)
    const head = chunk.subarray(0, Math.max(end, 0)).toString('latin1')
    if (end < 0 || !head.startsWith('HTTP/1.1 200 ')) {
      failures++
      client.socket.destroy()
      return
    }
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    client.left = length === undefined ? Infinity : Number(length)
    octets = chunk.subarray(end + HEAD_END.length)
  }
  client.left =
    client.left === Infinity && octets.toString('latin1').endsWith('0\r\n\r\n') ? 0 : client.left - octets.length
  if (client.left === 0) client.answered?.()
}

function ask(client: Client): Promise<void> {
  return new Promise((resolve) => {
    client.answered = resolve
    client.left = undefined
    if (client.socket.destroyed) resolve()
    else client.socket.write(request)
  })
}

async function openUntil(connections: number): Promise<number> {
  const before = clients.length
  while (clients.length < connections) {
    const some = Math.min(OPENING_AT_ONCE, connections - clients.length)
    const opened = await Promise.all(Array.from({ length: some }, open))
    await Promise.all(opened.map(ask))
    clients.push(...opened)
  }
  return connections - before
}

async function load(active: number, seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1_000
  let requests = 0
  const loop = async (client: Client): Promise<void> => {
    while (performance.now() < until && !client.socket.destroyed) {
      await ask(client)
      requests++
    }
  }
  await Promise.all(clients.slice(0, active).map(loop))
  return requests
}

async function run(command: LoadCommand): Promise<number> {
  switch (command.kind) {
    case 'open':
      return await openUntil(command.connections)
    case 'load':
      return await load(command.active, command.seconds)
    case 'touch':
      for (let at = 0; at < clients.length; at += OPENING_AT_ONCE) {
        await Promise.all(clients.slice(at, at + OPENING_AT_ONCE).map(ask))
      }
      return clients.length
  }
}

process.on('message', (command: LoadCommand) => {
  void run(command).then((requests) => {
    const report: LoadReport = { requests, failures }
    process.send?.(report)
  })
})
process.on('disconnect', () => process.exit())

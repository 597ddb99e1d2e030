/** A cluster of Debian's nats-server with JetStream, on loopback ports and in a folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

export interface NatsCluster {
  /** `nats://127.0.0.1:PORT` of each server. */
  readonly urls: readonly string[]
  /** SIGKILL; resolves when it has ended. */
  kill(server: number): Promise<void>
  /** Starts a server again, with what it had on disk. */
  start(server: number): Promise<void>
  stop(): Promise<void>
}

export interface NatsOptions {
  /** More lines of each server's file: `authorization`, `tls`. */
  readonly more?: string
}

const SERVERS = 3
const MAX_ATTEMPTS = 5

export async function startNatsCluster(folder: string, { more = '' }: NatsOptions = {}): Promise<NatsCluster> {
  for (let attempt = 1; ; attempt++) {
    const cluster = new Cluster(join(folder, `cluster-${attempt}`), await freePorts(SERVERS * 2), more)
    try {
      await Promise.all(Array.from({ length: SERVERS }, (_, server) => cluster.start(server)))
      return cluster
    } catch (error) {
      await cluster.stop()
      // Another program took one of the ports in the meantime.
      if (attempt === MAX_ATTEMPTS || !/address already in use/i.test(String(error))) throw error
    }
  }
}

class Cluster implements NatsCluster {
  readonly urls: readonly string[]
  readonly #folder: string
  readonly #children: (ChildProcess | undefined)[] = []
  readonly #kill = (): void => {
    for (const child of this.#children) child?.kill('SIGKILL')
  }

  constructor(folder: string, ports: readonly number[], more: string) {
    this.#folder = folder
    const [clients, routes] = [ports.slice(0, SERVERS), ports.slice(SERVERS)]
    this.urls = clients.map((port) => `nats://127.0.0.1:${port}`)
    mkdirSync(folder, { recursive: true })
    for (const [server, port] of clients.entries()) {
      writeFileSync(
        join(folder, `${server}.conf`),
        `server_name: n${server}
listen: 127.0.0.1:${port}
jetstream { store_dir: "${join(folder, `store-${server}`)}", max_memory_store: 16MB, max_file_store: 64MB }
cluster { name: fleet, listen: 127.0.0.1:${routes[server]}, routes: [${routes.map((one) => `nats://127.0.0.1:${one}`).join(', ')}] }
${more}
`,
      )
    }
    process.once('exit', this.#kill)
  }

  async start(server: number): Promise<void> {
    const child = spawn('nats-server', ['-c', join(this.#folder, `${server}.conf`)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#children[server] = child
    let told = ''
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', () => reject(new Error(`nats-server ended:\n${told}`)))
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        told = (told + text).slice(-8_192)
        if (told.includes('Server is ready')) resolve()
      })
    })
  }

  async kill(server: number): Promise<void> {
    const child = this.#children[server]
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const closed = once(child, 'close')
    child.kill('SIGKILL')
    await closed
  }

  async stop(): Promise<void> {
    process.off('exit', this.#kill)
    await Promise.all(this.#children.map((_, server) => this.kill(server)))
  }
}

/** Ports that were free a moment ago, all at once. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  const ports = servers.map((server) => {
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  })
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/**
 * Small configurations of nginx, each on two addresses of its own, all in one nginx, and one prexy with what is imported
 * from them on the same ports of another loopback address: one request, two answers.
 */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import { createServer as createNetServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Nginx, NGINX_HTTP, NGINX_PREAMBLE, startNginxFile } from './nginx.ts'
import { type PrexyServer, startPrexyServer } from './prexy-server.ts'

const PREXY = fileURLToPath(new URL('../../apps/prexy/bin/prexy.mjs', import.meta.url))

/** `server` blocks: `PUBLIC` and `PRIVATE` are its addresses, `ORIGIN` that of the origin. */
export type World = string

export interface WorldRequest {
  readonly at: 'PUBLIC' | 'PRIVATE'
  readonly host: string
  readonly method: string
  readonly path: string
  readonly fields: Readonly<Record<string, string>>
  /** Where it comes from. */
  readonly from: '127.0.0.1' | '127.0.0.3'
}

/** `status` is 0 where the connection was closed without an answer. `place`: what the location calls itself. */
export interface WorldAnswer {
  readonly status: number
  readonly place: string
}

export interface Worlds {
  /** What the import told. */
  readonly told: string
  readonly yaml: string
  ask(world: number, asked: WorldRequest): Promise<readonly [nginx: WorldAnswer, prexy: WorldAnswer]>
  stop(): Promise<void>
}

const NGINX_ADDRESS = '127.0.0.1'
const PREXY_ADDRESS = '127.0.0.2'
const MAX_ATTEMPTS = 5

/** Needs nginx. `folder` is for its files. */
export async function startWorlds(folder: string, worlds: readonly World[]): Promise<Worlds> {
  const origin = createServer((asked, response) => {
    response.end(String(asked.headers['x-place']))
  })
  origin.listen(0, NGINX_ADDRESS)
  await once(origin, 'listening')
  writeFileSync(join(folder, 'users'), 'u:{PLAIN}p\n')
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(folder, worlds, origin, await freePorts(worlds.length * 2))
    } catch (error) {
      // Another program took one of the ports in the meantime.
      const isTaken = /address (?:is )?already in use/i.test(String(error))
      if (isTaken && attempt < MAX_ATTEMPTS) continue
      origin.close()
      throw error
    }
  }
}

async function startOn(
  folder: string,
  worlds: readonly World[],
  origin: Server,
  ports: readonly number[],
): Promise<Worlds> {
  const at = (place: WorldRequest['at'], world: number): number => ports[world * 2 + (place === 'PUBLIC' ? 0 : 1)]
  const address = origin.address()
  const upstream = typeof address === 'object' && address !== null ? `${NGINX_ADDRESS}:${address.port}` : ''
  const servers = worlds.map((world, index) =>
    world
      .replaceAll('PUBLIC', `${NGINX_ADDRESS}:${at('PUBLIC', index)}`)
      .replaceAll('PRIVATE', `${NGINX_ADDRESS}:${at('PRIVATE', index)}`)
      .replaceAll('ORIGIN', upstream)
      .replaceAll('USERS', join(folder, 'users')),
  )
  const config = `${NGINX_PREAMBLE}http {\n  access_log off;\n${NGINX_HTTP}\n${servers.join('\n')}\n}\n`
  const nginx: Nginx = await startNginxFile(folder, () => config, ports[0])
  try {
    const output = join(folder, 'prexy.yaml')
    const made = spawnSync(process.execPath, [PREXY, 'import', 'nginx', join(folder, 'nginx/nginx.conf')])
    const told = made.stderr.toString()
    if (made.status === 2) throw new Error(told)
    let yaml = made.stdout.toString()
    for (const port of ports) yaml = yaml.replaceAll(`${NGINX_ADDRESS}:${port}`, `${PREXY_ADDRESS}:${port}`)
    writeFileSync(output, yaml)
    const prexy: PrexyServer = await startPrexyServer(['serve', output, '--log', 'off'])
    return {
      told,
      yaml: readFileSync(output, 'utf8'),
      ask: (world, asked) =>
        Promise.all([
          answerOf(NGINX_ADDRESS, at(asked.at, world), asked),
          answerOf(PREXY_ADDRESS, at(asked.at, world), asked),
        ]),
      async stop() {
        await Promise.all([nginx.stop(), prexy.stop()])
        origin.closeAllConnections()
        origin.close()
      },
    }
  } catch (error) {
    await nginx.stop()
    throw error
  }
}

function answerOf(address: string, port: number, asked: WorldRequest): Promise<WorldAnswer> {
  const { method, path, host, fields, from } = asked
  return new Promise((resolve, reject) => {
    const headers = { host, ...fields, connection: 'close' }
    const sent = request(
      { host: address, port, path, method, headers, agent: false, localAddress: from },
      (response) => {
        let place = ''
        response.setEncoding('latin1').on('data', (text: string) => {
          place += text
        })
        response.on('error', reject)
        response.on('end', () => {
          const status = response.statusCode ?? 0
          // nginx names the port where it listens.
          const location = (response.headers.location ?? '').replace(`:${port}`, '')
          resolve({ status, place: status === 200 ? place : location })
        })
      },
    )
    sent.on('error', (error) => {
      const isClosed = 'code' in error && /^(ECONNRESET|ECONNREFUSED|EPIPE)$/.test(String(error.code))
      if (isClosed) resolve({ status: 0, place: '' })
      else reject(error)
    })
    sent.end()
  })
}

/** Ports that were free a moment ago, all at once. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createNetServer().listen(0, NGINX_ADDRESS)
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

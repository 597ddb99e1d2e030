/**
 * Servers that nobody here wrote, each in front of a recorder: what the recorder got is what the server understood. All
 * run as one process of their own in a folder of their own and end with the test.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { startNginx } from '@prexy/testing/nginx'
import { findProgram, missingPrograms } from '@prexy/testing/programs'

export interface Origin {
  readonly name: string
  readonly port: number
  stop(): Promise<void>
}

export type ProgramName = 'nginx' | 'apache2' | 'lighttpd' | 'h2o' | 'haproxy'

export const PROGRAMS: readonly ProgramName[] = ['nginx', 'apache2', 'lighttpd', 'h2o', 'haproxy']

/** Debian's package of the program, without the one that would start it as a service where there is a choice. */
const PACKAGES: Readonly<Record<ProgramName, string>> = {
  nginx: 'nginx-light',
  apache2: 'apache2-bin',
  lighttpd: 'lighttpd',
  h2o: 'h2o',
  haproxy: 'haproxy',
}

/** Why the program cannot be an origin here, or undefined. */
export function missingOrigin(name: ProgramName): string | undefined {
  if (missingPrograms(name) === undefined) return undefined
  return `${name} not found through PATH; on Debian: apt-get install ${PACKAGES[name]} (sbin folders may not be in PATH)`
}

/** Starts the program as a reverse proxy to `recorderPort`, with everything it writes below `folder`. */
export async function startOrigin(name: ProgramName, folder: string, recorderPort: number): Promise<Origin> {
  if (name === 'nginx') {
    const target = `proxy_pass http://127.0.0.1:${recorderPort}; proxy_http_version 1.1; proxy_set_header Connection "";`
    return { name, ...(await startNginx(folder, `location / { ${target} }`)) }
  }
  return startProgram(name, folder, recorderPort)
}

const MAX_ATTEMPTS = 5

async function startProgram(
  name: Exclude<ProgramName, 'nginx'>,
  folder: string,
  recorderPort: number,
): Promise<Origin> {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${name}.conf`)
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const { args, text } = launch(name, { folder, file, port, recorderPort })
    writeFileSync(file, text)
    const child = spawn(name, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const kill = (): void => {
      child.kill('SIGKILL')
    }
    process.once('exit', kill)
    let told = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        told = (told + text).slice(-4_096)
      })
    }
    let over = false
    const closed = new Promise<void>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', () => {
        over = true
        process.off('exit', kill)
        resolve()
      })
    })
    // None of them says when it listens.
    let listens = false
    while (!over && !listens) listens = await accepts(port)
    if (listens && !over) {
      return {
        name,
        port,
        stop: async () => {
          child.kill('SIGTERM')
          await closed
        },
      }
    }
    await closed
    if (attempt === MAX_ATTEMPTS) throw new Error(`${name} did not start:\n${told}`)
  }
}

interface Place {
  readonly folder: string
  readonly file: string
  readonly port: number
  readonly recorderPort: number
}

function launch(
  name: Exclude<ProgramName, 'nginx'>,
  { folder, file, port, recorderPort }: Place,
): { readonly args: readonly string[]; readonly text: string } {
  switch (name) {
    case 'apache2': {
      // Debian's folder of modules stands beside that of the program.
      const modules = join(dirname(realpathSync(findProgram(name) ?? '')), '../lib/apache2/modules')
      const load = ['mpm_event', 'authz_core', 'proxy', 'proxy_http'].map(
        (module) => `LoadModule ${module}_module ${modules}/mod_${module}.so`,
      )
      return {
        // One process: without -X a SIGKILL would leave its workers behind.
        args: ['-X', '-d', folder, '-f', file],
        text: `${load.join('\n')}
DefaultRuntimeDir ${folder}
PidFile ${folder}/apache2.pid
User nobody
Group nogroup
Listen 127.0.0.1:${port}
ServerName origin.test
ErrorLog ${folder}/error.log
KeepAlive On
KeepAliveTimeout 60
MaxKeepAliveRequests 0
ProxyPass / http://127.0.0.1:${recorderPort}/
`,
      }
    }
    case 'lighttpd':
      return {
        args: ['-D', '-f', file],
        text: `server.document-root = "${folder}"
server.bind = "127.0.0.1"
server.port = ${port}
server.errorlog = "${folder}/error.log"
server.upload-dirs = ("${folder}")
server.max-keep-alive-idle = 60
server.max-keep-alive-requests = 100000
server.modules = ("mod_proxy")
proxy.server = ("" => (("host" => "127.0.0.1", "port" => ${recorderPort})))
`,
      }
    case 'h2o':
      return {
        args: ['-m', 'worker', '-c', file],
        text: `listen: { host: 127.0.0.1, port: ${port} }
user: nobody
num-threads: 1
temp-buffer-path: ${folder}
error-log: ${folder}/error.log
http1-request-timeout: 60
hosts:
  default:
    paths:
      /:
        proxy.reverse.url: http://127.0.0.1:${recorderPort}/
`,
      }
    case 'haproxy':
      return {
        args: ['-db', '-f', file],
        text: `global
  nbthread 1
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 10s
  timeout http-keep-alive 60s
frontend front
  bind 127.0.0.1:${port}
  default_backend back
backend back
  server recorder 127.0.0.1:${recorderPort}
`,
      }
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    // Turns of the loop in between, so that what the program says is read.
    socket.once('error', () => setImmediate(() => resolve(false)))
    socket.once('connect', () => socket.destroy())
  })
}

/** A port that was free a moment ago. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => {
        if (address === null || typeof address === 'string') reject(new Error('a TCP server has an address'))
        else resolve(address.port)
      })
    })
  })
}

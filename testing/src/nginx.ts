/** nginx as an origin that nobody here wrote: a process of its own in a folder of its own. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

export interface Nginx {
  readonly port: number
  stop(): Promise<void>
  /** SIGKILL: its connections are reset. SIGQUIT: it answers what it has, and closes kept connections. */
  end(signal: 'SIGKILL' | 'SIGQUIT'): Promise<void>
  /** Does nothing until `resume`; the kernel goes on taking connections for it. */
  pause(): void
  resume(): void
}

const MAX_ATTEMPTS = 5

/**
 * Starts nginx with `folder` as its prefix and the given content of a `server` block; needs no privileges. Without
 * `fixedPort`, on a free one.
 */
export async function startNginx(folder: string, server: string, fixedPort?: number): Promise<Nginx> {
  return await startNginxFile(folder, (port) => configuration(port, server), fixedPort)
}

/** The same with a whole configuration of one's own, which must listen on `port` in the foreground as one process. */
export async function startNginxFile(
  folder: string,
  makeFile: (port: number) => string,
  fixedPort?: number,
): Promise<Nginx> {
  mkdirSync(join(folder, 'nginx'), { recursive: true })
  for (let attempt = 1; ; attempt++) {
    const port = fixedPort ?? (await freePort())
    writeFileSync(join(folder, 'nginx/nginx.conf'), makeFile(port))
    // One process: nothing of it outlives the one that can be ended, and no worker runs as another user.
    const child = spawn('nginx', ['-p', folder, '-c', 'nginx/nginx.conf', '-e', 'stderr'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const kill = (): void => {
      child.kill('SIGKILL')
    }
    process.once('exit', kill)
    const closed = new Promise<void>((resolve) => {
      child.once('close', () => {
        process.off('exit', kill)
        resolve()
      })
    })
    let told = ''
    const started = await new Promise<boolean>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', () => resolve(false))
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        told = (told + text).slice(-4_096)
        // Said after all addresses are listened on.
        if (/using the "\w+" event method/.test(told)) resolve(true)
      })
    })
    if (started) {
      const end = async (signal: NodeJS.Signals): Promise<void> => {
        child.kill(signal)
        await closed
      }
      return {
        port,
        stop: () => end('SIGTERM'),
        end,
        pause: () => {
          child.kill('SIGSTOP')
        },
        resume: () => {
          child.kill('SIGCONT')
        },
      }
    }
    if (attempt === MAX_ATTEMPTS || !told.includes('Address already in use')) {
      throw new Error(`nginx did not start:\n${told}`)
    }
  }
}

/** What stands before `http` and at its beginning for an nginx that needs no privileges and leaves nothing behind. */
export const NGINX_PREAMBLE = `
daemon off;
master_process off;
pid nginx/pid;
error_log stderr notice;
events { worker_connections 256; }
`
export const NGINX_HTTP: string = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  .map((kind) => `  ${kind}_temp_path nginx/${kind};\n`)
  .join('')

/** The file of one of nginx's modules, where nginx has it; undefined if it is not installed. */
export function nginxModule(name: string): string | undefined {
  const built = spawnSync('nginx', ['-V'], { encoding: 'utf8' }).stderr
  const folder = /--modules-path=(\S+)/.exec(built)?.[1]
  const file = folder === undefined ? undefined : join(folder, `${name}.so`)
  return file !== undefined && existsSync(file) ? file : undefined
}

function configuration(port: number, server: string): string {
  return `${NGINX_PREAMBLE}
http {
  access_log off;
${NGINX_HTTP}
  sendfile on;
  tcp_nopush on;
  types {
    text/html html; text/plain txt; application/json json; image/png png; application/zip zip; video/mp4 mp4;
    application/octet-stream dat;
  }
  server {
    listen 127.0.0.1:${port};
    ${server}
  }
}
`
}

/** A port that was free a moment ago. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => {
        if (typeof address === 'object' && address !== null) resolve(address.port)
      })
    })
  })
}

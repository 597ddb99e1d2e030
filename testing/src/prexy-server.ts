/** The built command line as a server: `prexy serve` and the one-liner, as people run them. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

// From src/ and from dist/ alike.
const PREXY = fileURLToPath(new URL('../../apps/prexy/bin/prexy.mjs', import.meta.url))

export interface PrexyServer {
  /** Its address without a path: `http://127.0.0.1:8080`. */
  readonly origin: string
  readonly port: number
  /** Of its only process. */
  readonly pid: number
  /** Asks it to end, and resolves with its exit status. */
  stop(): Promise<number | null>
}

/** Runs it under the present runtime. `args` must let it listen on a free port; resolves once it does. */
export async function startPrexyServer(args: readonly string[]): Promise<PrexyServer> {
  const { NO_COLOR: _no, FORCE_COLOR: _force, ...env } = process.env
  const child = spawn(process.execPath, [PREXY, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const kill = (): void => {
    child.kill('SIGKILL')
  }
  process.once('exit', kill)
  const closed = new Promise<number | null>((resolve) => {
    child.once('close', (code: number | null) => {
      process.off('exit', kill)
      resolve(code)
    })
  })
  let told = ''
  const origin = await new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => reject(new Error(`prexy ended before it listened:\n${told}`)))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      told = (told + text).slice(-65_536)
      const address = /listening on (https?:\/\/\S+?)\/?\s/.exec(told)
      if (address !== null) resolve(address[1])
    })
  })
  if (child.pid === undefined) throw new Error('prexy has no process')
  return {
    origin,
    port: Number(new URL(origin).port),
    pid: child.pid,
    stop: () => {
      child.kill('SIGTERM')
      return closed
    },
  }
}

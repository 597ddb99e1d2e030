/**
 * What a service manager is told (sd_notify(3)). Its socket takes datagrams, which Node cannot send to a Unix socket, so
 * the program `systemd-notify` does it. It is another process: the unit needs `NotifyAccess=all`.
 */
import { spawn } from 'node:child_process'

export interface ServiceManager {
  ready(): void
  reloading(): void
  stopping(): void
  close(): void
}

const NOBODY: ServiceManager = { ready() {}, reloading() {}, stopping() {}, close() {} }

/** `say` gets what the user should know. */
export function serviceManager(env: NodeJS.ProcessEnv, say: (line: string) => void): ServiceManager {
  const socket = env.NOTIFY_SOCKET
  if (socket === undefined || socket === '') return NOBODY
  let complained = false
  /** One after the other: each is a process, and their order matters. */
  let last = Promise.resolve()
  const tell = (...assignments: readonly string[]): void => {
    last = last.then(
      () =>
        new Promise((resolve) => {
          const program = spawn('systemd-notify', [`--pid=${process.pid}`, ...assignments], { stdio: 'ignore' })
          program.once('error', (error) => {
            if (!complained) say(`NOTIFY_SOCKET is set, but systemd-notify cannot be run: ${error.message}`)
            complained = true
            resolve()
          })
          program.once('exit', () => resolve())
        }),
    )
  }
  // Half of it, as sd_watchdog_enabled(3) advises. A process id says for whom it is.
  const isForUs = env.WATCHDOG_PID === undefined || Number(env.WATCHDOG_PID) === process.pid
  const watchdogMs = isForUs ? Number(env.WATCHDOG_USEC ?? 0) / 2_000 : 0
  const watchdog = watchdogMs > 0 ? setInterval(() => tell('WATCHDOG=1'), watchdogMs) : undefined
  watchdog?.unref()
  return {
    ready: () => tell('READY=1'),
    reloading: () => tell('RELOADING=1'),
    stopping: () => tell('STOPPING=1'),
    close: () => clearInterval(watchdog),
  }
}

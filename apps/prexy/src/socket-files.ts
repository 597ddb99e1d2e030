/** Sockets of this machine that a server listens on: whose they are, and that they go when it does. */
import { readFileSync } from 'node:fs'
import type { Config, ListenAddress } from '@prexy/config/config'
import { claimSocket, removeSocket, UNIX_PREFIX, type UnixListen } from '@prexy/net/unix-socket'
import { CommandError } from './exit-codes.ts'

/** Undefined for an address of the network. Throws a CommandError for an owner that the machine does not know. */
export function unixListenOf({ host, mode, owner }: ListenAddress): UnixListen | undefined {
  if (host?.startsWith(UNIX_PREFIX) !== true) return undefined
  return {
    path: host.slice(UNIX_PREFIX.length),
    ...(mode === undefined ? {} : { mode }),
    ...(owner === undefined ? {} : { owner: ownerOf(owner) }),
  }
}

/**
 * The sockets of one server. Only the process that looks after the workers has this: a worker that goes must not take
 * away what the others listen on.
 */
export class SocketFiles {
  #paths: readonly string[] = []
  /** To be listened on by a configuration that is not served yet. */
  #claimed: readonly string[] = []

  /** Before they are listened on. Rejects for one that another process has. */
  async claim({ listen }: Config): Promise<void> {
    for (const unix of socketsOf(listen)) {
      if (this.#paths.includes(unix.path)) continue
      await claimSocket(unix).catch((error: unknown) => {
        throw new CommandError(
          `cannot listen on ${UNIX_PREFIX}${error instanceof Error ? error.message : String(error)}`,
        )
      })
      this.#claimed = [...this.#claimed, unix.path]
    }
  }

  /** What is listened on now; sockets that no longer are go. */
  keep({ listen }: Pick<Config, 'listen'>): void {
    const paths = socketsOf(listen).map(({ path }) => path)
    for (const path of this.#paths) if (!paths.includes(path)) removeSocket(path)
    this.#paths = paths
    this.#claimed = []
  }

  /** Takes away those of a configuration that is not served after all. */
  abandon(): void {
    for (const path of this.#claimed) removeSocket(path)
    this.#claimed = []
  }

  remove(): void {
    this.keep({ listen: [] })
  }
}

function socketsOf(listen: readonly ListenAddress[]): readonly UnixListen[] {
  return listen.flatMap((address) => unixListenOf(address) ?? [])
}

/** `user`, `user:group` or `:group`, names or numbers. */
function ownerOf(text: string): { readonly uid: number; readonly gid: number } {
  const [user, group] = text.split(':')
  return {
    uid: user === '' ? -1 : numberOf(user, '/etc/passwd', 'user'),
    gid: group === undefined ? -1 : numberOf(group, '/etc/group', 'group'),
  }
}

/** Both files have the number in the third column. */
function numberOf(name: string, file: string, kind: string): number {
  if (/^\d+$/.test(name)) return Number(name)
  let lines: readonly string[] = []
  try {
    lines = readFileSync(file, 'utf8').split('\n')
  } catch {
    // Then names mean nothing here.
  }
  const found = lines.map((line) => line.split(':')).find(([own]) => own === name)
  if (found === undefined) throw new CommandError(`there is no ${kind} ${name} in ${file}; numbers always work`)
  return Number(found[2])
}

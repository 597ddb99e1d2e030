/**
 * Sockets that clients on this machine find by a path. A socket is opened under another name, given its mode and owner,
 * and renamed: so it is never there with other rights, and one that a dead process left is replaced in one step. Several
 * processes that share it come to the same name, which the first of them renames.
 */
import { chmodSync, chownSync, lstatSync, renameSync, rmSync } from 'node:fs'
import { connect } from 'node:net'

export interface UnixListen {
  readonly path: string
  /** Who may connect. Default {@link DEFAULT_SOCKET_MODE}. */
  readonly mode?: number
  /** Numbers of user and group; -1 leaves what it is. */
  readonly owner?: { readonly uid: number; readonly gid: number }
}

export const DEFAULT_SOCKET_MODE = 0o600

/** What addresses and clients of such sockets are called, before the path. */
export const UNIX_PREFIX = 'unix:'

/** How long a process that listens may take to accept; then it counts as alive. Unit: milliseconds. */
const ANSWER_MS = 1_000

/** The name under which it is opened. */
export function openingPath({ path }: UnixListen): string {
  return `${path}.new`
}

/** Lets clients find the socket that is listened on. Throws where its rights cannot be set. */
export function publishSocket(listen: UnixListen): void {
  const opened = openingPath(listen)
  if (!isSocket(opened)) {
    // Another process that shares it was first.
    if (isSocket(listen.path)) return
    throw new Error(`${listen.path} could not be made`)
  }
  setSocketRights(opened, listen)
  renameSync(opened, listen.path)
}

export function setSocketRights(path: string, { mode = DEFAULT_SOCKET_MODE, owner }: UnixListen): void {
  if (owner !== undefined) chownSync(path, owner.uid, owner.gid)
  chmodSync(path, mode)
}

/**
 * Whether the path can be listened on: nothing is there, or a socket that nobody answers on. Rejects with why not. What
 * a process that died in between left under the other name goes.
 */
export async function claimSocket(listen: UnixListen): Promise<void> {
  const { path } = listen
  if (isSocket(openingPath(listen))) rmSync(openingPath(listen))
  const found = statOf(path)
  if (found === undefined) return
  if (!found.isSocket()) throw new Error(`${path} is there and is no socket; remove it, or choose another path`)
  if (await isAnswered(path)) throw new Error(`${path} is listened on by another process; choose another path`)
}

/** Takes the socket away; clients that are connected stay so. */
export function removeSocket(path: string): void {
  if (isSocket(path)) rmSync(path, { force: true })
}

function statOf(path: string): ReturnType<typeof lstatSync> | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

function isSocket(path: string): boolean {
  return statOf(path)?.isSocket() === true
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    const done = (answered: boolean): void => {
      clearTimeout(late)
      socket.destroy()
      resolve(answered)
    }
    const late = setTimeout(() => done(true), ANSWER_MS)
    socket.once('connect', () => done(true))
    // Whoever may not connect cannot know; it is not theirs to take away.
    socket.once('error', (error: NodeJS.ErrnoException) =>
      done(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    )
  })
}

/**
 * Sessions: what belongs together in a directory of recordings. Each run of a proxy is one, with all its workers, and each
 * import. A session is a small JSON file beside the segments; segments name theirs in their header.
 */
import { open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from './retention.ts'
import { isRecord } from './segment-header.ts'

export interface Session {
  /** Letters, digits and `-`; also the name of its file. */
  readonly id: string
  readonly name: string
  readonly startedAtMs: number
  /** Absent while it goes on, and where it was killed. */
  readonly endedAtMs?: number
  readonly tags: readonly string[]
  readonly notes: readonly SessionNote[]
}

export interface SessionNote {
  readonly atMs: number
  readonly text: string
}

const ENDING = '.session.json'
const ID = /^[0-9A-Za-z-]{1,64}$/

/** Characters of a name, a tag or a note; longer ones are cut. */
export const MAX_SESSION_TEXT = 10_000

export function newSession(name: string | undefined, tags: readonly string[], nowMs: number): Session {
  const time = new Date(nowMs).toISOString()
  return {
    id: `${time.replaceAll(/[-:.]/g, '')}-${crypto.randomUUID().slice(0, 8)}`,
    name: name ?? time.replace('T', ' ').slice(0, 19),
    startedAtMs: nowMs,
    tags,
    notes: [],
  }
}

/** Writes a session, in place of what there was. The directory must exist. */
export async function writeSession(directory: string, session: Session): Promise<void> {
  if (!ID.test(session.id)) throw new Error(`${JSON.stringify(session.id)} cannot be the id of a session`)
  const path = join(directory, `${session.id}${ENDING}`)
  const fresh = `${path}.${crypto.randomUUID()}.new`
  const handle = await open(fresh, 'wx', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify(session, undefined, 2)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(fresh, path)
}

/** The sessions of a directory, oldest first; files that are none are left out. */
export async function readSessions(directory: string): Promise<readonly Session[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(ENDING))
  const sessions: Session[] = []
  for (const name of names) {
    const session = await readSession(join(directory, name))
    if (session !== undefined && `${session.id}${ENDING}` === name) sessions.push(session)
  }
  return sessions.sort((a, b) => a.startedAtMs - b.startedAtMs)
}

export async function removeSession(directory: string, id: string): Promise<void> {
  if (!ID.test(id)) return
  try {
    await unlink(join(directory, `${id}${ENDING}`))
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

async function readSession(path: string): Promise<Session | undefined> {
  let value: unknown
  try {
    value = JSON.parse(await readFile(path, 'utf8'))
  } catch {
    return undefined
  }
  if (!isRecord(value)) return undefined
  const { id, name, startedAtMs, endedAtMs, tags, notes } = value
  if (typeof id !== 'string' || !ID.test(id) || typeof name !== 'string' || typeof startedAtMs !== 'number') {
    return undefined
  }
  return {
    id,
    name: name.slice(0, MAX_SESSION_TEXT),
    startedAtMs,
    ...(typeof endedAtMs === 'number' ? { endedAtMs } : {}),
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [],
    notes: Array.isArray(notes) ? notes.filter(isNote) : [],
  }
}

function isNote(value: unknown): value is SessionNote {
  return isRecord(value) && typeof value.atMs === 'number' && typeof value.text === 'string'
}

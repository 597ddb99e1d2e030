/**
 * The configuration of a fleet, as a bucket of a NATS cluster has it: read when prexy starts, looked at again whenever it
 * changes, and kept while the cluster is away. Loaded where a configuration says `source` only.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { ConfigFiles } from '@prexy/config/files'
import type { SourceSettings } from '@prexy/config/source-schema'
import { type KV, Kvm } from '@nats-io/kv'
import { connect, credsAuthenticator, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node'
import { FILE_SYSTEM } from './config-files.ts'
import { CommandError } from './exit-codes.ts'
import { fileErrorReason } from './file-error.ts'

/** How long a connection to the cluster, and each answer of it, may take. Unit: milliseconds. */
export const BUCKET_TIMEOUT_MS = 10_000

/** How often the bucket is looked at, besides when it tells of a change, and how soon it is tried again. Unit: ms. */
export const BUCKET_POLL_MS = 2_000

/** What was found under the key. */
interface Entry {
  readonly bytes: Uint8Array
  readonly revision: number
  readonly createdMs: number
}

export interface ConfigBucket {
  /** The files of this machine, and the value of the bucket under its name. */
  readonly files: ConfigFiles
  /** When what is served was written. */
  readonly changedMs: number
  /** From now on `onChange` is called with what to call a change; it happened before the call. */
  follow(onChange: (reason: string) => void): void
  /** What `files` have now is served: it is worth keeping for a start without the cluster. */
  keep(): void
  close(): Promise<void>
}

/** Throws a CommandError where there is nothing to start with. */
export async function openBucket(settings: SourceSettings, say: (line: string) => void): Promise<ConfigBucket> {
  const bucket = new FollowedBucket(settings, say)
  try {
    await bucket.open()
  } catch (error) {
    await bucket.close()
    throw error
  }
  return bucket
}

class FollowedBucket implements ConfigBucket {
  readonly files: ConfigFiles
  readonly #settings: SourceSettings
  readonly #say: (line: string) => void
  #connection: NatsConnection | undefined = undefined
  #store: KV | undefined = undefined
  #entry: Entry | undefined = undefined
  #kept = -1
  #onChange: ((reason: string) => void) | undefined = undefined
  #endWatch: () => void = () => {}
  #timer: NodeJS.Timeout | undefined = undefined
  #isLooking = false
  #isClosed = false
  /** Whether somebody has been told that the cluster is away, or the key. */
  #lost: string | undefined = undefined

  constructor(settings: SourceSettings, say: (line: string) => void) {
    this.#settings = settings
    this.#say = say
    this.files = {
      read: (path) => {
        if (path !== settings.name) return FILE_SYSTEM.read(path)
        return this.#entry === undefined ? { reason: 'nothing is there' } : { bytes: this.#entry.bytes }
      },
      list: (path) => FILE_SYSTEM.list(path),
    }
  }

  get changedMs(): number {
    return this.#entry?.createdMs ?? 0
  }

  async open(): Promise<void> {
    const { name, cacheFile } = this.#settings
    try {
      const found = await this.#read()
      if (found === undefined) throw new CommandError(`${name}: there is no such key; write it with prexy config push`)
      this.#entry = found
    } catch (error) {
      const cached = cacheFile === undefined ? undefined : readCache(cacheFile)
      if (cached === undefined) {
        if (error instanceof CommandError) throw error
        throw new CommandError(`${name}: the cluster cannot be asked: ${reasonOf(error)}`)
      }
      this.#entry = cached
      this.#kept = cached.revision
      this.#tellLost(
        `the cluster cannot be asked (${reasonOf(error)}); revision ${cached.revision} of ${cacheFile} is served`,
      )
    }
  }

  follow(onChange: (reason: string) => void): void {
    this.#onChange = onChange
    if (this.#connection !== undefined && this.#store !== undefined) void this.#watch(this.#connection, this.#store)
    this.#next(0)
  }

  keep(): void {
    const { cacheFile } = this.#settings
    if (cacheFile === undefined || this.#entry === undefined || this.#entry.revision === this.#kept) return
    try {
      writeCache(cacheFile, this.#entry)
      this.#kept = this.#entry.revision
    } catch (error) {
      this.#say(`source: ${cacheFile}: ${fileErrorReason(error)}; a start without the cluster will not find it`)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#endWatch()
    await closeConnection(this.#connection)
  }

  /** Asks the cluster; undefined if it has no such key. */
  async #read(): Promise<Entry | undefined> {
    const store = (this.#store ??= await this.#connect())
    const found = await store.get(this.#settings.key)
    if (found === null || found.operation !== 'PUT') return undefined
    return { bytes: found.value, revision: found.revision, createdMs: found.created.getTime() }
  }

  async #connect(): Promise<KV> {
    const connection = await connectTo(this.#settings)
    this.#connection = connection
    void connection.closed().then(() => {
      if (this.#connection !== connection) return
      this.#connection = undefined
      this.#store = undefined
    })
    const store = await new Kvm(connection).open(this.#settings.bucket, { timeout: BUCKET_TIMEOUT_MS })
    if (this.#onChange !== undefined) void this.#watch(connection, store)
    return store
  }

  /** A change is seen at once; where the watch ends, the next look begins another connection or finds it in time. */
  async #watch(connection: NatsConnection, store: KV): Promise<void> {
    try {
      const changes = await store.watch({ key: this.#settings.key })
      this.#endWatch = () => changes.stop()
      if (this.#isClosed) changes.stop()
      for await (const _change of changes) {
        if (this.#connection !== connection) return
        this.#next(0)
      }
    } catch {
      // The looks in turn tell of what is wrong.
    }
  }

  #next(afterMs: number): void {
    if (this.#isClosed || this.#onChange === undefined || this.#isLooking) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#look(), afterMs)
  }

  async #look(): Promise<void> {
    this.#isLooking = true
    try {
      const found = await this.#read()
      if (this.#isClosed) return
      if (found === undefined) this.#tellLost('there is no such key any more; what was there is served on')
      else this.#take(found)
    } catch (error) {
      if (this.#isClosed) return
      const revision = this.#entry?.revision
      this.#tellLost(`the cluster is lost (${reasonOf(error)}); revision ${revision} is served on`)
    } finally {
      this.#isLooking = false
      this.#next(BUCKET_POLL_MS)
    }
  }

  #take(found: Entry): void {
    const { name } = this.#settings
    const old = this.#entry
    if (this.#lost !== undefined) this.#say(`source: ${name}: it is there again, with revision ${found.revision}`)
    this.#lost = undefined
    if (old !== undefined && old.revision === found.revision && old.createdMs === found.createdMs) return
    // A server that lags behind may still have what was replaced. A bucket that was made anew counts from one again.
    if (old !== undefined && found.revision < old.revision && found.createdMs <= old.createdMs) return
    this.#entry = found
    this.#onChange?.(`revision ${found.revision} of ${name}`)
  }

  /** Once, until it is there again. */
  #tellLost(what: string): void {
    if (this.#lost !== undefined) return
    this.#lost = what
    this.#say(`source: ${this.#settings.name}: ${what}`)
  }
}

/** Connects to a cluster. Rejects when none of the servers is reached in time. */
export async function connectTo({
  servers,
  user,
  password,
  token,
  credentialsFile,
  tls,
}: SourceSettings): Promise<NatsConnection> {
  const options: NodeConnectionOptions = {
    servers: servers.map((one) => one.replace(/^(?:nats|tls):\/\//, '')),
    name: 'prexy',
    timeout: BUCKET_TIMEOUT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 500,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { pass: password }),
    ...(token === undefined ? {} : { token }),
    ...(credentialsFile === undefined ? {} : { authenticator: credsAuthenticator(readCredentials(credentialsFile)) }),
    ...(tls === undefined && !servers.some((one) => one.startsWith('tls://')) ? {} : { tls: { ...tls } }),
  }
  return await connect(options)
}

/** How long a connection may take to be closed in order; then it is left to the end of the process. Unit: ms. */
const CLOSE_MS = 1_000

export async function closeConnection(connection: NatsConnection | undefined): Promise<void> {
  if (connection === undefined) return
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_MS)
  })
  await Promise.race([connection.close().catch(() => {}), late])
  clearTimeout(timer)
}

function readCredentials(file: string): Uint8Array {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new CommandError(`source.credentialsFile: ${file}: ${fileErrorReason(error)}`)
  }
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.toLowerCase() : String(error)
}

const CACHE_MARK = /\n# prexy: revision (\d+), written at (\d+)\n$/

function readCache(file: string): Entry | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
  const mark = CACHE_MARK.exec(text)
  if (mark === null) return undefined
  const bytes = Buffer.from(text.slice(0, mark.index))
  return { bytes, revision: Number(mark[1]), createdMs: Number(mark[2]) }
}

/** In the place of what there was, whole or not at all. */
function writeCache(file: string, { bytes, revision, createdMs }: Entry): void {
  const mark = Buffer.from(`\n# prexy: revision ${revision}, written at ${createdMs}\n`)
  const fresh = `${file}.new`
  writeFileSync(fresh, Buffer.concat([bytes, mark]), { mode: 0o600 })
  renameSync(fresh, file)
}

/** `prexy config push` and `pull`: the configuration of a fleet, to and from the bucket that its replicas read. */
import { readFile, writeFile } from 'node:fs/promises'
import { textAsFile } from '@prexy/config/load'
import { formatProblem } from '@prexy/config/problem'
import { type SourceSettings, sourceFromUrl } from '@prexy/config/source-schema'
import { type KV, type KvEntry, Kvm } from '@nats-io/kv'
import { BUCKET_TIMEOUT_MS, closeConnection, connectTo, reasonOf } from './config-bucket.ts'
import { FILE_SYSTEM } from './config-files.ts'
import { loadConfiguration } from './config-load.ts'
import { sourceOf } from './config-source.ts'
import { CommandError, EXIT_NONE, EXIT_OK } from './exit-codes.ts'
import { fileErrorReason } from './file-error.ts'
import { writeStandardOutput } from './standard-output.ts'

export interface PushFlags {
  /** The revision that is replaced. */
  readonly revision?: number
  /** Makes the bucket, where there is none, with as many copies of it. */
  readonly create?: number
}

/** Revisions of the configuration that a bucket made by us keeps. */
export const KEPT_REVISIONS = 10

/** Writes a file to the bucket; 1 when it is stale, that is when another one was written since. */
export async function pushConfiguration(target: string, file: string, flags: PushFlags): Promise<number> {
  const settings = settingsOf(target)
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new CommandError(`${file}: ${fileErrorReason(error)}`)
  })
  refuseFaulty(target, settings, file, bytes)
  return await withConnection(settings, async (kvm, maxBytes) => {
    if (bytes.length > maxBytes) {
      const hint = 'split it, or raise max_payload of the servers'
      throw new CommandError(
        `${file}: ${bytes.length} bytes are more than the cluster takes at once (${maxBytes}); ${hint}`,
      )
    }
    const store = await openStore(kvm, settings, flags.create)
    const found = await store.get(settings.key)
    const current = found?.operation === 'PUT' ? found.revision : undefined
    if (current !== undefined && flags.revision === undefined) {
      throw new CommandError(
        `${settings.name} has revision ${current}; look at it with prexy config pull, then push with --revision ${current}`,
      )
    }
    let revision: number
    try {
      revision =
        flags.revision === undefined
          ? await store.create(settings.key, bytes)
          : await store.update(settings.key, bytes, flags.revision)
    } catch (error) {
      if (!isStale(error)) throw error
      const now = await store.get(settings.key)
      const wanted = flags.revision === undefined ? 'there was none' : `revision ${flags.revision} was to be replaced`
      process.stderr.write(
        `prexy: ${settings.name}: stale, nothing was written: ${wanted}, and revision ${now?.revision} is there\n`,
      )
      return EXIT_NONE
    }
    process.stderr.write(`prexy: ${settings.name}: revision ${revision} was written\n`)
    return EXIT_OK
  })
}

/** Prints the configuration of the bucket, and its revision to standard error. */
export async function pullConfiguration(target: string, output: string | undefined): Promise<number> {
  const settings = settingsOf(target)
  const found = await withConnection(settings, async (kvm): Promise<KvEntry | null> => {
    const store = await openStore(kvm, settings, undefined)
    return await store.get(settings.key)
  })
  if (found === null || found.operation !== 'PUT') {
    throw new CommandError(`${settings.name}: there is no such key; write it with prexy config push`)
  }
  if (output === undefined) await writeStandardOutput(new TextDecoder().decode(found.value))
  else {
    await writeFile(output, found.value).catch((error: unknown) => {
      throw new CommandError(`-o ${output}: ${fileErrorReason(error)}`)
    })
  }
  process.stderr.write(`prexy: ${settings.name}: revision ${found.revision} of ${found.created.toISOString()}\n`)
  return EXIT_OK
}

/** `target`: an address, or the file of a replica that says `source`. */
function settingsOf(target: string): SourceSettings {
  if (/^(nats|tls):\/\//.test(target)) {
    const settings = sourceFromUrl(target)
    if (settings !== undefined) return settings
    throw new CommandError(`${target} is no source; write it like nats://10.0.0.1:4222/prexy/config`)
  }
  const settings = sourceOf(target)
  if (settings === undefined) throw new CommandError(`${target}: says no source`)
  return settings
}

/** What no replica could serve is not written. With the file of a replica it is read as that replica reads it. */
function refuseFaulty(target: string, settings: SourceSettings, file: string, bytes: Uint8Array): void {
  const isUrl = /^(nats|tls):\/\//.test(target)
  const own = textAsFile(new TextDecoder().decode(bytes), isUrl ? file : settings.name)
  const files = {
    list: (path: string) => (path === file ? undefined : FILE_SYSTEM.list(path)),
    read: (path: string) => (path === file || path === settings.name ? own.read(path) : FILE_SYSTEM.read(path)),
  }
  const { config, problems } = loadConfiguration(isUrl ? file : target, process.env, files, 'check')
  if (config !== undefined) return
  const errors = problems.filter(({ severity }) => severity === 'error').map(formatProblem)
  throw new CommandError(`the configuration has errors, nothing was written\n${errors.join('\n')}`)
}

async function withConnection<T>(
  settings: SourceSettings,
  run: (kvm: Kvm, maxBytes: number) => Promise<T>,
): Promise<T> {
  const connection = await connectTo(settings).catch((error: unknown) => {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${settings.servers.join(', ')}: the cluster cannot be reached: ${reasonOf(error)}`)
  })
  try {
    // The head of a message takes some of it.
    return await run(new Kvm(connection), (connection.info?.max_payload ?? 1_048_576) - 1_024)
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${settings.name}: ${reasonOf(error)}`)
  } finally {
    await closeConnection(connection)
  }
}

async function openStore(kvm: Kvm, { bucket }: SourceSettings, create: number | undefined): Promise<KV> {
  const options = { timeout: BUCKET_TIMEOUT_MS }
  if (create !== undefined) return await kvm.create(bucket, { ...options, replicas: create, history: KEPT_REVISIONS })
  const store = await kvm.open(bucket, options)
  await store.status().catch((error: unknown) => {
    throw new CommandError(`the bucket ${bucket}: ${reasonOf(error)}; --create makes it`)
  })
  return store
}

/** JetStream's answer to a write that expects another last revision. */
const WRONG_LAST_SEQUENCE = 10_071

function isStale(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? error.code : undefined
  return code === WRONG_LAST_SEQUENCE || /wrong last sequence|key exists/i.test(error.message)
}

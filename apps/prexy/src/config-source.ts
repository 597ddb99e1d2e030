/** The files of a configuration, with what it keeps in a cluster. */
import { mainFile } from '@prexy/config/documents'
import type { ConfigFiles } from '@prexy/config/files'
import { readSource, type SourceSettings } from '@prexy/config/source-schema'
import type { ConfigBucket } from './config-bucket.ts'
import { FILE_SYSTEM } from './config-files.ts'
import { CommandError } from './exit-codes.ts'

/** What a file or folder says of where the rest of it is. Throws a CommandError for secrets that are missing. */
export function sourceOf(path: string): SourceSettings | undefined {
  if (path === '-') return undefined
  const { settings, problems } = readSource(mainFile(path, FILE_SYSTEM.list(path)), FILE_SYSTEM, process.env)
  if (problems.length > 0) throw new CommandError(problems.join('\n'))
  return settings
}

/** Undefined for a configuration that is in files alone. */
export async function openSource(
  path: string | undefined,
  say: (line: string) => void,
): Promise<ConfigBucket | undefined> {
  const settings = path === undefined ? undefined : sourceOf(path)
  if (settings === undefined) return undefined
  const { openBucket } = await import('./config-bucket.ts')
  return await openBucket(settings, say)
}

/** The same once, for commands that look at a configuration and end. */
export async function filesWithSource(path: string): Promise<ConfigFiles> {
  const bucket = await openSource(path, (line) => process.stderr.write(`prexy: ${line}\n`))
  if (bucket === undefined) return FILE_SYSTEM
  const { files } = bucket
  await bucket.close()
  return files
}

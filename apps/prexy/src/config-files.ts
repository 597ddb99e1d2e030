/** The file system, as reading a configuration asks for it. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { ConfigFiles } from '@prexy/config/files'
import { MAX_CONFIG_CHARACTERS } from '@prexy/config/yaml-source'
import { fileErrorReason } from './file-error.ts'

/** Longest file that is read, in octets: what so many characters may take. */
const MAX_FILE_BYTES = MAX_CONFIG_CHARACTERS * 4

export const FILE_SYSTEM: ConfigFiles = {
  read(path) {
    try {
      const bytes = readFileSync(path === '-' ? 0 : path)
      return bytes.length > MAX_FILE_BYTES ? { reason: 'the file is too long' } : { bytes }
    } catch (error) {
      return { reason: fileErrorReason(error) }
    }
  },
  list(path) {
    try {
      return statSync(path).isDirectory() ? readdirSync(path) : undefined
    } catch {
      return undefined
    }
  },
}

/** When the newest of the files was changed; now, if nobody knows. */
export function newestChangeMs(paths: readonly string[]): number {
  let newest = 0
  for (const path of paths) {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats !== undefined && stats.mtimeMs > newest) newest = stats.mtimeMs
  }
  return newest === 0 ? Date.now() : newest
}

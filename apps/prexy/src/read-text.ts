import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { decodeText } from '@prexy/config/files'
import { MAX_CONFIG_CHARACTERS } from '@prexy/config/yaml-source'
import { CommandError } from './exit-codes.ts'

/** The content of a configuration or rules file, which must be UTF-8. `-` is standard input. */
export async function readText(path: string): Promise<string> {
  let bytes: Uint8Array
  try {
    bytes = path === '-' ? readFileSync(0) : await readFile(path)
  } catch (error) {
    throw new CommandError(`${path}: ${fileErrorReason(error)}`)
  }
  if (bytes.length > MAX_CONFIG_CHARACTERS * 4) throw new CommandError(`${path}: the file is too long`)
  const decoded = decodeText(bytes)
  if ('text' in decoded) return decoded.text
  const { line, column, reason } = decoded
  throw new CommandError(`${path}:${line}:${column}: ${reason}`)
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EISDIR: 'is a directory',
  ENOTDIR: 'a part of the path is no directory',
  ELOOP: 'is a symbolic link',
  ENOSPC: 'no space left on the device',
  EROFS: 'the file system is read-only',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many open files',
}

/** What the system said about a file, for a person. */
export function fileErrorReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return REASONS[code] ?? error.message
}

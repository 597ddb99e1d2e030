import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { decodeText } from '@prexy/config/files'
import { MAX_CONFIG_CHARACTERS } from '@prexy/config/yaml-source'
import { CommandError } from './exit-codes.ts'
import { fileErrorReason } from './file-error.ts'

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

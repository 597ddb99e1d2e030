/** `prexy import nginx`: files of nginx as a configuration of ours, and what of them is lost. */
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { type NginxFile, type NginxLoader, readNginx } from '@prexy/config/nginx-include'
import { configFromValue } from '@prexy/config/load'
import { importNginx } from '@prexy/config/nginx-import'
import type { NginxNote } from '@prexy/config/nginx-scope'
import { formatImport, formatNote } from '@prexy/config/nginx-yaml'
import type { HeaderRefusal } from '@prexy/config/nginx-upstream'
import { compileHeaderRules, HeaderRuleError } from '@prexy/proxy/header-rules'
import { CommandError, EXIT_NONE, EXIT_OK } from './exit-codes.ts'
import { fileErrorReason } from './file-error.ts'
import { readText } from './read-text.ts'
import { refusalOfRule } from './rule-source.ts'
import { writeStandardOutput } from './standard-output.ts'
import { type Styles, stylesFor } from './terminal.ts'

export interface ImportOptions {
  readonly site: string | undefined
  readonly output: string | undefined
  readonly json: boolean
}

/** What was made of the files, and what was not. */
export interface NginxResult {
  readonly yaml: string
  readonly notes: readonly NginxNote[]
}

/** Runs the command; 1 when something was not carried over. */
export async function importNginxFile(file: string, options: ImportOptions): Promise<number> {
  const { yaml, notes } = await convertNginx(file, options.site)
  if (options.output !== undefined) await writeNew(options.output, yaml)
  if (options.json) {
    await writeStandardOutput(`${JSON.stringify({ file, configuration: yaml, notes })}\n`)
  } else {
    if (options.output === undefined) await writeStandardOutput(yaml)
    process.stderr.write(describeNotes(notes, stylesFor(process.stderr, process.env)))
  }
  return notes.some(({ kind }) => kind === 'missing') ? EXIT_NONE : EXIT_OK
}

/** Throws a CommandError that says what is wrong with the files. */
export async function convertNginx(file: string, site: string | undefined): Promise<NginxResult> {
  const text = await readText(file)
  const tree = readNginx({ file, text }, file === '-' ? refuseIncludes : loaderBeside(file))
  if (tree.problems.length > 0) {
    throw new CommandError(tree.problems.map((one) => `${one.file}:${one.line}: ${one.message}`).join('\n'))
  }
  const refusals = { refusalOf: refusalOfRule, headerRefusalOf: refusalOfHeaderRule }
  const imported = importNginx(tree, { ...refusals, ...(site === undefined ? {} : { site }) })
  if ('message' in imported) throw new CommandError(`${file}: ${imported.message}`)
  return { yaml: formatImport(imported, file), notes: imported.notes }
}

const refusalOfHeaderRule: HeaderRefusal = (rule, side) => {
  const loaded = configFromValue({ upstream: 'http://127.0.0.1', headers: { [side]: [rule] } })
  const list = loaded.value?.routes[0]?.headerLists[0]
  if (list === undefined) return loaded.problems[0]?.message
  try {
    compileHeaderRules(list.rules, side)
    return undefined
  } catch (error) {
    if (!(error instanceof HeaderRuleError)) throw error
    return error.problems[0]?.message
  }
}

function refuseIncludes(): string {
  return 'a file on standard input has no folder to find others in'
}

/** nginx finds what is included from the folder of its main file. */
function loaderBeside(main: string): NginxLoader {
  const folder = dirname(main)
  return (pattern) => {
    const whole = isAbsolute(pattern) ? pattern : join(folder, pattern)
    const paths = /[*?[]/.test(pattern) ? expandGlob(whole) : [whole]
    try {
      return paths.map((path): NginxFile => ({ file: path, text: readFileSync(path, 'utf8') }))
    } catch (error) {
      const isAbsent = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      return isAbsent ? undefined : fileErrorReason(error)
    }
  }
}

/** As the shell expands it: sorted, and files whose name begins with a dot only where the pattern has one. */
function expandGlob(pattern: string): readonly string[] {
  const isRooted = isAbsolute(pattern)
  let found: readonly string[] = [isRooted ? '/' : '.']
  for (const part of (isRooted ? pattern.slice(1) : pattern).split('/')) {
    if (!/[*?[]/.test(part)) {
      found = found.map((folder) => join(folder, part))
      continue
    }
    const matches = globPart(part)
    found = found.flatMap((folder) => {
      try {
        return readdirSync(folder)
          .filter((name) => (part.startsWith('.') || !name.startsWith('.')) && matches.test(name))
          .toSorted()
          .map((name) => join(folder, name))
      } catch {
        // No such folder: nothing matches.
        return []
      }
    })
  }
  return found
}

function globPart(part: string): RegExp {
  const source = part.replace(/\[!?[^\]]*\]|[\s\S]/g, (piece) => {
    if (piece === '*') return '.*'
    if (piece === '?') return '.'
    if (piece.length > 1) return piece.replace(/^\[!/, '[^').replaceAll('\\', '\\\\')
    return piece.replace(/[\\^$.+()|{}[\]]/, '\\$&')
  })
  return new RegExp(`^${source}$`, 's')
}

/** Writes a file that must not be there yet. */
export async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx' })
  } catch (error) {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    throw new CommandError(
      `${path}: ${isThere ? 'there is such a file already; name another, or remove it' : fileErrorReason(error)}`,
    )
  }
}

function describeNotes(notes: readonly NginxNote[], style: Styles): string {
  const lines: string[] = []
  const list = (kind: NginxNote['kind'], title: string): void => {
    const found = notes.filter((note) => note.kind === kind)
    if (found.length > 0) lines.push(title, ...found.map((note) => `  ${formatNote(note)}`))
  }
  list('missing', style.yellow('not carried over:'))
  list('differs', style.yellow('carried over, and different in some cases:'))
  const needless = notes.filter(({ kind }) => kind === 'needless').length
  if (needless === 1) lines.push(style.dim('1 directive has no counterpart and needs none; --json lists it'))
  else if (needless > 1)
    lines.push(style.dim(`${needless} directives have no counterpart and need none; --json lists them`))
  return lines.map((line) => `${line}\n`).join('')
}

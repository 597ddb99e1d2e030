/** What reading a configuration asks of a file system, so that it stays a function of files. */
import { posix } from 'node:path'

/** `line` and `column` count from 1, where the fault has a place in the file. */
export interface FileFault {
  readonly reason: string
  readonly line?: number
  readonly column?: number
}

/** Paths are those of the configuration: relative ones are taken from where prexy was started. */
export interface ConfigFiles {
  read(path: string): { readonly bytes: Uint8Array } | FileFault
  /** The names in a directory; undefined if `path` is none. */
  list(path: string): readonly string[] | undefined
}

/** The text of a file, which must be UTF-8. */
export function decodeText(bytes: Uint8Array): { readonly text: string } | FileFault {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    const text = new TextDecoder().decode(bytes)
    const before = text.slice(0, text.indexOf('\ufffd')).split('\n')
    const column = (before.at(-1)?.length ?? 0) + 1
    return { reason: 'this is not UTF-8; save the file as UTF-8', line: before.length, column }
  }
}

/** `path` as a file in the folder of `file` has it. */
export function besideFile(file: string, path: string): string {
  return posix.isAbsolute(path) ? path : posix.join(posix.dirname(file), path)
}

/** Whether a name in a folder is a file of a configuration; those that begin with a dot are somebody's bookkeeping. */
export function isConfigName(name: string): boolean {
  return !name.startsWith('.') && /\.ya?ml$/.test(name)
}

/** By code units, whatever the language of the machine. */
export function sortedNames(names: readonly string[]): string[] {
  return names.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
}

export interface Expansion {
  /** In order of their names. */
  readonly paths: readonly string[]
  /** Folders that were looked through: a new file in them may belong to the pattern. */
  readonly folders: readonly string[]
}

/**
 * The files that a pattern names: `*` stands for any characters of a name, `?` for one, never for a dot at its
 * beginning. A name without them stands for itself, there or not; a folder for the configuration files in it.
 */
export function expandPattern(files: ConfigFiles, pattern: string): Expansion {
  const folders: string[] = []
  let found = [pattern.startsWith('/') ? '/' : '']
  for (const segment of pattern.split('/')) {
    if (segment === '') continue
    if (!/[*?]/.test(segment)) {
      found = found.map((path) => `${path}${path === '' || path.endsWith('/') ? '' : '/'}${segment}`)
      continue
    }
    const wanted = nameMatcher(segment)
    found = found.flatMap((path) => {
      const folder = path === '' ? '.' : path
      const names = files.list(folder)
      if (names === undefined) return []
      folders.push(folder)
      const fitting = sortedNames(names.filter((name) => wanted.test(name)))
      return fitting.map((name) => `${path}${path === '' || path.endsWith('/') ? '' : '/'}${name}`)
    })
  }
  const paths = found.flatMap((path) => {
    const names = files.list(path)
    if (names === undefined) return [path]
    folders.push(path)
    return sortedNames(names.filter(isConfigName)).map((name) => posix.join(path, name))
  })
  return { paths, folders }
}

function nameMatcher(segment: string): RegExp {
  const source = segment
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${segment.startsWith('.') ? '' : '(?!\\.)'}${source}$`, 's')
}

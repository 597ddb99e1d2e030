/** The files that make a configuration: the one that was named, or those of a folder, and what they include. */
import {
  besideFile,
  type ConfigFiles,
  decodeText,
  type FileFault,
  isConfigName,
  expandPattern,
  sortedNames,
} from './files.ts'
import { type ConfigPath, type ConfigProblem, formatPath } from './problem.ts'
import { isSourceName, sourceName } from './source-schema.ts'
import { type Place, readYaml, type YamlSource } from './yaml-source.ts'

/** How deep files may include others. */
export const MAX_INCLUDE_DEPTH = 8

/** How many files a configuration may be made of. */
export const MAX_CONFIG_FILES = 100_000

export interface Documents {
  /** In the order in which they are read: a file before those that it includes. */
  readonly sources: readonly YamlSource[]
  readonly problems: readonly ConfigProblem[]
  /** Files that were read or looked for, and folders that were looked through. */
  readonly watched: readonly string[]
}

/** Files that were read before, by path: those that have not changed are not parsed again. */
export type KnownSources = Map<string, { readonly text: string; readonly source: YamlSource }>

/**
 * `path` is a file or a folder; `-` is a file, too. `known` is what an earlier reading left, and is made to hold what
 * this one read. Never throws.
 */
export function readDocuments(path: string, files: ConfigFiles, known: KnownSources = new Map()): Documents {
  const names = path === '-' ? undefined : files.list(path)
  const reader = new DocumentReader(files, known, mainFile(path, names))
  if (names === undefined) reader.read(path, [], undefined)
  else {
    reader.watched.add(path)
    const folder = path.replace(/\/+$/, '') || '/'
    const fitting = sortedNames(names.filter(isConfigName))
    if (fitting.length === 0) reader.report(path, undefined, 'holds no file that ends in .yaml or .yml')
    for (const name of fitting) reader.read(`${folder === '/' ? '' : folder}/${name}`, [], undefined)
  }
  const read = new Set(reader.sources.map(({ file }) => file))
  for (const file of [...known.keys()]) if (!read.has(file)) known.delete(file)
  return { sources: reader.sources, problems: reader.problems, watched: [...reader.watched] }
}

/** The file that may say `source`. `names`: those in `path`, if it is a folder. */
export function mainFile(path: string, names: readonly string[] | undefined): string {
  if (names === undefined) return path
  const folder = path.replace(/\/+$/, '') || '/'
  return `${folder === '/' ? '' : folder}/prexy.yaml`
}

class DocumentReader {
  readonly sources: YamlSource[] = []
  readonly problems: ConfigProblem[] = []
  readonly watched = new Set<string>()
  readonly #files: ConfigFiles
  readonly #known: KnownSources
  /** Where each file was asked for first. */
  readonly #included = new Map<string, Place | undefined>()

  /** The file whose `source` counts. */
  readonly #main: string

  constructor(files: ConfigFiles, known: KnownSources, main: string) {
    this.#files = files
    this.#known = known
    this.#main = main
  }

  /** `above`: the files that led here, the outermost first. `asked`: where the last of them says so. */
  read(path: string, above: readonly string[], asked: Place | undefined): void {
    if (above.includes(path)) {
      const chain = [...above.slice(above.indexOf(path)), path].join(' includes ')
      return this.report(path, asked, `includes a file in itself: ${chain}`, 'keep the pattern to other files')
    }
    if (this.#included.has(path)) {
      const earlier = this.#included.get(path)
      const where = earlier === undefined ? '' : `, in ${placeText(earlier)}`
      return this.report(path, asked, `${path} is read already${where}`, 'include it once')
    }
    if (above.length > MAX_INCLUDE_DEPTH) {
      return this.report(
        path,
        asked,
        `files include others more than ${MAX_INCLUDE_DEPTH} deep`,
        'include them from above',
      )
    }
    if (this.#included.size >= MAX_CONFIG_FILES) {
      if (this.#included.size === MAX_CONFIG_FILES)
        this.report(path, asked, `there are more than ${MAX_CONFIG_FILES} files`, 'put several sites into one')
      this.#included.set(path, asked)
      return
    }
    this.#included.set(path, asked)
    if (path !== '-' && !isSourceName(path)) this.watched.add(path)
    const content = this.#files.read(path)
    const decoded = 'bytes' in content ? decodeText(content.bytes) : content
    if (!('text' in decoded)) return this.#reportFault(path, asked, decoded)
    const source = this.#sourceOf(path, decoded.text)
    this.sources.push(source)
    this.problems.push(...source.problems)
    for (const { pattern, place } of includesOf(source)) this.#include(pattern, place, [...above, path])
    const elsewhere = sourceName(source.value)
    if (elsewhere === undefined) return
    const place: Place = { source, path: ['source'] }
    if (path === this.#main) this.read(elsewhere, [...above, path], place)
    else this.report(path, place, 'stands in the file that prexy is started with, in prexy.yaml of a folder')
  }

  #sourceOf(path: string, text: string): YamlSource {
    const known = this.#known.get(path)
    if (known?.text === text) return known.source
    const source = readYaml(text, path)
    this.#known.set(path, { text, source })
    return source
  }

  #include(pattern: string, place: Place, above: readonly string[]): void {
    const { paths, folders } = expandPattern(this.#files, besideFile(place.source.file, pattern))
    for (const folder of folders) this.watched.add(folder)
    for (const path of paths) this.read(path, above, place)
  }

  /** A fault inside a file has its place there, one of reading it where the file was asked for. */
  #reportFault(file: string, asked: Place | undefined, { reason, line, column }: FileFault): void {
    if (line === undefined || column === undefined) {
      return this.report(file, asked, asked === undefined ? reason : `${file}: ${reason}`)
    }
    const [message, hint] = reason.split('; ', 2)
    this.problems.push({ severity: 'error', position: { file, line, column }, path: '', message, hint })
  }

  report(file: string, asked: Place | undefined, message: string, hint?: string): void {
    const position = asked?.source.positionOf(asked.path) ?? { file, line: 1, column: 1 }
    const path = asked === undefined ? '' : formatPath(asked.path)
    this.problems.push({ severity: 'error', position, path, message, hint })
  }
}

/** `file:line`, in the midst of a sentence. */
export function placeText({ source, path }: Place): string {
  const { file, line } = source.positionOf(path)
  return `${file}:${line}`
}

/** What is well-formed of `include`; the schema says what is not. */
function includesOf(source: YamlSource): readonly { readonly pattern: string; readonly place: Place }[] {
  const { value } = source
  if (typeof value !== 'object' || value === null || !('include' in value)) return []
  const { include } = value
  const at = (pattern: unknown, path: ConfigPath): { pattern: string; place: Place }[] =>
    typeof pattern === 'string' && pattern !== '' ? [{ pattern, place: { source, path } }] : []
  if (!Array.isArray(include)) return at(include, ['include'])
  return include.flatMap((pattern, index) => at(pattern, ['include', index]))
}

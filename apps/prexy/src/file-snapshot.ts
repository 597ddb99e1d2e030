/**
 * The files of a configuration as they were when it was read: what a worker that starts later is given, so that all
 * workers serve the same and a file that has become faulty since stops none.
 */
import type { ConfigFiles, FileFault } from '@prexy/config/files'

/** As plain data, for a message between processes. */
export interface FileSnapshot {
  /** By path; content in base64. */
  readonly files: Readonly<Record<string, string | FileFault>>
  /** By path; `false` for what is none. */
  readonly folders: Readonly<Record<string, readonly string[] | false>>
  readonly changedMs: number
}

export interface RecordingFiles extends ConfigFiles {
  snapshot(changedMs: number): FileSnapshot
}

/** Reads through to `files`, once per path, and remembers. */
export function recordFiles(files: ConfigFiles): RecordingFiles {
  const read = new Map<string, ReturnType<ConfigFiles['read']>>()
  const listed = new Map<string, readonly string[] | undefined>()
  return {
    read(path) {
      let result = read.get(path)
      if (result === undefined) {
        result = files.read(path)
        read.set(path, result)
      }
      return result
    },
    list(path) {
      if (!listed.has(path)) listed.set(path, files.list(path))
      return listed.get(path)
    },
    snapshot: (changedMs) => ({
      files: Object.fromEntries(
        [...read].map(([path, result]) => [
          path,
          'bytes' in result ? Buffer.from(result.bytes).toString('base64') : result,
        ]),
      ),
      folders: Object.fromEntries([...listed].map(([path, names]) => [path, names ?? false])),
      changedMs,
    }),
  }
}

/** Files that were not asked for when the snapshot was made are not there. */
export function filesOf({ files, folders }: FileSnapshot): ConfigFiles {
  return {
    read(path) {
      const result = Object.hasOwn(files, path) ? files[path] : { reason: 'there is no such file' }
      return typeof result === 'string' ? { bytes: Buffer.from(result, 'base64') } : result
    },
    list(path) {
      const names = Object.hasOwn(folders, path) ? folders[path] : false
      return names === false ? undefined : names
    },
  }
}

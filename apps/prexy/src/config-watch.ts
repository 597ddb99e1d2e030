/**
 * Tells when the files of a configuration have changed. Folders are watched, not files: editors and deployments put a
 * new file in the place of the old one, and Kubernetes swaps a link (`..data`) that the names in a mounted ConfigMap
 * lead through.
 */
import { type FSWatcher, readdirSync, realpathSync, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'

/** Changes within this time are one. Unit: milliseconds. */
export const SETTLE_MS = 200

export interface ConfigWatch {
  /** What is watched from now on. What has changed before is not told of. */
  follow(paths: readonly string[]): void
  close(): void
}

export function watchConfiguration(onChange: () => void, onError: (error: Error) => void): ConfigWatch {
  const watchers = new Map<string, FSWatcher>()
  let paths: readonly string[] = []
  let seen = ''
  let timer: NodeJS.Timeout | undefined
  const look = (): void => {
    timer = undefined
    follow()
    const now = stateOf(paths)
    if (now === seen) return
    seen = now
    onChange()
  }
  /** Links may lead elsewhere than before. */
  const follow = (): void => {
    const folders = new Set(paths.flatMap(foldersOf))
    for (const [folder, watcher] of watchers) {
      if (folders.has(folder)) continue
      watcher.close()
      watchers.delete(folder)
    }
    for (const folder of folders) {
      if (watchers.has(folder)) continue
      try {
        const watcher = watch(folder, { persistent: false }, () => {
          timer ??= setTimeout(look, SETTLE_MS)
        })
        watcher.on('error', () => {
          // The folder is gone; one of that name is found again with the next change above it.
          watcher.close()
          watchers.delete(folder)
          timer ??= setTimeout(look, SETTLE_MS)
        })
        watchers.set(folder, watcher)
      } catch (error) {
        if (!isMissing(error)) onError(error instanceof Error ? error : new Error(String(error)))
      }
    }
  }
  return {
    follow(next) {
      paths = next
      follow()
      seen = stateOf(paths)
    },
    close() {
      clearTimeout(timer)
      for (const watcher of watchers.values()) watcher.close()
      watchers.clear()
    },
  }
}

/** Where a change of `path` can be seen: its folder and, where links lead elsewhere, that of what it stands for. */
function foldersOf(path: string): string[] {
  const folders = [dirname(path)]
  try {
    const real = realpathSync(path)
    folders.push(statSync(real).isDirectory() ? real : dirname(real))
    if (statSync(path).isDirectory()) folders.push(path)
  } catch {
    // It may come back.
  }
  return folders
}

/** Equal while nothing has changed. */
function stateOf(paths: readonly string[]): string {
  return paths
    .map((path) => {
      try {
        const real = realpathSync(path)
        const { ino, size, mtimeMs } = statSync(real)
        const names = statSync(real).isDirectory() ? readdirSync(real).join('/') : ''
        return `${real} ${ino} ${size} ${mtimeMs} ${names}`
      } catch {
        return ''
      }
    })
    .join('\n')
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

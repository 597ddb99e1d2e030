import { posix } from 'node:path'
import type { ConfigFiles } from '../src/files.ts'

/** Files that are nowhere but here, by path. */
export function memoryFiles(contents: Readonly<Record<string, string>>): ConfigFiles {
  const paths = Object.keys(contents)
  return {
    read: (path) => {
      if (Object.hasOwn(contents, path)) return { bytes: new TextEncoder().encode(contents[path]) }
      return { reason: 'there is no such file' }
    },
    list: (path) => {
      const folder = path === '.' ? '' : `${path.replace(/\/$/, '')}/`
      const below = paths
        .filter((one) => one.startsWith(folder))
        .map((one) => posix.relative(folder, one).split('/')[0])
      return below.length === 0 || paths.includes(path) ? undefined : [...new Set(below)]
    },
  }
}

// What may not stand in a committed file: paths of one developer's machine.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// Written in pieces, so that this file passes its own check.
const DEVELOPER_PATH = new RegExp(['/wor' + 'k/', '/roo' + 't/', '/hom' + 'e/\\w+/', '/User' + 's/\\w+/'].join('|'))

/**
 * @param {string} root a git work tree
 * @returns {string[]} a line for each finding
 */
export function checkSources(root) {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  return listed
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(root, file)))
    .flatMap((file) => findDeveloperPaths(file, readFileSync(join(root, file), 'latin1')))
}

/**
 * @param {string} file
 * @param {string} text
 * @returns {string[]}
 */
export function findDeveloperPaths(file, text) {
  if (text.includes('\0')) return []
  return text.split('\n').flatMap((line, index) => {
    const match = DEVELOPER_PATH.exec(line)
    return match === null
      ? []
      : [`${file}:${index + 1}: ${match[0]}: a path of one machine; find programs through PATH`]
  })
}

// Dependencies: installed when missing, half installed, or older than package-lock.json.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runQuietly, say } from './child.mjs'

// Written after `npm ci` ended well and removed before it begins, so that an interrupted one is begun again.
const STAMP = 'node_modules/.prexy-installed.json'

/**
 * @param {string} root
 * @returns {Promise<void>}
 */
export async function installIfStale(root) {
  const reason = whyInstall(root)
  if (reason === undefined) return
  say(`${reason}: dependencies are installed with npm ci, which takes a minute or so`)
  rmSync(join(root, STAMP), { force: true })
  const result = await runQuietly('installing dependencies', 'npm', ['ci', '--no-audit', '--no-fund'], { cwd: root })
  if (result.code !== 0) {
    throw new Error('npm ci failed; its output is above. Once that is put right, run the same command again.')
  }
  writeFileSync(join(root, STAMP), `${JSON.stringify({ lock: lockHash(root) })}\n`)
}

/**
 * The reason why dependencies must be installed, for a person to read; undefined when they are in order.
 *
 * A tree that npm itself brought up to the lock file (a developer's `npm install x`) is taken over as it is.
 *
 * @param {string} root
 * @returns {string | undefined}
 */
export function whyInstall(root) {
  if (!existsSync(join(root, 'node_modules'))) return 'nothing is installed yet'
  if (recordedLock(root) !== lockHash(root)) {
    if (!matchesHiddenLock(root)) return 'package-lock.json is not the one that was installed'
    writeFileSync(join(root, STAMP), `${JSON.stringify({ lock: lockHash(root) })}\n`)
  }
  const [missing] = [...missingPackages(root), ...missingPrograms(root)]
  return missing === undefined ? undefined : `${missing} is missing`
}

/** @param {string} root */
function lockHash(root) {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
}

/**
 * @param {string} root
 * @returns {string | undefined}
 */
function recordedLock(root) {
  const path = join(root, STAMP)
  if (!existsSync(path)) return undefined
  try {
    return JSON.parse(readFileSync(path, 'utf8')).lock
  } catch {
    // A stamp cut short by a crash says as little as none.
    return undefined
  }
}

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, devOptional?: boolean, link?: boolean, bin?: Readonly<Record<string, string>> }} LockEntry
 * @param {string} path
 * @returns {Readonly<Record<string, LockEntry | undefined>>}
 */
function lockEntries(path) {
  return JSON.parse(readFileSync(path, 'utf8')).packages
}

/** npm writes node_modules/.package-lock.json last of all: what stands in it was installed to the end. @param {string} root */
function matchesHiddenLock(root) {
  const path = join(root, 'node_modules/.package-lock.json')
  if (!existsSync(path)) return false
  const installed = lockEntries(path)
  return Object.entries(lockEntries(join(root, 'package-lock.json'))).every(([name, entry]) => {
    if (!name.startsWith('node_modules/')) return true
    const there = installed[name]
    if (there === undefined) return entry?.optional === true
    return there.version === entry?.version && there.integrity === entry?.integrity
  })
}

/**
 * Packages of the lock file whose folders are gone; optional ones may be, on platforms that they are not for.
 *
 * @param {string} root
 * @returns {string[]}
 */
function missingPackages(root) {
  return Object.entries(lockEntries(join(root, 'package-lock.json')))
    .filter(([name, entry]) => name.startsWith('node_modules/') && entry?.optional !== true)
    .map(([name]) => name)
    .filter((name) => !existsSync(join(root, name, 'package.json')))
}

/**
 * Programs that packages at the top put into node_modules/.bin and that are gone from there, our own command included.
 *
 * @param {string} root
 * @returns {string[]}
 */
function missingPrograms(root) {
  const folder = 'node_modules/.bin'
  const there = new Set(existsSync(join(root, folder)) ? readdirSync(join(root, folder)) : [])
  return Object.entries(lockEntries(join(root, 'package-lock.json')))
    .filter(([name, entry]) => isInstalledAtTop(name) && entry?.optional !== true)
    .flatMap(([, entry]) => Object.keys(entry?.bin ?? {}))
    .filter((program) => !there.has(program) && !there.has(`${program}.cmd`))
    .map((program) => `${folder}/${program}`)
}

/** Workspaces are linked. @param {string} name */
function isInstalledAtTop(name) {
  const inside = name.split('node_modules/')
  return inside.length === 1 ? name !== '' : inside.length === 2 && inside[0] === ''
}

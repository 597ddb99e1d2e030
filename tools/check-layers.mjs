// The layer check: which package may import which, and that manifests, project references and imports say the same.
// Run by `npm run check`; `node tools/check-layers.mjs` runs it alone.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What each package may import, by folder. A package that is not here is an error: its layer is a decision. */
const LAYERS = /** @type {Readonly<Record<string, readonly string[] | undefined>>} */ ({
  'packages/bytes': [],
  'packages/regex': ['packages/bytes'],
  'packages/rewrite': ['packages/regex', 'packages/bytes'],
  'packages/http': ['packages/bytes'],
  'packages/events': ['packages/http', 'packages/bytes'],
  'packages/msgpack': ['packages/bytes'],
  'packages/evtx': ['packages/bytes'],
  'packages/sigma': ['packages/regex'],
  'packages/record': ['packages/bytes', 'packages/msgpack', 'packages/events', 'packages/http'],
  'packages/hunt': [
    'packages/sigma',
    'packages/evtx',
    'packages/record',
    'packages/msgpack',
    'packages/events',
    'packages/http',
    'packages/net',
  ],
  'packages/client': ['packages/msgpack'],
  'packages/admin': ['packages/record', 'packages/events', 'packages/msgpack'],
  'packages/net': [],
  'packages/config': [],
  'packages/proxy': ['packages/rewrite', 'packages/http', 'packages/net', 'packages/events'],
  'apps/inspector': [
    'packages/rewrite',
    'packages/hunt',
    'packages/sigma',
    'packages/record',
    'packages/msgpack',
    'packages/events',
    'packages/http',
    'packages/bytes',
  ],
  'apps/prexy': ['*'],
  testing: ['*'],
  bench: ['*'],
})

/** Packages that run in a browser too: no module of the runtime at all. */
const NEUTRAL = [
  'packages/bytes',
  'packages/regex',
  'packages/rewrite',
  'packages/http',
  'packages/events',
  'packages/msgpack',
  'packages/client',
  'packages/evtx',
  'packages/sigma',
  'apps/inspector',
]

/** Sockets, streams and codings belong to `net`; the admin listener and the applications and tests around the product make their own. */
const STREAM_MODULES = /^node:(?:net|tls|http|https|http2|zlib|dgram|stream)(?:\/|$)/
const STREAM_OWNERS = ['packages/net', 'packages/admin', 'apps/prexy', 'testing', 'bench']

const FORBIDDEN_FOLDERS = ['utils', 'util', 'helpers', 'helper', 'common', 'shared', 'misc']
const SOURCE_FILE = /\.(?:ts|mts|tsx|js|mjs)$/

/**
 * @typedef {{ folder: string, name: string, dependencies: readonly string[], devDependencies: readonly string[] }} Workspace
 * @typedef {{ file: string, specifier: string, isType: boolean }} Import
 */

/**
 * Every breach of the layers below `root`, a line each.
 *
 * @param {string} root
 * @returns {string[]}
 */
export function checkLayers(root) {
  const workspaces = findWorkspaces(root)
  const rootDevDependencies = Object.keys(readJson(join(root, 'package.json')).devDependencies ?? {})
  return [
    ...workspaces.flatMap((workspace) => checkWorkspace(root, workspace, workspaces, rootDevDependencies)),
    ...checkPackageCycles(workspaces),
    ...checkFolderNames(root),
    ...checkTools(root, rootDevDependencies),
  ]
}

/**
 * @param {string} root
 * @param {Workspace} workspace
 * @param {readonly Workspace[]} workspaces
 * @param {readonly string[]} rootDevDependencies
 */
function checkWorkspace(root, workspace, workspaces, rootDevDependencies) {
  const { folder } = workspace
  const allowed = LAYERS[folder]
  if (allowed === undefined) return [`${folder}: has no place in the layers; give it one in tools/check-layers.mjs`]
  /** @type {string[]} */
  const problems = []
  const imports = importsBelow(root, folder)
  const product = imports.filter(({ file }) => !file.startsWith(`${folder}/test/`))
  const productNames = new Set()
  for (const { file, specifier } of imports) {
    const inTest = file.startsWith(`${folder}/test/`)
    if (specifier.startsWith('.')) {
      const problem = checkRelative(root, folder, file, specifier)
      if (problem !== undefined) problems.push(problem)
      continue
    }
    if (specifier.startsWith('node:')) {
      if (inTest) continue
      if (NEUTRAL.includes(folder)) problems.push(`${file}: ${specifier}: this package runs without Node`)
      else if (STREAM_MODULES.test(specifier) && !STREAM_OWNERS.includes(folder)) {
        problems.push(`${file}: ${specifier}: sockets, streams and codings belong to packages/net`)
      }
      continue
    }
    const name = packageName(specifier)
    if (!inTest) productNames.add(name)
    const target = workspaces.find((candidate) => candidate.name === name)
    if (target !== undefined) {
      const may = target === workspace || allowed.includes('*') || allowed.includes(target.folder)
      if (!may && !(inTest && target.folder === 'testing'))
        problems.push(`${file}: ${folder} may not import ${target.folder}`)
    }
    const declared = inTest
      ? [
          ...workspace.dependencies,
          ...workspace.devDependencies,
          ...rootDevDependencies,
          workspace.name,
          '@prexy/testing',
        ]
      : folder === 'testing' || folder === 'bench'
        ? [...workspace.dependencies, ...rootDevDependencies, workspace.name]
        : workspace.dependencies
    if (!declared.includes(name))
      problems.push(`${file}: ${name} is not among the dependencies of ${folder}/package.json`)
  }
  for (const name of workspace.dependencies) {
    if (!productNames.has(name)) problems.push(`${folder}/package.json: ${name} is never imported`)
  }
  return [...problems, ...checkReferences(root, workspace, workspaces), ...checkFileCycles(root, product)]
}

/**
 * @param {string} root
 * @param {string} folder
 * @param {string} file
 * @param {string} specifier
 */
function checkRelative(root, folder, file, specifier) {
  const target = resolve(root, dirname(file), specifier)
  if (target !== resolve(root, folder) && !target.startsWith(resolve(root, folder) + sep)) {
    return `${file}: ${specifier} leaves the package`
  }
  return undefined
}

/**
 * Project references must name exactly the packages that the manifest does, or `tsc -b` builds in the wrong order.
 *
 * @param {string} root
 * @param {Workspace} workspace
 * @param {readonly Workspace[]} workspaces
 */
function checkReferences(root, workspace, workspaces) {
  const path = join(root, workspace.folder, 'tsconfig.json')
  if (!existsSync(path)) return []
  /** @type {{ references?: { path: string }[] }} */
  const project = readJson(path)
  const referenced = (project.references ?? []).map((entry) => relative(root, resolve(dirname(path), entry.path)))
  const depended = workspaces.filter(({ name }) => workspace.dependencies.includes(name)).map(({ folder }) => folder)
  return [
    ...depended
      .filter((folder) => !referenced.includes(folder))
      .map((folder) => `${workspace.folder}/tsconfig.json: references lack ${folder}, which package.json depends on`),
    ...referenced
      .filter((folder) => !depended.includes(folder))
      .map(
        (folder) => `${workspace.folder}/tsconfig.json: references ${folder}, which package.json does not depend on`,
      ),
  ]
}

/** @param {readonly Workspace[]} workspaces */
function checkPackageCycles(workspaces) {
  const edges = new Map(
    workspaces.map((workspace) => [
      workspace.folder,
      workspaces.filter(({ name }) => workspace.dependencies.includes(name)).map(({ folder }) => folder),
    ]),
  )
  return findCycles(edges).map((cycle) => `packages depend on each other in a circle: ${cycle.join(' -> ')}`)
}

/**
 * A type may point back at the file that makes it; code may not, because then the order of imports decides what works.
 *
 * @param {string} root
 * @param {readonly Import[]} imports
 */
function checkFileCycles(root, imports) {
  /** @type {Map<string, string[]>} */
  const edges = new Map()
  for (const { file, specifier, isType } of imports) {
    if (isType || !specifier.startsWith('.')) continue
    const target = relative(root, resolve(root, dirname(file), specifier))
    edges.set(file, [...(edges.get(file) ?? []), target])
  }
  return findCycles(edges).map((cycle) => `files import each other in a circle: ${cycle.join(' -> ')}`)
}

/**
 * @param {ReadonlyMap<string, readonly string[]>} edges
 * @returns {string[][]} one cycle for each back edge of a depth-first walk
 */
function findCycles(edges) {
  /** @type {string[][]} */
  const cycles = []
  /** @type {string[]} */
  const path = []
  const done = new Set()
  /** @param {string} node */
  function visit(node) {
    const at = path.indexOf(node)
    if (at >= 0) {
      cycles.push([...path.slice(at), node])
      return
    }
    if (done.has(node)) return
    path.push(node)
    for (const next of edges.get(node) ?? []) visit(next)
    path.pop()
    done.add(node)
  }
  for (const node of edges.keys()) visit(node)
  return cycles
}

/** @param {string} root */
function checkFolderNames(root) {
  return ['packages', 'apps', 'testing', 'bench', 'tools']
    .flatMap((top) => foldersBelow(root, top))
    .filter((folder) => FORBIDDEN_FOLDERS.includes(folder.slice(folder.lastIndexOf('/') + 1)))
    .map(
      (folder) =>
        `${folder}: a folder is named after what it holds, not "${folder.slice(folder.lastIndexOf('/') + 1)}"`,
    )
}

/**
 * The tools boot a bare clone: outside their tests nothing but Node and themselves. Generators run after a build and may
 * read what was built.
 *
 * @param {string} root
 * @param {readonly string[]} rootDevDependencies
 */
function checkTools(root, rootDevDependencies) {
  if (!existsSync(join(root, 'tools'))) return []
  return importsBelow(root, 'tools').flatMap(({ file, specifier }) => {
    if (file.startsWith('tools/generate-') && specifier.includes('/dist/')) return []
    if (specifier.startsWith('.')) return checkRelative(root, 'tools', file, specifier) ?? []
    if (specifier.startsWith('node:')) return []
    if (file.startsWith('tools/test/') && rootDevDependencies.includes(packageName(specifier))) return []
    return `${file}: ${specifier}: the tools run before anything is installed`
  })
}

/**
 * @param {string} root
 * @returns {Workspace[]}
 */
function findWorkspaces(root) {
  const folders = ['packages', 'apps'].flatMap((group) =>
    existsSync(join(root, group))
      ? readdirSync(join(root, group))
          .sort()
          .map((name) => `${group}/${name}`)
      : [],
  )
  return [...folders, 'testing', 'bench']
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => {
      const manifest = readJson(join(root, folder, 'package.json'))
      return {
        folder,
        name: manifest.name,
        dependencies: Object.keys(manifest.dependencies ?? {}),
        devDependencies: Object.keys(manifest.devDependencies ?? {}),
      }
    })
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {Import[]}
 */
function importsBelow(root, folder) {
  return filesBelow(root, folder)
    .filter((file) => SOURCE_FILE.test(file) && !file.endsWith('.generated.ts'))
    .filter((file) => !file.startsWith('packages/regex/src/kernel/'))
    .flatMap((file) => importsOf(readFileSync(join(root, file), 'utf8')).map((found) => ({ file, ...found })))
}

/**
 * The module specifiers of a source text: static, side-effect, re-exported and dynamic. Statements are looked for at the
 * begin of a line, where the formatter puts them, so that text in comments and strings is not mistaken for one.
 *
 * @param {string} source
 * @returns {{ specifier: string, isType: boolean }[]} `isType`: gone once compiled
 */
export function importsOf(source) {
  const code = source.replace(/^\s*(?:\/\/|\/?\*).*$/gm, '')
  const statement = /^(?:import|export)\b(?:[\w\s{},*$]|type\b)*?(?:from\s*)?(['"])([^'"\n]+)\1/gm
  const dynamic = /\bimport\(\s*(['"])([^'"\n]+)\1/g
  return [...code.matchAll(statement), ...code.matchAll(dynamic)].map((match) => ({
    specifier: match[2],
    isType: /^(?:import|export)\s+type\b/.test(match[0]),
  }))
}

/** @param {string} specifier */
function packageName(specifier) {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {string[]} paths relative to `root`; nothing installed, built or recorded
 */
function filesBelow(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`
      if (entry.isFile()) return [path]
      return entry.isDirectory() && !isForeign(entry.name) ? filesBelow(root, path) : []
    })
    .sort()
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {string[]}
 */
function foldersBelow(root, folder) {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !isForeign(entry.name))
    .flatMap((entry) => [`${folder}/${entry.name}`, ...foldersBelow(root, `${folder}/${entry.name}`)])
}

/** @param {string} name */
function isForeign(name) {
  return name === 'node_modules' || name === 'dist' || name.startsWith('.')
}

/** @param {string} path */
function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = checkLayers(fileURLToPath(new URL('..', import.meta.url)))
  for (const problem of problems) process.stdout.write(`${problem}\n`)
  process.exitCode = problems.length === 0 ? 0 : 1
}

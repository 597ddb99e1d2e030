// The product as one package without dependencies: what `npm i -g prexy` installs and what the container image holds.
// `npm run package` writes it to .build/package.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const APP = 'apps/prexy'
/** Its files are in the product as vite made them, with the packages of others in them. */
const INSPECTOR = 'apps/inspector'
/** What runs by itself: the command line, and the threads of a hunt. */
const ENTRIES = { main: 'apps/prexy/dist/main.js', worker: 'packages/hunt/dist/worker.js' }
const LICENCE_FILE = /^(?:licen[cs]e|notice|copying)(?:[.-].*)?$/i

/**
 * Writes the package for what was built.
 *
 * @param {string} root
 * @param {string} target the folder, which is made anew
 * @returns {Promise<string>} where it is
 */
export async function writePackage(root, target = join(root, '.build/package')) {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(join(target, 'bin'), { recursive: true })
  // Tools boot a clone in which nothing is installed; by now it is.
  const { build } = await import(import.meta.resolve('vite'))
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    ssr: { noExternal: true, target: 'node' },
    build: {
      ssr: true,
      target: 'node20',
      outDir: join(target, 'lib'),
      minify: true,
      rolldownOptions: {
        input: ENTRIES,
        output: { entryFileNames: '[name].js', chunkFileNames: 'chunk-[hash].js' },
      },
    },
  })
  writeFileSync(join(target, 'bin/prexy.mjs'), "#!/usr/bin/env node\nimport '../lib/main.js'\n", { mode: 0o755 })
  const manifest = readJson(join(root, APP, 'package.json'))
  writeFileSync(
    join(target, 'package.json'),
    `${JSON.stringify(manifestOf(manifest, readJson(join(root, 'packages/hunt/package.json'))), undefined, 2)}\n`,
  )
  cpSync(join(root, 'packages/hunt/rules'), join(target, 'rules'), { recursive: true })
  if (existsSync(join(root, 'apps/inspector/dist'))) {
    cpSync(join(root, 'apps/inspector/dist'), join(target, 'inspector'), { recursive: true })
  }
  for (const file of ['LICENSE', 'README.md', 'docs/prexy.1'])
    cpSync(join(root, file), join(target, file.split('/').at(-1) ?? file))
  const bundled = bundledPackages(root)
  writeFileSync(join(target, 'THIRD-PARTY-LICENSES.txt'), licenceTexts(root, bundled))
  writeFileSync(join(target, 'sbom.cdx.json'), `${JSON.stringify(sbomOf(root, manifest, bundled), undefined, 2)}\n`)
  return target
}

/**
 * @param {{ name: string, version: string, license: string }} manifest
 * @param {{ peerDependencies: object, peerDependenciesMeta: object }} hunt what hunts use when it is installed
 */
function manifestOf({ name, version, license }, { peerDependencies, peerDependenciesMeta }) {
  return {
    name,
    version,
    description: 'A reverse proxy that searches and replaces in what it forwards, while it streams',
    keywords: ['reverse-proxy', 'rewrite', 'replace', 'nginx', 'sub_filter', 'streaming', 'sigma', 'forensics'],
    license,
    type: 'module',
    engines: { node: '>=20.19.0', bun: '>=1.4.0' },
    bin: { prexy: 'bin/prexy.mjs' },
    man: 'prexy.1',
    peerDependencies,
    peerDependenciesMeta,
    files: ['bin', 'lib', 'rules', 'inspector', 'prexy.1', 'THIRD-PARTY-LICENSES.txt', 'sbom.cdx.json'],
  }
}

/**
 * Packages of others that the product's own depend on, and what those depend on, by their place in the lock file.
 *
 * @param {string} root
 * @returns {{ name: string, version: string, license: string, folder: string, integrity: string | undefined }[]}
 */
export function bundledPackages(root) {
  const { packages } = readJson(join(root, 'package-lock.json'))
  /** @type {Set<string>} */
  const places = new Set()
  /** @param {string} from @param {string} name */
  const visit = (from, name) => {
    const place = findPlace(packages, from, name)
    if (place === undefined || places.has(place)) return
    const entry = packages[place]
    const folder = entry.link === true ? entry.resolved : place
    places.add(place)
    for (const dependency of Object.keys(packages[folder]?.dependencies ?? {})) visit(folder, dependency)
  }
  for (const app of [APP, INSPECTOR]) {
    for (const dependency of Object.keys(packages[app].dependencies)) visit(app, dependency)
  }
  return [...places]
    .filter((place) => packages[place].link !== true)
    .map((place) => ({
      name: place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version: packages[place].version,
      license: packages[place].license ?? 'unknown',
      folder: place,
      integrity: packages[place].integrity,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/**
 * As Node resolves it: the nearest node_modules on the way up.
 *
 * @param {Record<string, object>} packages
 * @param {string} from
 * @param {string} name
 */
function findPlace(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const place = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`
    if (packages[place] !== undefined) return place
    if (folder === '') return undefined
  }
}

/**
 * @param {string} root
 * @param {ReturnType<typeof bundledPackages>} bundled
 */
function licenceTexts(root, bundled) {
  return bundled
    .map(({ name, version, license, folder }) => {
      const texts = readdirSync(join(root, folder))
        .filter((file) => LICENCE_FILE.test(file))
        .map((file) => readFileSync(join(root, folder, file), 'utf8').trim())
      return `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`
    })
    .join(`\n${'-'.repeat(80)}\n\n`)
}

/**
 * CycloneDX 1.5. No serial number and no time: the same sources give the same file.
 *
 * @param {string} root
 * @param {{ name: string, version: string, license: string }} manifest
 * @param {ReturnType<typeof bundledPackages>} bundled
 */
function sbomOf(root, { name, version, license }, bundled) {
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        name,
        version,
        purl: `pkg:npm/${name}@${version}`,
        licenses: [licenceEntry(license)],
      },
      properties: [{ name: 'prexy:commit', value: commitOf(root) }],
    },
    components: bundled.map((one) => ({
      type: 'library',
      name: one.name,
      version: one.version,
      purl: `pkg:npm/${one.name.replace('@', '%40')}@${one.version}`,
      licenses: [licenceEntry(one.license)],
      ...(one.integrity?.startsWith('sha512-')
        ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(one.integrity.slice(7), 'base64').toString('hex') }] }
        : {}),
    })),
  }
}

/** @param {string} license */
function licenceEntry(license) {
  return /^[A-Za-z0-9.+-]+$/.test(license) ? { license: { id: license } } : { expression: license }
}

/** @param {string} root */
function commitOf(root) {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}

/** @param {string} path */
function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

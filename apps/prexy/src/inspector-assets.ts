/** The files of the inspector: beside the program in the product, in its own folder in the repository. */
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Asset } from '@prexy/admin/admin-server'

const FOLDERS: readonly URL[] = [
  new URL('../inspector/', import.meta.url),
  new URL('../../inspector/dist/', import.meta.url),
]

const TYPES: Readonly<Record<string, string | undefined>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
}

/** Its files by path; undefined where it was not built. */
export async function inspectorAssets(): Promise<ReadonlyMap<string, Asset> | undefined> {
  for (const folder of FOLDERS) {
    const assets = await assetsIn(fileURLToPath(folder))
    if (assets?.has('/') === true) return assets
  }
  return undefined
}

async function assetsIn(folder: string): Promise<ReadonlyMap<string, Asset> | undefined> {
  let names: readonly string[]
  try {
    names = await readdir(folder, { recursive: true })
  } catch {
    return undefined
  }
  const assets = new Map<string, Asset>()
  for (const name of names) {
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)]
    if (type === undefined) continue
    const path = `/${relative('.', name).split(sep).join('/')}`
    const asset = { type, octets: await readFile(join(folder, name)), isImmutable: path.startsWith('/assets/') }
    assets.set(path === '/index.html' ? '/' : path, asset)
  }
  return assets
}

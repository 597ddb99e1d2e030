import { readFileSync } from 'node:fs'

/** The version of the package that this file is part of. */
export const VERSION: string = readVersion()

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version)
  throw new Error('package.json has no version')
}

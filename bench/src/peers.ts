/** Other people's packages that only benches run, by the lock file in `bench/peers`. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The folder with them; undefined, with a line that says why, where they cannot be had. */
export function installPeers(root: string, wanted: string): string | undefined {
  const folder = join(root, 'bench/peers')
  if (existsSync(join(folder, 'node_modules', wanted))) return folder
  process.stdout.write(`bench: installing ${wanted} into bench/peers ...\n`)
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder, encoding: 'utf8' })
  if (npm.status === 0) return folder
  process.stdout.write(`bench: ${wanted} is left out: npm ci in bench/peers failed\n${npm.stderr}\n`)
  return undefined
}

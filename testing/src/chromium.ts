/** Headless Chromium from Debian, with a profile of its own. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from './programs.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

export const CHROMIUM_MISSING = 'chromium is not found through PATH; Debian has it as "chromium"'

// Without the flags about background work the browser looks for hosts that no test machine reaches.
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Its path; undefined if there is none. */
export function findChromium(): string | undefined {
  return NAMES.map(findProgram).find((path) => path !== undefined)
}

/** Opens the page and waits for `outcome`, which the page brings about; then ends the browser. */
export async function browse<T>(
  chromium: string,
  url: string,
  outcome: Promise<T>,
  flags: readonly string[] = [],
): Promise<T> {
  const profile = mkdtempSync(join(tmpdir(), 'prexy-chromium-'))
  const browser = spawn(chromium, [...FLAGS, `--user-data-dir=${profile}`, ...flags, url], {
    stdio: 'ignore',
    detached: true,
  })
  const gone = new Promise<void>((resolve) => browser.once('exit', () => resolve()))
  try {
    return await Promise.race([
      outcome,
      gone.then(() => Promise.reject(new Error('chromium ended before the page was done'))),
    ])
  } finally {
    // The whole process group, which is the browser's own: its helpers outlive a killed parent.
    if (browser.pid !== undefined) process.kill(-browser.pid, 'SIGKILL')
    await gone
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}

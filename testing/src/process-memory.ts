/** What a process holds, as Linux tells it. */
import { existsSync, readFileSync } from 'node:fs'

/** Why it cannot be told here, or undefined. */
export const noProcessMemory: string | undefined = existsSync('/proc/self/status')
  ? undefined
  : 'memory is read from /proc, which this system has not'

/** `VmRSS`: what it holds now; `VmHWM`: the most it ever held. Unit: MiB. */
export function processMemory(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(new RegExp(`^${field}:\\s*(\\d+) kB`, 'm').exec(status)?.[1]) / 1_024
}

/** What the machine gives a process: read once, for `prexy doctor`. What cannot be read is undefined. */
import { readFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { getHeapStatistics } from 'node:v8'

export interface Machine {
  readonly platform: NodeJS.Platform
  readonly runtime: { readonly name: 'node' | 'bun'; readonly version: string }
  readonly libc: 'glibc' | 'musl' | undefined
  readonly environment: NodeJS.ProcessEnv
  readonly userId: number | undefined
  /** Cores that this process may run on. */
  readonly cores: number
  /** Cores' worth of CPU time that its control group may use. */
  readonly cpuQuota: number | undefined
  readonly memoryBytes: number
  /** Of its control group. */
  readonly memoryLimitBytes: number | undefined
  /** To which the heap of JavaScript may grow; Bun tells none. */
  readonly heapLimitBytes: number | undefined
  /** What this process may have open; the runtime has raised it as far as it may. */
  readonly openFiles: number | undefined
  readonly addressSpaceBytes: number | undefined
  readonly somaxconn: number | undefined
  readonly ephemeralPorts: readonly [first: number, last: number] | undefined
  readonly clockSource: string | undefined
}

/** `root`: where the file system of the machine begins. */
export function readMachine(root = '/'): Machine {
  const isBun = process.versions.bun !== undefined
  const limits = readText(root, 'proc/self/limits')
  return {
    platform: process.platform,
    runtime: isBun
      ? { name: 'bun', version: process.versions.bun ?? '' }
      : { name: 'node', version: process.versions.node },
    libc: libcOf(readText(root, 'proc/self/maps')),
    environment: process.env,
    userId: process.getuid?.(),
    cores: availableParallelism(),
    cpuQuota: least(controlGroupValues(root, 'cpu', ['cpu.max', 'cpu.cfs_quota_us'], cpuQuotaOf)),
    memoryBytes: totalmem(),
    memoryLimitBytes: least(controlGroupValues(root, 'memory', ['memory.max', 'memory.limit_in_bytes'], memoryLimitOf)),
    heapLimitBytes: isBun ? undefined : getHeapStatistics().heap_size_limit,
    openFiles: limitOf(limits, 'Max open files'),
    addressSpaceBytes: limitOf(limits, 'Max address space'),
    somaxconn: numberOf(readText(root, 'proc/sys/net/core/somaxconn')),
    ephemeralPorts: rangeOf(readText(root, 'proc/sys/net/ipv4/ip_local_port_range')),
    clockSource: readText(root, 'sys/devices/system/clocksource/clocksource0/current_clocksource')?.trim(),
  }
}

function readText(root: string, path: string): string | undefined {
  try {
    return readFileSync(join(root, path), 'latin1')
  } catch {
    return undefined
  }
}

function libcOf(maps: string | undefined): Machine['libc'] {
  if (maps === undefined) return undefined
  if (/\/ld-musl-|\/libc\.musl-/.test(maps)) return 'musl'
  return /\/libc(?:\.so\.6|-2\.\d+\.so)$/m.test(maps) ? 'glibc' : undefined
}

/** The soft limit of a row of /proc/PID/limits; Infinity if there is none. */
function limitOf(limits: string | undefined, row: string): number | undefined {
  const value = limits
    ?.split('\n')
    .find((line) => line.startsWith(row))
    ?.slice(row.length)
    .trim()
    .split(/\s+/, 1)[0]
  return value === 'unlimited' ? Number.POSITIVE_INFINITY : numberOf(value)
}

function numberOf(text: string | undefined): number | undefined {
  const value = text?.trim()
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined
}

function rangeOf(text: string | undefined): readonly [number, number] | undefined {
  const [first, last] = text?.trim().split(/\s+/).map(Number) ?? []
  return Number.isInteger(first) && Number.isInteger(last) ? [first, last] : undefined
}

/** Where the value is written, and what stands beside it. */
type ControlGroupReader = (text: string, beside: (name: string) => string | undefined) => number | undefined

/**
 * Values of this process's control group and of those above it, which hold for it as well; of version 2 (Linux,
 * admin-guide/cgroup-v2) and of version 1. In a container the group's own path need not be there: its root is then.
 */
function controlGroupValues(
  root: string,
  controller: string,
  names: readonly [version2: string, version1: string],
  read: ControlGroupReader,
): number[] {
  const values: number[] = []
  for (const line of readText(root, 'proc/self/cgroup')?.split('\n') ?? []) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
    if (controllers === undefined || path === undefined) continue
    const isVersion2 = controllers === ''
    if (!isVersion2 && !controllers.split(',').includes(controller)) continue
    const folders = isVersion2 ? ['sys/fs/cgroup', 'sys/fs/cgroup/unified'] : [`sys/fs/cgroup/${controller}`]
    for (const folder of folders) {
      for (let group = path; ; group = dirname(group)) {
        const at = join(folder, group)
        const text = readText(root, join(at, names[isVersion2 ? 0 : 1]))
        const value = text === undefined ? undefined : read(text, (name) => readText(root, join(at, name)))
        if (value !== undefined) values.push(value)
        if (group === '/') break
      }
    }
  }
  return values
}

/** `200000 100000`, or `max 100000`; of version 1 two files, the quota -1 where there is none. */
function cpuQuotaOf(text: string, beside: (name: string) => string | undefined): number | undefined {
  const [quota, period = beside('cpu.cfs_period_us')?.trim()] = text.trim().split(' ')
  const cores = Number(quota) / Number(period)
  return cores > 0 && Number.isFinite(cores) ? cores : undefined
}

/** Version 1 writes the largest multiple of a page where there is no limit. */
const NO_LIMIT_BYTES = 2 ** 60

function memoryLimitOf(text: string): number | undefined {
  const bytes = numberOf(text)
  return bytes === undefined || bytes >= NO_LIMIT_BYTES ? undefined : bytes
}

function least(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.min(...values)
}

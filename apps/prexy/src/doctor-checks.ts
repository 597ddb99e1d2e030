/** What `prexy doctor` thinks of a machine. */
import { DEFAULT_LIMITS } from '@prexy/proxy/proxy-config'
import type { Machine } from './machine.ts'
import { isOlder, LEAST_VERSIONS, NODE_END_OF_LIFE, versionNumbers } from './runtime-support.ts'
import { formatBytes } from './terminal.ts'

/** `warning`: it works, but worse than it could, or not for long. `error`: it does not. `unknown`: it could not be seen. */
export type Verdict = 'ok' | 'warning' | 'error' | 'unknown'

export interface Finding {
  readonly check: string
  readonly verdict: Verdict
  readonly found: string
  /** What to do. */
  readonly advice?: string
}

/** What of a configuration asks something of the machine; without a configuration, the defaults. */
export interface Demand {
  readonly workers: number | 'auto'
  readonly maxConnections: number
  readonly ports: readonly number[]
}

export const DEFAULT_DEMAND: Demand = { workers: 1, maxConnections: DEFAULT_LIMITS.maxConnections, ports: [] }

/** Descriptors that a process has open beside connections: logs, pipes, the event loop's own. */
const OTHER_FILES = 64
/** Share of a memory limit that all heaps together may take: buffers and code are beside them. */
const HEAP_SHARE = 0.75
/** Memory of a process beside its heap and its bodies. */
const BESIDE_HEAP_BYTES = 96 * 2 ** 20
/** What Node.js asks the system for when it listens. */
const LISTEN_BACKLOG = 511
/** A connection to an upstream keeps its port for a minute after it was closed. */
const LEAST_EPHEMERAL_PORTS = 16_384
/** Others are read by a system call each, which an event loop makes very often. */
const FAST_CLOCKS = ['tsc', 'kvm-clock', 'arch_sys_counter', 'hyperv_clocksource_tsc_page', 'hyperv_clocksource_msr']
/** The day that {@link NODE_END_OF_LIFE} was taken: a clock before it is wrong. */
const KNOWN_PAST_MS = Date.UTC(2026, 6, 2)

/** All findings, those of a missing configuration left out. Pure. */
export function examine(machine: Machine, demand: Demand, nowMs: number): readonly Finding[] {
  return [
    runtime(machine, nowMs),
    libc(machine),
    allocator(machine),
    runtimeOptions(machine),
    openFiles(machine, demand),
    addressSpace(machine),
    workers(machine, demand),
    memory(machine, demand),
    backlog(machine),
    ephemeralPorts(machine, demand),
    clock(machine, nowMs),
    user(machine),
  ]
}

function runtime({ runtime: { name, version } }: Machine, nowMs: number): Finding {
  const check = 'runtime'
  const least = LEAST_VERSIONS[name]
  const title = `${name === 'bun' ? 'Bun' : 'Node.js'} ${version}`
  if (isOlder(version, least)) {
    return { check, verdict: 'error', found: `${title}; prexy needs ${least} or later`, advice: `install ${least}` }
  }
  if (name === 'bun') {
    return { check, verdict: 'ok', found: `${title}; Bun mends its newest release only: keep it current` }
  }
  const end = NODE_END_OF_LIFE[versionNumbers(version)[0]]
  if (end === undefined)
    return { check, verdict: 'unknown', found: `${title}, which this prexy knows no end of life of` }
  if (nowMs <= Date.parse(end) + 86_400_000) {
    return { check, verdict: 'ok', found: `${title}, maintained until ${end}` }
  }
  const advice = `use Node.js ${maintained(nowMs)}`
  return { check, verdict: 'warning', found: `${title} has had no security fixes since ${end}`, advice }
}

/** Even release lines that are maintained: those of odd numbers last months. */
function maintained(nowMs: number): string {
  const lines = Object.entries(NODE_END_OF_LIFE)
    .filter(([major, end]) => Number(major) % 2 === 0 && nowMs <= Date.parse(end))
    .map(([major]) => major)
  return lines.length === 0 ? 'of a maintained line' : lines.join(', ').replace(/, (\d+)$/, ' or $1')
}

function libc({ libc: found, platform }: Machine): Finding {
  const check = 'C library'
  if (found === 'musl') {
    const advice = 'use an image with glibc, like deploy/Containerfile makes; docs/container.md has the figures'
    return {
      check,
      verdict: 'warning',
      found: 'musl: slow allocations and searches, and no official Node.js for it',
      advice,
    }
  }
  if (found === 'glibc') return { check, verdict: 'ok', found: 'glibc' }
  return {
    check,
    verdict: 'unknown',
    found: platform === 'linux' ? 'neither glibc nor musl' : `not looked at on ${platform}`,
  }
}

/** Libraries that check every allocation, for people who look for a fault. */
const SLOW_PRELOADS = /(?:^|[/:\s])(lib(?:c_malloc_debug|efence|duma|dmalloc|asan|tsan|ubsan|lsan)[^/:\s]*)/
const SLOW_TUNABLES = /glibc\.malloc\.(?:check|perturb|tcache_count=0\b|mmap_threshold)[^:]*/

function allocator({ environment, libc: found }: Machine): Finding {
  const check = 'allocator'
  const warning = (setting: string, why: string): Finding => ({
    check,
    verdict: 'warning',
    found: `${setting}: ${why}`,
    advice: 'take it out of the environment',
  })
  const { LD_PRELOAD: preload = '', GLIBC_TUNABLES: tunables = '' } = environment
  const slowPreload = SLOW_PRELOADS.exec(preload)?.[1]
  if (slowPreload !== undefined) return warning(`LD_PRELOAD has ${slowPreload}`, 'it checks every allocation')
  for (const name of ['MALLOC_CHECK_', 'MALLOC_PERTURB_']) {
    const value = environment[name]
    if (value !== undefined && value !== '' && value !== '0') {
      return warning(`${name}=${value}`, 'every allocation is checked or written over')
    }
  }
  const slowTunable = SLOW_TUNABLES.exec(tunables)?.[0]
  if (slowTunable !== undefined) return warning(`GLIBC_TUNABLES has ${slowTunable}`, 'it makes allocations slow')
  for (const name of ['MALLOC_MMAP_THRESHOLD_', 'MALLOC_TOP_PAD_', 'MALLOC_TRIM_THRESHOLD_']) {
    const value = environment[name]
    if (value !== undefined && value !== '' && Number(value) < 65_536) {
      return warning(`${name}=${value}`, 'so small that buffers cost a system call each')
    }
  }
  if (environment.MALLOC_ARENA_MAX === '1') {
    return warning('MALLOC_ARENA_MAX=1', 'threads of the runtime wait for each other')
  }
  const other = /lib(?:jemalloc|mimalloc|tcmalloc)[^/:\s]*/.exec(preload)?.[0]
  return { check, verdict: 'ok', found: other ?? (found === undefined ? "the system's" : `${found}'s, as it is`) }
}

const SLOW_OPTIONS =
  /--(?:jitless|no-opt|max-lazy|inspect(?:-brk|-wait)?|prof|cpu-prof|heap-prof|trace-gc|trace-opt|trace-deopt|no-wasm-tier-up|liftoff-only)\b/

function runtimeOptions({ environment, runtime: { name } }: Machine): Finding {
  const check = 'runtime options'
  const variable = name === 'bun' ? 'BUN_OPTIONS' : 'NODE_OPTIONS'
  const options = environment[variable] ?? ''
  const slow = SLOW_OPTIONS.exec(options)?.[0]
  if (slow !== undefined) {
    const found = `${variable} has ${slow}, which is for looking for faults`
    return { check, verdict: 'warning', found, advice: 'take it out of the environment' }
  }
  if (name === 'node' && environment.NODE_EXTRA_CA_CERTS !== undefined && environment.NODE_EXTRA_CA_CERTS !== '') {
    return { check, verdict: 'ok', found: 'NODE_EXTRA_CA_CERTS: Node.js 20 reads it at every start, some 90 ms' }
  }
  return { check, verdict: 'ok', found: options === '' ? 'none' : `${variable}=${options}` }
}

function openFiles({ openFiles: limit, platform }: Machine, { maxConnections }: Demand): Finding {
  const check = 'open files'
  if (limit === undefined) return { check, verdict: 'unknown', found: `not looked at on ${platform}` }
  // One towards the client and one towards the upstream.
  const needed = 2 * maxConnections + OTHER_FILES
  if (limit >= needed)
    return { check, verdict: 'ok', found: limit === Number.POSITIVE_INFINITY ? 'no limit' : count(limit) }
  const reached = Math.max(0, Math.floor((limit - OTHER_FILES) / 2))
  return {
    check,
    verdict: 'warning',
    found: `${count(limit)}: enough for ${count(reached)} exchanges, and limits.maxConnections is ${count(maxConnections)}`,
    advice: `raise it to ${count(needed)} (ulimit -n, LimitNOFILE=, --ulimit nofile=) or lower limits.maxConnections`,
  }
}

function addressSpace({ addressSpaceBytes: limit, platform }: Machine): Finding {
  const check = 'address space'
  if (limit === undefined) return { check, verdict: 'unknown', found: `not looked at on ${platform}` }
  if (limit === Number.POSITIVE_INFINITY) return { check, verdict: 'ok', found: 'no limit' }
  return {
    check,
    verdict: 'warning',
    found: `${formatBytes(limit)}: runtimes reserve gigabytes of addresses for each WebAssembly memory, without using them`,
    advice: 'take the limit away (ulimit -v unlimited) and limit memory by a control group',
  }
}

/** Whole cores that this process can keep busy. */
export function usableCores({ cores, cpuQuota }: Machine): number {
  return cpuQuota === undefined ? cores : Math.max(1, Math.min(cores, Math.round(cpuQuota)))
}

function workers(machine: Machine, { workers: wanted }: Demand): Finding {
  const check = 'workers'
  const cores = usableCores(machine)
  const processes = wanted === 'auto' ? machine.cores : wanted
  const quota =
    machine.cpuQuota === undefined ? '' : `, of which the limit of the container leaves ${round(machine.cpuQuota)}`
  const found = `${processes} on ${machine.cores} core${machine.cores === 1 ? '' : 's'}${quota}`
  if (processes < cores) {
    const advice = `workers: ${machine.cpuQuota === undefined ? 'auto' : cores} in the configuration, or more replicas that share the machine`
    return { check, verdict: 'warning', found: `${found}: the others stay idle`, advice }
  }
  if (processes > 2 * cores) {
    return { check, verdict: 'warning', found: `${found}: they wait for each other`, advice: `workers: ${cores}` }
  }
  return { check, verdict: 'ok', found }
}

function memory(machine: Machine, { workers: wanted }: Demand): Finding {
  const check = 'memory'
  const { memoryBytes, memoryLimitBytes, heapLimitBytes } = machine
  const limit = Math.min(memoryBytes, memoryLimitBytes ?? memoryBytes)
  const whose = memoryLimitBytes !== undefined && memoryLimitBytes < memoryBytes ? 'limit of the container' : 'machine'
  const processes = wanted === 'auto' ? machine.cores : wanted
  const least = processes * BESIDE_HEAP_BYTES
  if (limit < least) {
    const found = `${formatBytes(limit)} (${whose}): an idle prexy of ${processes} takes ${formatBytes(least)}`
    return { check, verdict: 'error', found, advice: `give it ${formatBytes(2 * least)} or more` }
  }
  if (heapLimitBytes === undefined) {
    return {
      check,
      verdict: 'ok',
      found: `${formatBytes(limit)} (${whose}); this runtime does not tell how far its heap grows`,
    }
  }
  const heaps = processes * heapLimitBytes
  const found = `${formatBytes(limit)} (${whose}), heaps up to ${formatBytes(heaps)}`
  if (heaps <= HEAP_SHARE * limit) return { check, verdict: 'ok', found }
  const megabytes = Math.max(64, Math.floor((limit * HEAP_SHARE) / processes / 2 ** 20 / 16) * 16)
  return {
    check,
    verdict: 'warning',
    found: `${found}: the kernel may end prexy before its garbage is collected`,
    advice: `NODE_OPTIONS=--max-old-space-size=${megabytes}`,
  }
}

function backlog({ somaxconn, platform }: Machine): Finding {
  const check = 'listen queue'
  if (somaxconn === undefined) return { check, verdict: 'unknown', found: `not looked at on ${platform}` }
  if (somaxconn >= LISTEN_BACKLOG) return { check, verdict: 'ok', found: `net.core.somaxconn = ${count(somaxconn)}` }
  return {
    check,
    verdict: 'warning',
    found: `net.core.somaxconn = ${count(somaxconn)}: clients that come at once wait a second and more`,
    advice: 'sysctl -w net.core.somaxconn=4096',
  }
}

function ephemeralPorts({ ephemeralPorts: range, platform }: Machine, { ports }: Demand): Finding {
  const check = 'ephemeral ports'
  if (range === undefined) return { check, verdict: 'unknown', found: `not looked at on ${platform}` }
  const [first, last] = range
  const found = `${first} to ${last}`
  const inside = ports.find((port) => port >= first && port <= last)
  if (inside !== undefined) {
    return {
      check,
      verdict: 'warning',
      found: `${found}: a connection of any program may take port ${inside} before prexy listens on it`,
      advice: `listen elsewhere, or sysctl -w net.ipv4.ip_local_reserved_ports=${inside}`,
    }
  }
  if (last - first + 1 >= LEAST_EPHEMERAL_PORTS) return { check, verdict: 'ok', found }
  return {
    check,
    verdict: 'warning',
    found: `${found}: ${count(last - first + 1)} connections to one upstream in a minute use them up where it does not keep them`,
    advice: "sysctl -w net.ipv4.ip_local_port_range='16384 60999'",
  }
}

function clock({ clockSource }: Machine, nowMs: number): Finding {
  const check = 'clock'
  const now = new Date(nowMs).toISOString()
  if (nowMs < KNOWN_PAST_MS) {
    const found = `${now}, which is past: certificates seem not valid yet`
    return { check, verdict: 'error', found, advice: 'set the clock (timedatectl, chrony)' }
  }
  if (clockSource !== undefined && !FAST_CLOCKS.includes(clockSource)) {
    return {
      check,
      verdict: 'warning',
      found: `${now}, by ${clockSource}, which takes a system call for each look`,
      advice: 'see /sys/devices/system/clocksource/clocksource0/available_clocksource for tsc or kvm-clock',
    }
  }
  return { check, verdict: 'ok', found: clockSource === undefined ? now : `${now}, by ${clockSource}` }
}

function user({ userId }: Machine): Finding {
  const check = 'user'
  if (userId === undefined) return { check, verdict: 'unknown', found: 'this system has no user ids' }
  if (userId !== 0) return { check, verdict: 'ok', found: `id ${userId}` }
  return {
    check,
    verdict: 'warning',
    found: 'root: a fault in prexy or its runtime would have the whole machine',
    advice: 'run it as another user; ports below 1024 take CAP_NET_BIND_SERVICE only, see deploy/systemd',
  }
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

function round(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '')
}

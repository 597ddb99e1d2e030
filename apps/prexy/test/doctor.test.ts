import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { DEFAULT_DEMAND, type Demand, examine, type Finding } from '../src/doctor-checks.ts'
import { type Machine, readMachine } from '../src/machine.ts'
import { isOlder, LEAST_VERSIONS, NODE_END_OF_LIFE } from '../src/runtime-support.ts'
import { runPrexy } from './run-prexy.ts'

const GIB = 2 ** 30
const NOW = Date.UTC(2026, 11, 1)

/** A machine that nothing is wrong with. */
const SOUND: Machine = {
  platform: 'linux',
  runtime: { name: 'node', version: '24.22.3' },
  libc: 'glibc',
  environment: {},
  userId: 1_000,
  cores: 1,
  cpuQuota: undefined,
  memoryBytes: 16 * GIB,
  memoryLimitBytes: undefined,
  heapLimitBytes: 4 * GIB,
  openFiles: 1_048_576,
  addressSpaceBytes: Number.POSITIVE_INFINITY,
  somaxconn: 4_096,
  ephemeralPorts: [32_768, 60_999],
  clockSource: 'tsc',
}

/** What is not in order, as the test names it. */
function complaints(machine: Partial<Machine>, demand: Partial<Demand> = {}, now = NOW): readonly Finding[] {
  return examine({ ...SOUND, ...machine }, { ...DEFAULT_DEMAND, ...demand }, now).filter(
    ({ verdict }) => verdict !== 'ok',
  )
}

const env = (environment: NodeJS.ProcessEnv): Partial<Machine> => ({ environment })

test('a sound machine has nothing wrong', () => {
  expect(complaints({})).toEqual([])
})

test.each<[string, Partial<Machine>, Partial<Demand>, string]>([
  ['a runtime past its end of life', { runtime: { name: 'node', version: '20.20.2' } }, {}, 'warning runtime'],
  ['a runtime that is too old', { runtime: { name: 'node', version: '20.18.3' } }, {}, 'error runtime'],
  ['a Bun that is too old', { runtime: { name: 'bun', version: '1.3.9' } }, {}, 'error runtime'],
  ['a runtime from later', { runtime: { name: 'node', version: '40.0.0' } }, {}, 'unknown runtime'],
  ['musl', { libc: 'musl' }, {}, 'warning C library'],
  ['neither', { libc: undefined }, {}, 'unknown C library'],
  ['a checking allocator', env({ LD_PRELOAD: '/usr/lib/libc_malloc_debug.so.0' }), {}, 'warning allocator'],
  ['an address sanitizer', env({ LD_PRELOAD: 'libasan.so.8' }), {}, 'warning allocator'],
  ['MALLOC_CHECK_', env({ MALLOC_CHECK_: '3' }), {}, 'warning allocator'],
  ['MALLOC_PERTURB_', env({ MALLOC_PERTURB_: '165' }), {}, 'warning allocator'],
  ['no caches of threads', env({ GLIBC_TUNABLES: 'glibc.malloc.tcache_count=0' }), {}, 'warning allocator'],
  ['a system call for each buffer', env({ MALLOC_MMAP_THRESHOLD_: '4096' }), {}, 'warning allocator'],
  ['one arena', env({ MALLOC_ARENA_MAX: '1' }), {}, 'warning allocator'],
  ['no compiler', env({ NODE_OPTIONS: '--max-old-space-size=512 --jitless' }), {}, 'warning runtime options'],
  ['a debugger', env({ NODE_OPTIONS: '--inspect=0.0.0.0' }), {}, 'warning runtime options'],
  ['few open files', { openFiles: 1_024 }, {}, 'warning open files'],
  ['open files for half of the connections', { openFiles: 20_000 }, { maxConnections: 10_000 }, 'warning open files'],
  ['addresses', { addressSpaceBytes: 8 * GIB }, {}, 'warning address space'],
  ['one worker on many cores', { cores: 8 }, {}, 'warning workers'],
  ['many workers on one core', { memoryBytes: 128 * GIB }, { workers: 4 }, 'warning workers'],
  [
    'a worker per core of a small container',
    { cores: 8, cpuQuota: 2, memoryBytes: 128 * GIB },
    { workers: 'auto' },
    'warning workers',
  ],
  ['heaps beyond the container', { memoryLimitBytes: 1 * GIB }, {}, 'warning memory'],
  ['no room for a process', { memoryLimitBytes: 64 * 2 ** 20 }, {}, 'error memory'],
  ['a short queue', { somaxconn: 128 }, {}, 'warning listen queue'],
  ['few ports', { ephemeralPorts: [60_000, 61_000] }, {}, 'warning ephemeral ports'],
  ['a port that others may take', {}, { ports: [443, 40_000] }, 'warning ephemeral ports'],
  ['a slow clock', { clockSource: 'hpet' }, {}, 'warning clock'],
  ['root', { userId: 0 }, {}, 'warning user'],
])('%s', (_, machine, demand, expected) => {
  const found = complaints(machine, demand)
  expect(found.map(({ verdict, check }) => `${verdict} ${check}`)).toEqual([expected])
  for (const { verdict, advice } of found) if (verdict !== 'unknown') expect(advice).toBeTruthy()
})

test.each<[string, Partial<Machine>, Partial<Demand>]>([
  ['the limits that are exactly enough', { openFiles: 2_064 }, { maxConnections: 1_000 }],
  ['a worker for each core', { cores: 8, memoryBytes: 128 * GIB }, { workers: 'auto' }],
  ['another allocator', env({ LD_PRELOAD: '/usr/lib/x86_64-linux-gnu/libjemalloc.so.2' }), {}],
  ['few arenas', env({ MALLOC_ARENA_MAX: '2' }), {}],
  ['a heap within its container', { memoryLimitBytes: GIB, heapLimitBytes: 0.5 * GIB }, {}],
  ['Bun, which tells no heap limit', { runtime: { name: 'bun', version: '1.4.5' }, heapLimitBytes: undefined }, {}],
])('nothing is said about %s', (_, machine, demand) => {
  expect(complaints(machine, demand)).toEqual([])
})

test('the advice about the heap is one that the next look is content with', () => {
  const container = { memoryLimitBytes: 2 * GIB, cores: 4 }
  const [finding] = complaints({ ...container, heapLimitBytes: GIB }, { workers: 4 })
  const megabytes = Number(/max-old-space-size=(\d+)$/.exec(finding?.advice ?? '')?.[1])
  expect(megabytes).toBeGreaterThan(256)
  expect(complaints({ ...container, heapLimitBytes: megabytes * 2 ** 20 }, { workers: 4 })).toEqual([])
})

test('a clock before anything that is known', () => {
  expect(complaints({}, {}, 0).map(({ verdict, check }) => `${verdict} ${check}`)).toEqual(['error clock'])
})

test('the last day of a release line is within it', () => {
  const node = { runtime: { name: 'node', version: '24.0.0' } } as const
  const end = Date.parse(NODE_END_OF_LIFE[24] ?? '')
  expect(complaints(node, {}, end + 80_000_000)).toEqual([])
  expect(complaints(node, {}, end + 2 * 86_400_000)).toHaveLength(1)
})

test('versions are compared by their numbers', () => {
  expect(isOlder('20.9.0', LEAST_VERSIONS.node)).toBe(true)
  expect(isOlder('20.19.0', LEAST_VERSIONS.node)).toBe(false)
  expect(isOlder('26.0.0-nightly', LEAST_VERSIONS.node)).toBe(false)
})

const root = mkdtempSync(join(tmpdir(), 'prexy-doctor-'))
afterAll(() => rmSync(root, { recursive: true }))

function machineWith(name: string, files: Readonly<Record<string, string>>): Machine {
  const folder = join(root, name)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return readMachine(folder)
}

describe('a machine is read', () => {
  test('with control groups of version 2, the tightest of all levels', () => {
    const machine = machineWith('v2', {
      'proc/self/cgroup': '0::/system.slice/prexy.service\n',
      'sys/fs/cgroup/system.slice/prexy.service/memory.max': 'max\n',
      'sys/fs/cgroup/system.slice/prexy.service/cpu.max': '150000 100000\n',
      'sys/fs/cgroup/system.slice/memory.max': '536870912\n',
      'sys/fs/cgroup/cpu.max': 'max 100000\n',
    })
    expect(machine).toMatchObject({ memoryLimitBytes: 512 * 2 ** 20, cpuQuota: 1.5 })
  })

  test('with those of version 1, also where the path is that of the host', () => {
    const machine = machineWith('v1', {
      'proc/self/cgroup': '5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': '268435456\n',
      'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '50000\n',
      'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    })
    expect(machine).toMatchObject({ memoryLimitBytes: 256 * 2 ** 20, cpuQuota: 0.5 })
  })

  test('without limits where there are none', () => {
    const machine = machineWith('unlimited', {
      'proc/self/cgroup': '4:memory:/\n3:cpu:/\n',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
      'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
      'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    })
    expect(machine).toMatchObject({ memoryLimitBytes: undefined, cpuQuota: undefined })
  })

  test('with limits, ports and clock', () => {
    const machine = machineWith('limits', {
      'proc/self/limits':
        'Limit                     Soft Limit           Hard Limit           Units\n' +
        'Max open files            1024                 524288               files\n' +
        'Max address space         unlimited            unlimited            bytes\n',
      'proc/self/maps': '7f00-7f01 r-xp 00000000 fe:00 123 /lib/ld-musl-x86_64.so.1\n',
      'proc/sys/net/core/somaxconn': '128\n',
      'proc/sys/net/ipv4/ip_local_port_range': '32768\t60999\n',
      'sys/devices/system/clocksource/clocksource0/current_clocksource': 'hpet\n',
    })
    expect(machine).toMatchObject({
      openFiles: 1_024,
      addressSpaceBytes: Number.POSITIVE_INFINITY,
      libc: 'musl',
      somaxconn: 128,
      ephemeralPorts: [32_768, 60_999],
      clockSource: 'hpet',
    })
  })

  test('and unknown where nothing can be read', () => {
    const machine = machineWith('nothing', {})
    const said = examine(machine, DEFAULT_DEMAND, NOW).filter(({ verdict }) => verdict === 'unknown')
    expect(said.map(({ check }) => check)).toEqual([
      'C library',
      'open files',
      'address space',
      'listen queue',
      'ephemeral ports',
    ])
  })
})

interface Report {
  readonly ok: boolean
  readonly findings: readonly Finding[]
}

async function doctor(
  configuration: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; findings: readonly Finding[] }> {
  const file = join(root, 'prexy.yaml')
  writeFileSync(file, configuration)
  const { code, stdout } = await runPrexy(['doctor', '--json', file], '', environment)
  const report: Report = JSON.parse(stdout)
  expect(report.ok).toBe(code === 0)
  return { code, findings: report.findings }
}

function verdictOf(findings: readonly Finding[], check: string): string | undefined {
  return findings.find((finding) => finding.check === check)?.verdict
}

describe('the command', { timeout: 60_000 }, () => {
  test('a valid configuration and a free port', async () => {
    const { findings } = await doctor('listen: 127.0.0.1:0\nupstream: http://127.0.0.1:9\n')
    expect(verdictOf(findings, 'configuration')).toBe('ok')
    expect(verdictOf(findings, 'listen 127.0.0.1:0')).toBe('ok')
  })

  test('a faulty configuration, a port that is taken and a folder that is not there are errors', async () => {
    const broken = await doctor('lisen: 1\n')
    expect(broken.code).toBe(2)
    expect(verdictOf(broken.findings, 'configuration')).toBe('error')
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = other.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const folder = join(root, 'not-there')
    const taken = await doctor(
      `listen: 127.0.0.1:${port}\nupstream: http://127.0.0.1:9\naccessLog: {file: ${folder}/access.log}\n`,
    )
    other.close()
    expect(taken.code).toBe(2)
    expect(verdictOf(taken.findings, `listen 127.0.0.1:${port}`)).toBe('error')
    expect(verdictOf(taken.findings, 'access log')).toBe('error')
  })

  test('the environment is that of the process', async () => {
    const { code, findings } = await doctor('listen: 127.0.0.1:0\nupstream: http://127.0.0.1:9\n', {
      MALLOC_PERTURB_: '165',
    })
    expect(code).toBe(1)
    expect(verdictOf(findings, 'allocator')).toBe('warning')
  })

  test('for people, a line each with what to do beneath, and the verdict last', async () => {
    const { stdout } = await runPrexy(['doctor'], '', { MALLOC_PERTURB_: '165' })
    expect(stdout).toMatch(/^warning {2}allocator +MALLOC_PERTURB_=165: .+\n +take it out of the environment$/m)
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/\d warnings?$/)
  })
})

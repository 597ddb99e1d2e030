/** What a C library costs: one small program (`bench/native/libc-bench.c`), compiled with glibc and with musl. */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { LibcDefinition, LibcTask } from './definition.ts'
import { currentLoad, type Result } from './record.ts'

const LIBRARIES = [
  ['glibc', 'cc'],
  ['musl', 'musl-gcc'],
] as const
const HOW_TO_GET = 'it needs both compilers: apt install gcc musl-tools'

/** Both libraries in turn, and per task and number of threads the ratio of each pair. */
export function runLibcBench(root: string, definition: LibcDefinition): Result[] {
  const programs = new Map<string, string>()
  for (const [library, compiler] of LIBRARIES) {
    const program = compile(root, library, compiler)
    if (program === undefined) return []
    programs.set(library, program)
  }
  const results: Result[] = []
  for (let round = 1; round <= definition.samples; round++) {
    process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
    for (const task of definition.tasks) {
      for (const threads of definition.threads) results.push(...pair(programs, task, threads, definition))
    }
  }
  return results
}

function compile(root: string, library: string, compiler: string): string | undefined {
  mkdirSync(join(root, '.build'), { recursive: true })
  const program = join(root, `.build/libc-bench-${library}`)
  const source = join(root, 'bench/native/libc-bench.c')
  const { status, stderr, error } = spawnSync(compiler, ['-O2', '-fno-builtin', '-pthread', '-o', program, source], {
    encoding: 'utf8',
  })
  if (status === 0) return program
  process.stdout.write(`bench: libc did not run: ${HOW_TO_GET}\n${error?.message ?? stderr}\n`)
  return undefined
}

function pair(
  programs: ReadonlyMap<string, string>,
  task: LibcTask,
  threads: number,
  { secondsPerSample }: LibcDefinition,
): Result[] {
  const load = currentLoad()
  const subject = `${task}, ${threads} thread${threads === 1 ? '' : 's'}`
  const results: Result[] = []
  const speeds = new Map<string, number>()
  for (const [library, program] of programs) {
    const { status, stdout, stderr } = spawnSync(program, [task, String(threads), String(secondsPerSample)], {
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`${program} ended with status ${status}\n${stderr}`)
    const [done, cpuSeconds, elapsed, waits] = stdout.trim().split(' ').map(Number)
    const speed = done / cpuSeconds
    speeds.set(library, speed)
    const value = task === 'allocate' ? speed / 1e6 : speed / 1e9
    results.push(
      { subject, runtime: library, value, unit: task === 'allocate' ? 'M/s' : 'GB/s', load },
      { subject: `${subject}, waits`, runtime: library, value: waits / elapsed, unit: 'waits/s', load },
    )
  }
  const ratio = (speeds.get('glibc') ?? Number.NaN) / (speeds.get('musl') ?? Number.NaN)
  return [...results, { subject, runtime: 'glibc / musl', value: ratio, unit: 'x', load }]
}

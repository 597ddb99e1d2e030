/** The life of a server: it starts, changes its configuration when asked to, and stops with a signal. */
import cluster from 'node:cluster'
import { availableParallelism } from 'node:os'
import type { AdminServer } from '@prexy/admin/admin-server'
import type { ReloadOutcome } from '@prexy/admin/host'
import type { Config } from '@prexy/config/config'
import { formatProblem } from '@prexy/config/problem'
import { FILE_SYSTEM } from './config-files.ts'
import { addressUrl } from './address-url.ts'
import type { AdminDuties } from './admin-setup.ts'
import type { ConfigBucket } from './config-bucket.ts'
import { openSource } from './config-source.ts'
import { watchConfiguration } from './config-watch.ts'
import { dismissEarly } from './early-workers.ts'
import { CommandError, EXIT_OK } from './exit-codes.ts'
import { recordFiles } from './file-snapshot.ts'
import { reloadReportPath, writePidFile } from './pid-file.ts'
import { ReloadReporter } from './reload-report.ts'
import { type Plan, serveHere } from './service.ts'
import { serviceManager } from './service-notify.ts'
import { drainMsOf, type Source } from './source.ts'
import { type Styles, stylesFor } from './terminal.ts'
import { runWorker } from './worker.ts'
import { serveWithWorkers } from './workers.ts'

/** Serves until a signal ends it; the exit code. */
export async function runServer(source: Source): Promise<number> {
  if (cluster.isWorker) return await runWorker(source)
  const style = stylesFor(process.stderr, process.env)
  const say = (line: string): void => {
    process.stderr.write(`${style.bold('prexy:')} ${line}\n`)
  }
  const bucket = await openSource(source.path, say)
  try {
    const loaded = load(source, bucket)
    if (loaded.plan === undefined) {
      throw new CommandError(`the configuration has errors, nothing was started\n${loaded.problems}`)
    }
    if (loaded.problems !== '') process.stderr.write(`${loaded.problems}\n`)
    const pidFile = source.path === undefined ? undefined : writePidFile(source.pidFile, source.path)
    const reporter = new ReloadReporter(reloadReportPath(pidFile?.path))
    try {
      return await serve(source, bucket, loaded.plan, loaded.watched, reporter, say, style)
    } finally {
      reporter.remove()
      pidFile?.remove()
    }
  } finally {
    await bucket?.close()
  }
}

async function serve(
  source: Source,
  bucket: ConfigBucket | undefined,
  first: Plan,
  watched: readonly string[],
  reporter: ReloadReporter,
  say: (line: string) => void,
  style: Styles,
): Promise<number> {
  let plan = first
  const count = workerCount(source, plan.config)
  const signals = stopSignals()
  // Until it serves, a reload is put off.
  let isHungUp = false
  let onHangUp = (): void => {
    isHungUp = true
  }
  // Without a file there is nothing to read anew, and a terminal that closes ends what runs in it.
  if (source.path !== undefined) process.on('SIGHUP', () => onHangUp())
  // Node would open its debugger.
  let onReopen = (): void => {}
  process.on('SIGUSR1', () => onReopen())
  if (count === 1) dismissEarly()
  const service = count === 1 ? await serveHere(plan, source, say) : await serveWithWorkers(plan, count, signals, say)
  onReopen = () => service.reopenLogs()
  const announce = (before: readonly string[]): readonly string[] => {
    const now = service.addresses.map(({ address, port }, index) => {
      const scheme = plan.config.listen.at(index)?.tls === undefined ? 'http' : 'https'
      return style.cyan(addressUrl(scheme, address, port))
    })
    for (const line of now) if (!before.includes(line)) say(`listening on ${line}`)
    return now
  }
  let announced = announce([])
  if (count > 1) say(style.dim(`${count} workers`))
  for (const line of source.describe(plan.config, plan.compiled)) say(style.dim(line))
  const manager = serviceManager(process.env, say)
  manager.ready()

  const startedAtMs = Date.now()
  let loadedAtMs = startedAtMs
  const reload = async (reason: string): Promise<ReloadOutcome> => {
    const notes: string[] = []
    const note = (line: string): void => {
      say(line)
      notes.push(line)
    }
    const next = load(source, bucket)
    if (next.plan === undefined) {
      say(`${reason}: the new configuration has errors, the old one stays\n${next.problems}`)
      return { kind: 'refused', problems: next.problems.split('\n') }
    }
    if (next.problems !== '') process.stderr.write(`${next.problems}\n`)
    for (const part of ['record', 'admin'] as const) {
      if (isOther(plan.config[part], next.plan.config[part])) note(`${part}: takes a restart, it stays as it was`)
    }
    if (workerCount(source, next.plan.config) !== count) note('workers: takes a restart, the number stays what it is')
    try {
      await service.change(next.plan)
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error)
      say(`${reason}: the old configuration stays: ${problem}`)
      return { kind: 'refused', problems: [problem] }
    }
    plan = next.plan
    bucket?.keep()
    loadedAtMs = Date.now()
    watch?.follow(next.watched)
    announced = announce(announced)
    say(`${reason}: the new configuration is served`)
    return { kind: 'reloaded', warnings: [...(next.problems === '' ? [] : next.problems.split('\n')), ...notes] }
  }
  const reloadNext = inTurn(async (reason: string) => {
    manager.reloading()
    reporter.begin()
    const outcome = await reload(reason)
    manager.ready()
    if (outcome.kind === 'reloaded') reporter.end('served', outcome.warnings)
    else reporter.end('refused', outcome.problems)
    return outcome
  })
  const reloads = oneAtATime(async (reason: string) => {
    await reloadNext(reason)
  })
  const watch =
    source.watch && source.path !== undefined
      ? watchConfiguration(
          () => reloads('the configuration changed'),
          (error) => say(`--watch: ${error.message}; changes may not be seen, SIGHUP always works`),
        )
      : undefined
  watch?.follow(watched)
  bucket?.keep()
  bucket?.follow(reloads)
  onHangUp = () => reloads('SIGHUP')
  if (isHungUp) onHangUp()
  let isDraining = false
  let onDrain: (reason: string) => void = () => {}
  const drained = new Promise<string>((resolve) => {
    onDrain = resolve
  })
  const duties: AdminDuties = {
    service,
    plan: () => plan,
    workers: count,
    startedAtMs,
    loadedAtMs: () => loadedAtMs,
    isDraining: () => isDraining,
    reload: () => reloadNext('admin'),
    drain: () => onDrain('admin'),
  }
  const { admin: settings } = plan.config
  let admin: AdminServer | undefined

  try {
    if (settings !== undefined) {
      const { startAdminListener } = await import('./admin-setup.ts')
      admin = await startAdminListener(settings, duties, say).catch(async (error: unknown) => {
        await service.stop(0)
        throw error
      })
    }
    const signal = await Promise.race([signals, drained, service.failure])
    isDraining = true
    const deadlineMs = drainMsOf(plan.config)
    say(`${signal}: finishing what is under way, at most ${deadlineMs / 1_000} s; once more ends it at once`)
    manager.stopping()
    watch?.close()
    await service.stop(deadlineMs)
  } finally {
    await admin?.stop()
    watch?.close()
    manager.close()
    onHangUp = () => {}
  }
  return EXIT_OK
}

interface LoadedPlan {
  /** Undefined if there are errors. */
  readonly plan: Plan | undefined
  /** One a line: the errors if there are any, else the warnings. */
  readonly problems: string
  readonly watched: readonly string[]
}

function load(source: Source, bucket: ConfigBucket | undefined): LoadedPlan {
  const files = recordFiles(bucket?.files ?? FILE_SYSTEM)
  const { config, compiled, problems, watched, changedMs: filesChangedMs } = source.read(files)
  const changedMs = Math.max(filesChangedMs, bucket?.changedMs ?? 0)
  const told = config === undefined ? problems.filter((problem) => problem.severity === 'error') : problems
  const plan = config === undefined ? undefined : { config, compiled, changedMs, files: files.snapshot(changedMs) }
  return { plan, problems: told.map(formatProblem).join('\n'), watched }
}

function workerCount(source: Source, config: Config): number {
  const wanted = source.workers ?? config.workers ?? 1
  return wanted === 'auto' ? availableParallelism() : wanted
}

function isOther(a: object | undefined, b: object | undefined): boolean {
  return JSON.stringify(a) !== JSON.stringify(b)
}

/** Each call begins when the one before has ended. */
function inTurn<T>(run: (reason: string) => Promise<T>): (reason: string) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (reason) => {
    const next = last.then(() => run(reason))
    last = next.catch(() => {})
    return next
  }
}

/** Calls while one is under way become one call after it. */
function oneAtATime(run: (reason: string) => Promise<void>): (reason: string) => void {
  let busy = false
  let next: string | undefined
  const go = async (reason: string): Promise<void> => {
    busy = true
    await run(reason)
    busy = false
    const again = next
    next = undefined
    if (again !== undefined) await go(again)
  }
  return (reason) => {
    if (busy) next = reason
    else void go(reason)
  }
}

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const

/** Resolves with the first signal to stop. From then on a second one ends the process. */
function stopSignals(): Promise<keyof typeof SIGNAL_NUMBERS> {
  return new Promise((resolve) => {
    let stopping = false
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (stopping) process.exit(128 + SIGNAL_NUMBERS[signal])
        stopping = true
        resolve(signal)
      })
    }
  })
}

/** What runs a configuration: this process, or workers that it watches over. */
import type { Config } from '@prexy/config/config'
import { ProxyMetrics } from '@prexy/admin/metrics'
import type { BoundAddress } from '@prexy/net/intake'
import type { ProxyConfig } from '@prexy/proxy/proxy-config'
import { type RunningProxy, startProxy } from '@prexy/proxy/start-proxy'
import type { LiveFeed } from '@prexy/record/live-feed'
import type { ApplicationEvent } from '@prexy/record/recorder'
import { createAccessLog } from './access-log.ts'
import type { CompiledLists } from './config-compile.ts'
import type { FileSnapshot } from './file-snapshot.ts'
import { LogFiles } from './log-file.ts'
import { listenError } from './listen-error.ts'
import type { RunningRecording } from './record-setup.ts'
import type { Source } from './source.ts'
import { SocketFiles } from './socket-files.ts'
import { countedConfig, measureProcess, type ProcessStatistics } from './statistics.ts'

/** A configuration that was found to be without errors. */
export interface Plan {
  readonly config: Config
  readonly compiled: CompiledLists
  readonly changedMs: number
  /** What it was read from. */
  readonly files: FileSnapshot
}

export interface Service {
  /** Where it listens, in the order of the configuration. */
  readonly addresses: readonly BoundAddress[]
  /** Serves another configuration, or rejects with why not; then the old one is served on, everywhere. */
  change(plan: Plan): Promise<void>
  /** Stops accepting, lets exchanges finish, breaks off what is left after `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>
  /** Goes on in the files that have the names of the log's files now. */
  reopenLogs(): void
  /** Of each process that serves; without counts of exchanges where there is no admin listener. */
  statistics(): Promise<readonly ProcessStatistics[]>
  /** The events of all processes; undefined where nothing is recorded. */
  readonly feed: LiveFeed | undefined
  /** Records an event of an application; false if it is lost. Undefined where nothing is recorded. */
  readonly recordApplication: ((event: ApplicationEvent) => boolean) | undefined
  /** Rejects when it cannot go on; never resolves. */
  readonly failure: Promise<never>
}

/** Serves in this process. Rejects where it cannot, with an error for the user if it is the configuration's. */
export async function serveHere(first: Plan, source: Source, say: (line: string) => void): Promise<Service> {
  const logFiles = new LogFiles(say)
  let log = await createAccessLog(first.config, logFiles)
  const { record } = first.config
  let recording: RunningRecording | undefined
  if (record !== undefined) {
    const { startRecording } = await import('./record-setup.ts')
    recording = await startRecording(record, say)
  }
  const metrics = new ProxyMetrics()
  const counted = first.config.admin === undefined ? undefined : metrics
  const proxyConfig = ({ config, compiled, changedMs }: Plan): ProxyConfig =>
    countedConfig(source.proxyConfig(config, compiled, changedMs, log, recording?.recorder), counted)
  const recorder = recording?.recorder
  const sockets = new SocketFiles()
  let server: RunningProxy
  try {
    await sockets.claim(first.config)
    server = await startProxy(proxyConfig(first))
  } catch (error) {
    sockets.abandon()
    await recording?.stop()
    throw listenError(error)
  }
  sockets.keep(first.config)
  return {
    get addresses() {
      return server.addresses
    },
    async change(plan) {
      const old = log
      try {
        log = await createAccessLog(plan.config, logFiles)
        await sockets.claim(plan.config)
        const prepared = await server.prepare(proxyConfig(plan))
        prepared.commit()
        sockets.keep(plan.config)
      } catch (error) {
        log = old
        sockets.abandon()
        throw listenError(error)
      }
      old.flush()
      logFiles.keep(plan.config.accessLog?.file)
    },
    async stop(deadlineMs) {
      const stopped = server.stop(deadlineMs)
      sockets.remove()
      await stopped
      await recording?.stop()
      log.flush()
      logFiles.flush()
    },
    reopenLogs: () => logFiles.reopen(),
    statistics: async () => [measureProcess(metrics, server.connections, recording)],
    feed: recording?.feed,
    recordApplication: recorder === undefined ? undefined : (event) => recorder.application(event),
    failure: new Promise(() => {}),
  }
}

/** Where a server's configuration comes from, and what its command line says about its life. */
import type { Config } from '@prexy/config/config'
import type { ConfigFiles } from '@prexy/config/files'
import type { ExchangeRecorder } from '@prexy/events/recorder'
import type { ProxyConfig } from '@prexy/proxy/proxy-config'
import type { AccessLog } from './access-log.ts'
import type { CompiledLists } from './config-compile.ts'
import type { ConfigurationLoad } from './config-load.ts'

/** How long exchanges under way may go on after the first signal, unless the configuration says otherwise. */
export const DEFAULT_DRAIN_MS = 30_000

/** `auto` is one for each core that the process may use. */
export type WorkerCount = number | 'auto'

/** Where a server's configuration comes from. */
export interface Source {
  /** Reads it; nothing but `files` is asked for content. */
  read(files: ConfigFiles): ConfigurationLoad
  /** The same for the proxy. */
  proxyConfig(
    config: Config,
    compiled: CompiledLists,
    rulesChangedMs: number,
    log: AccessLog,
    recorder: ExchangeRecorder | undefined,
  ): ProxyConfig
  /** What goes where, one line each. */
  describe(config: Config, compiled: CompiledLists): readonly string[]
  /** The file or folder that it is in; undefined for a command line and for standard input, which stay what they are. */
  readonly path: string | undefined
  /** Number of processes; undefined leaves it to the configuration. */
  readonly workers: WorkerCount | undefined
  readonly watch: boolean
  readonly pidFile: string | undefined
}

export function drainMsOf({ timeouts }: Config): number {
  return timeouts.drainMs ?? DEFAULT_DRAIN_MS
}

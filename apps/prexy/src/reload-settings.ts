/** What `prexy reload` takes; apart from what it does, which loads much more. */

/** How long the new configuration is waited for. Unit: seconds. */
export const DEFAULT_RELOAD_SECONDS = 60

export interface ReloadFlags {
  readonly pidFile?: string
  /** 0 waits for nothing. */
  readonly timeout?: number
}

/** The events of a worker on their way to the primary process, while somebody there watches. */
import type { LiveFeed, LiveViewer } from '@prexy/record/live-feed'

/** Events are sent at most so often. Unit: milliseconds. */
export const RELAY_MS = 20
/** Octets of events that are sent at one time; the others wait in the feed. */
export const MAX_RELAY_BYTES = 1_048_576

export interface LiveRelay {
  /** Begins, with what the feed keeps since it ended last, or ends. */
  watch(isWatched: boolean): void
}

/** `send` gets the events in base64: messages between processes are JSON. */
export function relayLive(feed: LiveFeed, send: (events: readonly string[]) => void): LiveRelay {
  let viewer: LiveViewer | undefined
  let timer: NodeJS.Timeout | undefined
  let last = 0
  const plan = (): void => {
    timer ??= setTimeout(take, RELAY_MS)
  }
  const take = (): void => {
    timer = undefined
    const batch = viewer?.take(MAX_RELAY_BYTES)
    if (batch === undefined) return
    last = batch.sequence + batch.events.length - 1
    send(batch.events.map((event) => Buffer.from(event.buffer, event.byteOffset, event.length).toString('base64')))
    plan()
  }
  return {
    watch(isWatched) {
      if (isWatched === (viewer !== undefined)) return
      clearTimeout(timer)
      timer = undefined
      viewer?.close()
      viewer = isWatched ? feed.subscribe({ after: { feed: feed.id, sequence: last } }, plan) : undefined
      if (viewer !== undefined) take()
    },
  }
}

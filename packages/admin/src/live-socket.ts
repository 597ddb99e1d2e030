/**
 * Live events over a WebSocket. Each message is one MessagePack map:
 *
 *     { feed, sequence, dropped, events: [...] }
 *
 * `sequence` is the number of the first event, `dropped` how many before it this viewer missed. A viewer that comes back
 * gives `feed` and the number of the last event it saw. What a viewer does not read waits in the feed, not in the socket.
 */
import type { LiveBatch, LiveFeed, LiveSubscription, LiveViewer } from '@prexy/record/live-feed'
import { encode } from '@prexy/msgpack/encode'
import type { WebSocket } from 'ws'

/** Octets of events in one message, at most; one event at least. */
export const MAX_MESSAGE_BYTES = 262_144
/** Octets that wait in a viewer's socket; beyond it nothing is sent until they are gone. */
export const MAX_BUFFERED_BYTES = 1_048_576
/** Messages are sent at most so often: many small ones would cost more than their events. */
export const MIN_MESSAGE_MS = 50
/** A viewer that answers no ping within this time is gone. */
export const PING_MS = 30_000

/** False if there are too many viewers. */
export function sendLive(socket: WebSocket, feed: LiveFeed, subscription: LiveSubscription): boolean {
  let timer: NodeJS.Timeout | undefined
  let isAnswered = true
  const plan = (): void => {
    timer ??= setTimeout(send, MIN_MESSAGE_MS)
  }
  const viewer: LiveViewer | undefined = feed.subscribe(subscription, plan)
  if (viewer === undefined) return false
  const send = (): void => {
    timer = undefined
    if (socket.readyState !== socket.OPEN) return
    while (socket.bufferedAmount < MAX_BUFFERED_BYTES) {
      const batch = viewer.take(MAX_MESSAGE_BYTES)
      if (batch === undefined) return
      socket.send(liveMessage(feed.id, batch))
    }
    plan()
  }
  const ping = setInterval(() => {
    if (!isAnswered) {
      socket.terminate()
      return
    }
    isAnswered = false
    socket.ping()
  }, PING_MS)
  socket.on('pong', () => {
    isAnswered = true
  })
  // A viewer has nothing to say.
  socket.on('message', () => socket.close(1008, 'nothing is read here'))
  socket.on('error', () => socket.terminate())
  socket.on('close', () => {
    clearTimeout(timer)
    clearInterval(ping)
    viewer.close()
  })
  socket.send(liveMessage(feed.id, { sequence: feed.newest + 1, events: [], dropped: 0 }))
  send()
  return true
}

/** A message; the events are MessagePack already, and are copied as they are. */
export function liveMessage(feed: string, { sequence, events, dropped }: LiveBatch): Uint8Array {
  const head = encode({ feed, sequence, dropped, events: '' })
  // The last value, an empty string, is one octet: it makes room for the array.
  const before = head.subarray(0, head.length - 1)
  const message = new Uint8Array(before.length + 5 + events.reduce((sum, { length }) => sum + length, 0))
  message.set(before)
  message[before.length] = ARRAY_32
  new DataView(message.buffer).setUint32(before.length + 1, events.length)
  let at = before.length + 5
  for (const event of events) {
    message.set(event, at)
    at += event.length
  }
  return message
}

const ARRAY_32 = 0xdd

/** `after=FEED:NUMBER` or `from=oldest`; undefined for what is neither. */
export function parseSubscription(query: URLSearchParams): LiveSubscription | undefined {
  const after = query.get('after')
  const fromOldest = query.get('from') === 'oldest'
  if (after === null) return { fromOldest }
  const parts = /^([\w-]{1,64}):(\d{1,15})$/.exec(after)
  if (parts === null) return undefined
  return { after: { feed: parts[1], sequence: Number(parts[2]) }, fromOldest }
}

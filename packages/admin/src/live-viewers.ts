/** The WebSockets of those who watch. Apart, so that where nothing can be watched nothing of it is loaded. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { LiveFeed } from '@prexy/record/live-feed'
import { WebSocketServer } from 'ws'
import { parseSubscription, sendLive } from './live-socket.ts'

export interface LiveViewers {
  /** Makes a viewer of an upgrade request; false, and nothing was done, if its query makes no sense. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer, query: URLSearchParams): boolean
  /** Tells them that they will be cut. */
  close(): void
  terminate(): void
}

/** `maxPayloadBytes`: of what a viewer sends, who has nothing to say. */
export function openViewers(feed: LiveFeed, maxPayloadBytes: number): LiveViewers {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: maxPayloadBytes, perMessageDeflate: false })
  return {
    take(request, socket, head, query) {
      const subscription = parseSubscription(query)
      if (subscription === undefined) return false
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        if (!sendLive(webSocket, feed, subscription)) webSocket.close(1013, 'there are too many viewers')
      })
      return true
    },
    close() {
      for (const socket of sockets.clients) socket.close(1001, 'the proxy stops')
    },
    terminate() {
      for (const socket of sockets.clients) socket.terminate()
    },
  }
}

/** The live events of a proxy: goes on where it left off after every break. */
import { isSignedIn } from './admin-api.ts'
import { readLiveMessage } from './sources.ts'

const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 10_000

export interface LiveListener {
  readonly events: (octets: Uint8Array) => void
  readonly dropped: (events: number) => void
  readonly state: (state: 'connecting' | 'live' | 'lost' | 'refused') => void
}

/** Listens until the function that it gives is called. */
export function listenLive(listener: LiveListener): () => void {
  let socket: WebSocket | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let retryMs = FIRST_RETRY_MS
  let place: string | undefined
  let isStopped = false
  const connect = (): void => {
    listener.state('connecting')
    const query = place === undefined ? 'from=oldest' : `after=${place}`
    socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/api/live?${query}`)
    socket.binaryType = 'arraybuffer'
    socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (!(data instanceof ArrayBuffer) || isStopped) return
      const message = readLiveMessage(new Uint8Array(data))
      if (message === undefined) return
      retryMs = FIRST_RETRY_MS
      listener.state('live')
      if (message.dropped > 0) listener.dropped(message.dropped)
      if (message.count > 0) listener.events(message.octets)
      // The first message may be about what is to come only; nothing before it was seen then.
      if (message.count > 0) place = `${message.feed}:${message.sequence + message.count - 1}`
    })
    socket.addEventListener('close', () => {
      if (isStopped) return
      void lost()
    })
  }
  const lost = async (): Promise<void> => {
    listener.state('lost')
    // A browser does not tell why a WebSocket was refused: the session is asked for.
    try {
      if (!(await isSignedIn())) {
        listener.state('refused')
        return
      }
    } catch {
      // The proxy is not there; it may come back.
    }
    if (isStopped) return
    timer = setTimeout(connect, retryMs)
    retryMs = Math.min(MAX_RETRY_MS, retryMs * 2)
  }
  connect()
  return () => {
    isStopped = true
    clearTimeout(timer)
    socket?.close()
  }
}

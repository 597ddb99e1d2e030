/** What a proxy in front says about a connection before the connection itself begins. */
import type { Socket } from 'node:net'
import { rawSocketOf } from './raw-socket.ts'
import { Timer, type TimerWheel } from './timer-wheel.ts'

export interface Preamble {
  /** Whether the peer may say so; the connections of others are closed. */
  accepts(address: string | undefined): boolean
  /** Reads all octets that came so far. It must not ask for more without end. */
  read(octets: Uint8Array): PreambleReading
  /** How long it may take; then the connection is closed. */
  readonly timeoutMs: number
  readonly wheel: TimerWheel
  /** A connection was closed: its peer may not speak for others, or what it said is malformed, or took too long. */
  onFault(address: string | undefined, reason: string): void
}

export type PreambleReading =
  | { readonly kind: 'more' }
  | { readonly kind: 'fault'; readonly reason: string }
  /** It is `bytes` long. `source` is the client's address; undefined if the peer is the client. */
  | { readonly kind: 'header'; readonly bytes: number; readonly source: string | undefined }

/** Addresses of clients, by the socket of the proxy that passes their connection on. */
const sources = new WeakMap<Socket, string>()

/** The client's address: that of the peer, or the one that a trusted peer told. */
export function clientAddressOf(socket: Socket): string | undefined {
  return sources.get(socket) ?? sources.get(rawSocketOf(socket)) ?? socket.remoteAddress
}

/** Reads the preamble of a socket that nobody has read; `begin` is called behind it, with the rest unread. */
export function readPreamble(socket: Socket, preamble: Preamble, begin: () => void): void {
  const address = socket.remoteAddress
  const close = (reason: string): void => {
    stop()
    socket.destroy()
    preamble.onFault(address, reason)
  }
  let held: Uint8Array | undefined
  const onReadable = (): void => {
    const chunk: unknown = socket.read()
    if (!(chunk instanceof Uint8Array)) return
    const octets = held === undefined ? chunk : Buffer.concat([held, chunk])
    const reading = preamble.read(octets)
    if (reading.kind === 'fault') {
      close(reading.reason)
    } else if (reading.kind === 'more') {
      held = octets
    } else {
      stop()
      if (reading.source !== undefined) sources.set(socket, reading.source)
      if (reading.bytes < octets.length) socket.unshift(octets.subarray(reading.bytes))
      // After the tick in which the stream learns that nobody waits for `readable` any more.
      process.nextTick(() => {
        if (!socket.destroyed) begin()
      })
    }
  }
  const onEnd = (): void => close('it ended within its PROXY header')
  const ignore = (): void => {}
  const timer = new Timer(preamble.wheel, () => close('its PROXY header took too long'))
  const stop = (): void => {
    timer.release()
    socket.off('readable', onReadable)
    socket.off('end', onEnd)
    socket.off('close', stop)
    process.nextTick(() => socket.off('error', ignore))
  }
  // Until somebody else listens: an error that nobody hears ends the process.
  socket.on('error', ignore)
  if (!preamble.accepts(address)) {
    close('it is none of trustedProxies')
    return
  }
  timer.arm(preamble.timeoutMs)
  socket.on('readable', onReadable)
  socket.on('end', onEnd)
  socket.on('close', stop)
}

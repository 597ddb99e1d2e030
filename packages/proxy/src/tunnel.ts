/**
 * Two connections joined octet for octet, after a 101 that was asked for (RFC 9110 §7.8). The tunnel takes the place of
 * both connections' handlers, and gives each its `onClose` back when it is over.
 *
 * Back-pressure: a side that takes no more pauses the other. Each side may end by itself; the other hears of that and
 * may go on. A side that is cut off is cut off on the other side, too: with RST, so that nobody takes a part for the
 * whole. A tunnel in which nothing moves for `idleMs` is closed.
 */

import type { Connection, ConnectionHandler } from '@prexy/net/connection'
import { Timer, type TimerWheel } from '@prexy/net/timer-wheel'

/** `completed`: both sides ended theirs, and nothing was lost on the way to the client. */
export type TunnelEnd = 'completed' | 'client-lost' | 'upstream-lost' | 'idle'

export interface TunnelHost {
  /** Octets that came from the client, or from the upstream, and were given to the other side. */
  onTunnelled(from: 'client' | 'upstream', octets: Uint8Array): void
  /** The last call. The tunnel closes its connections by itself. */
  onTunnelEnd(end: TunnelEnd, cause: Error | undefined): void
}

export interface TunnelInit {
  readonly client: Connection
  readonly upstream: Connection
  readonly host: TunnelHost
  readonly wheel: TimerWheel
  readonly idleMs: number
  /** How long a side is still read, and what it sends dropped, after the other was lost. */
  readonly lingerMs: number
}

export class Tunnel {
  readonly #client: Side
  readonly #upstream: Side
  readonly #host: TunnelHost
  readonly #timer: Timer
  readonly #idleMs: number
  readonly #lingerMs: number
  #over = false

  constructor({ client, upstream, host, wheel, idleMs, lingerMs }: TunnelInit) {
    this.#host = host
    this.#idleMs = idleMs
    this.#lingerMs = lingerMs
    this.#client = new Side(this, 'client', client)
    this.#upstream = new Side(this, 'upstream', upstream)
    this.#timer = new Timer(wheel, () => this.#onIdle())
    this.#timer.arm(idleMs)
  }

  /** Octets read from one side before the tunnel was there; they belong to it. */
  push(from: 'client' | 'upstream', octets: Uint8Array): void {
    if (octets.length > 0) this.moved(from === 'client' ? this.#client : this.#upstream, octets)
  }

  /** Closes both connections at once, without a call to the host. */
  close(): void {
    this.#over = true
    this.#client.connection.destroy()
    this.#upstream.connection.destroy()
  }

  /** @internal Returns true when the octets are in use. */
  moved(from: Side, octets: Uint8Array): boolean {
    if (this.#over) return false
    const to = this.#other(from)
    this.#timer.arm(this.#idleMs)
    this.#host.onTunnelled(from.name, octets)
    if (!to.connection.write(octets)) from.connection.pause()
    return to.connection.unsentBytes > 0
  }

  /** @internal The side takes octets again. */
  drained(side: Side): void {
    if (this.#over) return
    this.#timer.arm(this.#idleMs)
    this.#other(side).connection.resume()
  }

  /** @internal The side has sent its last octet. */
  ended(side: Side): void {
    this.#other(side).connection.end()
  }

  /** @internal */
  closed(side: Side, cause: Error | undefined): void {
    const other = this.#other(side)
    if (other.closed) this.#timer.release()
    if (this.#over) return
    const completed = cause === undefined && side.ended && other.ended
    // The exchange lasts until its client has taken everything.
    if (completed && side === this.#upstream) return
    this.#over = true
    if (!side.ended) {
      other.connection.reset()
    } else if (!completed) {
      // What the side sent before it ended is still due to the other, which was told of the end.
      other.connection.resume()
      this.#timer.arm(this.#lingerMs)
    }
    const lost = side === this.#client ? 'client-lost' : 'upstream-lost'
    this.#host.onTunnelEnd(completed ? 'completed' : lost, cause)
  }

  #onIdle(): void {
    const sides = [this.#client, this.#upstream]
    const ended = this.#over
    this.#over = true
    for (const { connection } of sides) {
      if (connection.unsentBytes > 0) connection.reset()
      else connection.destroy()
    }
    if (!ended) this.#host.onTunnelEnd('idle', undefined)
  }

  #other(side: Side): Side {
    return side === this.#client ? this.#upstream : this.#client
  }
}

class Side implements ConnectionHandler {
  readonly name: 'client' | 'upstream'
  readonly connection: Connection
  readonly #tunnel: Tunnel
  readonly #before: ConnectionHandler
  ended = false
  closed = false

  constructor(tunnel: Tunnel, name: 'client' | 'upstream', connection: Connection) {
    this.name = name
    this.connection = connection
    this.#tunnel = tunnel
    this.#before = connection.handler
    connection.handler = this
  }

  onData(chunk: Uint8Array): boolean {
    return this.#tunnel.moved(this, chunk)
  }

  onEnd(): void {
    this.ended = true
    this.#tunnel.ended(this)
  }

  onDrain(): void {
    this.#tunnel.drained(this)
  }

  onClose(cause: Error | undefined): void {
    this.closed = true
    this.#tunnel.closed(this, cause)
    this.#before.onClose(cause)
  }
}

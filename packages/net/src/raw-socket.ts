import type { Socket } from 'node:net'

/** The TCP connection under a socket: another object where TLS was put on top of it, except under Bun. */
export function rawSocketOf(socket: Socket): Socket {
  return '_parent' in socket && isSocket(socket._parent) ? socket._parent : socket
}

function isSocket(value: unknown): value is Socket {
  return typeof value === 'object' && value !== null && 'resetAndDestroy' in value
}

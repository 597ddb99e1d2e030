import type { Socket } from 'node:net'

/**
 * Keeps a socket whose writing failed until everything that came was read.
 *
 * A server that answers and closes while it is still sent to resets the connection (RFC 9112 §9.6): the next write fails
 * while its answer, whole, waits in the kernel to be read. Node and Bun destroy a socket whose writing fails, and the
 * answer with it. The kernel has nothing more once the event loop has looked at the socket and found nothing. `onFault`
 * is told at once: an end that is read from then on is none.
 */
export function readOnAfterWriteFault(
  socket: Socket,
  receivedBytes: () => number,
  onFault: (fault: Error) => void,
): void {
  const destroy = socket.destroy.bind(socket)
  let fault: Error | undefined
  socket.destroy = (error?: Error) => {
    if (fault !== undefined || socket.connecting || !isWriteFault(error)) return destroy(error)
    fault = error
    onFault(error)
    let received = receivedBytes()
    let turns = 0
    const look = (): void => {
      if (socket.destroyed) return
      if (socket.isPaused()) {
        socket.once('resume', look)
        turns = 0
        return
      }
      if (receivedBytes() > received) turns = 0
      received = receivedBytes()
      // Two: the first may come before sockets are looked at again, the second comes after.
      if (++turns > 2) destroy(fault)
      else setImmediate(look)
    }
    setImmediate(look)
    return socket
  }
}

function isWriteFault(error: Error | undefined): error is Error {
  return error !== undefined && 'syscall' in error && error.syscall === 'write'
}

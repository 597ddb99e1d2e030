/**
 * Standard input as chunks, each borrowed until the next is asked for.
 *
 * `process.stdin` allocates for every read, and a runtime that is busy with bytes collects late: some 12 MB of read
 * chunks stand around. On Node a pipe can be read into one buffer instead; what else standard input may be (a terminal,
 * a file, anything on Bun, which does not know the option) goes the usual way.
 */
import { once } from 'node:events'
import { fstatSync } from 'node:fs'
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net'
import { CommandError } from './exit-codes.ts'

const READ_BYTES = 65_536

export function readStandardInput(): AsyncIterable<Uint8Array> {
  const kind = fstatSync(0)
  if (kind.isDirectory()) throw new CommandError('is a directory')
  const isPipe = kind.isFIFO() || kind.isSocket()
  return isPipe && process.versions.bun === undefined ? readPipe() : process.stdin
}

async function* readPipe(): AsyncGenerator<Uint8Array> {
  let chunk: Uint8Array | undefined
  let isOver = false
  let failure: Error | undefined
  // The types know `onread` for connections only; the constructor has taken it since Node 12.
  const options: SocketConstructorOpts & { readonly onread: OnReadOpts } = {
    fd: 0,
    readable: true,
    writable: false,
    onread: {
      buffer: new Uint8Array(READ_BYTES),
      callback(size, buffer) {
        chunk = buffer.subarray(0, size)
        pipe.emit('chunk')
        // Pauses until the chunk is done with.
        return false
      },
    },
  }
  const pipe = new Socket(options)
  pipe.once('end', () => {
    isOver = true
    pipe.emit('chunk')
  })
  pipe.once('error', (error) => {
    failure = error
    pipe.emit('chunk')
  })
  try {
    for (;;) {
      if (chunk === undefined && !isOver && failure === undefined) await once(pipe, 'chunk')
      if (failure !== undefined) throw failure
      if (chunk === undefined) return
      yield chunk
      chunk = undefined
      pipe.resume()
    }
  } finally {
    pipe.destroy()
  }
}

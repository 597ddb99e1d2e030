// One installation or build at a time in one clone.
//
// The lock is a listening socket in Linux' abstract name space, named after the clone's path: the kernel lets go of it
// when its holder ends, however it ends, so that there is no stale lock to clean up. Whoever finds it taken connects,
// reads who holds it, and waits for the connection to close.
import { createHash } from 'node:crypto'
import { connect, createServer } from 'node:net'
import { say } from './child.mjs'

/**
 * Runs `work` while no other process runs its own under the same lock.
 *
 * @template T
 * @param {string} root the clone
 * @param {string} job what to tell those who wait, e.g. `test`
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withRunLock(root, job, work) {
  if (process.platform !== 'linux') return work()
  const name = `\0prexy-${createHash('sha256').update(root).digest('hex').slice(0, 32)}`
  for (;;) {
    const lock = await tryListen(name, `process ${process.pid} (${job})`)
    if (lock !== undefined) {
      try {
        return await work()
      } finally {
        lock.release()
      }
    }
    await waitForHolder(name)
  }
}

/**
 * @param {string} name
 * @param {string} holder
 * @returns {Promise<{ release: () => void } | undefined>} undefined when another process holds the lock
 */
function tryListen(name, holder) {
  /** @type {Set<import('node:net').Socket>} */
  const waiting = new Set()
  const server = createServer((socket) => {
    waiting.add(socket)
    socket.on('error', () => waiting.delete(socket))
    socket.on('close', () => waiting.delete(socket))
    socket.write(holder)
  })
  return new Promise((resolve, reject) => {
    server.once('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      if (error.code === 'EADDRINUSE') resolve(undefined)
      else reject(error)
    })
    server.listen(name, () => {
      resolve({
        release() {
          server.close()
          for (const socket of waiting) socket.destroy()
        },
      })
    })
  })
}

/**
 * @param {string} name
 * @returns {Promise<void>}
 */
function waitForHolder(name) {
  return new Promise((resolve) => {
    const socket = connect(name)
    socket.setEncoding('utf8')
    socket.once('data', (holder) => say(`waiting for ${String(holder)} to finish installing and building`))
    // The holder may end between our two calls: that is the end we wait for.
    socket.on('error', () => {})
    socket.once('close', () => resolve())
  })
}

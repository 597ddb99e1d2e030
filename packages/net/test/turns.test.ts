/** How much one connection may take of a turn of the event loop: counted, since times depend on the machine. */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { connect, type ConnectHandler, listen, MAX_TURN_BYTES } from '../src/connection.ts'

const TOTAL_BYTES = 32 * 1_048_576
/** The largest read of either runtime, which is not cut. */
const READ_BYTES = 524_288

interface Turns {
  readonly handler: ConnectHandler
  readonly most: Promise<number>
}

/** Counts what comes from one look at the sockets to the next. */
function countTurns(): Turns {
  let most = 0
  let turn = 0
  let total = 0
  let next: NodeJS.Immediate
  const tick = (): void => {
    most = Math.max(most, turn)
    turn = 0
    next = setImmediate(tick)
  }
  next = setImmediate(tick)
  let done: (most: number) => void = () => {}
  const handler: ConnectHandler = {
    onConnect() {},
    onData(chunk) {
      turn += chunk.length
      total += chunk.length
      return false
    },
    onEnd() {},
    onDrain() {},
    onClose() {
      clearImmediate(next)
      expect(total).toBe(TOTAL_BYTES)
      done(Math.max(most, turn))
    },
  }
  return {
    handler,
    most: new Promise((resolve) => {
      done = resolve
    }),
  }
}

function fail(error: Error): void {
  expect.fail(error.message)
}

test('an upstream that sends as fast as it can has MAX_TURN_BYTES of a turn, and one read', async () => {
  const server = createServer((socket) => socket.end(Buffer.alloc(TOTAL_BYTES))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { handler, most } = countTurns()
  const connection = connect({ host: '127.0.0.1', port }, { ...handler, onEnd: () => connection.end() }, fail)
  expect(await most).toBeLessThanOrEqual(MAX_TURN_BYTES + READ_BYTES)
  server.close()
})

test('so has a client', async () => {
  const { handler, most } = countTurns()
  const intake = await listen(
    { host: '127.0.0.1', port: 0, maxConnections: 1 },
    (connection) => ({ ...handler, onEnd: () => connection.end() }),
    fail,
  )
  const sender = connect(
    { host: '127.0.0.1', port: intake.address.port },
    { onConnect() {}, onData: () => false, onEnd() {}, onDrain() {}, onClose() {} },
    fail,
  )
  sender.write(Buffer.alloc(TOTAL_BYTES))
  sender.end()
  expect(await most).toBeLessThanOrEqual(MAX_TURN_BYTES + READ_BYTES)
  intake.close()
})

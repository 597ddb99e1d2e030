/**
 * An upstream that answers while it is still sent to and then resets the connection, as the kernel does for a server that
 * closes a socket of which it has not read everything: an answer that came whole is delivered, one that did not is broken.
 */
import type { OriginConnection } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { setUp } from './harness.ts'

const BODY = 'one two\n'.repeat(5_000)
const length = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${BODY.length}\r\n\r\n`
const chunked = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n'
const close = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n'
const chunk = `${BODY.length.toString(16)}\r\n${BODY}\r\n`

const treatments = [
  { treatment: 'passed', rules: [], body: BODY },
  { treatment: 'rewritten', rules: [{ text: 'one', with: 'three' }], body: BODY.replaceAll('one', 'three') },
]

/** Answers when the first octets of a body have come, and resets when the kernel has the answer. */
const resetting = (answer: string) => async (connection: OriginConnection) => {
  await connection.readHead()
  await connection.reader.exactly(1)
  await connection.send(answer)
  connection.reset()
}

/** Sends a body until it is answered, or nobody takes it any more. */
async function upload(answer: string, rules: readonly { readonly text: string; readonly with: string }[]) {
  await using setup = await setUp({ script: resetting(answer), rules })
  const client = await setup.connect()
  await client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n')
  const sending = (async () => {
    for (let i = 0; i < 100 && setup.events.length === 0; i++) await client.send(new Uint8Array(500_000))
  })()
  const { status, body, complete } = await client.readResponse()
  const { outcome } = await setup.event(1)
  client.destroy()
  await sending
  return { status, body: body.toString(), complete, outcome }
}

describe.each(treatments)('$treatment', ({ rules, body }) => {
  it.each([
    ['with a length', length + BODY],
    ['in chunks', `${chunked}${chunk}0\r\n\r\n`],
  ])('an answer that is whole is delivered: %s', async (_name, answer) => {
    const seen = await upload(answer, rules)
    expect({ ...seen, body: seen.body === body }).toEqual({
      status: 200,
      body: true,
      complete: true,
      outcome: 'completed',
    })
  })

  it.each([
    ['with a length', length + BODY.slice(1)],
    ['in chunks', chunked + chunk],
    ['that ends by close', close + BODY],
  ])('an answer that is not whole is not made one: %s', async (_name, answer) => {
    const { status, complete, outcome } = await upload(answer, rules)
    expect({ isWhole: status === 200 && complete, outcome }).toEqual({ isWhole: false, outcome: 'upstream-aborted' })
  })
})

it.each(['127.0.0.1', 'origin.test'])('a body until close that ends by a reset of %s is not whole', async (host) => {
  const script = async (connection: OriginConnection): Promise<void> => {
    await connection.readHead()
    await connection.send(close + BODY)
    connection.reset()
  }
  await using setup = await setUp({
    script,
    upstream: { host },
    config: { resolve: (_host, done) => done(undefined, ['127.0.0.1']) },
  })
  const client = await setup.connect()
  await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const { status, complete } = await client.readResponse()
  expect(status === 200 && complete).toBe(false)
  expect(await setup.event(1)).toMatchObject({ outcome: 'upstream-aborted' })
})

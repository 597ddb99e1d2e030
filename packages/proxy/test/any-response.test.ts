import { CONTENT_CODINGS, type ContentCoding, ContentDecoder } from '@prexy/net/content-decoder'
import { encodeWhole } from '@prexy/net/whole-body'
import type { RawClient } from '@prexy/testing/raw-client'
import type { OriginConnection } from '@prexy/testing/raw-origin'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { setUp } from './harness.ts'

/** One response: what it says, how the origin sends it, how the client takes it. */
interface Plan {
  readonly lines: number
  readonly coding: ContentCoding | 'identity'
  readonly accepted: ContentCoding | 'identity'
  readonly framing: 'length' | 'chunked' | 'close'
  /** Sizes of chunks and of writes, used in turn. */
  readonly chunks: readonly number[]
  readonly cuts: readonly number[]
  /** Share of the octets after which the origin breaks off; 1 is all of them. */
  readonly share: number
  readonly breaking: 'end' | 'reset'
  /** After every so many reads the client rests. */
  readonly restEvery: number
}

const rules = [
  { text: 'needle', with: 'pin' },
  { regex: 'hay(stack)?', with: '<$1>' },
]
const textOf = (plan: Plan): string => 'a needle in a haystack of hay\n'.repeat(plan.lines)
const expectedOf = (plan: Plan): string => 'a pin in a <stack> of <>\n'.repeat(plan.lines)

const coding = fc.constantFrom<ContentCoding | 'identity'>('identity', ...CONTENT_CODINGS)
const size = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 80_000 }))
const plans = fc.record<Plan>({
  lines: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 20_000 })),
  coding,
  accepted: coding,
  framing: fc.constantFrom('length', 'chunked', 'close'),
  chunks: fc.array(size, { minLength: 1, maxLength: 5 }),
  cuts: fc.array(size, { minLength: 1, maxLength: 5 }),
  share: fc.oneof(
    { weight: 3, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
  ),
  breaking: fc.constantFrom('end', 'reset'),
  restEvery: fc.integer({ min: 1, max: 5 }),
})

/** The octets of the response. At most 300 pieces of each kind, so that a run stays short. */
function octetsOf(plan: Plan): Buffer {
  const text = Buffer.from(textOf(plan))
  const body = plan.coding === 'identity' ? text : encodeWhole(plan.coding, text)
  const lines = ['HTTP/1.1 200 OK', 'Content-Type: text/html']
  if (plan.coding !== 'identity') lines.push(`Content-Encoding: ${plan.coding}`)
  if (plan.framing === 'length') lines.push(`Content-Length: ${body.length}`)
  if (plan.framing === 'chunked') lines.push('Transfer-Encoding: chunked')
  const parts: Uint8Array[] = [Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)]
  if (plan.framing !== 'chunked') return Buffer.concat([...parts, body])
  for (let at = 0, n = 0; at < body.length; n++) {
    const piece = body.subarray(at, at + Math.max(plan.chunks[n % plan.chunks.length], body.length / 300))
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
    at += piece.length
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

async function play(connection: OriginConnection, plan: Plan): Promise<boolean> {
  const all = octetsOf(plan)
  const octets = all.subarray(0, Math.floor(all.length * plan.share))
  for (let at = 0, n = 0; at < octets.length && !connection.socket.destroyed; n++) {
    const length = Math.max(plan.cuts[n % plan.cuts.length], Math.ceil(octets.length / 300))
    await connection.send(octets.subarray(at, at + length))
    at += length
    if (n % 3 === 0) await new Promise(setImmediate)
  }
  if (octets.length === all.length && plan.framing !== 'close') return true
  if (octets.length === all.length) connection.end()
  else connection[plan.breaking]()
  return false
}

function decodeBody(made: ContentCoding, body: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const parts: Uint8Array[] = []
    const decoder = new ContentDecoder(made, 2 ** 30, {
      onOutput: (part) => parts.push(part),
      onIdle() {},
      onEnd: (trailing) => resolve(trailing === 0 ? Buffer.concat(parts).toString() : 'junk'),
      onFault: resolve,
    })
    decoder.write(body)
    decoder.end()
  })
}

async function take(client: RawClient, plan: Plan): Promise<string | undefined> {
  let reads = 0
  client.socket.on('data', () => {
    if (++reads % plan.restEvery !== 0) return
    client.reader.pause()
    setImmediate(() => setImmediate(() => client.reader.resume()))
  })
  await client.send(`GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${plan.accepted}\r\n\r\n`)
  try {
    const response = await client.readResponse()
    if (!response.complete || response.status !== 200) return undefined
    const made = response.value('content-encoding')
    if (made === undefined) return response.body.toString()
    return await decodeBody(CONTENT_CODINGS.find((known) => known === made) ?? 'gzip', response.body)
  } catch {
    return undefined
  } finally {
    client.socket.removeAllListeners('data')
  }
}

it('any response, sent and taken in any way, arrives rewritten and whole or visibly broken', async () => {
  const runs = process.env['PREXY_LONG'] === '1' ? 2_000 : 60
  await fc.assert(
    fc.asyncProperty(fc.array(plans, { minLength: 1, maxLength: 4 }), async (sequence) => {
      let next = 0
      await using setup = await setUp({
        rules,
        script: async (connection) => {
          while ((await connection.readRequest()) !== undefined) {
            if (!(await play(connection, sequence[next]))) return
          }
          connection.end()
        },
      })
      for (next = 0; next < sequence.length; next++) {
        const plan = sequence[next]
        const got = await take(await setup.connect(), plan)
        const whole = plan.share === 1
        // A body until the close that is cut off by FIN looks whole to everyone, unless a coding tells.
        const mayLookWhole = plan.framing === 'close' && plan.breaking === 'end'
        if (whole || (got !== undefined && !mayLookWhole)) {
          expect(got === expectedOf(plan), `${got?.slice(0, 40)} of ${got?.length} for ${JSON.stringify(plan)}`).toBe(
            true,
          )
          expect(whole || Math.floor(octetsOf(plan).length * plan.share) === octetsOf(plan).length).toBe(true)
        }
      }
    }),
    { numRuns: runs },
  )
  console.log(`any response: ${runs} runs`)
}, 1_200_000)

/**
 * An upstream that closes, or resets, after each octet of a response: the client must see an error or a body that is
 * visibly broken, never a clean one that lacks something.
 */
import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { RawResponse } from '@prexy/testing/raw-client'
import { describe, expect, it } from 'vitest'
import { setUp } from './harness.ts'

const long = process.env['PREXY_LONG'] === '1'
/** `npm test` takes every 97th octet, the long run each; where the client speaks HTTP/1.0 or RST comes, some of them. */
function stepFor(version: string, ending: 'end' | 'reset'): number {
  if (!long) return 97
  return (version === '1.1' ? 1 : 7) * (ending === 'end' ? 1 : 3)
}
/** Requests under way at one time. */
const CLIENTS = 8

const noise = Array.from({ length: 64 }, (_, i) => createHash('sha256').update(String(i)).digest('base64')).join('')
const BODY = Buffer.from(noise.slice(0, 1_900))
const CODED = gzipSync(noise.slice(0, 2_500))

interface Shape {
  readonly name: string
  readonly coding: 'identity' | 'gzip'
  readonly framing: 'length' | 'chunked' | 'close'
  readonly octets: Buffer
  readonly headBytes: number
}

function shape(coding: Shape['coding'], framing: Shape['framing']): Shape {
  const body = coding === 'gzip' ? CODED : BODY
  const lines = ['HTTP/1.1 200 OK', 'Content-Type: text/html']
  if (coding === 'gzip') lines.push('Content-Encoding: gzip')
  if (framing === 'length') lines.push(`Content-Length: ${body.length}`)
  if (framing === 'chunked') lines.push('Transfer-Encoding: chunked')
  const head = Buffer.from([...lines, '', ''].join('\r\n'))
  const parts: Buffer[] = [head]
  if (framing === 'chunked') {
    for (const piece of [body.subarray(0, 300), body.subarray(300)]) {
      parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
    }
    parts.push(Buffer.from('0\r\nX-Sum: 1\r\n\r\n'))
  } else {
    parts.push(body)
  }
  return { name: `${coding}, ${framing}`, coding, framing, octets: Buffer.concat(parts), headBytes: head.length }
}

const shapes = (['identity', 'gzip'] as const).flatMap((coding) =>
  (['length', 'chunked', 'close'] as const).map((framing) => shape(coding, framing)),
)

const treatments = [
  { treatment: 'passed', rules: [] },
  { treatment: 'rewritten', rules: [{ text: 'never there', with: 'x' }] },
]

/** What a client that knows HTTP makes of it: `refused`, `broken`, or the text of a body that looks whole. */
async function viewOf(response: Promise<RawResponse>): Promise<string> {
  let got: RawResponse
  try {
    got = await response
  } catch {
    return 'broken'
  }
  if (got.status === 502) return 'refused'
  if (!got.complete) return 'broken'
  if (got.value('content-encoding') !== 'gzip' || got.body.length === 0) return `whole: ${got.body.toString('latin1')}`
  try {
    return `whole: ${gunzipSync(got.body).toString('latin1')}`
  } catch {
    return 'broken'
  }
}

let runs = 0
describe.each(shapes)('a response ($name)', ({ coding, framing, octets, headBytes }) => {
  const rows = treatments.flatMap(({ treatment, rules }) =>
    ['1.1', '1.0'].flatMap((version) =>
      (['end', 'reset'] as const).map((ending) => ({ treatment, rules, version, ending })),
    ),
  )
  it.each(rows)('$treatment, cut off by $ending, to HTTP/$version', { timeout: 600_000 }, async (row) => {
    const { treatment, rules, version, ending } = row
    await using setup = await setUp({
      rules,
      upstream: { maxIdleConnections: 0 },
      script: async (connection) => {
        const request = await connection.readRequest()
        if (request === undefined) return
        await connection.send(octets.subarray(0, Number(request.target.slice(1))))
        connection[ending]()
        await connection.ended
      },
    })
    const step = stepFor(version, ending)
    const cuts = Array.from({ length: Math.ceil(octets.length / step) }, (_, i) => i * step)
    const queue = [...cuts, octets.length].values()
    const whole = `whole: ${coding === 'gzip' ? noise.slice(0, 2_500) : BODY.toString()}`
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        for (const cut of queue) {
          runs++
          const client = await setup.connect()
          await client.send(`GET /${cut} HTTP/${version}\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n`)
          const view = await viewOf(client.readResponse())
          client.destroy()
          if (cut === octets.length && (ending === 'end' || view.startsWith('whole')))
            expect([cut, view]).toEqual([cut, whole])
          else if (cut < octets.length && !looksWhole(cut)) expect([cut, view.slice(0, 5)]).not.toEqual([cut, 'whole'])
        }
      }),
    )

    /**
     * RFC 9112 §8: a body that lasts until the close is whole wherever an orderly close comes, and nobody can tell but
     * who decodes it; of a coded body of no octets not even that.
     */
    function looksWhole(cut: number): boolean {
      if (framing !== 'close' || ending === 'reset' || cut < headBytes) return false
      return coding === 'identity' || treatment === 'passed' || cut === headBytes
    }
  })
})

it('the runs are counted', () => {
  console.log(
    `early closes: ${runs}, of ${shapes.length} responses of 2 KB, at ${long ? 'each octet' : 'every 97th octet of them'}`,
  )
  expect(runs).toBeGreaterThan(long ? 30_000 : 800)
})

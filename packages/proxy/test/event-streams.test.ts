import * as zlib from 'node:zlib'
import type { Transform } from 'node:stream'
import { CONTENT_CODINGS, type ContentCoding } from '@prexy/net/content-decoder'
import { createZstdDecoder, createZstdEncoder } from '@prexy/net/zstd'
import type { RawClient } from '@prexy/testing/raw-client'
import { describe, expect, it } from 'vitest'
import { setUp } from './harness.ts'

type Coding = ContentCoding | 'identity'

/** Writes text so that the peer can read it at once. */
function encoder(coding: Coding): { encode(text: string): Promise<Uint8Array> } {
  if (coding === 'identity') return { encode: (text) => Promise.resolve(Buffer.from(text)) }
  const engine = encodingEngine(coding)
  const parts: Buffer[] = []
  engine.on('data', (part: Buffer) => parts.push(part))
  return {
    encode: (text) =>
      new Promise((resolve) => {
        engine.write(text, () => {
          // What the write made is pushed before its callback or right after.
          setImmediate(() => resolve(Buffer.concat(parts.splice(0))))
        })
      }),
  }
}

function encodingEngine(coding: ContentCoding): Transform {
  switch (coding) {
    case 'gzip':
      return zlib.createGzip({ flush: zlib.constants.Z_SYNC_FLUSH })
    case 'deflate':
      return zlib.createDeflate({ flush: zlib.constants.Z_SYNC_FLUSH })
    case 'br':
      return zlib.createBrotliCompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH })
    case 'zstd':
      return createZstdEncoder(3, 32_768)
  }
}

function decodingEngine(coding: ContentCoding): Transform {
  switch (coding) {
    case 'gzip':
      return zlib.createGunzip()
    case 'deflate':
      return zlib.createInflate()
    case 'br':
      return zlib.createBrotliDecompress()
    case 'zstd':
      return createZstdDecoder(32_768)
  }
}

/** Reads the chunks of a body as text, as far as has come. */
function textReader(client: RawClient, coding: Coding): { until(text: string): Promise<void>; readonly text: string } {
  let text = ''
  const engine = coding === 'identity' ? undefined : decodingEngine(coding)
  engine?.on('data', (part: Buffer) => {
    text += part.toString()
  })
  return {
    get text() {
      return text
    },
    until: async (wanted) => {
      while (!text.includes(wanted)) {
        const size = Number.parseInt((await client.reader.until('\r\n'))?.toString() ?? '0', 16)
        if (size === 0) throw new Error(`the body ended: ${text}`)
        const data = await client.reader.exactly(size)
        await client.reader.exactly(2)
        if (engine === undefined) text += data.toString()
        else await new Promise<void>((resolve) => engine.write(data, () => setImmediate(resolve)))
      }
    },
  }
}

const CODINGS: readonly Coding[] = ['identity', ...CONTENT_CODINGS]
const EVENTS = 20

describe.each(CODINGS)('server-sent events in %s', (coding) => {
  it.each([
    ['unchanged', [], 'data: tick N\n\n'],
    ['rewritten', [{ text: 'tick', with: 'tock' }], 'data: tock N\n\n'],
    ['rewritten to their end', [{ regex: 'tick ([0-9]{1,9})\\n\\n', with: 'tock $1\n\n' }], 'data: tock N\n\n'],
    // All but the blank line, with which a match may begin.
    ['but for what may be the start of a match', [{ text: '\n\nend', with: '' }], 'data: tick N'],
  ] as const)('arrive one by one, each before the next is made, %s', async (_name, rules, event) => {
    let seen: (() => void) | undefined
    await using setup = await setUp({
      ...(rules.length === 0 ? {} : { rules: rules.map((rule) => ({ ...rule, types: ['text/event-stream'] })) }),
      script: async (connection) => {
        await connection.readRequest()
        const { encode } = encoder(coding)
        const lines = coding === 'identity' ? [] : [`Content-Encoding: ${coding}`]
        const head = [
          'HTTP/1.1 200 OK',
          'Content-Type: text/event-stream',
          ...lines,
          'Transfer-Encoding: chunked',
          '',
          '',
        ]
        await connection.send(head.join('\r\n'))
        for (let n = 0; n < EVENTS; n++) {
          // Nothing more is sent before the client has this one.
          const received = new Promise<void>((resolve) => {
            seen = resolve
          })
          const octets = await encode(`id: ${n}\ndata: tick ${n}\n\n`)
          await connection.send(
            Buffer.concat([Buffer.from(`${octets.length.toString(16)}\r\n`), octets, Buffer.from('\r\n')]),
          )
          await received
        }
        connection.end()
      },
    })
    const client = await setup.connect()
    const lines = ['GET /events HTTP/1.1', 'Host: a', `Accept-Encoding: ${coding}`, 'Accept: text/event-stream', '', '']
    await client.send(lines.join('\r\n'))
    // The head comes before there is any event.
    const head = await client.readHead()
    expect([head.value('content-type'), head.value('content-encoding')]).toEqual([
      'text/event-stream',
      coding === 'identity' ? undefined : coding,
    ])
    const body = textReader(client, coding)
    for (let n = 0; n < EVENTS; n++) {
      const expected = event.replace('N', String(n))
      await body.until(expected)
      expect(body.text.endsWith(expected)).toBe(true)
      while (seen === undefined) await new Promise(setImmediate)
      const go = seen
      seen = undefined
      go()
    }
  })
})

describe('a long poll', () => {
  it.each(CODINGS)('in %s gets the head when the origin sends it, and the body when that comes', async (coding) => {
    let answer: () => void = () => {}
    const mayAnswer = new Promise<void>((resolve) => {
      answer = resolve
    })
    await using setup = await setUp({
      rules: [{ text: 'news', with: 'olds' }],
      script: async (connection) => {
        await connection.readRequest()
        const octets = await encoder(coding).encode('<p>news</p>')
        const lines = coding === 'identity' ? [] : [`Content-Encoding: ${coding}`]
        await connection.send(
          ['HTTP/1.1 200 OK', 'Content-Type: text/html; charset=utf-8', ...lines, '', ''].join('\r\n'),
        )
        await mayAnswer
        // The body goes on: what has come must pass without an end.
        await connection.send(octets)
        await connection.ended
        connection.end()
      },
    })
    const client = await setup.connect()
    await client.send(`GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ${coding}\r\n\r\n`)
    expect((await client.readHead()).status).toBe(200)
    answer()
    await textReader(client, coding).until('<p>olds</p>')
    client.destroy()
    expect((await setup.event(1)).outcome).toBe('client-aborted')
  })
})

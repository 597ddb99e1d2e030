/**
 * Hostile clients of HTTP/2, by the frame, against the built proxy and against a bare server of node:http2 in a process
 * of its own: nothing that is not asked for reaches the origin, memory stays what it was, others are served, and no
 * script is answered worse than by the bare server.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  connectFrames,
  END_HEADERS,
  END_STREAM,
  type Frame,
  type FramePeer,
  frame,
  GOAWAY,
  HEADERS,
  headerBlock,
  PREFACE,
  settings,
} from '@prexy/testing/http2-frames'
import { type PrexyServer, startPrexyServer } from '@prexy/testing/prexy-server'
import { noProcessMemory, processMemory } from '@prexy/testing/process-memory'
import { connectRawClient } from '@prexy/testing/raw-client'
import { answering, plainResponse, type RawOrigin, startRawOrigin } from '@prexy/testing/raw-origin'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DOWNGRADES, type Script, scripts } from './http2-scripts.ts'

const long = process.env['PREXY_LONG'] === '1'
/** Frames of a flood. */
const COUNT = long ? 10_000 : 1_200
/** In the long run the limit of the threat model for each script; the sum of all is measured. */
const MAX_GROWTH_MIB = long ? 20 : 40
/** How long an answer is waited for where none is owed. */
const QUIET_MS = 300

const BARE_SERVER = `
const server = require('node:http2').createServer()
server.on('sessionError', () => {})
server.on('stream', (stream) => {
  stream.on('error', () => {})
  stream.resume()
  const answer = () => { if (!stream.destroyed) { stream.respond({ ':status': 200 }); stream.end('ok'.repeat(50000)) } }
  stream.on('end', answer)
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

const folder = mkdtempSync(join(tmpdir(), 'prexy-http2-'))
let origin: RawOrigin
let prexy: PrexyServer
let bare: ChildProcess
let barePort = 0

beforeAll(async () => {
  origin = await startRawOrigin(answering(() => plainResponse('ok'.repeat(50_000), 'Content-Type: text/plain')))
  const file = join(folder, 'prexy.yaml')
  writeFileSync(
    file,
    [
      'listen: 127.0.0.1:0',
      `upstream: http://127.0.0.1:${origin.port}`,
      'rules: [{ text: no, with: on }]',
      'timeouts: { clientIdleMs: 1500, clientBodyMs: 1500, clientWriteMs: 1500 }',
      'log: off',
    ].join('\n'),
  )
  prexy = await startPrexyServer(['serve', file])
  bare = spawn(process.execPath, ['-e', BARE_SERVER], { stdio: ['ignore', 'pipe', 'ignore'] })
  barePort = await new Promise<number>((resolve) => {
    bare.stdout?.once('data', (text: Buffer) => resolve(Number(text.toString())))
  })
}, 30_000)

afterAll(async () => {
  bare.kill('SIGKILL')
  await prexy.stop()
  await origin.close()
  rmSync(folder, { recursive: true })
})

interface Outcome {
  readonly isClosed: boolean
  /** Requests that were answered with success. */
  readonly served: number
}

/** `:status` 200 is entry 8 of HPACK's static table. */
const isSuccess = ({ type, payload }: Frame): boolean => type === HEADERS && payload[0] === 0x88

async function outcomeOf(peer: FramePeer, patienceMs: number): Promise<Outcome> {
  const told = await peer.until(({ type }) => type === GOAWAY, patienceMs)
  return { isClosed: told !== undefined || peer.isClosed, served: peer.frames.filter(isSuccess).length }
}

async function play(script: Script, port: number, patienceMs: number): Promise<Outcome> {
  const peer = await connectFrames(port)
  await script.run(peer)
  const outcome = await outcomeOf(peer, script.must === 'closed' ? patienceMs : QUIET_MS)
  peer.destroy()
  return outcome
}

async function isServing(): Promise<boolean> {
  const client = await connectRawClient(prexy.port)
  const { status } = await client.get('/')
  client.destroy()
  return status === 200
}

describe('frame scripts', () => {
  test.each(scripts(COUNT).map((script) => [script.name, script] as const))('%s', async (_name, script) => {
    const [ours, theirs] = await Promise.all([play(script, prexy.port, 5_000), play(script, barePort, 1_000)])
    if (script.must === 'refused') expect(ours.served).toBe(0)
    if (theirs.isClosed && script.must !== 'bounded') expect(ours.isClosed || ours.served === 0).toBe(true)
    if (
      script.must === 'closed' &&
      (theirs.isClosed || script.name.includes('again') || script.name.startsWith('rapid'))
    ) {
      expect(ours.isClosed).toBe(true)
    }
    expect(await isServing()).toBe(true)
  })

  test('memory is what it was', { skip: noProcessMemory !== undefined, timeout: 120_000 }, async () => {
    const playAll = async (): Promise<void> => {
      for (const script of scripts(COUNT)) await play(script, prexy.port, 0)
    }
    // The scripts have run once, so what they need at most is there.
    const before = processMemory(prexy.pid, 'VmRSS')
    let growth = Number.POSITIVE_INFINITY
    // What is garbage may wait to be collected.
    for (let round = 0; round < 4 && growth >= MAX_GROWTH_MIB; round++) {
      await playAll()
      growth = processMemory(prexy.pid, 'VmRSS') - before
    }
    expect(growth).toBeLessThan(MAX_GROWTH_MIB)
  })
})

/** Of a request without fields of its own. */
const SENT_UP = [
  ...['host', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port', 'x-real-ip'],
  ...['x-request-id', 'accept-encoding'],
]

describe('requests that would be something else in HTTP/1.1', () => {
  test.each(DOWNGRADES)('%s', async (_name, fields) => {
    const before = origin.requests.length
    const peer = await connectFrames(prexy.port)
    await peer.send(PREFACE, settings(), frame(HEADERS, END_HEADERS | END_STREAM, 1, headerBlock(fields)))
    await peer.until(({ type, stream }) => type !== 8 && stream === 1, 1_000)
    const { served } = await outcomeOf(peer, 20)
    peer.destroy()
    // node:http2 leaves some such fields out before anybody sees them: then the rest is a request like any other.
    // A POST is one that an earlier script gave up.
    const asked = origin.requests.slice(before).filter(({ method }) => method !== 'POST')
    if (served > 0) expect(asked.length).toBeGreaterThan(0)
    for (const { startLine, head } of asked) {
      expect(startLine).toBe('GET / HTTP/1.1')
      const lines = head.split('\r\n').slice(1, -2)
      expect(lines.filter((line) => !SENT_UP.includes(line.slice(0, line.indexOf(':')).toLowerCase()))).toEqual([])
    }
    expect(await isServing()).toBe(true)
  })
})

describe('what stands still', () => {
  test.each([
    ['a connection that says nothing', []],
    ['half a preface', [PREFACE.subarray(0, 10)]],
    ['a preface and no SETTINGS', [PREFACE]],
    ['a header block without end', [PREFACE, settings(), frame(HEADERS, 0, 1, headerBlock(['x', 'y']))]],
  ])('%s is closed by clientIdleMs', { timeout: 10_000 }, async (_name, octets) => {
    const peer = await connectFrames(prexy.port)
    await peer.send(...octets)
    expect(await peer.closed(4_000)).toBe(true)
    peer.destroy()
  })

  test('responses that nobody takes are given up by clientWriteMs', { timeout: 10_000 }, async () => {
    const peer = await connectFrames(prexy.port)
    const block = headerBlock([':method', 'GET', ':scheme', 'http', ':authority', 'proxy.test', ':path', '/'])
    await peer.send(PREFACE, settings(4, 0), frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
    expect(await peer.until(({ type, stream }) => type === 3 && stream === 1, 8_000)).toBeDefined()
    peer.destroy()
  })
})

/**
 * Text that a match may still begin with is held back. 200 bodies that keep as much of it alive as they can: no client
 * waits for more than `maxHeldBytes`, and the process holds no more than that for each.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PrexyServer, startPrexyServer } from '@prexy/testing/prexy-server'
import { noProcessMemory, processMemory } from '@prexy/testing/process-memory'
import { startRawOrigin } from '@prexy/testing/raw-origin'
import { expect, onTestFinished, test } from 'vitest'

const KB = 1_024
const CLIENTS = 200
const MAX_HELD_BYTES = 64 * KB
const long = process.env['PREXY_LONG'] === '1'
/** Of each body; `npm test` sends 25 MB in all and leaves out the last rules, the long run 1 GB. */
const BODY_BYTES = (long ? 5_120 : 128) * KB
/** For what the runtime and the kernel's queues take besides. */
const SLACK_MIB = 96

/** Signs that stand nowhere in a head or a chunk size, and repeat nothing, so that a text of them overlaps itself little. */
const SIGNS = '!#$%&()*'
const noise = (bytes: number): string =>
  Array.from({ length: bytes }, (_, i) => SIGNS[(Math.imul(i + 1, 2_654_435_761) >>> 13) % SIGNS.length]).join('')
const IS_SIGN = Uint8Array.from({ length: 256 }, (_, octet) => (SIGNS.includes(String.fromCharCode(octet)) ? 1 : 0))
const PIECE = Buffer.from(noise(16 * KB))
const LONG = noise(4_000)

const RULES = [
  { name: 'a pattern that ends nowhere', rule: `{regex: 'a[!].*b', flags: s, with: ''}`, begin: 'a', piece: PIECE },
  {
    name: 'a text of 4 KB that almost stands there',
    rule: `{text: '${LONG}b', with: ''}`,
    begin: '',
    piece: Buffer.from(LONG),
  },
  {
    name: 'ten texts of 2 KB that almost stand there',
    rule: Array.from({ length: 10 }, (_, i) => `{text: '${LONG.slice(0, 2_000)}${i}', with: ''}`).join(', '),
    begin: '',
    piece: Buffer.from(LONG.slice(0, 2_000)),
  },
]

interface Reading {
  readonly socket: Socket
  /** Octets of the body so far. */
  count: number
  readonly ended: Promise<void>
}

/** Reads without keeping anything. */
function startReading(port: number, onProgress: () => void): Reading {
  const socket = connect(port, '127.0.0.1')
  const reading: Reading = {
    socket,
    count: 0,
    ended: new Promise((resolve) => {
      socket.once('close', () => resolve())
    }),
  }
  socket.on('error', () => {})
  socket.on('data', (data: Buffer) => {
    for (const octet of data) reading.count += IS_SIGN[octet]
    onProgress()
  })
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  return reading
}

async function start({ rule, begin, piece }: (typeof RULES)[number], proceed: Promise<void>): Promise<PrexyServer> {
  const folder = mkdtempSync(join(tmpdir(), 'prexy-held-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const origin = await startRawOrigin(async (connection) => {
    await connection.readRequest()
    await connection.send(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n${begin}`)
    for (let sent = 0; sent < BODY_BYTES && !connection.socket.destroyed; sent += piece.length) {
      await connection.send(piece)
    }
    await proceed
    connection.end()
  })
  onTestFinished(() => origin.close())
  const file = join(folder, 'prexy.yaml')
  const lines = [
    'listen: 127.0.0.1:0',
    `upstream: {url: 'http://127.0.0.1:${origin.port}', maxConnections: ${CLIENTS}}`,
    `rewrite: {maxHeldBytes: ${MAX_HELD_BYTES}}`,
    `rules: [${rule}]`,
    'log: off',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const prexy = await startPrexyServer(['serve', file])
  onTestFinished(async () => {
    await prexy.stop()
  })
  return prexy
}

test.for(long ? RULES : RULES.slice(0, 2))(
  `$name, in ${CLIENTS} bodies at once`,
  { timeout: 240_000 },
  async (row, context) => {
    if (noProcessMemory !== undefined) return context.skip(noProcessMemory)
    let release = (): void => {}
    const proceed = new Promise<void>((resolve) => {
      release = resolve
    })
    onTestFinished(() => release())
    const prexy = await start(row, proceed)
    const bodyBytes = Math.ceil(BODY_BYTES / row.piece.length) * row.piece.length
    const before = processMemory(prexy.pid, 'VmRSS')
    const readings: Reading[] = []
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (readings.length === CLIENTS && readings.every(({ count }) => count >= bodyBytes - MAX_HELD_BYTES)) resolve()
      }
      for (let i = 0; i < CLIENTS; i++) readings.push(startReading(prexy.port, look))
    })
    const growth = processMemory(prexy.pid, 'VmRSS') - before
    console.log(`held text: ${CLIENTS} bodies of ${BODY_BYTES / KB} KB: ${growth.toFixed(1)} MiB`)
    expect(growth).toBeLessThan((2 * CLIENTS * MAX_HELD_BYTES) / (KB * KB) + SLACK_MIB)
    release()
    await Promise.all(readings.map(({ ended }) => ended))
    expect(new Set(readings.map(({ count }) => count))).toEqual(new Set([bodyBytes]))
  },
)

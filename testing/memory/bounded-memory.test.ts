/**
 * Memory does not grow with the body: peak minus what stood after the first 64 MB, over 2 GB in the long run and a share
 * of it otherwise, for `prexy replace` and for the proxy. Output is compared byte for byte on the way.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const MIB = 1_048_576
const SETTLED_BYTES = 64 * MIB
const TOTAL_BYTES = (process.env.PREXY_LONG === '1' ? 2_048 : 256) * MIB
const MAX_GROWTH_MIB = process.versions.bun === undefined ? 16 : 32
const TIMEOUT_MS = process.env.PREXY_LONG === '1' ? 300_000 : 60_000

const PREXY = fileURLToPath(new URL('../../apps/prexy/bin/prexy.mjs', import.meta.url))
const RULES = [
  '--text',
  'www.example.org',
  '--with',
  'www.example.de',
  '--regex',
  'UA-[0-9]+-[0-9]+',
  '--with',
  'UA-99-1',
]

const LINE = `<p><a href="https://www.example.org/x">the shop</a> lorem ipsum www.example.or dolor UA-123-45 sit amet UA-</p>\n`
const BLOCK = Buffer.from(LINE.repeat(600))
const REWRITTEN = Buffer.from(
  LINE.replace('www.example.org', 'www.example.de').replace('UA-123-45', 'UA-99-1').repeat(600),
)
const BLOCK_COUNT = Math.ceil(TOTAL_BYTES / BLOCK.length)

const hasProc = existsSync('/proc/self/status')

test(`prexy replace over ${TOTAL_BYTES / MIB} MiB`, { timeout: TIMEOUT_MS }, async (context) => {
  if (!hasProc) return context.skip('memory is read from /proc, which this system has not')
  const child = start(['replace', ...RULES])
  const { stdin, stdout, pid } = child
  if (stdin === null || stdout === null || pid === undefined) throw new Error('prexy did not start')
  const exit = once(child, 'exit')
  const gauge = new MemoryGauge(pid)
  const [length] = await Promise.all([compareOutput(stdout, gauge), writeBlocks(stdin)])
  expect(await exit).toEqual([0, null])
  expect(length).toBe(REWRITTEN.length * BLOCK_COUNT)
  expect(gauge.growthMiB()).toBeLessThan(MAX_GROWTH_MIB)
})

test(`the proxy with a body of ${TOTAL_BYTES / MIB} MiB`, { timeout: TIMEOUT_MS }, async (context) => {
  if (!hasProc) return context.skip('memory is read from /proc, which this system has not')
  const origin = createServer((_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    void writeBlocks(response)
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    origin.closeAllConnections()
    origin.close()
  })
  const originPort = portOf(origin.address())
  const child = start([`http://127.0.0.1:${originPort}`, '--listen', '127.0.0.1:0', ...RULES])
  if (child.pid === undefined || child.stderr === null) throw new Error('prexy did not start')
  const gauge = new MemoryGauge(child.pid)
  const url = await readAddress(child, originPort)
  const response = await new Promise<IncomingMessage>((resolve, reject) => get(url, resolve).once('error', reject))
  expect(response.statusCode).toBe(200)
  expect(await compareOutput(response, gauge)).toBe(REWRITTEN.length * BLOCK_COUNT)
  expect(gauge.growthMiB()).toBeLessThan(MAX_GROWTH_MIB)
})

/** Watches one process: what it holds once the first bytes have gone through, and the most it ever held. */
class MemoryGauge {
  readonly #pid: number
  #settledKiB: number | undefined
  #peakKiB = 0

  constructor(pid: number) {
    this.#pid = pid
  }

  /** To be called as output arrives, and while the process still runs. */
  note(outputBytes: number): void {
    const status = readFileSync(`/proc/${this.#pid}/status`, 'latin1')
    const read = (field: string): number => Number(new RegExp(`^${field}:\\s*(\\d+) kB`, 'm').exec(status)?.[1])
    if (this.#settledKiB === undefined && outputBytes >= SETTLED_BYTES) this.#settledKiB = read('VmRSS')
    this.#peakKiB = Math.max(this.#peakKiB, read('VmHWM'))
  }

  growthMiB(): number {
    if (this.#settledKiB === undefined) throw new Error('the body was too short to say what memory settles at')
    const growth = (this.#peakKiB - this.#settledKiB) / 1_024
    process.stdout.write(
      `memory: ${(this.#settledKiB / 1_024).toFixed(1)} MiB after 64 MiB, ${growth.toFixed(1)} MiB more at the peak\n`,
    )
    return growth
  }
}

function start(args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [PREXY, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stderr.pipe(process.stderr)
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child
}

async function writeBlocks(to: Writable): Promise<void> {
  for (let i = 0; i < BLOCK_COUNT; i++) if (!to.write(BLOCK)) await once(to, 'drain')
  to.end()
}

/** The number of bytes; throws at the first that is not as it must be. */
async function compareOutput(from: Readable, gauge: MemoryGauge): Promise<number> {
  let length = 0
  let noted = 0
  for await (const data of from) {
    const chunk: Buffer = data
    for (let at = 0; at < chunk.length; ) {
      const offset = (length + at) % REWRITTEN.length
      const size = Math.min(chunk.length - at, REWRITTEN.length - offset)
      if (chunk.compare(REWRITTEN, offset, offset + size, at, at + size) !== 0) {
        throw new Error(`the output differs within ${size} bytes after ${length + at}`)
      }
      at += size
    }
    length += chunk.length
    if (length - noted >= 4 * MIB) {
      gauge.note(length)
      noted = length
    }
  }
  return length
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return address.port
}

/** The address in the line that the proxy prints once it listens. */
async function readAddress(child: ChildProcess, originPort: number): Promise<string> {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (data: string) => {
      text += data
      child.emit('said')
    })
  }
  for (;;) {
    const ports = [...text.matchAll(/http:\/\/127\.0\.0\.1:(\d+)/g)].map((match) => Number(match[1]))
    const port = ports.find((candidate) => candidate !== originPort)
    if (port !== undefined) return `http://127.0.0.1:${port}/`
    await once(child, 'said')
  }
}

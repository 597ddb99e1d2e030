/// <reference lib="dom" />
/** The inspector in Chromium: a recording opened, scrolled and filtered, and live events. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { CHROMIUM_MISSING, findChromium } from '@prexy/testing/chromium'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { InspectorDefinition } from './definition.ts'
import { ratioName } from './engine-bench.ts'
import { recordingOf } from './inspector-events.ts'
import { heldBytes } from './page-memory.ts'
import { frameWork } from './page-trace.ts'
import { currentLoad, type Result } from './record.ts'

const LIVE = fileURLToPath(new URL('./inspector-live.js', import.meta.url))
const TOKEN = 'inspector-bench-token'
const MEGABYTE = 1_000_000
const FILTER_ROUNDS = 5
/** For what takes seconds. */
const WAIT_MS = 90_000
/** Pixels a second, as from a wheel that is turned fast. */
const SCROLL_SPEED = 6_000
const SCROLL_SECONDS = 8

export async function runInspectorBench(root: string, definition: InspectorDefinition): Promise<Result[]> {
  const path = findChromium()
  if (path === undefined) {
    process.stdout.write(`bench: ${CHROMIUM_MISSING}\n`)
    return []
  }
  const files = recordingFiles(root, definition.events)
  const plain = await servePlain(root)
  const ours = await startLive()
  const results: Result[] = []
  try {
    for (let round = 1; round <= definition.samples; round++) {
      process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
      const browser = await chromium.launch({
        executablePath: path,
        args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
      })
      try {
        results.push(...(await measure(browser, definition, { files, plain: plain.address, ours })))
      } finally {
        await browser.close()
      }
    }
  } finally {
    plain.server.close()
    plain.server.closeAllConnections()
    ours.stop()
  }
  return results
}

interface Subjects {
  readonly files: { readonly segment: string; readonly plain: string }
  readonly plain: string
  readonly ours: LiveSource
}

async function measure(browser: Browser, definition: InspectorDefinition, subjects: Subjects): Promise<Result[]> {
  const results: Result[] = []
  const runtime = `chromium ${browser.version()}`
  const add = (subject: string, value: number, unit: Result['unit']): void => {
    results.push({ subject, value, unit, runtime, load: currentLoad() })
    process.stdout.write(`bench: ${subject}: ${value.toFixed(2)} ${unit}\n`)
  }
  const { events, plainRows } = definition
  const all = `${events.toLocaleString('en')} of ${events.toLocaleString('en')}`

  const plainPage = await newPage(browser)
  await plainPage.goto(`${subjects.plain}?rows=${plainRows}`)
  const plain = await timeToList(plainPage, subjects.files.plain, {
    counts: '#count',
    cells: 'td',
    text: `${events} of ${events}`,
  })
  add('plain', plain.all, 'ms')
  add('plain, heap', (await heldBytes(plainPage)) / MEGABYTE, 'MB')
  await plainPage.context().close()

  const page = await newPage(browser)
  await signIn(page, subjects.ours)
  const opened = await timeToList(page, subjects.files.segment, {
    counts: '.counts',
    cells: '.rows [role=gridcell]',
    text: all,
    opens: '.rows .row',
  })
  add('inspector', opened.first, 'ms')
  add('inspector, all events', opened.all, 'ms')
  add('inspector, all events / plain', opened.all / plain.all, 'x')
  for (const goal of definition.goals) {
    if (goal.subject === ratioName({ subject: 'inspector', against: 'plain' }))
      add(goal.subject, opened.first / plain.all, 'x')
  }
  await page.getByRole('button', { name: 'close the event' }).click()
  for (const { name, work } of await scrollFrames(browser, page)) add(name, work, 'ms')
  let slowest = 0
  for (const filter of definition.filters) {
    const ms = await timeToFilter(page, filter)
    add(`filter ${filter}`, ms, 'ms')
    slowest = Math.max(slowest, ms)
  }
  add('slowest indexed filter', slowest, 'ms')
  add('heap', (await heldBytes(page)) / MEGABYTE, 'MB')
  await page.context().close()

  const live = await newPage(browser)
  await signIn(live, subjects.ours)
  // What the machine does to any page at the same time.
  const empty = await newPage(browser)
  const emptyFrames = await watchFrames(empty)
  const { longest, over, shown } = await watchLive(live, subjects.ours, definition)
  add('live, longest frame of an empty page', Math.max(...(await emptyFrames())), 'ms')
  add('live, longest frame', longest, 'ms')
  add('live, frames over 100 ms', over, 'frames')
  add('live, shown', shown / definition.live.seconds, 'events/s')
  await live.context().close()
  await empty.context().close()
  return results
}

async function newPage(browser: Browser): Promise<Page> {
  return await (await browser.newContext({ viewport: { width: 1_280, height: 800 } })).newPage()
}

async function signIn(page: Page, { address }: LiveSource): Promise<void> {
  await page.goto(`${address}#token=${TOKEN}`)
  await page.locator('.status').getByText('live').waitFor()
}

/**
 * From the choice of a file to a list that answers, in which a row is opened where there is something to open, and to all
 * events in the list: milliseconds.
 */
async function timeToList(
  page: Page,
  file: string,
  look: {
    readonly counts: string
    readonly cells: string
    readonly text: string
    /** What is clicked to open the first event. */
    readonly opens?: string
  },
): Promise<{ first: number; all: number }> {
  const outcome = page.evaluateHandle((wanted) => {
    const input = document.querySelector('input[type=file]')
    return {
      done: new Promise<{ first: number; all: number }>((resolve) => {
        input?.addEventListener(
          'change',
          () => {
            const started = performance.now()
            let first: number | undefined
            const check = (): void => {
              const text = document.querySelector(wanted.cells)?.textContent ?? ''
              if (text !== '' && first === undefined) {
                if (document.querySelector('.detail .facts, .detail table') !== null || wanted.opens === undefined)
                  first = performance.now() - started
                else document.querySelector<HTMLElement>(wanted.opens)?.click()
              }
              if (text !== '' && document.querySelector(wanted.counts)?.textContent?.startsWith(wanted.text) === true) {
                // Behind the frame in which it is painted, when the page's thread has nothing else to do.
                requestAnimationFrame(() =>
                  setTimeout(() => resolve({ first: first ?? 0, all: performance.now() - started })),
                )
              } else requestAnimationFrame(check)
            }
            check()
          },
          { capture: true, once: true },
        )
      }),
    }
  }, look)
  const handle = await outcome
  await page.locator('input[type=file]').setInputFiles(file)
  return await Promise.race([
    handle.evaluate(({ done }) => done),
    new Promise<never>((_, reject) => setTimeout(() => reject(new Error(`${file} was not listed in time`)), WAIT_MS)),
  ])
}

async function timeToFilter(page: Page, filter: string): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < FILTER_ROUNDS; round++) {
    times.push(await setFilter(page, filter))
    await setFilter(page, '')
  }
  return times.sort((a, b) => a - b)[FILTER_ROUNDS >> 1]
}

/** From the input event to the frame behind which the list of what fits is on the screen. */
async function setFilter(page: Page, filter: string): Promise<number> {
  return await page.evaluate(
    async (text) =>
      await new Promise<number>((resolve) => {
        const field = document.querySelector<HTMLInputElement>('[role=combobox][aria-label=filter]')
        const counts = (): string => document.querySelector('.counts')?.textContent ?? ''
        const before = counts()
        const started = performance.now()
        if (field === null) throw new Error('there is no filter')
        field.value = text
        field.dispatchEvent(new Event('input', { bubbles: true }))
        const check = (): void => {
          const isBusy = document.querySelector('[role=grid]')?.getAttribute('aria-busy') === 'true'
          if (counts() !== before && !isBusy)
            requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - started)))
          else requestAnimationFrame(check)
        }
        check()
      }),
    filter,
  )
}

/** Work of the page's own thread per frame while the list is scrolled by a wheel, and while it jumps in each frame. */
async function scrollFrames(browser: Browser, page: Page): Promise<{ name: string; work: number }[]> {
  await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline', 'devtools.timeline'] })
  const session = await page.context().newCDPSession(page)
  await session.send('Input.synthesizeScrollGesture', {
    x: 600,
    y: 500,
    yDistance: -SCROLL_SPEED * SCROLL_SECONDS,
    speed: SCROLL_SPEED,
    gestureSourceType: 'mouse',
  })
  await page.evaluate(
    async (seconds) =>
      await new Promise<void>((resolve) => {
        const scroller = document.querySelector('.scroller')
        const until = performance.now() + seconds * 1_000
        const height = scroller?.scrollHeight ?? 0
        let step = 0
        const jump = (): void => {
          if (scroller === null || performance.now() > until) resolve()
          else {
            scroller.scrollTop = ((step++ * 7_919) % 1_000) * (height / 1_000)
            requestAnimationFrame(jump)
          }
        }
        jump()
      }),
    SCROLL_SECONDS / 2,
  )
  const frames = frameWork(await browser.stopTracing()).sort((a, b) => a - b)
  process.stdout.write(`bench: ${frames.length} frames while scrolling\n`)
  return [
    { name: 'scroll frame, p95', work: frames[Math.floor(frames.length * 0.95)] ?? 0 },
    { name: 'scroll frame, most', work: frames.at(-1) ?? 0 },
  ]
}

/** Begins to watch; the function gives the times between frames since then, in milliseconds. */
async function watchFrames(page: Page): Promise<() => Promise<readonly number[]>> {
  const watch = await page.evaluateHandle(() => {
    const gaps: number[] = []
    let last = performance.now()
    const frame = (now: number): void => {
      gaps.push(now - last)
      last = now
      requestAnimationFrame(frame)
    }
    requestAnimationFrame((now) => {
      last = now
      requestAnimationFrame(frame)
    })
    return gaps
  })
  return async () => await watch.evaluate((list) => list)
}

async function watchLive(
  page: Page,
  source: LiveSource,
  { live: { eventsPerSecond, seconds } }: InspectorDefinition,
): Promise<{ longest: number; over: number; shown: number }> {
  const frames = await watchFrames(page)
  const published = await source.publish(eventsPerSecond, seconds)
  await page.waitForFunction(
    (count) => {
      const [, shown, missed] =
        /of ([\d,]+) events(?:.*?([\d,]+) missed)?/.exec(document.querySelector('.counts')?.textContent ?? '') ?? []
      const gone = /([\d,]+) older/.exec(document.querySelector('.counts')?.textContent ?? '')?.[1]
      const number = (text: string | undefined): number => Number((text ?? '0').replaceAll(',', ''))
      return number(shown) + number(missed) + number(gone) >= count
    },
    published,
    { timeout: WAIT_MS },
  )
  const gaps = await frames()
  const missed = await page.evaluate(() =>
    Number(
      (/([\d,]+) missed/.exec(document.querySelector('.counts')?.textContent ?? '')?.[1] ?? '0').replaceAll(',', ''),
    ),
  )
  return {
    longest: Math.max(...gaps),
    over: gaps.filter((gap) => gap > 100).length,
    shown: published - missed,
  }
}

interface LiveSource {
  readonly address: string
  /** The events that the feed has had since it was opened. */
  publish(rate: number, seconds: number): Promise<number>
  stop(): void
}

async function startLive(): Promise<LiveSource> {
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(process.execPath, [LIVE, TOKEN], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines: Interface = createInterface(child.stdout)
  const next = lines[Symbol.asyncIterator]()
  const line = async (): Promise<string> => {
    const { value, done } = await next.next()
    if (done === true) throw new Error('the live source ended')
    return value
  }
  return {
    address: await line(),
    async publish(rate, seconds) {
      child.stdin.write(`${rate} ${seconds}\n`)
      return Number(await line())
    },
    stop() {
      child.stdin.end()
      child.kill('SIGTERM')
    },
  }
}

function recordingFiles(root: string, events: number): Subjects['files'] {
  const folder = join(root, '.build')
  mkdirSync(folder, { recursive: true })
  const files = {
    segment: join(folder, `inspector-${events}.prexyrec`),
    plain: join(folder, `inspector-${events}.msgpack`),
  }
  if (!existsSync(files.segment) || !existsSync(files.plain)) {
    const { segment, plain } = recordingOf(events)
    writeFileSync(files.segment, segment)
    writeFileSync(files.plain, plain)
  }
  process.stdout.write(`bench: ${events} events, ${(statSync(files.segment).size / MEGABYTE).toFixed(1)} MB\n`)
  return files
}

const TYPES: Readonly<Record<string, string | undefined>> = {
  html: 'text/html',
  css: 'text/css',
  js: 'text/javascript',
  mjs: 'text/javascript',
}

/** The baseline, beside the codec that it loads. */
async function servePlain(root: string): Promise<{ server: Server; address: string }> {
  const folder = join(root, 'bench/peers/plain-inspector')
  const codec = join(root, 'node_modules/@msgpack/msgpack/dist.esm')
  const server = createServer((request, response) => {
    const name = new URL(request.url ?? '/', 'http://plain').pathname.slice(1)
    const file = name.startsWith('msgpack/') ? join(codec, name.slice(8)) : join(folder, name || 'index.html')
    const type = TYPES[file.slice(file.lastIndexOf('.') + 1)]
    if (type === undefined || !existsSync(file)) {
      response.writeHead(404).end()
      return
    }
    response.writeHead(200, { 'content-type': type }).end(readFileSync(file))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return { server, address: `http://127.0.0.1:${address.port}/` }
}

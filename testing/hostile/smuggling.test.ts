/**
 * Request smuggling: payloads that readers cut in different ways go through prexy to servers that read HTTP in their own
 * ways, each in front of a recorder. What every one of them understood must be what prexy sent, and what prexy sent what
 * the payload is; anything else must have been refused. A request after each payload, over the same connection to the
 * origin, shows that nothing was left there.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPrexyServer } from '@prexy/testing/prexy-server'
import { connectRawClient } from '@prexy/testing/raw-client'
import { readRequestsOf } from '@prexy/testing/request-reading'
import { expect, onTestFinished, test } from 'vitest'
import { missingOrigin, type Origin, PROGRAMS, startOrigin } from './origins.ts'
import { type Recorder, type SeenRequest, startRecorder } from './recorder.ts'
import { SMUGGLING_PAYLOADS, type SmugglingPayload } from './smuggling-payloads.ts'
import { startTap } from './tap.ts'

const REFUSALS = [400, 405, 411, 413, 414, 417, 431, 501, 505]

/** `npm test` takes every third payload, the long run each. */
const STEP = process.env['PREXY_LONG'] === '1' ? 1 : 3
const PAYLOADS = [...SMUGGLING_PAYLOADS.entries()].filter(([id]) => id % STEP === 0)

const probe = (id: number): SeenRequest => ({ method: 'GET', target: `/probe/${id}`, body: '' })
const sentinel = (id: number): SeenRequest => ({ method: 'GET', target: `/sentinel/${id}`, body: '' })

/** What the recorder must have got from this origin. */
function expectedOf(payload: SmugglingPayload, id: number, origin: string): readonly SeenRequest[] {
  const sees = payload.sees?.(id)
  if (sees === undefined) return []
  const wanted = payload.unwantedBy?.[origin] === undefined ? sees : sees.slice(1)
  return payload.last === true ? wanted : [...wanted, probe(id)]
}

test('there are payloads enough, and their names differ', () => {
  const names = new Set(SMUGGLING_PAYLOADS.map(({ name }) => name))
  expect(names.size).toBe(SMUGGLING_PAYLOADS.length)
  expect(SMUGGLING_PAYLOADS.length).toBeGreaterThanOrEqual(60)
  const share = `${PAYLOADS.length} of ${SMUGGLING_PAYLOADS.length} payloads`
  console.log(`smuggling: ${share} to each of ${PROGRAMS.length + 1} origins`)
})

for (const name of ['node:http', ...PROGRAMS] as const) {
  const missing = name === 'node:http' ? undefined : missingOrigin(name)
  test(`${name} understands what prexy sends, and prexy sends nothing that reads in two ways`, async (context) => {
    if (missing !== undefined) return context.skip(missing)
    const recorder = await startRecorder()
    onTestFinished(() => recorder.stop())
    const folder = mkdtempSync(join(tmpdir(), 'prexy-hostile-'))
    chmodSync(folder, 0o777)
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const origin = name === 'node:http' ? nodeOrigin(recorder) : await startOrigin(name, folder, recorder.port)
    onTestFinished(() => origin.stop())
    const tap = await startTap(origin.port)
    onTestFinished(() => tap.stop())
    const file = join(folder, 'prexy.yaml')
    writeFileSync(file, `listen: 127.0.0.1:0\nupstream: http://127.0.0.1:${tap.port}\nlog: off\n`)
    const prexy = await startPrexyServer(['serve', file])
    onTestFinished(async () => {
      await prexy.stop()
    })

    const wrong: unknown[] = []
    for (const [id, payload] of PAYLOADS) {
      const problem = await play(prexy.port, payload, id, name)
      if (problem !== undefined) wrong.push([payload.name, problem])
    }
    expect(wrong).toEqual([])
    expect(await prexy.stop()).toBe(0)
    await tap.stop()
    await origin.stop()

    for (const [id, payload] of PAYLOADS) {
      const seen = recorder.seen.filter(({ target }) => target.endsWith(`/${id}`))
      const expected = [...expectedOf(payload, id, name), sentinel(id)]
      if (JSON.stringify(seen) !== JSON.stringify(expected)) wrong.push([payload.name, seen, expected])
    }
    expect(wrong).toEqual([])
    for (const { toOrigin, fromOrigin } of tap.connections()) {
      const { requests, rest } = readRequestsOf(toOrigin)
      const responses = fromOrigin.match(/HTTP\/1\.1 [2-9]\d\d/g)?.length ?? 0
      // One given up in the middle may have been answered.
      expect(responses - requests.length).toBeLessThanOrEqual(rest === '' ? 0 : 1)
      expect(responses).toBeGreaterThanOrEqual(requests.length)
    }
  })
}

/** The recorder alone is the origin. */
function nodeOrigin({ port }: Recorder): Origin {
  return { name: 'node:http', port, stop: async () => {} }
}

/** Sends one payload with a request behind it, then a request of somebody else; says what is wrong with the answers. */
async function play(port: number, payload: SmugglingPayload, id: number, name: string): Promise<string | undefined> {
  const client = await connectRawClient(port)
  const behind = `GET /probe/${id} HTTP/1.1\r\nHost: origin.test\r\nConnection: close\r\n\r\n`
  await client.send(payload.raw(id) + behind)
  const text = (await client.reader.toEnd()).toString('latin1')
  client.destroy()
  const saw = [...text.matchAll(/^x-saw: (.*)\r$/gim)].map((match) => match[1])
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d\d\d) /g)].map((match) => Number(match[1])).filter((s) => s >= 200)
  const other = await connectRawClient(port)
  const after = await other.get(`/sentinel/${id}`)
  other.destroy()
  if (after.value('x-saw') !== `/sentinel/${id}`) return `somebody else got ${after.head}`
  const expected = expectedOf(payload, id, name)
  if (payload.sees === undefined) {
    const refused = statuses.length === 1 && REFUSALS.includes(statuses[0]) && saw.length === 0
    return refused ? undefined : `not refused: ${statuses.join()} ${saw.join()}`
  }
  const asked = expected.map(({ target }) => target)
  const unwanted = payload.unwantedBy?.[name]
  const answered = (unwanted === undefined ? [] : [unwanted]).concat(asked.map(() => 200))
  const served = statuses.join() === answered.join() && saw.join() === asked.join()
  return served ? undefined : `not served: ${statuses.join()} ${saw.join()}`
}

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Outcome, runPrexy } from './run-prexy.ts'

// Several processes are started, and the machine may have other work.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const folder = mkdtempSync(join(tmpdir(), 'prexy-try-recorded-'))
const har = join(folder, 'shop.har')
const recordings = join(folder, 'recordings')

/** No such host is there: nothing may be asked for. */
const entry = (path: string, response: object, request: object = {}): object => ({
  startedDateTime: '2026-12-01T10:00:00.000Z',
  time: 5,
  request: { method: 'GET', url: `https://shop.invalid${path}`, httpVersion: 'HTTP/2', headers: [], ...request },
  response: { status: 200, httpVersion: 'HTTP/2', ...response },
})
const html = (text: string, headers: object[] = []): object => ({
  headers: [{ name: 'content-type', value: 'text/html; charset=utf-8' }, ...headers],
  content: { mimeType: 'text/html', size: text.length, text },
})

const ENTRIES = [
  entry('/', html('<p>Acme sells.</p>\n<p>Acme again</p>', [{ name: 'content-encoding', value: 'br' }])),
  entry('/second', html('Ächt Acme', [{ name: 'etag', value: '"1"' }]), {
    method: 'POST',
    postData: { mimeType: 'text/plain', text: 'x' },
  }),
  entry('/none', html('<p>nothing here</p>')),
  entry('/picture', {
    headers: [{ name: 'content-type', value: 'image/png' }],
    content: { text: 'QWNtZQ==', encoding: 'base64' },
  }),
  entry('/moved', { status: 302, headers: [{ name: 'location', value: '/' }], content: { size: 0 } }),
  entry('/empty', { headers: [], content: { size: 900 } }),
  entry('/aborted', { status: 0, headers: [], content: {} }),
  entry('/split', html('Acme', [{ name: 'x', value: 'a\r\nset-cookie: b' }])),
]
const harOf = (entries: readonly object[]): string => JSON.stringify({ log: { version: '1.2', entries } })

beforeAll(async () => {
  writeFileSync(har, `\ufeff\n${harOf(ENTRIES)}`)
  const imported = await runPrexy(['record', 'import', har, '--directory', recordings])
  expect(imported).toMatchObject({ code: 0 })
})
afterAll(() => rmSync(folder, { recursive: true }))

async function attempt(path: string, ...args: string[]): Promise<Outcome> {
  return await runPrexy(['try', '--har', path, ...args])
}

const RULES = ['--text', 'Acme', '--with', 'Zenith', '--text', 'absent', '--with', 'x']

test('every response with its changes, then what became of all of them', async () => {
  const { code, stdout, stderr } = await attempt(har, ...RULES)
  expect([code, stderr]).toEqual([0, ''])
  // What stands for the rules is another with every version of the engine.
  expect(stdout.replace(/-p[0-9a-f]{16}/, '-RULES')).toMatchInlineSnapshot(`
    "https://shop.invalid/: 200, 36 B as it came

    @@ line 1 @@ rule 1, text "Acme"
    -<p>Acme sells.</p>
    +<p>Zenith sells.</p>

    @@ line 2 @@ rule 1, text "Acme"
    -<p>Acme again</p>
    +<p>Zenith again</p>

    Header fields:
    +Vary: Accept-Encoding

    Rules:
      1  text "Acme": 2
      2  text "absent": 0

    https://shop.invalid/second: 200, 10 B as it came

    @@ line 1 @@ rule 1, text "Acme"
    -Ächt Acme
    +Ächt Zenith

    Header fields:
    -etag: "1"
    +etag: W/"1-RULES"
    +Vary: Accept-Encoding

    Rules:
      1  text "Acme": 1
      2  text "absent": 0

    8 exchanges, 4 tried, 2 changed
      1 unchanged: nothing was found
      1 unchanged: no rule is for this media type; see types
      2 not tried: its body was not recorded
      1 not tried: there was no response
      1 not tried: it cannot be said again
      1  text "Acme": 3, in 2 of them
      2  text "absent": 0, in 0 of them
    "
  `)
})

test('as lines of JSON, the last of which counts', async () => {
  const { code, stdout } = await attempt(har, ...RULES, '--json', '--max-changes', '2')
  expect(code).toBe(0)
  const [first, second, summary, ...rest] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(rest).toEqual([])
  expect(first).toMatchObject({ url: 'https://shop.invalid/', method: 'GET', places: 2, rewritten: true })
  expect(first.changes[0]).toMatchObject({ line: 1, rules: [1] })
  expect(second).toMatchObject({ url: 'https://shop.invalid/second', method: 'POST', places: 1 })
  expect(summary).toEqual({
    summary: true,
    exchanges: 8,
    tried: 4,
    changed: 2,
    unchanged: { 'nothing was found': 1, 'no rule is for this media type; see types': 1 },
    untried: { 'its body was not recorded': 2, 'there was no response': 1, 'it cannot be said again': 1 },
    rules: [
      { rule: 1, about: 'text "Acme"', hits: 3, responses: 2 },
      { rule: 2, about: 'text "absent"', hits: 0, responses: 0 },
    ],
  })
})

test('a recording, one of its segments and its export say the same', { timeout: 120_000 }, async () => {
  const exported = join(folder, 'export.har')
  expect((await runPrexy(['record', 'export', recordings, '--format', 'har', '-o', exported])).code).toBe(0)
  const [segment] = readdirSync(recordings).filter((name) => name.endsWith('.prexyrec'))
  const [one, ...others] = await Promise.all(
    [har, recordings, join(recordings, segment), exported].map((path) => attempt(path, ...RULES, '--json')),
  )
  for (const other of others) expect(other).toEqual(one)
})

test('conditions on host and request are those of what was recorded, or of --host', async () => {
  const rules = join(folder, 'rules.yaml')
  writeFileSync(rules, '- {text: Acme, with: Zenith, hosts: copy.example, methods: POST}\n')
  expect((await attempt(har, '--rules', rules)).code).toBe(1)
  const { code, stdout } = await attempt(har, '--rules', rules, '--host', 'copy.example')
  expect(code).toBe(0)
  expect(stdout).toContain('1  text "Acme": 1, in 1 of them')
})

test('secrets of a HAR file are not shown unless they are asked for', async () => {
  const file = join(folder, 'secret.har')
  writeFileSync(file, harOf([entry('/?token=canary-1', html('password=canary-2 Acme'))]))
  expect((await attempt(file, ...RULES)).stdout).not.toContain('canary')
  expect((await attempt(file, ...RULES, '--secrets')).stdout).toContain('canary-2')
})

test('a body that was recorded in part is tried as far as it is there', async () => {
  const file = join(folder, 'part.har')
  const content = { size: 9_000, text: 'Acme' }
  const own = {
    upstreamResponse: { status: 200, headers: [], body: { bytes: 9_000, text: 'Acme and', omitted: 'length' } },
  }
  const passed = { kind: 'passed', reason: 'no-rules' }
  writeFileSync(
    file,
    harOf([{ ...entry('/', { ...html('x'), content }), _prexy: { ...own, treatment: passed } }]).replace(
      '"headers":[],"body"',
      '"headers":[{"name":"content-type","value":"text/html"}],"body"',
    ),
  )
  const { code, stdout } = await attempt(file, ...RULES)
  expect(code).toBe(0)
  expect(stdout).toContain('+Zenith and')
  expect(stdout).toContain('only 8 B of 9.0 kB were recorded')
})

describe('exit codes', () => {
  test('1 where nothing is changed', async () => {
    expect((await attempt(har, '--text', 'absent', '--with', 'x')).code).toBe(1)
  })

  test.each<[string, string, string]>([
    ['no.har', '', 'no such file'],
    ['text.har', 'hello', ''],
    ['array.har', '{"log":{}}', 'is no HAR file'],
    ['none.har', harOf([]), 'holds no exchange'],
    ['bodiless.har', harOf([entry('/', { headers: [], content: {} })]), 'nothing could be tried'],
  ])('2 for %s', async (name, text, problem) => {
    const file = join(folder, name)
    if (text !== '') writeFileSync(file, text)
    const { code, stderr } = await attempt(file, ...RULES)
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })

  test.each([
    [['http://a/', '--har', har], 'takes the place of the address'],
    [['--har', har, '-L'], '--location: for a page that is fetched'],
    [['--har', har, '-H', 'a: b', '--max-bytes', '5'], '--header, --max-bytes: for a page'],
    [[], 'which page?'],
    [['http://a/', '--secrets'], '--secrets goes with --har'],
  ])('2 for %j', async (args, problem) => {
    const { code, stderr } = await runPrexy(['try', ...args, ...RULES])
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })
})

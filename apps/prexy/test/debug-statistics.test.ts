import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { collect, runPrexy, startPrexy, waitFor } from './run-prexy.ts'

vi.setConfig({ testTimeout: 60_000 })

const ROWS = ['CPU', 'memory', 'heap', 'allocated', 'collections', 'event loop', 'system']

/** Row by name, of the process that wrote last. */
function rowsOf(stderr: string): ReadonlyMap<string, string> {
  const lines = stderr.slice(stderr.lastIndexOf('prexy: process')).split('\n').slice(1)
  return new Map(lines.map((line) => [line.slice(2, 14).trim(), line.slice(15)]))
}

test('a run with --debug ends with what it used, and prints nothing of it without', async () => {
  const input = 'a b c d e f g\n'.repeat(200_000)
  const { code, stdout, stderr } = await runPrexy(['--debug', 'replace', '--text', 'b', '--with', 'X'], input)
  expect(code).toBe(0)
  expect(stdout).toBe(input.replaceAll('b', 'X'))
  const rows = rowsOf(stderr)
  for (const row of ROWS) expect(rows.get(row)).toBeTruthy()
  expect(rows.get('memory')).toMatch(/^[\d.]+ MB resident, [\d.]+ MB at most; .+ of it buffers$/)
  expect(rows.get('allocated')).toMatch(/^[\d.]+ MB on the heap of the main thread, /)
  expect(rows.get('event loop')).toMatch(/^(?:\d+% busy|how busy it was, this runtime does not tell); /)
  const without = await runPrexy(['replace', '--text', 'b', '--with', 'X'], 'b')
  expect(without).toMatchObject({ code: 0, stdout: 'X', stderr: '' })
})

test('collections are told by kind, with their longest pause', async () => {
  const { stderr } = await runPrexy(['--debug', 'config', 'schema'])
  expect(rowsOf(stderr).get('collections')).toMatch(
    /^(?:none|\d+ \w+ in \d+\.\d ms, the longest \d+\.\d(?:; \d+ \w+ in \d+\.\d ms, the longest \d+\.\d)*)$/,
  )
})

test('each process of a server with workers tells its own when it was told to stop', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prexy-debug-'))
  try {
    const file = join(folder, 'prexy.yaml')
    writeFileSync(file, 'listen: 127.0.0.1:0\nroutes: [{path: /**, respond: {body: hello}}]\n')
    const child = startPrexy(['--debug', 'serve', file, '--workers', '2'])
    const outcome = collect(child)
    await waitFor(child.stderr, /\d workers/)
    child.kill('SIGTERM')
    const { code, stderr } = await outcome
    expect(code).toBe(0)
    const processes = [...stderr.matchAll(/^prexy: process (\d+) on (?:Node\.js|Bun) /gm)].map(([, pid]) => pid)
    expect(new Set(processes).size).toBe(3)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('an error of use is told, too', async () => {
  const { code, stderr } = await runPrexy(['--debug', 'replace'])
  expect(code).toBe(2)
  expect(stderr).toContain('no rules')
  expect(rowsOf(stderr).size).toBeGreaterThan(ROWS.length - 1)
})

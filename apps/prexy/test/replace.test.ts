import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  openSync,
  truncateSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { execFileSync, spawnSync } from 'node:child_process'
import { on, once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { BIN, collect, runPrexy, startPrexy, waitFor } from './run-prexy.ts'

const folder = mkdtempSync(join(tmpdir(), 'prexy-replace-'))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
function file(content: string): string {
  const path = join(folder, `file-${++files}.txt`)
  writeFileSync(path, content)
  return path
}

const AB = ['--text', 'a', '--with', 'b']

describe('as a filter', () => {
  test.each<[what: string, args: string[], input: string, output: string]>([
    [
      'rules of every kind in one pass',
      [
        '--text',
        'a.c',
        '--with',
        '$1',
        '--regex',
        '(\\w)é',
        '--with',
        '<$1>',
        '--domain',
        'd.example',
        '--with',
        'e.example',
      ],
      'a.c abc xé D.example',
      '$1 abc <x> e.example',
    ],
    [
      'single bytes; the rule stands for its UTF-8 bytes',
      ['--mode', 'octet', '--text', 'é', '--with', 'ü', '--regex', '\\xc3', '--with', '?'],
      'éü',
      'ü?\ufffd',
    ],
    ['an empty input', AB, '', ''],
  ])('%s', async (_what, args, input, output) => {
    expect(await runPrexy(['replace', ...args], input)).toEqual({ code: 0, signal: null, stdout: output, stderr: '' })
  })

  test('rules from a file stand where --rules stands', async () => {
    const rules = file('- {text: b, with: F}\n- {regex: "(c)", with: "[$1]"}\n')
    const args = ['replace', '--text', 'a', '--with', '1', '--rules', rules, '--text', 'b', '--with', 'never']
    expect((await runPrexy(args, 'abc')).stdout).toBe('1F[c]')
  })

  test('files one after the other, each a body of its own, - is standard input', async () => {
    const args = ['replace', '--text', 'ab', '--with', 'x', file('a'), '-', file('ab\n')]
    expect((await runPrexy(args, 'b-ab-')).stdout).toBe('ab-x-x\n')
  })

  test('what is settled goes out at once', async () => {
    const child = startPrexy(['replace', ...AB])
    const line = waitFor(child.stdout, /^xb\n/)
    child.stdin.write('xa\n')
    await line
    child.stdin.end()
    expect((await collect(child)).code).toBe(0)
  })

  test('a replacement a thousand times as long as its match arrives whole', async () => {
    const args = ['replace', '--text', 'a', '--with', 'b'.repeat(1_000)]
    expect((await runPrexy(args, 'a'.repeat(10_000))).stdout.length).toBe(10_000_000)
  })

  test('a reader that has enough ends it without a word', async () => {
    const child = startPrexy(['replace', ...AB])
    child.stdin.on('error', () => {})
    const outcome = collect(child)
    child.stdin.write('a'.repeat(100_000))
    await once(child.stdout, 'readable')
    child.stdout.destroy()
    const more = setInterval(() => child.stdin.write('a'.repeat(100_000)), 5)
    const { code, stderr } = await outcome
    clearInterval(more)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('a directory as standard input is refused', async () => {
    const descriptor = openSync(folder, 'r')
    const child = spawnSync(process.execPath, [BIN, 'replace', ...AB], { stdio: [descriptor, 'pipe', 'pipe'] })
    closeSync(descriptor)
    expect(child.status).toBe(2)
    expect(child.stderr.toString()).toBe('prexy: standard input: is a directory\n')
  })

  test('a body that may not be rewritten whole is broken off with an error', async () => {
    const args = ['replace', '--regex', 'x.*y', '--with', '$&', '--max-held-bytes', '8', '--overflow', 'abort']
    const { code, stdout, stderr } = await runPrexy(args, `ab${'x'.repeat(100)}`)
    expect(code).toBe(2)
    expect(stdout).toBe(`ab${'x'.repeat(8)}`)
    expect(stderr).toBe('prexy: standard input: the body holds more than maxHeldBytes and the rule set says abort\n')
  })
})

describe('counting and exit codes', () => {
  test.each<[what: string, args: string[], input: string, code: number, output: string]>([
    ['a count is the number alone, over all rules', [...AB, '--text', 'c', '--with', 'd', '--count'], 'aac', 0, '3\n'],
    ['nothing replaced is no failure', AB, 'x', 0, 'x'],
    ['unless it is said to be one', [...AB, '--fail-if-none'], 'x', 1, 'x'],
    ['and something was', [...AB, '--fail-if-none'], 'a', 0, 'b'],
  ])('%s', async (_what, args, input, code, stdout) => {
    expect(await runPrexy(['replace', ...args], input)).toEqual({ code, signal: null, stdout, stderr: '' })
  })

  test('counts of several files have their names; one file that fails does not stop the others', async () => {
    const [one, two] = [file('aa'), file('x')]
    const outcome = await runPrexy(['replace', ...AB, '--count', one, join(folder, 'none'), two, folder])
    expect(outcome).toEqual({
      code: 2,
      signal: null,
      stdout: `${one}:2\n${two}:0\n`,
      stderr: `prexy: ${join(folder, 'none')}: there is no such file\n${folder}: is a directory\n`,
    })
  })
})

describe('--in-place', () => {
  test('rewrites the files, keeps their mode, leaves nothing behind', async () => {
    const path = file('a\n')
    chmodSync(path, 0o640)
    expect(await runPrexy(['replace', ...AB, '--in-place', path])).toEqual({
      code: 0,
      signal: null,
      stdout: '',
      stderr: '',
    })
    expect(readFileSync(path, 'utf8')).toBe('b\n')
    expect(statSync(path).mode & 0o7777).toBe(0o640)
    expect(readdirSync(folder).filter((name) => name.includes('prexy-'))).toEqual([])
  })

  test('keeps the old file under a suffix', async () => {
    const path = file('a\n')
    writeFileSync(`${path}.bak`, 'an older one')
    await runPrexy(['replace', '--in-place=.bak', ...AB, path])
    expect([readFileSync(path, 'utf8'), readFileSync(`${path}.bak`, 'utf8')]).toEqual(['b\n', 'a\n'])
  })

  test('leaves a file without a match alone, times included', async () => {
    const path = file('x\n')
    utimesSync(path, 1_000, 1_000)
    const { ino } = statSync(path)
    await runPrexy(['replace', ...AB, '--in-place=.bak', path])
    expect(statSync(path)).toMatchObject({ ino, mtimeMs: 1_000_000 })
    expect(existsSync(`${path}.bak`)).toBe(false)
  })

  test('refuses a symbolic link and does the rest', async () => {
    const target = file('a')
    const other = file('a')
    const link = join(folder, 'link')
    symlinkSync(target, link)
    const { code, stderr } = await runPrexy(['replace', ...AB, '--in-place', link, other])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `prexy: ${link}: is a symbolic link; name the file it points to\n`,
    })
    expect([readFileSync(target, 'utf8'), readFileSync(other, 'utf8')]).toEqual(['a', 'b'])
  })

  test('refuses a named pipe without waiting for a writer, and does the rest', async () => {
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    const other = file('a')
    const { code, stderr } = await runPrexy(['replace', ...AB, '--in-place', pipe, other])
    expect({ code, stderr }).toEqual({ code: 2, stderr: `prexy: ${pipe}: is no regular file\n` })
    expect(readFileSync(other, 'utf8')).toBe('b')
  })

  test('takes names as long as the file system does; a backup name beyond that leaves the file', async () => {
    const path = join(folder, 'n'.repeat(250))
    writeFileSync(path, 'a')
    expect(await runPrexy(['replace', ...AB, '--in-place', path])).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync(path, 'utf8')).toBe('b')
    const args = ['replace', '--text', 'b', '--with', 'c', '--in-place=.older', path]
    expect(await runPrexy(args)).toMatchObject({ code: 2, stderr: `prexy: ${path}: the name is too long\n` })
    expect(readFileSync(path, 'utf8')).toBe('b')
    expect(readdirSync(folder).filter((name) => name.includes('prexy-'))).toEqual([])
  })

  test('every file is rewritten though nobody reads the counts', async () => {
    const paths = Array.from({ length: 20 }, () => file('a'))
    const child = startPrexy(['replace', ...AB, '--in-place', '--count', ...paths])
    const outcome = collect(child)
    child.stdout.destroy()
    expect(await outcome).toMatchObject({ code: 0, stderr: '' })
    expect(paths.map((path) => readFileSync(path, 'utf8'))).toEqual(paths.map(() => 'b'))
  })

  test('a body that is broken off leaves the old file', async () => {
    const path = file(`ab${'x'.repeat(100)}`)
    const rule = ['--regex', 'x.*y', '--with', '$&', '--text', 'a', '--with', 'b']
    const { code } = await runPrexy([
      'replace',
      ...rule,
      '--max-held-bytes',
      '8',
      '--overflow',
      'abort',
      '--in-place',
      path,
    ])
    expect(code).toBe(2)
    expect(readFileSync(path, 'utf8')).toBe(`ab${'x'.repeat(100)}`)
    expect(readdirSync(folder).filter((name) => name.includes('prexy-'))).toEqual([])
  })

  test('a signal leaves the old file and nothing else', async () => {
    const path = file('')
    truncateSync(path, 128 * 1024 * 1024)
    const seen = watch(folder)
    const child = startPrexy(['replace', ...AB, '--in-place', path])
    const outcome = collect(child)
    for await (const [, name] of on(seen, 'change')) if (String(name).includes('prexy-')) break
    seen.close()
    child.kill('SIGTERM')
    expect((await outcome).code).toBe(143)
    expect(statSync(path).size).toBe(128 * 1024 * 1024)
    expect(readdirSync(folder).filter((name) => name.includes('prexy-'))).toEqual([])
  })

  test('counts', async () => {
    const path = file('aa')
    expect((await runPrexy(['replace', ...AB, '--count', '--in-place', path])).stdout).toBe('2\n')
    expect(readFileSync(path, 'utf8')).toBe('bb')
  })
})

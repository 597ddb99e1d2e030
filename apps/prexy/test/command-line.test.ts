import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { runCommandLine } from '../src/command-line.ts'
import { buildProgram } from '../src/program.ts'
import { BIN, runPrexy } from './run-prexy.ts'

const folder = mkdtempSync(join(tmpdir(), 'prexy-words-'))
afterAll(() => rmSync(folder, { recursive: true }))

const AB = ['--text', 'a', '--with', 'b']

/** What is said about words that are wrong, which always is exit code 2. */
async function complaintOf(args: readonly string[]): Promise<string> {
  let complaint = ''
  const code = await runCommandLine(args, (text) => {
    complaint += text
  })
  expect(code).toBe(2)
  return complaint
}

test('help and version', async () => {
  expect(await runPrexy(['--version'])).toMatchObject({ code: 0, stdout: '0.1.0\n', stderr: '' })
  const help = await runPrexy(['replace', '--help'])
  expect(help).toMatchObject({ code: 0, stderr: '' })
  expect(help.stdout).toContain('$ prexy replace --rules rules.yaml page.html')
  expect((await runPrexy(['help', 'replace'])).stdout).toBe(help.stdout)
  const nested = await runPrexy(['help', 'debug', 'match'])
  expect(nested).toMatchObject({ code: 0, stderr: '' })
  expect(nested.stdout).toContain('Usage: prexy debug match')
  const bare = await runPrexy([])
  expect(bare).toMatchObject({ code: 2, stdout: '' })
  expect(bare.stderr).toContain('Usage: prexy URL')
})

test('a fault of the program itself is one line, with its place for those who ask, and 2', () => {
  const script = `JSON.stringify = () => { throw new Error('boom\\nat length') }
    process.argv = ['node', 'prexy', 'check', '--json', ${JSON.stringify(join(import.meta.dirname, '../package.json'))}]
    await import(${JSON.stringify(pathToFileURL(BIN).href)})`
  const file = join(folder, 'fault.mjs')
  writeFileSync(file, script)
  const end = (debug: string): { status: number | null; stderr: string } =>
    spawnSync(process.execPath, [file], { encoding: 'utf8', env: { ...process.env, PREXY_DEBUG: debug } })
  expect(end('')).toMatchObject({ status: 2, stderr: 'prexy: unexpected: boom; PREXY_DEBUG=1 shows where\n' })
  expect(end('1')).toMatchObject({ status: 2, stderr: expect.stringMatching(/boom[^]*\n +at .*\.js:\d+/) })
})

const COMMANDS = buildProgram({ code: 0, complain() {} }).commands.map((command) => command.name())

describe('what is wrong with the command line', () => {
  test.each<[args: string[], message: string]>([
    [['replace'], 'no rules; add --text a --with b, or --rules rules.yaml'],
    [['replace', '--text', 'a'], "--text a has no --with; add --with and the new text, '' to delete"],
    [
      ['replace', '--text', 'a', '--text', 'b', '--with', 'c'],
      "--text a has no --with; add --with and the new text, '' to delete",
    ],
    [
      ['replace', '--with', 'a'],
      '--with stands alone; put it after the --text, --regex, --domain or --insert it is for',
    ],
    [['replace', '--text', 'a', '--with', 'b', '--with', 'c'], '--text a has two --with; keep one'],
    [['replace', '--text', '', '--with', 'c'], '--text: must not be empty'],
    [
      ['replace', '--regex', 'ab(', '--with', ''],
      '--regex: the group has no closing parenthesis; write \\( for a parenthesis\n  ab(\n    ^',
    ],
    [['replace', '--text', 'a', '--with', 'b', '--max', '0'], '--max 0 is no whole number from 1'],
    [['replace', '--rules', '/nowhere/rules.yaml'], '/nowhere/rules.yaml: there is no such file'],
    [['replace', '--rules', '-'], '--rules - reads the rules from standard input, which has no text then; name files'],
    [['replace', ...AB, '--in-place'], '--in-place needs files; name them behind the options'],
    [['replace', ...AB, '--in-place', '-'], '--in-place cannot rewrite standard input'],
    [['replace', ...AB, '--in-place=/tmp/x', 'f'], '--in-place=/tmp/x: a suffix has no /'],
    [['replace', '--txt', 'a'], "unknown option '--txt'\n(Did you mean --text?)"],
    [['replace', ...AB, '--max-held-bytes', 'x'], '--max-held-bytes x is no whole number'],
    [['replace', ...AB, '--max-held-bytes', '3'], '--max-held-bytes 3 is too little, the least is 4'],
    [
      ['replace', ...AB, '--compat', 'nginx', '--max-held-bytes', '-1'],
      '--max-held-bytes -1 is too little, the least is 0',
    ],
    [['serv', 'prexy.yaml'], 'there is no command serv; did you mean prexy serve?'],
    [['prexy.yaml'], 'prexy.yaml is no address; to serve a file: prexy serve prexy.yaml'],
    [['http://me@origin'], '"http://me@origin" has a user name; an upstream is scheme, host and port'],
    [['http://origin/path'], '"http://origin/path" has a path; an upstream is scheme, host and port'],
    [
      ['http://origin', '--listen', 'nowhere'],
      '--listen: "nowhere" is no address; write it like 8080, 127.0.0.1:8080 or [::1]:8080',
    ],
    [
      ['--listen', '19101', 'serve', 'ok.yaml'],
      '--listen stands before serve; options of a command stand behind it: prexy serve --help lists them',
    ],
    [
      [...AB, 'serve', 'ok.yaml'],
      '--text stands before serve; options of a command stand behind it: prexy serve --help lists them',
    ],
    [['serve', 'ok.yaml', 'ok.yaml'], "too many arguments for 'serve'. Expected 1 argument but got 2."],
    [['debug', 'match', 'junk'], "too many arguments for 'match'. Expected 0 arguments but got 1."],
    [['demo', 'junk', '--check'], "too many arguments for 'demo'. Expected 0 arguments but got 1."],
    [['help', 'nosuch'], `there is no command nosuch; there are ${COMMANDS.join(', ')}`],
    [['help', 'debug', 'mtch'], 'there is no command debug mtch; did you mean debug match?'],
    [['help', 'serve', 'x'], 'there is no command serve x; prexy serve has none'],
    [['http://origin', 'http://other'], 'one origin at a time; what is http://other?'],
  ])('%j', async (args, message) => {
    expect(await complaintOf(args)).toBe(`prexy: ${message}\n`)
  })

  test('everything at once, the rules of files included', async () => {
    const rules = join(folder, 'rules.yaml')
    writeFileSync(rules, '- txt: a\n- regex: "*"\n  with: b\n')
    const complaint = await complaintOf([
      'replace',
      '--domain',
      'a/b',
      '--with',
      'c',
      '--rules',
      rules,
      '--regex',
      ')',
      '--with',
      '',
    ])
    expect(
      complaint
        .replaceAll(rules, 'rules.yaml')
        .split('\n')
        .filter((line) => !line.startsWith('  ')),
    ).toHaveLength(6)
  })
})

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { collect, runPrexy, startPrexy } from './run-prexy.ts'

const folder = mkdtempSync(join(tmpdir(), 'prexy-check-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function check(
  content: string,
  ...options: string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const path = join(folder, 'prexy.yaml')
  writeFileSync(path, content)
  const { code, stdout, stderr } = await runPrexy(['check', ...options, path])
  return { code, stdout: stdout.replaceAll(`${folder}/`, ''), stderr }
}

test('a sound configuration', async () => {
  const outcome = await check('upstream: http://127.0.0.1:9000\nrules: [{text: a, with: b}]\n')
  expect(outcome).toEqual({ code: 0, stdout: 'prexy.yaml: ok: 1 rule, 1 route\n', stderr: '' })
})

test('faults of the file and of patterns together, each at its place, in the order of the file', async () => {
  const { code, stdout } = await check(`lisen: 8080
upstream: http://127.0.0.1:9000
rules:
  - regex: 'it''s (broken'
    with: x
  - regex: |-
      one
      (?=two)
    with: x
  - regex: "\\t\\\\d+é{2,1}"
    with: x
  - text: a
  - regex: ok
    with: 'a$4'
routes:
  - upstream: http://127.0.0.1:9001
    rules:
      - {regex: '[', with: ''}
`)
  expect(code).toBe(2)
  expect(stdout.split('\n').map((line) => line.split(': ').slice(0, 2).join(': '))).toEqual([
    'prexy.yaml:1:1: lisen',
    'prexy.yaml:4:19: rules[0].regex',
    'prexy.yaml:8:7: rules[1].regex',
    'prexy.yaml:10:20: rules[2].regex',
    'prexy.yaml:12:5: rules[3].with',
    'prexy.yaml:14:13: rules[4].with',
    'prexy.yaml:18:18: routes[0].rules[0].regex',
    'prexy.yaml: not valid',
    '',
  ])
})

test('header rules, at their places', async () => {
  const { code, stdout } = await check(`upstream: http://127.0.0.1:9000
headers:
  request:
    - {remove: Content-Length}
    - {set: X-A, value: 'of \${nobody}'}
  response:
    - {replace: Location, regex: 'a(', with: ''}
`)
  expect(code).toBe(2)
  expect(stdout.split('\n').slice(0, 3)).toEqual([
    'prexy.yaml:4:16: headers.request[0].remove: Content-Length: it says where the message ends, which prexy works out itself; remove the rule',
    expect.stringMatching(/^prexy.yaml:5:29: headers.request\[1\].value: there is no group and no variable 'nobody'/),
    expect.stringMatching(/^prexy.yaml:7:36: headers.response\[0\].regex: /),
  ])
})

test('a rule that can hold text without bound is a warning, and no failure', async () => {
  const rules = "- {regex: '<script.*</script>', with: '', flags: s}\n- {regex: '\\s+', with: ' '}\n"
  const { code, stdout } = await check(rules)
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^prexy\.yaml:1:11: warning: \[0\]\.regex: .+; give its repeats an upper bound.+\nprexy\.yaml: ok: 1 warning, 2 rules\n$/,
  )
})

test('as JSON', async () => {
  const { code, stdout } = await check('upstream: http://127.0.0.1:9000\nrules: [{regex: "a(", with: ""}]\n', '--json')
  expect(code).toBe(2)
  expect(JSON.parse(stdout)).toEqual({
    file: 'prexy.yaml',
    ok: false,
    kind: 'configuration',
    rules: 1,
    routes: 1,
    problems: [
      {
        severity: 'error',
        line: 2,
        column: 19,
        path: 'rules[0].regex',
        message: 'the group has no closing parenthesis',
        hint: 'write \\( for a parenthesis',
      },
    ],
  })
})

test('a file that is not UTF-8, with the place', async () => {
  const path = join(folder, 'latin1.yaml')
  writeFileSync(path, Buffer.from('upstream: x\nrules: "caf\xe9"\n', 'latin1'))
  expect(await runPrexy(['check', path])).toMatchObject({
    code: 2,
    stderr: `prexy: ${path}:2:12: this is not UTF-8; save the file as UTF-8\n`,
  })
})

test('colours only where they are asked for', async () => {
  const path = join(folder, 'empty.yaml')
  writeFileSync(path, '')
  const plain = await runPrexy(['check', path])
  const coloured = await runPrexy(['check', path], '', { FORCE_COLOR: '1' })
  const refused = await runPrexy(['check', path], '', { FORCE_COLOR: '1', NO_COLOR: '1' })
  expect([
    plain.stdout.includes('\u001b'),
    coloured.stdout.includes('\u001b'),
    refused.stdout.includes('\u001b'),
  ]).toEqual([false, true, false])
})

test('the example of the documentation has nothing wrong', async () => {
  const example = join(import.meta.dirname, '../../../docs/examples/prexy.yaml')
  expect(await runPrexy(['check', example])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/: ok: 5 rules, 2 routes\n$/),
  })
})

test('a reader that has enough does not change the verdict', async () => {
  const good = join(folder, 'good.yaml')
  const bad = join(folder, 'bad.yaml')
  writeFileSync(good, 'upstream: http://a\n')
  writeFileSync(bad, 'upstrem: http://a\n')
  const child = startPrexy(['check', good, bad])
  const outcome = collect(child)
  child.stdout.destroy()
  expect(await outcome).toMatchObject({ code: 2, stderr: '' })
})

test('a folder of sites: everything in all files, and how much there is', async () => {
  const fleet = join(folder, 'fleet')
  mkdirSync(join(fleet, 'sites'), { recursive: true })
  const check = async (): Promise<{ code: number | null; stdout: string }> => {
    const { code, stdout } = await runPrexy(['check', fleet])
    return { code, stdout: stdout.replaceAll(`${folder}/`, '') }
  }
  writeFileSync(
    join(fleet, 'main.yaml'),
    'include: sites/*.yaml\nupstream: http://127.0.0.1:9000\nruleSets: {standard: [{text: a, with: b}]}\nrules: [{use: standard}]\n',
  )
  writeFileSync(join(fleet, 'sites/a.yaml'), 'host: a.example\ninherit: add\nrules: [{text: c, with: d}]\n')
  writeFileSync(join(fleet, 'sites/b.yaml'), 'host: b.example\nroutes: [{path: /x, redirect: /y}]\n')
  expect(await check()).toEqual({ code: 0, stdout: 'fleet: ok: 2 rules, 4 routes\n' })
  writeFileSync(join(fleet, 'sites/a.yaml'), "host: a.example\nrules: [{regex: '(', with: d}]\n")
  writeFileSync(join(fleet, 'sites/b.yaml'), "host: b.example\nroutes: [{path: /x, redirect: '/${nobody}'}]\n")
  const { code, stdout } = await check()
  expect(code).toBe(2)
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(/^fleet\/sites\/a\.yaml:2:18: rules\[0\]\.regex: the group has no closing/),
    expect.stringMatching(
      /^fleet\/sites\/b\.yaml:2:33: routes\[0\]\.redirect: there is no group and no variable 'nobody'/,
    ),
    'fleet: not valid: 2 errors',
    '',
  ])
})

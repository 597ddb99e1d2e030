import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runPrexy } from './run-prexy.ts'

const folder = mkdtempSync(join(tmpdir(), 'prexy-import-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  return path
}

const main = file('nginx.conf', 'events {} http { include mime.types; include sites/*.conf; }\n')
file('mime.types', 'types { text/html html; }\n')
file(
  'sites/b.conf',
  'server { server_name b.test; location / { proxy_redirect off; proxy_pass http://127.0.0.1:2; } }\n',
)
file(
  'sites/a.conf',
  `server {
  server_name a.test;
  location / { proxy_redirect off; proxy_set_header Accept-Encoding ""; proxy_pass http://127.0.0.1:1; sub_filter Old 'New "text"'; }
}
`,
)
file('sites/.hidden.conf', 'broken')

test('includes are read from the folder of the file, and everything is carried over', async () => {
  const { code, stdout, stderr } = await runPrexy(['import', 'nginx', main])
  expect([code, stderr]).toEqual([0, '2 directives have no counterpart and need none; --json lists them\n'])
  expect(stdout.replaceAll(folder, '')).toMatchInlineSnapshot(`
    "# Made by prexy import nginx from /nginx.conf.

    listen: 0.0.0.0:80
    # As nginx reads paths.
    pathMatching: decoded
    # nginx tells upstreams of the client only what proxy_set_header says.
    forwarded: none
    # nginx gives requests no identifier.
    requestId: off
    # client_max_body_size.
    limits:
      request:
        maxBodyBytes: 1048576
    sites:
      # /sites/b.conf:1 server
      - host: b.test
        # /sites/b.conf:1 location /
        upstream: http://127.0.0.1:2
    routes:
      # /sites/a.conf:3 location /
      - upstream: http://127.0.0.1:1
        rules:
          - text: Old
            with: New "text"
            flags: i
            types: text/html
            once: true
        rewrite:
          mode: octet
        headers:
          request:
            - remove: Accept-Encoding
        ignoreNoTransform: true
    "
  `)
})

test('files of nginx itself may be elsewhere, others may close something', async () => {
  const site = 'server { location / { proxy_redirect off; proxy_pass http://127.0.0.1:1; } }'
  const own = file('own.conf', `http {\ninclude /nowhere/mime.types;\ninclude /nowhere/proxy_params;\n${site} }`)
  const { code, stderr } = await runPrexy(['import', 'nginx', own])
  expect([code, stderr]).toEqual([
    1,
    `not carried over:\n  ${own}:3: include: /nowhere/proxy_params is not on this machine, and what it says is not carried over\n1 directive has no counterpart and needs none; --json lists it\n`,
  ])
  const other = file('other.conf', `http {\ninclude blocked.conf;\n${site} }`)
  expect(await runPrexy(['import', 'nginx', other])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${other}:2: include blocked.conf: there is no such file; copy it here, too`),
  })
})

test('what is missing is told with its place, exits with 1, and stands in the file', async () => {
  const path = file(
    'lost.conf',
    'server { location / {\n  proxy_pass http://127.0.0.1:1;\n  sub_filter (a b;\n  subs_filter (a b r;\n} }',
  )
  const output = join(folder, 'lost.yaml')
  const { code, stdout, stderr } = await runPrexy(['import', 'nginx', path, '--output', output])
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain(`${path}:4: subs_filter: `)
  expect(stderr).not.toContain(`${path}:3: sub_filter: t`)
  expect(readFileSync(output, 'utf8')).toContain(`${path}:4: subs_filter: `)
  const checked = await runPrexy(['check', output])
  expect([checked.code, checked.stdout]).toEqual([0, `${output}: ok: 1 rule, 1 route\n`])
  const again = await runPrexy(['import', 'nginx', path, '--output', output])
  expect([again.code, again.stderr]).toEqual([
    2,
    `prexy: ${output}: there is such a file already; name another, or remove it\n`,
  ])
})

test('--json', async () => {
  const { code, stdout } = await runPrexy(['import', 'nginx', main, '--site', 'b.test', '--json'])
  const answer = JSON.parse(stdout)
  expect([code, answer.file]).toEqual([0, main])
  expect(answer.configuration).toContain('upstream: http://127.0.0.1:2')
  expect(answer.configuration).not.toContain('127.0.0.1:1')
  expect(answer.notes[0]).toEqual({
    kind: 'needless',
    file: join(folder, 'mime.types'),
    line: 1,
    directive: 'types',
    reason: 'about the process that nginx is, or what prexy does anyway',
  })
})

test.each([
  ['server {\n a "b;', ':2: a text that begins with " does not end'],
  ['include no.conf;', ':1: include no.conf: there is no such file; copy it here, too'],
  ['events {}', ': there is no server in it'],
])('a file that nginx would refuse: %s', async (text, message) => {
  const path = file('bad.conf', text)
  const { code, stdout, stderr } = await runPrexy(['import', 'nginx', path, '--output', join(folder, 'bad.yaml')])
  expect([code, stdout, stderr]).toEqual([2, '', `prexy: ${path}${message}\n`])
  expect(existsSync(join(folder, 'bad.yaml'))).toBe(false)
})

test('a site that is not there', async () => {
  const { code, stderr } = await runPrexy(['import', 'nginx', main, '--site', 'c.test'])
  expect([code, stderr]).toEqual([2, `prexy: ${main}: no server has the name c.test; there are a.test, b.test\n`])
})

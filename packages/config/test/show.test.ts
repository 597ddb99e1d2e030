import { describe, expect, test } from 'vitest'
import type { Config } from '../src/config.ts'
import { loadConfig } from '../src/load.ts'
import { formatProblem } from '../src/problem.ts'
import { showConfig } from '../src/show.ts'
import { memoryFiles } from './memory-files.ts'

function load(contents: Readonly<Record<string, string>>, environment: Readonly<Record<string, string>> = {}) {
  const { value, assembly, problems } = loadConfig('prexy.yaml', memoryFiles(contents), environment)
  if (value === undefined || assembly === undefined) throw new Error(problems.map(formatProblem).join('\n'))
  return { value, assembly }
}

/** What a configuration means, without where it stands. */
function meaning(config: Config): unknown {
  return JSON.parse(
    JSON.stringify(config, (key: string, value: unknown) => (key === 'places' || key === 'place' ? undefined : value)),
  )
}

const FLEET = {
  'prexy.yaml': `listen: [8080, '[::1]:8081']
include: sites/*.yaml
ruleSets:
  standard: [{text: Acme, with: 'Zenith: "#1"'}, {use: ids}]
  ids: [{regex: 'UA-(\\d+)', with: 'UA-$1', paths: /a/**}]
rules: [{use: standard}]
upstream: {url: http://127.0.0.1:9000, maxConnections: 3}
rewrite: {priority: longest}
headers: {request: [{set: X-A, value: 'a: b'}]}
timeouts: {drainMs: 1000}
routes:
  - {path: /r, method: [GET, POST], header: {X-B: 'true'}, redirect: 'https://x.example\${path}'}
`,
  'sites/a.yaml': `host: [a.example, '*.a.example']
inherit: add
rules: [{domain: a.org, to: a.example}]
rewrite: {overflow: abort}
lastModified: keep
routes:
  - {path: /old, redirect: {to: /new, status: 308}}
  - {path: /hi, respond: {status: 404, body: "line\\nline"}}
  - {path: /api/**, upstream: http://b, rules: []}
`,
  'sites/b.yaml': 'name: shop\nhost: b.example\npreserveHost: true\n',
}

test('what is shown is a configuration in one file, and means the same', () => {
  const { value, assembly } = load(FLEET)
  const shown = showConfig(assembly, value).join('\n')
  expect(meaning(load({ 'prexy.yaml': shown }).value)).toEqual(meaning(value))
})

test('every value stands beside the place that it comes from', () => {
  const { value, assembly } = load(FLEET)
  expect(showConfig(assembly, value, ['shop'])).toEqual([
    'sites:',
    '  - host: b.example # sites/b.yaml:2',
    '    name: shop # sites/b.yaml:1',
    '    upstream:',
    '      url: http://127.0.0.1:9000 # prexy.yaml:7',
    '      maxConnections: 3 # prexy.yaml:7',
    '    preserveHost: true # sites/b.yaml:3',
    '    rewrite:',
    '      priority: longest # prexy.yaml:8',
    '    rules:',
    '      - { text: Acme, with: "Zenith: \\"#1\\"" } # prexy.yaml:4',
    '      - { regex: "UA-(\\\\d+)", with: "UA-$1", paths: "/a/**" } # prexy.yaml:5',
    '    headers:',
    '      request:',
    '        - { set: X-A, value: "a: b" } # prexy.yaml:9',
  ])
  expect(showConfig(assembly, value, ['A.example']).at(1)).toBe('  - host: [a.example, "*.a.example"] # sites/a.yaml:1')
})

describe('secrets are not shown', () => {
  test.each([
    ["{set: Authorization, value: 'Basic aGk6aG8='}", '***'],
    ["{set: X-Api-Key, value: 'k${env:KEY}'}", '*** ${env:KEY}'],
    ["{add: Cookie, value: '${env:KEY}'}", '${env:KEY}'],
    ["{set: X-Plain, value: '${env:KEY}'}", '${env:KEY}'],
  ])('%s', (rule, expected) => {
    const yaml = `upstream: http://a\nheaders: {request: [${rule}]}\n`
    const { value, assembly } = load({ 'prexy.yaml': yaml }, { KEY: 'canary' })
    const shown = showConfig(assembly, value).join('\n')
    expect(shown).toContain(`value: ${JSON.stringify(expected)} }`)
    expect(shown).not.toMatch(/canary|aGk6/)
  })
})

test('hashes of passwords are masked, and each part of access has the place that it comes from', () => {
  const hash = `$scrypt$ln=10,r=8,p=1$${'A'.repeat(22)}$${'B'.repeat(43)}`
  const yaml = `upstream: http://a
access: {allow: 10.0.0.0/8, basicAuth: {users: {ann: '${hash}', bob: '\${env:BOB}'}}}
errorPages: {502: pages/502.html}
sites:
  - host: a.example
    access: {rateLimit: {requests: 3}}
`
  const files = { 'conf/prexy.yaml': yaml, 'conf/pages/502.html': '' }
  const { value, assembly } = loadConfig('conf/prexy.yaml', memoryFiles(files), { BOB: hash })
  if (value === undefined || assembly === undefined) throw new Error('it is valid')
  const lines = showConfig(assembly, value, ['a.example'])
  expect(lines.join('\n')).not.toMatch(/AAAA|BBBB/)
  expect(lines.slice(4)).toEqual([
    '    access:',
    '      rateLimit:',
    '        requests: 3 # conf/prexy.yaml:6',
    '      allow: "10.0.0.0/8" # conf/prexy.yaml:2',
    '      basicAuth:',
    '        users:',
    '          ann: "***" # conf/prexy.yaml:2',
    '          bob: "${env:BOB}" # conf/prexy.yaml:2',
    '    errorPages:',
    '      "502": conf/pages/502.html # conf/prexy.yaml:3',
  ])
})

test.each([
  ['a canary that is long enough', '"***"'],
  ['${env:TOKEN}', '"${env:TOKEN}"'],
])('the token of the admin listener is not shown: %s', (token, expected) => {
  const yaml = `upstream: http://a\nadmin: {token: '${token.replaceAll(' ', '-')}'}\n`
  const { value, assembly } = load({ 'prexy.yaml': yaml }, { TOKEN: 'a-canary-that-is-long-enough' })
  const lines = showConfig(assembly, value)
  expect(lines).toContain(`  token: ${expected} # prexy.yaml:2`)
  expect(lines.join('\n')).not.toContain('canary')
})

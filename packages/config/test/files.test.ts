/** Configurations of several files: what is read, in which order, and where its faults are said to be. */
import { describe, expect, test } from 'vitest'
import { type KnownSources, MAX_INCLUDE_DEPTH } from '../src/documents.ts'
import { expandPattern } from '../src/files.ts'
import { loadConfig } from '../src/load.ts'
import { formatProblem } from '../src/problem.ts'
import { memoryFiles } from './memory-files.ts'

function load(contents: Readonly<Record<string, string>>, path = 'prexy.yaml', env: Record<string, string> = {}) {
  const loaded = loadConfig(path, memoryFiles(contents), env)
  return { ...loaded, lines: loaded.problems.map(formatProblem) }
}

const SITE = 'upstream: http://127.0.0.1:9000\n'

describe('which files a pattern names', () => {
  const files = memoryFiles({
    'sites/b.yaml': '',
    'sites/a.yaml': '',
    'sites/.hidden.yaml': '',
    'sites/..data/c.yaml': '',
    'sites/notes.txt': '',
    'more/x/site.yml': '',
    'more/y/site.yml': '',
  })
  test.each([
    ['sites/*.yaml', ['sites/a.yaml', 'sites/b.yaml']],
    ['sites/?.yaml', ['sites/a.yaml', 'sites/b.yaml']],
    ['sites', ['sites/a.yaml', 'sites/b.yaml']],
    ['sites/', ['sites/a.yaml', 'sites/b.yaml']],
    ['more/*/site.yml', ['more/x/site.yml', 'more/y/site.yml']],
    ['more/*', ['more/x/site.yml', 'more/y/site.yml']],
    ['sites/a.yaml', ['sites/a.yaml']],
    ['sites/absent.yaml', ['sites/absent.yaml']],
    ['sites/z*.yaml', []],
    ['sites/.*.yaml', ['sites/.hidden.yaml']],
    ['sites/a+b.yaml', ['sites/a+b.yaml']],
    ['sites/[a]*.yaml', []],
  ])('%s', (pattern, expected) => {
    expect(expandPattern(files, pattern).paths).toEqual(expected)
  })
})

test('a folder is its files in the order of their names, one site each', () => {
  const { value, lines, watched } = load(
    {
      'conf/20-b.yaml': `host: b.example\n${SITE}`,
      'conf/10-a.yaml': `host: [A.example, '*.a.example']\n${SITE}`,
      'conf/00-main.yaml': 'listen: 8081\nlog: json\n',
      'conf/.old.yaml': 'nonsense',
      'conf/README': 'nonsense',
    },
    'conf',
  )
  expect(lines).toEqual([])
  expect(value?.log).toBe('json')
  expect(value?.sites.map(({ name, hosts }) => [name, hosts])).toEqual([
    ['a.example', ['a.example', '*.a.example']],
    ['b.example', ['b.example']],
  ])
  expect(watched).toEqual(['conf', 'conf/00-main.yaml', 'conf/10-a.yaml', 'conf/20-b.yaml'])
})

test('a file includes others, from its own folder, which include more', () => {
  const { value, lines, watched } = load(
    {
      'etc/prexy.yaml': `include: [sites/*.yaml, rules.yaml]\n${SITE}`,
      'etc/rules.yaml': 'ruleSets: {standard: [{text: a, with: b}]}\n',
      'etc/sites/a.yaml': 'host: a.example\nrules: [{use: standard}]\n',
      'etc/sites/group.yaml': 'include: below/*.yaml\nroutes: [{path: /x, upstream: http://x}]\n',
      'etc/sites/below/b.yaml': 'sites: [{host: b.example}]\n',
    },
    'etc/prexy.yaml',
  )
  expect(lines).toEqual([])
  expect(value?.sites.map(({ name, routes }) => [name, routes[0].ruleList.rules])).toEqual([
    ['a.example', [{ text: 'a', with: 'b' }]],
    ['b.example', []],
  ])
  expect(value?.routes.map(({ name }) => name)).toEqual(['* /x', 'default'])
  expect(watched).toContain('etc/sites')
  expect(watched).toContain('etc/sites/below')
})

describe('what is wrong with several files is said at its place in the right one, all at once', () => {
  test.each<[string, Record<string, string>, string[]]>([
    [
      'faults of several files, in the order in which they are read',
      {
        'prexy.yaml': 'include: [b.yaml, a.yaml]\nlisten: x\n',
        'a.yaml': 'host: a.example\nupstrem: http://a\n',
        'b.yaml': 'host: b.example\nrules: [{text: a}]\n',
      },
      [
        'prexy.yaml:2:9: listen: "x" is no address; write it like 8080, 127.0.0.1:8080 or [::1]:8080',
        "b.yaml:2:9: rules[0].with: is missing; add it: with: '...'",
        'a.yaml:2:1: upstrem: unknown key; did you mean upstream?',
      ],
    ],
    [
      'a file that is not there',
      { 'prexy.yaml': `${SITE}include:\n  - gone.yaml\n` },
      ['prexy.yaml:3:5: include[0]: gone.yaml: there is no such file'],
    ],
    [
      'a file that includes itself',
      { 'prexy.yaml': `${SITE}include: '*.yaml'\n` },
      [
        'prexy.yaml:2:10: include: includes a file in itself: prexy.yaml includes prexy.yaml; keep the pattern to other files',
      ],
    ],
    [
      'a longer circle',
      { 'prexy.yaml': `${SITE}include: a.yaml\n`, 'a.yaml': 'include: b.yaml\n', 'b.yaml': 'include: a.yaml\n' },
      [
        'b.yaml:1:10: include: includes a file in itself: a.yaml includes b.yaml includes a.yaml; keep the pattern to other files',
      ],
    ],
    [
      'a file that is asked for twice',
      { 'prexy.yaml': `${SITE}include: [a.yaml, ./a.yaml]\n`, 'a.yaml': 'host: a.example\n' },
      ['prexy.yaml:2:19: include[1]: a.yaml is read already, in prexy.yaml:2; include it once'],
    ],
    [
      'a field that stands in two files',
      { 'prexy.yaml': `${SITE}log: json\ninclude: a.yaml\n`, 'a.yaml': '# more\nlog: text\n' },
      ['a.yaml:2:1: log: log stands in prexy.yaml:2 already; keep one of the two'],
    ],
    [
      'a host of two sites',
      {
        'prexy.yaml': `${SITE}include: '?.yaml'\n`,
        'a.yaml': 'host: x.example\n',
        'b.yaml': 'host: [b.example, X.example]\n',
      },
      ['b.yaml:1:19: host[1]: X.example is a host in a.yaml:1 already; keep it in one of the two'],
    ],
    [
      'a rule set of that name twice',
      { 'prexy.yaml': `${SITE}ruleSets: {s: []}\ninclude: a.yaml\n`, 'a.yaml': 'ruleSets:\n  s: []\n' },
      ['a.yaml:2:3: ruleSets.s: the rule set s stands in prexy.yaml:2 already; keep one of the two'],
    ],
    [
      'a rule set that is not there',
      { 'prexy.yaml': `${SITE}ruleSets: {standard: []}\nrules: [{use: standart}]\n` },
      ['prexy.yaml:3:15: rules[0].use: there is no rule set standart; did you mean standard?'],
    ],
    [
      'rule sets that use each other',
      { 'prexy.yaml': `${SITE}ruleSets:\n  a: [{use: b}]\n  b: [{use: a}]\nrules: [{use: a}]\n` },
      ['prexy.yaml:4:13: ruleSets.b[0].use: a rule set uses itself: a uses b uses a; take one of them out'],
    ],
    [
      'a site and a route that do nothing',
      {
        'prexy.yaml':
          'sites:\n  - host: a.example\n    routes:\n      - path: /x\n  - host: b.example\n    upstream: http://b\n',
      },
      [
        'prexy.yaml:2:5: sites[0]: says nothing to do; add upstream, redirect or respond, here or above',
        'prexy.yaml:4:9: sites[0].routes[0]: says nothing to do; add upstream, redirect or respond, here or above',
      ],
    ],
    [
      'two things to do at once',
      { 'prexy.yaml': 'sites:\n  - host: a.example\n    upstream: http://b\n    redirect: https://c.example\n' },
      ['prexy.yaml:4:15: sites[0].redirect: does not go with upstream; keep one of the two'],
    ],
    [
      'inherit where there is nothing to inherit',
      { 'prexy.yaml': `${SITE}inherit: add\nsites: [{host: a.example, inherit: add}]\n` },
      [
        'prexy.yaml:2:10: warning: inherit: does nothing here: there is no level above; remove it',
        'prexy.yaml:3:36: warning: sites[0].inherit: does nothing without rules or headers beside it; remove it',
      ],
    ],
    [
      'a page that is not there',
      { 'prexy.yaml': 'routes: [{respond: {file: gone.html}}]\n' },
      ['prexy.yaml:1:27: routes[0].respond.file: gone.html: there is no such file'],
    ],
  ])('%s', (_what, contents, expected) => {
    expect(load(contents).lines).toEqual(expected)
  })

  test('a folder without files', () => {
    expect(load({ 'conf/README': '' }, 'conf').lines).toEqual(['conf:1:1: holds no file that ends in .yaml or .yml'])
  })

  test('octets that are not UTF-8, in a file that is included', () => {
    const files = memoryFiles({ 'prexy.yaml': `${SITE}include: a.yaml\n`, 'a.yaml': '' })
    const loaded = loadConfig('prexy.yaml', {
      ...files,
      read: (path) => (path === 'a.yaml' ? { bytes: Uint8Array.of(0x23, 0x0a, 0x23, 0xff) } : files.read(path)),
    })
    expect(loaded.problems.map(formatProblem)).toEqual(['a.yaml:2:2: this is not UTF-8; save the file as UTF-8'])
  })

  test(`files that include others more than ${MAX_INCLUDE_DEPTH} deep`, () => {
    const chain = Array.from({ length: MAX_INCLUDE_DEPTH + 2 }, (_, depth) => [
      `${depth}.yaml`,
      `include: ${depth + 1}.yaml\n${depth === 0 ? SITE : ''}`,
    ])
    const { lines } = load(Object.fromEntries(chain), '0.yaml')
    expect(lines).toEqual([
      `${MAX_INCLUDE_DEPTH}.yaml:1:10: include: files include others more than ${MAX_INCLUDE_DEPTH} deep; include them from above`,
    ])
  })
})

test('well-formed rules are there to be checked while another file is broken', () => {
  const { ruleLists } = load({
    'prexy.yaml': 'include: a.yaml\nruleSets: {s: [{text: a, with: b}]}\nlog: loud\n',
    'a.yaml': 'host: a.example\nrules: [{regex: "(", with: ""}]\nroutes: [{rules: [{text: c, with: d}]}]\n',
  })
  expect(ruleLists.map(({ rules }) => rules[0])).toEqual([
    { text: 'a', with: 'b' },
    { regex: '(', with: '' },
    { text: 'c', with: 'd' },
  ])
})

describe('what a level takes from those above', () => {
  const rules = (names: string): string => `[${[...names].map((name) => `{text: ${name}, with: x}`).join(', ')}]`
  const listed = (contents: string): readonly string[] => {
    const { value, lines } = load({ 'prexy.yaml': contents })
    expect(lines).toEqual([])
    const routes = [...(value?.sites ?? []).flatMap((site) => site.routes), ...(value?.routes ?? [])]
    return routes.map(({ ruleList }) => ruleList.rules.map((rule) => ('text' in rule ? rule.text : '?')).join(''))
  }
  test.each<[string, string, string[]]>([
    ['nothing said', `${SITE}rules: ${rules('f')}\nsites: [{host: a.b, routes: [{path: /x}]}]\n`, ['f', 'f', 'f']],
    [
      'replaced by the site, then by the route',
      `${SITE}rules: ${rules('f')}\nsites: [{host: a.b, rules: ${rules('s')}, routes: [{path: /x, rules: ${rules('r')}}, {path: /y}]}]\n`,
      ['r', 's', 's', 'f'],
    ],
    [
      'added to: the lower level first',
      `${SITE}rules: ${rules('f')}\nsites: [{host: a.b, inherit: add, rules: ${rules('s')}, routes: [{path: /x, inherit: add, rules: ${rules('r')}}]}]\n`,
      ['rsf', 'sf', 'f'],
    ],
    [
      'sets, inside sets, in the order in which they stand',
      `${SITE}ruleSets: {one: ${rules('ab')}, two: [{use: one}, {text: c, with: x}]}\nrules: [{text: z, with: x}, {use: two}, {text: y, with: x}]\n`,
      ['zabcy'],
    ],
    ['an empty list is a list', `${SITE}rules: ${rules('f')}\nsites: [{host: a.b, rules: []}]\n`, ['', 'f']],
  ])('%s', (_what, contents, expected) => {
    expect(listed(contents)).toEqual(expected)
  })

  test('levels that say nothing of rules share one list, and one upstream', () => {
    const { value } = load({ 'prexy.yaml': `${SITE}rules: ${rules('f')}\nsites: [{host: a.b}, {host: c.d}]\n` })
    const [a, c] = (value?.sites ?? []).map((site) => site.routes[0])
    expect(a.ruleList).toBe(c.ruleList)
    expect(a.action).toBe(c.action)
  })

  test('header rules are added behind those above', () => {
    const { value } = load({
      'prexy.yaml': `${SITE}headers: {request: [{remove: A}], response: [{remove: R}]}\nsites: [{host: a.b, inherit: add, headers: {request: [{remove: B}]}}]\n`,
    })
    const [route] = value?.sites[0].routes ?? []
    expect(route.headerLists.map(({ side, rules: list }) => [side, list])).toEqual([
      ['request', [{ remove: 'A' }, { remove: 'B' }]],
      ['response', [{ remove: 'R' }]],
    ])
  })
})

describe('secrets come from the environment', () => {
  const contents = {
    'prexy.yaml': `${SITE}headers:\n  request:\n    - {set: Authorization, value: 'Bearer \${env:TOKEN}'}\n`,
  }
  test('and are put in as they are, dollar signs and all', () => {
    const { value, lines } = load(contents, 'prexy.yaml', { TOKEN: 'a$1${host}' })
    expect(lines).toEqual([])
    expect(value?.routes[0].headerLists[0].rules).toEqual([{ set: 'Authorization', value: 'Bearer a$$1$${host}' }])
  })
  test.each([
    [{}, 'not set'],
    [{ TOKEN: '' }, 'empty'],
  ])('a variable that is missing is an error at its place: %j', (environment, state) => {
    expect(load(contents, 'prexy.yaml', environment).lines).toEqual([
      `prexy.yaml:4:43: headers.request[0].value: the variable TOKEN of the environment is ${state}; set it where prexy starts`,
    ])
  })
  test('what names no variable', () => {
    const { lines } = load({ 'prexy.yaml': `${SITE}headers: {request: [{set: A, value: '\${env:a-b}'}]}\n` })
    expect(lines).toEqual([
      'prexy.yaml:2:38: headers.request[0].value: ${env:a-b} names no variable; write it like ${env:SHOP_PASSWORD}',
    ])
  })
})

test('reading once more sees what has changed, and only that', () => {
  const known: KnownSources = new Map()
  const contents: Record<string, string> = {
    'prexy.yaml': `include: sites/*.yaml\n${SITE}`,
    'sites/a.yaml': 'host: a.example\n',
    'sites/b.yaml': 'host: b.example\n',
  }
  const sites = (): readonly string[] => {
    const { value, problems } = loadConfig('prexy.yaml', memoryFiles(contents), {}, known)
    return value?.sites.map(({ name }) => name) ?? problems.map(formatProblem)
  }
  expect(sites()).toEqual(['a.example', 'b.example'])
  const before = known.get('sites/a.yaml')?.source
  contents['sites/b.yaml'] = 'host: c.example\n'
  expect(sites()).toEqual(['a.example', 'c.example'])
  expect(known.get('sites/a.yaml')?.source).toBe(before)
  contents['sites/b.yaml'] = 'hots: d.example\n'
  expect(sites()).toEqual([expect.stringContaining('sites/b.yaml:1:1: hots: unknown key')])
  delete contents['sites/b.yaml']
  expect(sites()).toEqual(['a.example'])
  expect([...known.keys()]).toEqual(['prexy.yaml', 'sites/a.yaml'])
})

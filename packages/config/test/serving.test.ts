import { describe, expect, test } from 'vitest'
import { loadConfig } from '../src/load.ts'
import { formatProblem } from '../src/problem.ts'
import { DEFAULT_COMPARE, DEFAULT_COMPRESS } from '../src/provision.ts'
import { memoryFiles } from './memory-files.ts'

function load(text: string) {
  return loadConfig('prexy.yaml', memoryFiles({ 'prexy.yaml': `upstream: http://127.0.0.1:9000\n${text}\n` }))
}

function problemsOf(text: string): readonly string[] {
  return load(text).problems.map(formatProblem)
}

describe('listen', () => {
  test('takes unix sockets', () => {
    const { value } = load(`listen: [unix:/run/a.sock, {address: 'unix:/run/b.sock', mode: "0660", owner: 'www:33'}]`)
    expect(value?.listen).toEqual([
      { host: 'unix:/run/a.sock', port: 0 },
      { host: 'unix:/run/b.sock', port: 0, mode: 0o660, owner: 'www:33' },
    ])
  })

  test.each([
    [
      'unix:run/a.sock',
      'listen: "unix:run/a.sock" is no socket; write its whole path, like unix:/run/prexy/prexy.sock',
    ],
    ['unix:/', 'listen: "unix:/" is no socket; write its whole path'],
    [`unix:/${'a'.repeat(103)}`, 'listen: the path of a socket has at most 103 bytes'],
    ['{address: 8080, mode: "0660"}', 'listen.mode: is for sockets only; remove it'],
    [`{address: 'unix:/a', mode: "0888"}`, 'listen.mode: "0888" is no mode; write it in quotes, like "0660"'],
    [`{address: 'unix:/a', owner: 'a:b:c'}`, 'listen.owner: "a:b:c" is no owner'],
    ['[unix:/a, unix:/a]', 'listen[1]: stands twice; keep one of the two'],
  ])('%s is refused', (listen, problem) => {
    const problems = problemsOf(`listen: ${listen}`)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(problem)
  })
})

describe('compareWith', () => {
  const settingsOf = (text: string) => load(text).value?.routes.at(-1)?.compareWith

  test('of an address has the defaults', () => {
    const { percent, maxBodyBytes, timeoutMs, headers, maxConcurrent } = DEFAULT_COMPARE
    expect(settingsOf('compareWith: http://127.0.0.1:9100')).toEqual({
      upstream: {
        servers: [{ host: '127.0.0.1', port: 9100 }],
        maxConnections: maxConcurrent,
        maxIdleConnections: maxConcurrent,
        maxWaiting: 0,
      },
      percent,
      maxBodyBytes,
      timeoutMs,
      headers,
      ignore: [],
    })
  })

  test('names an upstream, fields in any case, and limits', () => {
    const text =
      'upstreams: {old: https://old.example}\ncompareWith: {url: old, headers: ETag, maxConcurrent: 2, percent: 0.5}'
    expect(settingsOf(text)).toMatchObject({
      upstream: { name: 'old', servers: [{ host: 'old.example', port: 443, tls: true }], maxConnections: 2 },
      percent: 0.5,
      headers: ['etag'],
    })
  })

  test('is taken from the level above as the same object, until a level says off', () => {
    const { value } = load(`compareWith: http://127.0.0.1:9100
sites:
  - {host: a.example, upstream: 'http://127.0.0.1:1'}
  - {host: b.example, upstream: 'http://127.0.0.1:1', compareWith: off}`)
    const [a, b] = value?.sites.map(({ routes }) => routes[0].compareWith) ?? []
    expect(a).toBe(value?.routes[0].compareWith)
    expect(b).toBeUndefined()
  })

  test.each([
    ['nowhere', 'compareWith: there is no nowhere among the upstreams'],
    ['{url: nowhere}', 'compareWith.url: there is no nowhere among the upstreams'],
    ['{url: http://127.0.0.1:1/path}', 'compareWith.url: "http://127.0.0.1:1/path" has a path'],
    ['{url: http://127.0.0.1:1, percent: 101}', 'compareWith.percent: 101 is too large'],
    ['{percent: 5}', 'compareWith.url: '],
  ])('%s is refused', (compareWith, problem) => {
    const problems = problemsOf(`compareWith: ${compareWith}`)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(problem)
  })
})

describe('compress', () => {
  const settingsOf = (text: string) => load(text).value?.routes.at(-1)?.compress

  test.each<[string, object | undefined]>([
    ['true', { ...DEFAULT_COMPRESS, levels: {} }],
    ['false', undefined],
    ['{codings: gzip, minBytes: 0}', { ...DEFAULT_COMPRESS, codings: ['gzip'], minBytes: 0, levels: {} }],
    ["{types: ['text/*'], levels: {br: 11}}", { ...DEFAULT_COMPRESS, types: ['text/*'], levels: { br: 11 } }],
  ])('%s', (compress, settings) => {
    expect(settingsOf(`compress: ${compress}`)).toEqual(settings)
  })

  test.each([
    ['{codings: deflate}', 'compress.codings: '],
    ['{levels: {gzip: 10}}', 'compress.levels.gzip: 10 is too large, the most is 9'],
    ['{type: text/html}', 'compress.type: '],
  ])('%s is refused', (compress, problem) => {
    const problems = problemsOf(`compress: ${compress}`)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(problem)
  })
})

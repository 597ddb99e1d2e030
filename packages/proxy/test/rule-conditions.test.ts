import type { Rule } from '@prexy/rewrite/rules'
import { answering, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { setUp } from './harness.ts'

const HTML = 'Content-Type: text/html'

describe('conditions are decided once per response', () => {
  const rules: readonly Rule[] = [
    { text: 'A', with: 'method', methods: ['POST'] },
    { text: 'B', with: 'host', hosts: ['*.test'] },
    { text: 'C', with: 'request', requestHeaders: { 'X-Beta': '1' } },
    { text: 'D', with: 'response', responseHeaders: { 'X-Powered-By': 'PHP*' } },
    { text: 'E', with: 'status', status: ['4xx'] },
    { text: 'F', with: 'path', paths: ['/shop/**'] },
    { insert: 'before', at: '</body>', with: 'insert' },
  ]
  const script = answering(() => plainResponse('ABCDEF</body>', 'Content-Type: text/css', 'X-Powered-By: PHP/8'))

  it('each rule by its own', async () => {
    await using setup = await setUp({ rules, script })
    const client = await setup.connect()
    expect((await client.get('/')).body.toString()).toBe('AhostCresponseEF</body>')
    expect((await client.get('/shop/x', 'x-beta: 1')).body.toString()).toBe('AhostrequestresponseEpath</body>')
    await client.send('POST / HTTP/1.1\r\nHost: other.example\r\nContent-Length: 0\r\n\r\n')
    expect((await client.readResponse()).body.toString()).toBe('methodBCresponseEF</body>')
  })

  it('caches are told of the request field, also where no rule held', async () => {
    const only: readonly Rule[] = [{ text: 'A', with: 'B', requestHeaders: { Cookie: '*beta=1*', 'X-No': false } }]
    await using setup = await setUp({ rules: only, script: answering(() => plainResponse('A', HTML, 'ETag: "1"')) })
    const client = await setup.connect()
    const with1 = await client.get('/', 'Cookie: a=b; beta=1')
    expect([with1.body.toString(), with1.value('vary'), with1.value('etag')]).toEqual([
      'B',
      'Accept-Encoding, cookie, x-no',
      undefined,
    ])
    const without = await client.get('/', 'Cookie: a=b')
    expect([without.body.toString(), without.value('vary'), without.value('etag')]).toEqual([
      'A',
      'cookie, x-no',
      '"1"',
    ])
    expect((await setup.event(2)).treatment).toEqual({ kind: 'passed', reason: 'request-header' })
  })
})

describe('request variables', () => {
  it('of every kind', async () => {
    const template =
      '${scheme} ${method} ${host} ${path} ${query} ${status} ${header:X-A} ${header:x-none} ${cookie:b} ${cookie:c}'
    await using setup = await setUp({
      rules: [{ regex: 'VARS', with: template }],
      script: answering(() => plainResponse('VARS', 'Content-Type: text/plain', 'ETag: "1"')),
    })
    const client = await setup.connect()
    const response = await client.get('/a/b?c=d?e', 'X-A: 1', 'x-a: 2', 'Cookie: a=x; b = y=z ;b=w', 'Cookie: c=q')
    expect(response.body.toString()).toBe('http GET proxy.test /a/b c=d?e 200 1, 2  y=z q')
    expect([response.value('vary'), response.value('etag')]).toEqual([
      'Accept-Encoding, x-a, x-none, cookie',
      undefined,
    ])
  })

  it('time', async () => {
    await using setup = await setUp({
      rules: [{ regex: 'T', with: '${time}' }],
      script: answering(() => plainResponse('T', 'Content-Type: text/plain', 'ETag: "1"')),
    })
    const response = await (await setup.connect()).get('/')
    expect(response.body.toString()).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(Math.abs(Date.now() - Date.parse(response.body.toString()))).toBeLessThan(60_000)
    expect([response.value('vary'), response.value('etag')]).toEqual(['Accept-Encoding', undefined])
  })

  it.each([
    ['text/html; charset=utf-8', `&lt;x a=&#39;&quot;&amp;|%3Cx%20a%3D%27%22%26|<x a='"&`],
    ['application/json', `<x a='\\"&|%3Cx%20a%3D%27%22%26|<x a='"&`],
    ['text/plain', `<x a='"&|%3Cx%20a%3D%27%22%26|<x a='"&`],
    [undefined, `&lt;x a=&#39;&quot;&amp;|%3Cx%20a%3D%27%22%26|<x a='"&`],
    // Several types: a browser takes the last.
    ['text/plain\r\nContent-Type: text/html', `&lt;x a=&#39;&quot;&amp;|%3Cx%20a%3D%27%22%26|<x a='"&`],
    ['text/plain; a="\r\nContent-Type: text/html', `&lt;x a=&#39;&quot;&amp;|%3Cx%20a%3D%27%22%26|<x a='"&`],
    ['text/plain; charset=utf-8, text/html', `&lt;x a=&#39;&quot;&amp;|%3Cx%20a%3D%27%22%26|<x a='"&`],
  ])('are escaped for %s', async (type, expected) => {
    await using setup = await setUp({
      rules: [{ regex: 'V', with: '${header:x-v}|${header:x-v|url}|${header:x-v|raw}', types: ['*'] }],
      script: answering(() => plainResponse('V', ...(type === undefined ? [] : [`Content-Type: ${type}`]))),
    })
    const response = await (await setup.connect()).get('/', `X-V: <x a='"&`)
    expect(response.body.toString()).toBe(expected)
  })

  it('keep their octets, UTF-8 or not', async () => {
    const rules = [{ regex: 'V', with: '${header:x-v}' }]
    const script = answering(() => plainResponse('V', 'Content-Type: text/plain; charset=utf-8'))
    for (const [mode, sent, expected] of [
      ['text', '\xc3\xa4', 'ä'],
      ['text', '\xe4', 'ä'],
      ['octet', '\xc3\xa4', 'ä'],
    ] as const) {
      await using setup = await setUp({ rules, ruleOptions: { mode }, script })
      expect((await (await setup.connect()).get('/', `X-V: ${sent}`)).body.toString()).toBe(expected)
    }
  })
})

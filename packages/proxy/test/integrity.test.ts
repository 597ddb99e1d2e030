import { answering, chunkedResponse, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { changesHashed, dropLinkIntegrity, hasHashedPolicy, IntegrityWatch, rewrittenUrls } from '../src/integrity.ts'
import { setUp } from './harness.ts'

const RULES = [{ text: 'one', with: 'two' }]
const PAGE =
  '<script src=/a.js integrity="sha256-x"></script><script src=//cdn.example/b.js integrity=sha256-y></script>one'
const POLICY = "Content-Security-Policy: script-src 'sha256-x'"

/** A busy machine needs less for a megabyte in linear time; in quadratic time it would be minutes. */
const MOST_MS = 15_000

describe('a page with integrity attributes', () => {
  const rows = [
    ['is told of', 'text/html', RULES, {}, PAGE, { keptIntegrity: true }],
    [
      'loses those of what rules may change',
      'text/html',
      RULES,
      { integrity: 'drop' },
      PAGE.replace(' integrity="sha256-x"', ''),
      { droppedIntegrity: 1 },
    ],
    [
      'in UTF-16, too',
      'text/html; charset=utf-16le',
      RULES,
      { integrity: 'drop' },
      PAGE.replace(' integrity="sha256-x"', ''),
      { droppedIntegrity: 1 },
    ],
    [
      'keeps them where no rule changes scripts or styles',
      'text/html',
      [{ ...RULES[0], types: ['text/html'] }],
      { integrity: 'drop' },
      PAGE,
      {},
    ],
    ['may be no page', 'text/plain', RULES, { integrity: 'drop' }, PAGE, {}],
  ] as const
  it.each(rows)('%s', async (_name, type, rules, route, output, notes) => {
    const encode = (text: string): Buffer => Buffer.from(text, type.includes('utf-16') ? 'utf16le' : 'latin1')
    await using setup = await setUp({
      rules,
      route,
      script: answering((request) =>
        request.target === '/cut'
          ? chunkedResponse(
              Array.from(encode(PAGE), (octet) => Buffer.from([octet])),
              `Content-Type: ${type}`,
            )
          : plainResponse(encode(PAGE), `Content-Type: ${type}`),
      ),
    })
    const client = await setup.connect()
    for (const path of ['/', '/cut']) {
      expect((await client.get(path)).body).toEqual(encode(output.replace('one', 'two')))
    }
    for (const { treatment } of setup.events) {
      const { charset: _charset, ...told } = (treatment?.kind === 'rewritten' ? treatment.notes : undefined) ?? {}
      expect(told).toEqual(notes)
    }
  })
})

it('a Link field loses it with the page', async () => {
  await using setup = await setUp({
    rules: RULES,
    route: { integrity: 'drop' },
    script: answering(() => plainResponse('x', 'Content-Type: text/html', 'Link: </a.js>; integrity=x; rel=preload')),
  })
  expect((await (await setup.connect()).get('/')).value('link')).toBe('</a.js>; rel=preload')
  expect(setup.events[0].fieldEdits?.response).toEqual(['link'])
})

it('a page that was changed, with a policy that names hashes, is told of', async () => {
  await using setup = await setUp({
    rules: RULES,
    script: answering((request) => plainResponse(request.target.slice(1), 'Content-Type: text/html', POLICY)),
  })
  const client = await setup.connect()
  expect((await client.get('/one')).value('content-security-policy')).toBe("script-src 'sha256-x'")
  await client.get('/none')
  await client.get('/x')
  const notes = setup.events.map(({ treatment }) => (treatment?.kind === 'rewritten' ? treatment.notes : undefined))
  expect(notes.map((each) => each?.hashedPolicy)).toEqual([true, true, undefined])
})

describe('which URLs come by way of rules', () => {
  const isRewritten = rewrittenUrls(
    ['WWW.site.example:8080', 'origin.example:80', undefined],
    [
      { domain: 'Cdn.example', to: 'x' },
      { domain: 'wide.example', to: 'x', subdomains: 'map' },
      { text: 'a', with: 'b' },
    ],
  )
  it.each([
    ['/a.js', true],
    ['a.js', true],
    ['', true],
    ['?x', true],
    [' /a.js', true],
    ['//www.site.example/a.js', true],
    ['https://www.SITE.example/a.js', true],
    ['http://www.site.example:99/a.js', true],
    ['//origin.example', true],
    ['//u:p@origin.example/a.js', true],
    ['\\\\origin.example\\a.js', true],
    ['https://cdn.example?x', true],
    ['https://x.cdn.example/', false],
    ['https://x.wide.example/', true],
    ['https://xwide.example/', false],
    ['https://other.example/origin.example', false],
    ['https://origin.example@other.example/', false],
    ['data:text/javascript,', false],
    ['blob:x', false],
    ['https:///x', false],
  ])('%j: %s', (url, expected) => {
    expect(isRewritten(url)).toBe(expected)
  })
})

it.each([
  [['Content-Security-Policy', "script-src 'sha256-x'"], true],
  [['content-security-policy-report-only', "style-src 'SHA512-x'"], true],
  [['Content-Security-Policy', "script-src 'nonce-x' 'self'"], false],
  [['X', "'sha256-x'"], false],
])('%s: %s', (fields, expected) => {
  expect(hasHashedPolicy(fields)).toBe(expected)
})

describe('integrity in Link fields', () => {
  it.each([
    ['</a.js>; rel=preload; integrity="sha256-x"; as=script', '</a.js>; rel=preload; as=script'],
    ['</a.js>;integrity=sha256-x', '</a.js>'],
    [
      '<//cdn.example/a.js>; integrity=x, </b.js>; Integrity = "y, z"; rel=preload',
      '<//cdn.example/a.js>; integrity=x, </b.js>; rel=preload',
    ],
    ['</a.js>; title="; integrity=x"; rel=preload', '</a.js>; title="; integrity=x"; rel=preload'],
    ['</a.js>; data-integrity=x', '</a.js>; data-integrity=x'],
    ['integrity=x', 'integrity=x'],
    ['</a.js>; integrity="x', '</a.js>; integrity="x'],
    ['</a.js>; integrity=x junk', '</a.js>; integrity=x junk'],
    ['</a.js>;; integrity=x;', '</a.js>;;'],
    ['</a.js>; integrity; integrity = ;integrity="a\\"b" , <b.js>', '</a.js> , <b.js>'],
    ['<<//x>; integrity=y, </a.js> ;integrity=z', '<<//x>; integrity=y, </a.js>'],
    ['</a.js>; integrity=x <b>; integrity=y', '</a.js>; integrity=x <b>; integrity=y'],
  ])('%s', (value, expected) => {
    const fields = ['X', value, 'link', value]
    dropLinkIntegrity(fields, (url) => url.startsWith('/') && !url.startsWith('//'))
    expect(fields).toEqual(['X', value, 'link', expected])
  })

  it.each(['<', '<a>;', '<a>;x="', ';', '<a>;integrity=', ' ', '<a>;x=";p=";y="', '<a>;x="\\', '<a>;integrity,'])(
    'in linear time: %s many times',
    (text) => {
      const value = `integrity${text.repeat(1_048_576 / text.length)}`
      const started = performance.now()
      dropLinkIntegrity(['link', value], () => true)
      expect(performance.now() - started).toBeLessThan(MOST_MS)
    },
  )

  it.each(['; ', ';\t \t', ';a= ', ';= ', ' ; a = b '])('a link that does not end well, in linear time: %j', (text) => {
    const value = `<a>${text.repeat(524_288 / text.length)}integrity "`
    const fields = ['link', value]
    const started = performance.now()
    dropLinkIntegrity(fields, () => true)
    expect(performance.now() - started).toBeLessThan(MOST_MS)
    expect(fields).toEqual(['link', value])
  })
})

it('rules that may change scripts or styles are told by their types', () => {
  const changes = (types?: readonly string[]): boolean => {
    const rule = { text: 'a', with: 'b', ...(types === undefined ? {} : { types }) }
    return changesHashed([rule])
  }
  expect([changes(), changes(['text/html']), changes(['text/css']), changes(['*'])]).toEqual([true, false, true, true])
})

it('the attribute is found wherever the page is cut', () => {
  const page = Buffer.from('<script integrity=x>')
  for (let size = 1; size <= page.length; size++) {
    const watch = new IntegrityWatch()
    for (let at = 0; at < page.length; at += size) watch.look(page.subarray(at, at + size))
    expect(watch.found).toBe(true)
  }
  const watch = new IntegrityWatch()
  for (const part of ['integ', 'rit', 'y', ' =']) watch.look(Buffer.from(part))
  expect(watch.found).toBe(false)
})

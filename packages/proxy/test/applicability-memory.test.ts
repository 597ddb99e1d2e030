import { gzipSync } from 'node:zlib'
import { answering, chunkedResponse, plainResponse } from '@prexy/testing/raw-origin'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ApplicabilityMemory, MAX_RECALLED_SETS, MAX_RESOURCE_CHARS } from '../src/applicability-memory.ts'
import { setUp } from './harness.ts'

const bits = (text: string): Uint8Array => Uint8Array.from(text, Number)
const version = (resource: string, validator: string = '"1"') => ({ resource, validator })

describe('what found nothing', () => {
  it('is left out for the same version, and only then', () => {
    const memory = new ApplicabilityMemory(10)
    expect(memory.recall(version('a'), bits('111'))).toEqual(bits('111'))
    memory.remember(version('a'), bits('111'), [1, 0, 0])
    expect(memory.recall(version('a'), bits('111'))).toEqual(bits('100'))
    expect(memory.recall(version('b'), bits('111'))).toEqual(bits('111'))
    expect(memory.recall(version('a', '"2"'), bits('111'))).toEqual(bits('111'))
    // Another validator has made the memory forget.
    expect(memory.recall(version('a'), bits('111'))).toEqual(bits('111'))
    expect(memory.size).toBe(0)
  })

  it('says nothing of rules that were not active', () => {
    const memory = new ApplicabilityMemory(10)
    memory.remember(version('a'), bits('101'), [1, 0, 0])
    expect(memory.recall(version('a'), bits('111'))).toEqual(bits('110'))
  })

  it('is not remembered where every rule found something', () => {
    const memory = new ApplicabilityMemory(10)
    memory.remember(version('a'), bits('11'), [1, 2])
    expect(memory.size).toBe(0)
    memory.remember(version('a'), bits('11'), [0, 2])
    memory.remember(version('a'), bits('11'), [1, 2])
    expect(memory.size).toBe(0)
  })

  it('narrows rules to so many sets and no more, but leaves all out wherever none found anything', () => {
    const memory = new ApplicabilityMemory(1_000)
    const all = new Uint8Array(100).fill(1)
    const sets = Array.from({ length: 100 }, (_, found) => all.map((_one, rule) => (rule === found ? 1 : 0)))
    for (const [page, hits] of sets.entries()) memory.remember(version(`${page}`), all, hits)
    memory.remember(version('none'), all, new Uint8Array(100))
    for (let round = 0; round < 2; round++) {
      const narrowed = sets.filter((set, page) => memory.recall(version(`${page}`), all).join() === set.join())
      expect(narrowed).toEqual(sets.slice(0, MAX_RECALLED_SETS))
      expect(memory.recall(version('99'), all)).toBe(all)
      expect(memory.recall(version('none'), all)).toEqual(new Uint8Array(100))
    }
  })

  it('is bounded: the least recently used goes, and long names are not kept', () => {
    const memory = new ApplicabilityMemory(2)
    for (const name of ['a', 'b']) memory.remember(version(name), bits('1'), [0])
    memory.recall(version('a'), bits('1'))
    memory.remember(version('c'), bits('1'), [0])
    const isKnown = (name: string): boolean => memory.recall(version(name), bits('1'))[0] === 0
    expect([isKnown('a'), isKnown('b'), isKnown('c'), memory.size]).toEqual([true, false, true, 2])
    memory.remember(version('x'.repeat(MAX_RESOURCE_CHARS - 2)), bits('1'), [0])
    expect(memory.recall(version('x'.repeat(MAX_RESOURCE_CHARS - 2)), bits('1'))).toEqual(bits('1'))
    memory.remember(version('x'.repeat(MAX_RESOURCE_CHARS - 3)), bits('1'), [0])
    expect(memory.recall(version('x'.repeat(MAX_RESOURCE_CHARS - 3)), bits('1'))).toEqual(bits('0'))
    const none = new ApplicabilityMemory(0)
    none.remember(version('a'), bits('1'), [0])
    expect(none.size).toBe(0)
  })
})

const TYPE = 'Content-Type: text/html; charset=utf-8'
const RULES = [
  { text: 'one', with: '1' },
  { text: 'two', with: '2' },
  { text: 'three', with: '3' },
]

interface Asked {
  readonly path: string
  readonly method?: string
  readonly accept?: string
}

/** Asks one after the other; what became of each body, and how it was framed. */
async function ask(
  respond: (target: string, n: number) => Uint8Array,
  requests: readonly Asked[],
  init: Partial<Parameters<typeof setUp>[0]> = {},
): Promise<{ bodies: string[]; told: string[] }> {
  let count = 0
  await using setup = await setUp({
    rules: RULES,
    script: answering((request) => respond(request.target, count++)),
    ...init,
  })
  const client = await setup.connect()
  const bodies: string[] = []
  const framings: string[] = []
  for (const { path, accept } of requests) {
    const response = await client.get(path, ...(accept === undefined ? [] : [`Accept-Encoding: ${accept}`]))
    bodies.push(response.body.toString('latin1'))
    framings.push(response.framing)
  }
  await setup.event(requests.length)
  const told = setup.events.map(({ treatment }, i) =>
    treatment?.kind === 'rewritten'
      ? `${treatment.stats.hits.join('')} left out ${treatment.notes?.rulesLeftOut ?? 0}`
      : `${treatment?.kind} ${treatment?.reason} by ${framings[i]}`,
  )
  return { bodies, told }
}

describe('a resource that is asked for again', () => {
  const tag = 'ETag: "v1"'
  it('is rewritten by the rules that found something', async () => {
    const { bodies, told } = await ask(() => plainResponse('a one', TYPE, tag), [{ path: '/' }, { path: '/' }])
    expect(bodies).toEqual(['a 1', 'a 1'])
    expect(told).toEqual(['100 left out 0', '100 left out 2'])
  })

  it('passes with its length where none did', async () => {
    const { bodies, told } = await ask(() => plainResponse('a', TYPE, tag), [{ path: '/' }, { path: '/' }])
    expect(bodies).toEqual(['a', 'a'])
    expect(told).toEqual(['000 left out 0', 'passed nothing-found by length'])
  })

  it('has the same validators either way', async () => {
    await using setup = await setUp({ rules: RULES, script: answering(() => plainResponse('a', TYPE, tag)) })
    const client = await setup.connect()
    const [first, second] = [await client.get('/'), await client.get('/')]
    expect(second.value('etag')).toBe(first.value('etag'))
    expect(second.value('etag')).toMatch(/^W\/"v1-p/)
    expect([second.value('vary'), second.value('content-length')]).toEqual(['Accept-Encoding', '1'])
  })

  it('passes coded where the client takes the coding, else it is decoded', async () => {
    const coded = gzipSync('a')
    const { bodies, told } = await ask(
      () => plainResponse(coded, TYPE, tag, 'Content-Encoding: gzip'),
      [{ path: '/', accept: 'gzip' }, { path: '/', accept: 'gzip' }, { path: '/' }],
    )
    expect(bodies).toEqual([bodies[0], coded.toString('latin1'), 'a'])
    expect(told).toEqual(['000 left out 0', 'passed nothing-found by length', '000 left out 3'])
  })

  const again = [{ path: '/' }, { path: '/' }]
  const notRemembered: readonly (readonly [
    string,
    (target: string, n: number) => Uint8Array,
    Partial<Parameters<typeof setUp>[0]>,
  ])[] = [
    ['without a validator', () => plainResponse('a', TYPE), {}],
    ['with a weak one', () => plainResponse('a', TYPE, 'ETag: W/"v1"'), {}],
    ['with none that is valid', () => plainResponse('a', TYPE, 'ETag: v1'), {}],
    ['with two', () => plainResponse('a', TYPE, tag, 'ETag: "v2"'), {}],
    ['that has changed', (_target, n) => plainResponse('a', TYPE, `ETag: "v${n}"`), {}],
    ['of another type', (_target, n) => plainResponse('a', n === 0 ? TYPE : 'Content-Type: text/css', tag), {}],
    [
      'that is not a 200',
      () => Buffer.from(`HTTP/1.1 404 Not Found\r\n${TYPE}\r\n${tag}\r\nContent-Length: 1\r\n\r\na`),
      {},
    ],
    [
      'after an overflow',
      () => plainResponse('on on ontwothre', TYPE, tag),
      { rules: [{ regex: 'o[^z]*z', with: '' }], ruleOptions: { maxHeldBytes: 4 } },
    ],
    [
      'in another encoding than rules can be applied to',
      () => plainResponse('<meta charset=iso-2022-jp>', 'Content-Type: text/html', tag),
      {},
    ],
    [
      'when told to remember none',
      () => plainResponse('a', TYPE, tag),
      { config: { limits: { maxRememberedResources: 0 } } },
    ],
  ]
  it.each(notRemembered)('is rewritten anew %s', async (_name, respond, init) => {
    const { told } = await ask(respond, again, init)
    expect(told[1]).toBe(told[0])
  })

  it('is rewritten anew where the first time it may have been cut off: it ended by close', async () => {
    let count = 0
    await using setup = await setUp({
      rules: RULES,
      script: async (connection) => {
        await connection.readHead()
        await connection.send(`HTTP/1.1 200 OK\r\n${TYPE}\r\n${tag}\r\n\r\n${count++ === 0 ? 'a' : 'a one'}`)
        connection.end()
      },
    })
    const client = await setup.connect()
    expect((await client.get('/')).body.toString()).toBe('a')
    expect((await client.get('/')).body.toString()).toBe('a 1')
  })

  it('is another one by its path, query and host', async () => {
    const respond = (): Uint8Array => plainResponse('a', TYPE, tag)
    const { told } = await ask(respond, [{ path: '/' }, { path: '/b' }, { path: '/?x' }, { path: '/' }])
    expect(told).toEqual(['000 left out 0', '000 left out 0', '000 left out 0', 'passed nothing-found by length'])
  })

  it('still loses its integrity attributes', async () => {
    const page = '<script src=/a.js integrity=x></script>'
    const respond = (): Uint8Array => plainResponse(page, TYPE, tag)
    const { bodies, told } = await ask(respond, again, { route: { integrity: 'drop' } })
    expect(bodies).toEqual(Array.from(bodies, () => '<script src=/a.js></script>'))
    expect(told).toEqual(['000 left out 0', '000 left out 3'])
  })

  it('comes out as ever, whatever it holds and however often it is asked for', async () => {
    const part = fc.constantFrom('one', 'two', 'three', 'on', 'e', ' ')
    const pages = fc.sample(fc.array(part, { maxLength: 8 }), { numRuns: 20, seed: 7 }).map((parts) => parts.join(''))
    const { bodies } = await ask(
      (target) => chunkedResponse([pages[Number(target.slice(1))]], TYPE, `ETag: "${target}"`),
      [...pages.keys(), ...pages.keys(), ...pages.keys()].map((page) => ({ path: `/${page}` })),
    )
    expect(bodies.slice(pages.length, 2 * pages.length)).toEqual(bodies.slice(0, pages.length))
    expect(bodies.slice(2 * pages.length)).toEqual(bodies.slice(0, pages.length))
  })
})

import type { ExchangeEvent } from '@prexy/events/exchange'
import { answering, chunkedResponse, type OriginConnection, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { setUp } from './harness.ts'

const rules = [
  { text: 'café', with: 'thé €', types: ['text/*', 'application/*', 'image/svg+xml'] },
  { text: '\\', with: '/' },
  { text: 'Ж', with: '日' },
]

function notesOf(event: ExchangeEvent): unknown {
  const { treatment } = event
  if (treatment?.kind !== 'rewritten') return treatment
  return { hits: treatment.stats.hits, ...treatment.notes }
}

interface Row {
  readonly name: string
  readonly type: string
  /** One character for each octet. */
  readonly body: string
  readonly output: string
  readonly notes: unknown
}

const meta = (charset: string): string => `<meta charset=${charset}>`

const ROWS: readonly Row[] = [
  {
    name: 'by Content-Type',
    type: 'text/html; charset=iso-8859-1',
    body: 'a caf\xe9',
    output: 'a th\xe9 \x80',
    notes: { hits: [1, 0, 0], charset: 'windows-1252' },
  },
  {
    name: 'by its declaration, against what Content-Type does not say',
    type: 'text/html',
    body: `${meta('iso-8859-15')}caf\xe9`,
    output: `${meta('iso-8859-15')}th\xe9 \xa4`,
    notes: { hits: [1, 0, 0], charset: 'iso-8859-15' },
  },
  {
    name: 'by the default of HTML',
    type: 'text/html',
    body: 'caf\xe9 caf\xc3\xa9',
    output: 'th\xe9 \x80 caf\xc3\xa9',
    notes: { hits: [1, 0, 0], charset: 'windows-1252' },
  },
  {
    name: 'by the default of others',
    type: 'text/css',
    body: 'caf\xe9 caf\xc3\xa9',
    output: 'caf\xe9 th\xc3\xa9 \xe2\x82\xac',
    notes: { hits: [1, 0, 0], charset: 'utf-8' },
  },
  {
    name: 'by its mark, against Content-Type',
    type: 'text/html; charset=koi8-r',
    body: '\xef\xbb\xbfcaf\xc3\xa9',
    output: '\xef\xbb\xbfth\xc3\xa9 \xe2\x82\xac',
    notes: { hits: [1, 0, 0], charset: 'utf-8' },
  },
  {
    name: 'UTF-16 by its mark',
    type: 'text/plain',
    body: '\xff\xfec\0a\0f\0\xe9\0\0\xd8!',
    output: '\xff\xfet\0h\0\xe9\0 \0\xac \0\xd8!',
    notes: { hits: [1, 0, 0], charset: 'utf-16le' },
  },
  {
    name: 'Shift_JIS, where a backslash may be half of a character',
    type: 'text/html; charset=shift_jis',
    body: '\x95\x5c \x5c \x84\x47',
    output: '\x95\x5c / \x93\xfa',
    notes: { hits: [0, 1, 1], charset: 'shift_jis' },
  },
  {
    name: 'what the encoding lacks is a reference in HTML',
    type: 'text/html; charset=windows-1251',
    body: '\xc6',
    output: '&#26085;',
    notes: { hits: [0, 0, 1], charset: 'windows-1251', unencodable: 1 },
  },
  {
    name: 'and left out elsewhere',
    type: 'text/css; charset=windows-1251',
    body: 'a\xc6b',
    output: 'ab',
    notes: { hits: [0, 0, 1], charset: 'windows-1251', unencodable: 1 },
  },
  {
    name: 'an encoding with states, declared by the page, is left alone',
    type: 'text/html',
    body: `${meta('iso-2022-jp')}\x1b$B\\\\\x1b(B`,
    output: `${meta('iso-2022-jp')}\x1b$B\\\\\x1b(B`,
    notes: { kind: 'passed', reason: 'charset' },
  },
  {
    name: 'the same by Content-Type, with its length',
    type: 'text/html; charset=iso-2022-jp',
    body: '\\',
    output: '\\',
    notes: { kind: 'passed', reason: 'charset' },
  },
  {
    name: 'an empty page',
    type: 'text/html',
    body: '',
    output: '',
    notes: { hits: [0, 0, 0], charset: 'windows-1252' },
  },
]

describe('the encoding of a body is found', () => {
  it.each(ROWS)('$name', async ({ type, body, output, notes }) => {
    const octets = Buffer.from(body, 'latin1')
    await using setup = await setUp({
      rules,
      script: answering((request) =>
        request.target === '/cut'
          ? chunkedResponse(
              Array.from(octets, (octet) => Buffer.from([octet])),
              `Content-Type: ${type}`,
            )
          : plainResponse(octets, `Content-Type: ${type}`),
      ),
    })
    const client = await setup.connect()
    for (const path of ['/', '/cut']) expect((await client.get(path)).body.toString('latin1')).toBe(output)
    expect(setup.events.map(notesOf)).toEqual([notes, notes])
  })

  it('also when the octets that are held for it came in a buffer that is used again', async () => {
    await using setup = await setUp({
      rules,
      script: async (connection: OriginConnection) => {
        while ((await connection.readRequest()) !== undefined) {
          await connection.send('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 600\r\n\r\n')
          for (const letter of 'abc') {
            await connection.send(letter.repeat(200))
            await new Promise(setImmediate)
          }
        }
        connection.end()
      },
    })
    const client = await setup.connect()
    const page = [...'abc'].map((letter) => letter.repeat(200)).join('')
    for (let i = 0; i < 3; i++) expect((await client.get('/')).body.toString()).toBe(page)
  })

  it('and no more than the first 1,024 octets are held for it', async () => {
    let proceed = (): void => {}
    await using setup = await setUp({
      rules,
      script: async (connection: OriginConnection) => {
        await connection.readRequest()
        await connection.send('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n')
        await connection.send(`3ff\r\n${'x'.repeat(1_023)}\r\n`)
        await connection.send('1\r\ny\r\n')
        await new Promise<void>((resolve) => {
          proceed = resolve
        })
        await connection.send('0\r\n\r\n')
        await connection.ended
      },
    })
    const client = await setup.connect()
    await client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await client.readHead()
    expect(String(await client.reader.until('y\r\n'))).toMatch(/x{10}y\r\n$/)
    proceed()
    await client.reader.until('0\r\n\r\n')
  })

  it('and rules of octets leave alone what has ASCII octets in other characters', async () => {
    const body = `${meta('gbk')}\\`
    await using setup = await setUp({
      rules: [{ text: '\\', with: '/' }],
      ruleOptions: { mode: 'octet' },
      script: answering((request) => plainResponse(request.target === '/' ? body : '\\', 'Content-Type: text/html')),
    })
    const client = await setup.connect()
    expect((await client.get('/')).body.toString()).toBe(body)
    expect((await client.get('/x')).body.toString()).toBe('/')
    expect(setup.events.map(notesOf)).toEqual([
      { kind: 'passed', reason: 'charset' },
      { hits: [1], charset: 'windows-1252' },
    ])
  })

  it('but not for octets, in compat: nginx', async () => {
    await using setup = await setUp({
      rules: [{ text: '\\', with: '/' }],
      ruleOptions: { compat: 'nginx' },
      script: answering(() => plainResponse(Buffer.from('955c', 'hex'), 'Content-Type: text/html; charset=shift_jis')),
    })
    expect((await (await setup.connect()).get('/')).body.toString('hex')).toBe('952f')
    expect(notesOf(setup.events[0])).toEqual({ hits: [1] })
  })
})

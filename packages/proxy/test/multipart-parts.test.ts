import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { MAX_PART_HEADER_BYTES, MultipartParts } from '../src/multipart-parts.ts'

interface Found {
  readonly texts: readonly string[]
  /** Everything in order. */
  readonly all: string
}

function find(body: string, boundary: string, size: number): Found {
  const texts: string[] = []
  let text = ''
  let all = ''
  const add = (octets: Uint8Array): string => {
    const piece = Buffer.from(octets).toString('latin1')
    all += piece
    return piece
  }
  const parts = new MultipartParts(boundary, {
    raw: add,
    text: (octets) => {
      text += add(octets)
    },
    textEnd: () => {
      texts.push(text)
      text = ''
    },
  })
  const octets = Buffer.from(body, 'latin1')
  for (let at = 0; at < octets.length; at += size) parts.write(octets.subarray(at, at + size))
  parts.end()
  expect(text).toBe('')
  return { texts, all }
}

/** Whatever the pieces, everything comes out and the texts are these. */
function expectTexts(body: string, texts: readonly string[], boundary = 'b'): void {
  for (const size of [1, 2, 3, 5, 7, 64, body.length + 1]) {
    const found = find(body, boundary, size)
    expect(found.all).toBe(body)
    // The line end before a text goes with it.
    expect(found.texts.map((one) => one.replace(/^\r\n/, ''))).toEqual(texts)
  }
}

const part = (content: string, ...lines: readonly string[]): string =>
  `--b\r\n${['Content-Disposition: form-data; name="a"', ...lines].map((line) => `${line}\r\n`).join('')}\r\n${content}\r\n`

describe('texts of a form', () => {
  test.each<[what: string, body: string, texts: readonly string[]]>([
    ['one field', `${part('x')}--b--\r\n`, ['x']],
    ['several', `${part('x')}${part('y\r\nz')}--b--\r\n`, ['x', 'y\r\nz']],
    ['an empty one', `${part('')}--b--\r\n`, ['']],
    ['no fields at all', '--b\r\n\r\nx\r\n--b--', ['x']],
    ['nothing after the fields', '--b\r\nContent-Disposition: form-data\r\n\r\n--b--', ['']],
    ['a type of text', `${part('x', 'Content-Type: text/plain; charset=utf-8')}--b--`, ['x']],
    ['JSON', `${part('{}', 'Content-Type: application/json')}--b--`, ['{}']],
    ['a preamble and an epilogue', `hello\r\n${part('x')}--b--\r\nbye --b\r\n`, ['x']],
    ['blanks behind a boundary', '--b \t\r\n\r\nx\r\n--b--', ['x']],
    ['something like a boundary in it', `${part('x\r\n--a\r\n-b\n--b')}--b--`, ['x\r\n--a\r\n-b\n--b']],
    ['a line end at its end', `${part('x\r\n')}--b--`, ['x\r\n']],
    ['an encoding that is none', `${part('x', 'Content-Transfer-Encoding: 8bit')}--b--`, ['x']],
    ['no end', part('x').slice(0, -2), ['x']],
  ])('%s', (_, body, texts) => {
    expectTexts(body, texts)
  })

  test.each<[what: string, body: string]>([
    ['a file', '--b\r\nContent-Disposition: form-data; name="f"; filename="x.txt"\r\n\r\nx\r\n--b--'],
    ['a file with an encoded name', "--b\r\nContent-Disposition: form-data; filename*=utf-8''x\r\n\r\nx\r\n--b--"],
    ['a file with a name in pieces', '--b\r\nContent-Disposition: form-data; filename*0="x"\r\n\r\nx\r\n--b--'],
    ['the same, encoded', "--b\r\nContent-Disposition: form-data; FileName*12*=utf-8''x\r\n\r\nx\r\n--b--"],
    ['a picture', `${part('x', 'Content-Type: image/png')}--b--`],
    ['octets', `${part('x', 'Content-Type: application/octet-stream')}--b--`],
    ['a text in UTF-16', `${part('x', 'Content-Type: text/plain; charset=utf-16le')}--b--`],
    ['a text in Shift_JIS', `${part('x', 'Content-Type: text/plain; charset=shift_jis')}--b--`],
    ['base64', `${part('x', 'Content-Transfer-Encoding: base64')}--b--`],
    ['a compressed part', `${part('x', 'Content-Encoding: gzip')}--b--`],
    ['parts in a part', `${part('x', 'Content-Type: multipart/mixed; boundary=c')}--b--`],
    ['a folded field', `${part('x', 'X-A: 1', ' filename="x"')}--b--`],
    ['what is no field', `${part('x', 'hello')}--b--`],
    ['another boundary', `${part('x').replace('--b', '--c')}--c--`],
    ['a longer boundary', '--bc\r\n\r\nx\r\n--bc--'],
    ['text behind a boundary', '--b x\r\n\r\nx\r\n--b--'],
    ['line ends of one octet', '--b\n\nx\n--b--'],
    ['no body', ''],
    ['an end without parts', '--b--\r\n'],
    ['fields without end', `--b\r\n${'X-A: 1\r\n'.repeat(MAX_PART_HEADER_BYTES / 8 + 1)}\r\nx\r\n--b--`],
  ])('not in %s', (_, body) => {
    expectTexts(body, [])
  })

  it('of one part do not depend on the others', () => {
    const file = '--b\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\n\0\xff\r\n--\r\n'
    expectTexts(`${part('x')}${file}${part('y')}--b--`, ['x', 'y'])
  })

  it('of any body: nothing is lost or moved, however it is cut', () => {
    const piece = fc.constantFrom(
      '--b',
      '\r\n',
      '\r',
      '\n',
      '--',
      'x',
      'X-A: 1',
      '\r\n\r\n',
      ' ',
      '-',
      'b',
      '\r\n--b\r\n\r\n',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 1, max: 9 }), (pieces, size) => {
        const body = pieces.join('')
        const cut = find(body, 'b', size)
        expect(cut.all).toBe(body)
        expect(cut.texts).toEqual(find(body, 'b', body.length + 1).texts)
      }),
      { numRuns: 2_000 },
    )
  })
})

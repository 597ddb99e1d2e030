import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  type Charset,
  charsetOfLabel,
  isForeignCharset,
  MULTI_BYTE_CHARSETS,
  SINGLE_BYTE_CHARSETS,
} from '../src/charset-labels.ts'
import { multiByteTables } from '../src/multi-byte-tables.ts'
import { canReadCharset, formRoom, octetRoom, type TextForm, textFormOf } from '../src/text-form.ts'
import { decodeUtf8, encodeUtf8 } from '../src/utf8.ts'

const CHARSETS: readonly Charset[] = [...SINGLE_BYTE_CHARSETS, ...MULTI_BYTE_CHARSETS, 'utf-16le', 'utf-16be']
const RUNS = 150

function formOf(charset: Charset): TextForm {
  const form = textFormOf(charset)
  if (form === undefined) throw new Error(`this runtime lacks ${charset}`)
  return form
}

function cut(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((each) => each % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, i) => bytes.slice(places[i], end))
}

function toForm(charset: Charset, pieces: readonly Uint8Array[]): Uint8Array {
  const reader = formOf(charset).openReader()
  const out: number[] = []
  for (const piece of pieces) {
    const target = new Uint8Array(formRoom(piece.length))
    out.push(...target.subarray(0, reader.read(piece, target)))
  }
  const target = new Uint8Array(formRoom(0))
  out.push(...target.subarray(0, reader.finish(target)))
  return Uint8Array.from(out)
}

function fromForm(charset: Charset, pieces: readonly Uint8Array[], unencodable: 'reference' | 'skip' = 'skip') {
  const writer = formOf(charset).openWriter(unencodable)
  const out: number[] = []
  for (const piece of pieces) {
    const target = new Uint8Array(octetRoom(piece.length))
    out.push(...target.subarray(0, writer.write(piece, target)))
  }
  const target = new Uint8Array(octetRoom(0))
  out.push(...target.subarray(0, writer.finish(target)))
  return { bytes: Uint8Array.from(out), unencodable: writer.unencodable }
}

/** Octets that are often characters, halves of them, or nothing. */
const octets = fc.uint8Array({ maxLength: 40 })
const likely = fc
  .array(
    fc.oneof(
      fc.constantFrom(0x20, 0x30, 0x35, 0x39, 0x3c, 0x40, 0x41, 0x5c, 0x7e, 0x7f, 0x80, 0x81, 0x82, 0x84, 0x8e, 0x8f),
      fc.constantFrom(0x95, 0x9f, 0xa0, 0xa1, 0xa2, 0xc9, 0xd8, 0xdc, 0xdf, 0xe0, 0xe3, 0xfc, 0xfd, 0xfe, 0xff),
      fc.integer({ min: 0x80, max: 0xff }),
    ),
    { maxLength: 40 },
  )
  .map((list) => Uint8Array.from(list))
const bodies = fc.oneof(octets, likely)
const cuts = fc.array(fc.nat(100), { maxLength: 4 })

describe('labels', () => {
  test.each([
    ['UTF-8', 'utf-8'],
    [' latin1\n', 'windows-1252'],
    ['ISO-8859-9', 'windows-1254'],
    ['gb2312', 'gbk'],
    ['x-sjis', 'shift_jis'],
    ['ks_c_5601-1987', 'euc-kr'],
    ['utf-16', 'utf-16le'],
    ['unicodeFFFE', 'utf-16be'],
    ['hz-gb-2312', 'replacement'],
    ['foo', undefined],
    ['', undefined],
    ['utf-32', undefined],
    ['__proto__', undefined],
  ])('%j names %s', (label, charset) => {
    expect(charsetOfLabel(label)).toBe(charset)
  })

  test('are those of the runtime, where it has the encoding', () => {
    for (const charset of CHARSETS) {
      if (charset === 'x-user-defined' || charset === 'iso-8859-16') continue
      expect(new TextDecoder(charset).encoding.toLowerCase()).toBe(charset)
    }
  })

  test.each(['utf-7', 'UTF-32LE', 'ibm037', 'EBCDIC-US', 'iso-10646-ucs-4', 'johab'])('%s is foreign', (label) => {
    expect([isForeignCharset(label), charsetOfLabel(label)]).toEqual([true, undefined])
  })

  test.each(['utf-8', 'utf-16', 'iso-2022-kr', 'foo', '', 'ibm866'])('%s is not', (label) => {
    expect(isForeignCharset(label)).toBe(false)
  })
})

describe('any octets, cut anywhere', () => {
  test.each(CHARSETS)('of %s come back', (charset) => {
    fc.assert(
      fc.property(bodies, cuts, cuts, (body, cutsIn, cutsOut) => {
        const form = toForm(charset, cut(body, cutsIn))
        expect(form).toEqual(toForm(charset, [body]))
        const back = fromForm(charset, cut(form, cutsOut))
        expect(back).toEqual({ bytes: body, unencodable: 0 })
      }),
      { numRuns: RUNS },
    )
  })

  test.each(MULTI_BYTE_CHARSETS)('of %s, two, come back', (charset) => {
    const form = formOf(charset)
    const target = new Uint8Array(formRoom(3))
    const octetTarget = new Uint8Array(octetRoom(30))
    for (let lead = 0x80; lead < 0x100; lead++) {
      for (let trail = 0; trail < 0x100; trail++) {
        const reader = form.openReader()
        const writer = form.openWriter('skip')
        const length = reader.read(Uint8Array.of(lead, trail, 0x0a), target)
        const back = octetTarget.slice(0, writer.write(target.subarray(0, length), octetTarget))
        if (back.join() !== `${lead},${trail},10`)
          expect.fail(`${lead.toString(16)} ${trail.toString(16)}: ${back.join(' ')}`)
      }
    }
  })
})

/** Escapes as a decoder's U+FFFD, twice-coded characters as what they are. */
function readable(form: Uint8Array): string {
  let text = ''
  for (let at = 0; at < form.length; ) {
    const lead = form[at]
    if (lead >= 0xf8 || (lead >= 0x80 && lead < 0xc0)) {
      text += '\ufffd'
      at += lead < 0xc0 ? 1 : lead === 0xf9 ? 4 : 3
      continue
    }
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
    text += decodeUtf8(form, at, at + length)
    at += length
  }
  return text
}

/** Whether the runtime's decoder follows the Encoding Standard; Node's does for code pages only, and that from 24 on. */
const followsSingle = new TextDecoder('windows-1252').decode(Uint8Array.of(0x80)) === '€'
const followsMulti = new TextDecoder('big5').decode(Uint8Array.of(0xff)) === '\ufffd'
const ORACLES: readonly Charset[] = [
  ...(followsSingle ? SINGLE_BYTE_CHARSETS : (['koi8-r'] as const)),
  ...(followsMulti ? MULTI_BYTE_CHARSETS : (['gb18030'] as const)),
  'utf-16le',
  'utf-16be',
]

describe(`characters are those of the runtime's decoder (${ORACLES.length} encodings here)`, () => {
  test.each(ORACLES)('%s', (charset) => {
    const decoder = new TextDecoder(charset, { ignoreBOM: true })
    fc.assert(
      fc.property(bodies, (body) => {
        const form = toForm(charset, [body])
        const text = readable(form)
        // A character that the encoding has twice is for the rules one that nothing else is.
        if (/[\u{10f000}-\u{10ffff}]/u.test(text)) return
        const compared = (each: string): string => each.replaceAll(/\ufffd+/g, '\ufffd')
        expect(compared(text)).toBe(compared(decoder.decode(body)))
      }),
      { numRuns: RUNS },
    )
  })
})

describe('tables', () => {
  test.each([
    ['gbk', 23_940, true],
    ['gb18030', 23_940, true],
    ['shift_jis', 9_604, true],
    ['euc-kr', 17_048, true],
    ['big5', followsMulti ? 18_594 : 19_720, followsMulti],
  ] as const)('%s has %i pairs', (charset, pairs, exact) => {
    const tables = multiByteTables(charset)
    expect(tables?.points.filter((point) => point !== -1).length).toBe(pairs)
    expect(tables?.exact).toBe(exact)
  })

  test('EUC-KR is windows-949 under every runtime', () => {
    const text = '가갂똠뷁힣€®'
    const bytes = fromForm('euc-kr', [encodeUtf8(text)]).bytes
    expect(Buffer.from(bytes).toString('hex')).toBe('b0a18141' + '8c63' + '94ee' + 'c652' + 'a2e6a2e7')
    expect(readable(toForm('euc-kr', [bytes]))).toBe(text)
  })

  test('a runtime’s encodings can be asked for without reading them', () => {
    expect(CHARSETS.filter((charset) => !canReadCharset(charset))).toEqual([])
    expect([canReadCharset('iso-2022-jp'), canReadCharset('replacement'), canReadCharset('utf-8')]).toEqual([
      false,
      false,
      true,
    ])
  })
})

describe('a runtime that lacks encodings', () => {
  afterEach(() => {
    vi.unstubAllGlobals()
    vi.resetModules()
  })

  test('has no form for them, and one for code pages and UTF-16', async () => {
    class FewEncodings extends TextDecoder {
      constructor(label: string = 'utf-8') {
        if (!label.startsWith('utf-')) throw new RangeError(`no ${label} here`)
        super(label)
      }
    }
    vi.stubGlobal('TextDecoder', FewEncodings)
    vi.resetModules()
    const module = await import('../src/text-form.ts')
    const has = (charset: Charset): unknown => [
      module.canReadCharset(charset),
      module.textFormOf(charset) !== undefined,
    ]
    for (const charset of MULTI_BYTE_CHARSETS) expect(has(charset)).toEqual([false, false])
    for (const charset of ['windows-1252', 'koi8-r', 'utf-16le'] as const) expect(has(charset)).toEqual([true, true])
  })
})

describe('characters that come in', () => {
  test.each([
    ['windows-1252', '€ü', '80fc'],
    ['iso-8859-15', '€ü', 'a4fc'],
    ['windows-1251', 'Привет', 'cff0e8e2e5f2'],
    ['koi8-r', 'Привет', 'f0d2c9d7c5d4'],
    ['iso-8859-5', 'Привет', 'bfe0d8d2d5e2'],
    ['shift_jis', '表ソ日ｱ髙−¥', '955c835c93fab1fbfc817c5c'],
    ['euc-jp', '日本ｱ丂', 'c6fccbdc8eb18fb0a1'],
    ['gbk', '中€', 'd6d080'],
    ['gb18030', '中€ü😀', 'd6d0a2e3a8b99439fc36'],
    ['big5', '中十', 'a4a4a451'],
    ['utf-16le', 'a😀', '61003dd800de'],
    ['utf-16be', 'a😀', '0061d83dde00'],
  ] as const)('%s: %s', (charset, text, hex) => {
    expect(Buffer.from(fromForm(charset, [encodeUtf8(text)]).bytes).toString('hex')).toBe(hex)
  })

  test.each([
    ['windows-1252', 'aжb', 'skip', 'ab', 1],
    ['windows-1252', 'aж😀b', 'reference', 'a&#1078;&#128512;b', 2],
    ['shift_jis', 'aéb', 'reference', 'a&#233;b', 1],
    ['euc-kr', 'a😀b', 'skip', 'ab', 1],
  ] as const)('%s lacks some of %s: %s', (charset, text, unencodable, out, count) => {
    const made = fromForm(charset, [encodeUtf8(text)], unencodable)
    expect([Buffer.from(made.bytes).toString('latin1'), made.unencodable]).toEqual([out, count])
  })

  test('between the octets of what is no character are dropped', () => {
    const form = [...toForm('utf-16le', [Uint8Array.of(0x41, 0, 0, 0xd8)])]
    const broken = Uint8Array.from([...form.slice(0, 2), ...encodeUtf8('xé€😀'), ...form.slice(2)])
    expect(fromForm('utf-16le', [broken]).bytes).toEqual(Uint8Array.of(0x41, 0, 0, 0xd8))
  })

  test('after the odd last octet of UTF-16 stand before it', () => {
    const form = [...toForm('utf-16le', [Uint8Array.of(0x41, 0, 0x42)]), 0x58]
    expect(fromForm('utf-16le', [Uint8Array.from(form)]).bytes).toEqual(Uint8Array.of(0x41, 0, 0x58, 0, 0x42))
  })
})

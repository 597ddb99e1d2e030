/** The format byte by byte. The bytes below were written down by hand from its description. */
import { EvtxDecoder } from '@prexy/evtx/decoder'
import { CHUNK_BYTES } from '@prexy/evtx/chunk'
import { ChunkWriter, sealChunk, writeEvtx, writeEvtxFile } from '@prexy/testing/evtx-writer'
import { evtxValue as v, filetimeOf, type EvtxTemplate } from '@prexy/testing/evtx-values'
import { describe, expect, test } from 'vitest'
import { readAll, readContent } from './reading.ts'

/** Without what stands after `;` in a line. */
function fromHex(text: string): Uint8Array {
  const digits = text.replace(/;.*$/gm, '').replace(/\s+/g, '')
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) => Number.parseInt(digits.slice(i * 2, i * 2 + 2), 16))
}

// The hash of the name is the one that files of Windows have for "Event".
const WITHOUT_TEMPLATE = fromHex(`
  2a2a0000 48000000          ; 0x200 magic, size 72
  0700000000000000           ; number 7
  1896575744d9d101           ; 131124751716816408 times 100 ns
  0f010100                   ; 0x218 fragment header, version 1.1
  01 22000000                ; 0x21c element without attributes, 34 bytes
  25020000                   ; 0x221 its name is at 0x225, the next byte
  00000000 ba0c 0500         ; no other name, hash, 5 characters
  4500760065006e007400 0000  ; E v e n t NUL
  02                         ; 0x239 the start tag ends
  05 01 0200 68006900        ; text, of type string, 2 characters: h i
  04                         ; the element ends
  00                         ; 0x243 the fragment ends
  48000000                   ; size again
`)

const WITH_TEMPLATE = fromHex(`
  2a2a0000 90000000          ; 0x248 magic, size 144
  0800000000000000 1996575744d9d101
  0f010100                   ; 0x260
  0c 01                      ; 0x264 template instance, version 1
  04030201 6e020000          ; 0x266 number of the template, its definition is at 0x26e, the next byte
  00000000                   ; 0x26e no other template
  04030201 0605 0807 090a0b0c0d0e0f10
  3b000000                   ; 59 bytes
  0f010100                   ; 0x286
  41 ffff 2f000000           ; 0x28a element with attributes, dependency, 47 bytes
  95020000                   ; 0x291 its name is at 0x295
  00000000 4500 0100 4500 0000
  15000000                   ; 0x2a1 21 bytes of attributes
  06 aa020000                ; 0x2a5 attribute, name at 0x2aa
  00000000 6e00 0100 6e00 0000
  0e 0000 06                 ; 0x2b6 optional value 0, 16-bit
  02                         ; 0x2ba
  0d 0100 01                 ; value 1, string
  04 00                      ; 0x2bf
  02000000                   ; 0x2c1 2 values
  0200 06 00                 ; 2 bytes, 16-bit
  0400 01 00                 ; 4 bytes, string
  0500 6f006b00              ; 5, o k
  00                         ; 0x2d3 the fragment ends
  90000000
`)

const WITH_TEMPLATE_AGAIN = fromHex(`
  2a2a0000 38000000          ; 0x2d8 magic, size 56
  0900000000000000 0000000000000000
  0f010100
  0c 01 04030201 6e020000    ; the template of the record before
  02000000
  0000 00 00                 ; null
  0000 01 00                 ; an empty string
  00
  00                         ; padding
  38000000
`)

const TEMPLATE: EvtxTemplate = {
  guid: '{01020304-0506-0708-090A-0B0C0D0E0F10}',
  root: {
    element: 'E',
    attributes: [['n', { slot: 0, type: 0x06, optional: true }]],
    children: [{ slot: 1 }],
  },
}

/** Records that begin right after the header of the chunk. */
function chunkOf(...records: readonly Uint8Array[]): Uint8Array {
  const chunk = new ChunkWriter(1).finish()
  let at = 512
  for (const record of records) {
    chunk.set(record, at)
    at += record.length
  }
  new DataView(chunk.buffer).setUint32(48, at, true)
  sealChunk(chunk)
  return chunk
}

describe('records written down by hand', () => {
  const { records, report } = readAll(
    writeEvtxFile([chunkOf(WITHOUT_TEMPLATE, WITH_TEMPLATE, WITH_TEMPLATE_AGAIN)], 10),
  )

  test('are read without a complaint', () => {
    expect(report.problems).toEqual([])
    expect(records.map(({ id, time, offset }) => [id, time, offset])).toEqual([
      [7, '2016-07-08T18:12:51.6816408Z', 4_096 + 512],
      [8, '2016-07-08T18:12:51.6816409Z', 4_096 + 584],
      [9, '1601-01-01T00:00:00.0000000Z', 4_096 + 728],
    ])
  })

  test('give their XML', () => {
    expect(records.map(({ xml }) => xml)).toEqual(['<Event>hi</Event>', '<E n="5">ok</E>', '<E/>'])
  })

  test('give their JSON', () => {
    expect(records.map(({ json }) => json)).toEqual([
      '{"Event":"hi"}',
      '{"E":{"#attributes":{"n":5},"#text":"ok"}}',
      '{"E":null}',
    ])
  })

  test('give their fields', () => {
    expect(records.map(({ fields }) => fields)).toEqual([
      [['Event', 'hi']],
      [
        ['E_attributes.n', 5],
        ['E', 'ok'],
      ],
      [
        ['E_attributes.n', undefined],
        ['E', undefined],
      ],
    ])
  })

  test('are what the writer of the tests writes', () => {
    const writer = new ChunkWriter(1)
    writer.tryAdd({
      id: 7,
      time: filetimeOf('2016-07-08T18:12:51.6816408Z'),
      content: { element: 'Event', children: ['hi'] },
    })
    writer.tryAdd({
      id: 8,
      time: filetimeOf('2016-07-08T18:12:51.6816409Z'),
      content: { template: TEMPLATE, values: [v.uint16(5), v.string('ok')] },
    })
    writer.tryAdd({ id: 9, time: 0n, content: { template: TEMPLATE, values: [v.none(), v.string('')] } })
    expect(Buffer.from(writer.finish().subarray(512, writer.end)).toString('hex')).toBe(
      Buffer.concat([WITHOUT_TEMPLATE, WITH_TEMPLATE, WITH_TEMPLATE_AGAIN]).toString('hex'),
    )
  })
})

describe('the file header', () => {
  test('is read to its last field', () => {
    const decoder = new EvtxDecoder()
    expect(decoder.readHeader(writeEvtx([{ id: 41, time: 0n, content: { element: 'E' } }]))).toEqual({
      firstChunk: 0,
      lastChunk: 0,
      nextRecordId: 42,
      majorVersion: 3,
      minorVersion: 1,
      chunkCount: 1,
      isDirty: false,
      isFull: false,
      checksum: expect.any(Number),
      isChecksumGood: true,
    })
    expect(decoder.report.problems).toEqual([])
  })

  test('of a file that was not closed does not hide its chunks', () => {
    const inputs = Array.from({ length: 5 }, (_, i) => ({ id: i + 1, time: 0n, content: { element: 'E' } }))
    const { records, report } = readAll(writeEvtx(inputs, { dirty: true, recordsPerChunk: 2, emptyChunks: 1 }))
    expect(records.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5])
    expect(report.problems).toEqual([
      { code: 'dirty', offset: 0, reason: 'the file was not closed: chunks are read to its end', recordId: undefined },
    ])
    expect([report.chunks, report.emptyChunks]).toEqual([3, 1])
  })
})

test('a chunk is read alone, at any place of its file', () => {
  const decoder = new EvtxDecoder()
  const chunk = chunkOf(WITHOUT_TEMPLATE)
  const offsets = []
  for (const record of decoder.readChunk(chunk, 12_345_000_000_000)) offsets.push(record.offset)
  expect(offsets).toEqual([12_345_000_000_512])
  // Bytes after the chunk are another chunk's.
  const longer = new Uint8Array(CHUNK_BYTES + 100).fill(0x2a)
  longer.set(chunk)
  expect([...decoder.readChunk(longer, 0)]).toHaveLength(1)
})

describe('tokens', () => {
  test.each([
    ['text', ['a', 'b'], 'ab', 'ab'],
    ['CDATA', [{ cdata: 'a<b]]>c' }], '<![CDATA[a<b]]]]><![CDATA[>c]]>', 'a<b]]>c'],
    ['a character reference', ['x', { character: 0xe9 }], 'x&#233;', 'xé'],
    ['a character that XML does not have', [{ character: 0x1f }], '\uFFFD', '\x1f'],
    [
      'entities',
      [{ entity: 'amp' }, { entity: 'lt' }, { entity: 'gt' }, { entity: 'quot' }, { entity: 'apos' }],
      '&amp;&lt;&gt;&quot;&apos;',
      '&<>"\'',
    ],
    ['an entity that nobody defines', [{ entity: 'nbsp' }], '&amp;nbsp;', '&nbsp;'],
    ['a processing instruction', ['a', { target: 'go', data: 'to="?>"' }, 'b'], 'a<?go to="? >"?>b', 'ab'],
    ['a processing instruction without data', ['a', { target: 'go' }, 'b'], 'a<?go ?>b', 'ab'],
    ['a literal number', [{ literal: v.uint16(7) }], '7', 7],
    [
      'a literal GUID',
      [{ literal: v.guid('{01020304-0506-0708-090A-0B0C0D0E0F10}') }],
      '{01020304-0506-0708-090A-0B0C0D0E0F10}',
      '01020304-0506-0708-090A-0B0C0D0E0F10',
    ],
    ['a literal SID', [{ literal: v.sid('S-1-5-18') }], 'S-1-5-18', 'S-1-5-18'],
    ['literal single-byte text', [{ literal: v.ansi(0x61, 0x80) }], 'a€', 'a€'],
  ] as const)('%s', (_, children, xml, value) => {
    for (const inTemplate of [false, true]) {
      const root = { element: 'E', children }
      const record = readContent(inTemplate ? { template: { ...TEMPLATE, root }, values: [] } : root)
      expect(record.xml).toBe(`<E>${xml}</E>`)
      expect(record.object).toEqual({ E: value })
      expect(record.fields).toEqual([['E', typeof value === 'number' ? String(value) : value]])
    }
  })

  test('all of them in an attribute', () => {
    const parts = [
      'a"',
      { character: 0x26 },
      { entity: 'lt' },
      { cdata: '<' },
      { target: 'x', data: 'y' },
      '\n\t',
    ] as const
    const record = readContent({ element: 'E', attributes: [['n', ...parts]] })
    expect(record.xml).toBe('<E n="a&quot;&#38;&lt;&lt;&#10;&#9;"/>')
    expect(record.object).toEqual({ E: { '#attributes': { n: 'a"&<<\n\t' } } })
  })
})

describe('templates', () => {
  const inner: EvtxTemplate = {
    guid: '{11111111-0000-0000-0000-000000000000}',
    root: { element: 'In', children: [{ slot: 0 }] },
  }
  const outer: EvtxTemplate = {
    guid: '{22222222-0000-0000-0000-000000000000}',
    root: { element: 'Out', children: ['<', { slot: 0, type: 0x21 }, '>'] },
  }

  test('stand in values of others', () => {
    const record = readContent({ template: outer, values: [v.nested({ template: inner, values: [v.string('x')] })] })
    expect(record.xml).toBe('<Out>&lt;<In>x</In>&gt;</Out>')
    expect(record.fields).toEqual([
      ['Out.In', 'x'],
      ['Out', '<>'],
    ])
  })

  test('mix with elements that stand in values', () => {
    const nested = [{ element: 'A', children: ['1'] }, { template: inner, values: [v.string('2')] }, { element: 'B' }]
    const record = readContent({ template: outer, values: [v.nested(nested)] })
    expect(record.xml).toBe('<Out>&lt;<A>1</A><In>2</In><B/>&gt;</Out>')
    expect(record.object).toEqual({ Out: { '#text': '<>', A: '1', In: '2', B: null } })
  })

  test('come first, and more follows', () => {
    const record = readContent({
      template: outer,
      values: [
        v.nested([
          { template: inner, values: [v.string('1')] },
          { template: inner, values: [v.string('2')] },
        ]),
      ],
    })
    expect(record.xml).toBe('<Out>&lt;<In>1</In><In>2</In>&gt;</Out>')
    expect(record.object).toEqual({ Out: { '#text': '<>', In: '1', In_1: '2' } })
  })

  test('stand between elements of a record', () => {
    const record = readContent({ element: 'E', children: ['a', { template: inner, values: [v.uint8(3)] }] })
    expect(record.xml).toBe('<E>a<In>3</In></E>')
  })

  test('have values that they do not name, and name values that they do not have', () => {
    expect(readContent({ template: inner, values: [v.string('a'), v.string('b')] }).xml).toBe('<In>a</In>')
    expect(readContent({ template: inner, values: [] }).xml).toBe('<In/>')
    expect(readContent({ template: inner, values: [] }).fields).toEqual([['In', undefined]])
  })

  test('are the same shape in all chunks, however names are shared there', () => {
    const other: EvtxTemplate = {
      guid: '{33333333-0000-0000-0000-000000000000}',
      root: { element: 'In', attributes: [['a', 'b']] },
    }
    const instance = (text: string) => ({ template: inner, values: [v.string(text)] })
    const contents = [instance('1'), { template: other, values: [] }, { template: other, values: [] }, instance('2')]
    const inputs = contents.map((content, i) => ({ id: i, time: 0n, content }))
    const { records } = readAll(writeEvtx(inputs, { recordsPerChunk: 2 }))
    expect(records.map(({ xml }) => xml)).toEqual(['<In>1</In>', '<In a="b"/>', '<In a="b"/>', '<In>2</In>'])
    expect(records[3].shape).toBe(records[0].shape)
    expect(records[2].shape).toBe(records[1].shape)
    expect(records[1].shape).not.toBe(records[0].shape)
  })

  test('of one GUID and size that differ are kept apart', () => {
    const twin = (name: string): EvtxTemplate => ({ ...inner, root: { element: name, children: [{ slot: 0 }] } })
    const inputs = ['Aa', 'Bb', 'Aa'].map((name, id) => ({
      id,
      time: 0n,
      content: { template: twin(name), values: [v.string('x')] },
    }))
    const { records } = readAll(writeEvtx(inputs, { recordsPerChunk: 1 }))
    expect(records.map(({ xml }) => xml)).toEqual(['<Aa>x</Aa>', '<Bb>x</Bb>', '<Aa>x</Aa>'])
    expect(records[2].shape).toBe(records[0].shape)
  })
})

describe('values that are not there', () => {
  const template = (optional: boolean): EvtxTemplate => ({
    guid: '{44444444-0000-0000-0000-000000000000}',
    root: {
      element: 'EventData',
      children: [
        {
          element: 'A',
          attributes: [
            ['a', { slot: 0, optional }],
            ['b', '1'],
          ],
          children: ['t'],
        },
        { element: 'B', children: [{ slot: 0, optional }] },
        { element: 'Data', attributes: [['Name', 'D']], children: [{ slot: 0, optional }] },
      ],
    },
  })

  test('drop the attribute or element around them when optional', () => {
    const record = readContent({ template: template(true), values: [v.none()] })
    expect(record.xml).toBe('<EventData><A b="1">t</A></EventData>')
    expect(record.object).toEqual({ EventData: { A: { '#attributes': { b: '1' }, '#text': 't' }, B: null, D: '' } })
    expect(record.fields?.filter(([, value]) => value !== undefined)).toEqual([
      ['EventData.A_attributes.b', '1'],
      ['EventData.A', 't'],
    ])
  })

  test('are empty when not optional', () => {
    const record = readContent({ template: template(false), values: [v.none()] })
    expect(record.xml).toBe('<EventData><A a="" b="1">t</A><B/><Data Name="D"/></EventData>')
    expect(record.fields?.at(-1)).toEqual(['EventData.D', ''])
  })

  test('are not the same as empty texts', () => {
    const record = readContent({ template: template(true), values: [v.string('')] })
    expect(record.xml).toBe('<EventData><A b="1">t</A><B/><Data Name="D"/></EventData>')
  })
})

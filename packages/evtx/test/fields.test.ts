/** Fields, objects and XML of the same event, and what an engine relies on. */
import { EvtxDecoder } from '@prexy/evtx/decoder'
import type { EventObject, EventValue } from '@prexy/evtx/render-object'
import { generateEvents } from '@prexy/testing/evtx-events'
import { evtxValue as v, type EvtxTemplate } from '@prexy/testing/evtx-values'
import { writeEvtx } from '@prexy/testing/evtx-writer'
import { describe, expect, test } from 'vitest'
import { fileOf, readAll, readContent } from './reading.ts'

const events = generateEvents(600, 8)
const file = writeEvtx(events)

/** Members by their path, with attributes beside their element; `_1` of repeated names is left out. */
function leaves(object: EventObject, path = ''): string[] {
  return Object.entries(object).flatMap(([member, value]): string[] => {
    const name = member.replace(/_\d+(?=_attributes$|$)/, '')
    const inside = member === '#text' ? path : path === '' ? name : `${path}.${name}`
    return leavesOf(value, inside)
  })
}

function leavesOf(value: EventValue, path: string): string[] {
  if (value === null || path.endsWith('_attributes.xmlns')) return []
  if (typeof value !== 'object') return [`${path}=${String(value)}`]
  if (Array.isArray(value)) return value.flatMap((item: EventValue) => leavesOf(item, path))
  return leaves(value as EventObject, path)
}

describe('a log of 600 events', () => {
  const { records, report } = readAll(file)

  test('is read without a complaint', () => {
    expect(report.problems).toEqual([])
    expect(records.map(({ id }) => id)).toEqual(events.map(({ id }) => id))
    expect(report.chunks).toBeGreaterThan(5)
  })

  test('has the same fields as its objects have members', () => {
    const decoder = new EvtxDecoder()
    let i = 0
    for (const record of decoder.readFile(file)) {
      const row = record.fields()
      const object = record.toObject('separate')
      if (row === undefined || object === undefined) throw new Error('no fields')
      const fields = row.shape.fields.flatMap(({ path }, n) => {
        const value = row.text(n)
        return value === undefined ? [] : [`${path}=${value}`]
      })
      expect(fields.toSorted()).toEqual(leaves(object).toSorted())
      expect(JSON.parse(record.toJson() ?? '')).toEqual(JSON.parse(JSON.stringify(record.toObject())))
      expect(record.time).toBe(records[i++].time)
    }
  })

  test('needs few shapes, however many chunks and records there are', () => {
    const shapes = new Set(records.map(({ shape }) => shape))
    expect(shapes.size).toBeLessThan(12)
  })

  test('keeps its shapes from file to file', () => {
    const decoder = new EvtxDecoder()
    expect(collect(decoder)).toEqual(collect(decoder))
  })

  function collect(decoder: EvtxDecoder): number[] {
    return Array.from(decoder.readFile(file), (record) => record.fields()?.shape.id ?? -1)
  }
})

describe('a row', () => {
  const template: EvtxTemplate = {
    guid: '{00000001-0000-0000-0000-000000000000}',
    root: {
      element: 'Event',
      children: [
        {
          element: 'System',
          children: [
            { element: 'Provider', attributes: [['Name', 'P']] },
            { element: 'Channel', children: ['Security'] },
          ],
        },
        {
          element: 'EventData',
          children: [
            { element: 'Data', attributes: [['Name', 'CommandLine']], children: [{ slot: 0 }] },
            { element: 'Data', attributes: [['Name', { slot: 1 }]], children: [{ slot: 2 }] },
            { element: 'Data', children: ['a', { slot: 2 }] },
            { element: 'Data' },
            { element: 'Data', attributes: [['Name', 'CommandLine']], children: [{ slot: 3 }] },
          ],
        },
      ],
    },
  }
  const bytes = fileOf([
    { template, values: [v.string('cmd /c dir\0'), v.string('X'), v.uint32(7), v.string('again')] },
    { template, values: [v.string(''), v.string('Y'), v.uint32(8), v.none()] },
    { template, values: [v.string(''), v.string('X'), v.uint32(9), v.none()] },
  ])

  test('names fields as paths and as rules do', () => {
    const [record] = new EvtxDecoder().readFile(bytes)
    expect(record.fields()?.shape.fields.map(({ path, key, constant }) => [path, key, constant])).toEqual([
      ['Event.System.Provider_attributes.Name', 'Provider_Name', 'P'],
      ['Event.System.Channel', 'Channel', 'Security'],
      ['Event.EventData.CommandLine', 'CommandLine', undefined],
      ['Event.EventData.X', 'X', undefined],
      ['Event.EventData.Data', 'Data', undefined],
      ['Event.EventData.Data', 'Data', ''],
      ['Event.EventData.CommandLine', 'CommandLine', undefined],
    ])
  })

  test('gives typed values, texts and the bytes of texts', () => {
    const decoder = new EvtxDecoder()
    const seen: unknown[] = []
    for (const record of decoder.readFile(bytes)) {
      const row = record.fields()
      if (row === undefined) throw new Error('no fields')
      const range = row.utf16Range(2)
      const text = new TextDecoder('utf-16le').decode(row.bytes.subarray(Math.floor(range / 65_536), range % 65_536))
      seen.push([row.length, row.scalar(3), row.text(3), row.scalar(4), row.text(6), text, row.utf16Range(4)])
    }
    expect(seen).toEqual([
      [7, 7, '7', 'a7', 'again', 'cmd /c dir', -1],
      [7, 8, '8', 'a8', '', '', -1],
      [7, 9, '9', 'a9', '', '', -1],
    ])
  })

  test('has another shape when a value is a name', () => {
    const { records } = readAll(bytes)
    expect(records[2].shape).toBe(records[0].shape)
    expect(records[1].shape).not.toBe(records[0].shape)
    expect(records[1].fields?.[3][0]).toBe('Event.EventData.Y')
  })

  test('finds a field by its path', () => {
    const [record] = new EvtxDecoder().readFile(bytes)
    const shape = record.fields()?.shape
    expect(shape?.indexOf('Event.EventData.CommandLine')).toBe(2)
    expect(shape?.indexOf('Event.EventData.Nothing')).toBe(-1)
  })
})

describe('objects', () => {
  const leaf = (element: string, ...children: readonly string[]) => ({ element, children })

  test.each([
    [
      'names that come again are numbered',
      { element: 'E', children: [leaf('a', '1'), leaf('a', '2'), leaf('b', '3'), leaf('a', '4')] },
      { E: { a: '1', a_1: '2', b: '3', a_2: '4' } },
    ],
    [
      'numbered names do not hide others',
      { element: 'E', children: [leaf('a', '1'), leaf('a_1', 'x'), leaf('a', '2')] },
      { E: { a: '1', a_1: 'x', a_2: '2' } },
    ],
    [
      'Data without names are a list',
      { element: 'EventData', children: [leaf('Data', 'x'), leaf('Data'), leaf('Data', 'y'), leaf('Binary', '00')] },
      { EventData: { Data: { '#text': ['x', '', 'y'] }, Binary: '00' } },
    ],
    [
      'one Data without a name',
      { element: 'EventData', children: [leaf('Data', 'x')] },
      { EventData: { Data: { '#text': 'x' } } },
    ],
    [
      'Data with and without names are both kept',
      {
        element: 'EventData',
        children: [{ element: 'Data', attributes: [['Name', 'n']], children: ['x'] }, leaf('Data', 'y')],
      },
      { EventData: { n: 'x', Data: { '#text': 'y' } } },
    ],
    [
      'Data elsewhere are elements as others',
      { element: 'E', children: [{ element: 'Data', attributes: [['Name', 'n']], children: ['x'] }] },
      { E: { Data: { '#attributes': { Name: 'n' }, '#text': 'x' } } },
    ],
    [
      'ComplexData and named EventData keep their attributes',
      {
        element: 'EventData',
        attributes: [['Name', 'n']],
        children: [{ element: 'ComplexData', attributes: [['Name', 'c']], children: ['ff'] }],
      },
      { EventData: { '#attributes': { Name: 'n' }, ComplexData: { '#attributes': { Name: 'c' }, '#text': 'ff' } } },
    ],
    [
      'names of prototypes are names',
      { element: 'E', children: [leaf('__proto__', '1'), leaf('constructor', '2'), leaf('toString', '3')] },
      JSON.parse('{"E":{"__proto__":"1","constructor":"2","toString":"3"}}'),
    ],
  ] as const)('%s', (_, content, object) => {
    expect(readContent(content).object).toEqual(object)
    expect(readContent(content).json).toBe(JSON.stringify(object))
  })

  test('have attributes beside their element when asked', () => {
    const content = {
      element: 'E',
      children: [
        { element: 'a', attributes: [['n', '1']] as const, children: ['x'] },
        { element: 'a', attributes: [['n', '2']] as const },
      ],
    }
    const [record] = new EvtxDecoder().readFile(fileOf([content]))
    expect(record.toObject('separate')).toEqual({ E: { a_attributes: { n: '1' }, a: 'x', a_1_attributes: { n: '2' } } })
  })

  test('do not pollute', () => {
    readContent({ element: '__proto__', children: [leaf('polluted', 'yes')] })
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })
})

describe('XML', () => {
  test('is indented when asked, and text is left as it is', () => {
    const content = {
      element: 'Event',
      children: [
        { element: 'System', children: [{ element: 'EventID', children: ['1'] }, { element: 'Security' }] },
        { element: 'EventData' },
      ],
    }
    const [record] = new EvtxDecoder().readFile(fileOf([content]))
    expect(record.toXml('indented')).toBe(
      [
        '<Event>',
        '  <System>',
        '    <EventID>1</EventID>',
        '    <Security/>',
        '  </System>',
        '  <EventData/>',
        '</Event>',
      ].join('\n'),
    )
  })

  test.each([
    ['a b', 'a_b'],
    ['1a', '_1a'],
    ['a>b<c', 'a_b_c'],
    ['', '_'],
    ['ns:Größe-1.2', 'ns:Größe-1.2'],
    ['a\ud800', 'a_'],
  ])('has well-formed names: %j', (name, written) => {
    const record = readContent({ element: name, attributes: [[name, 'x']] })
    expect(record.xml).toBe(`<${written} ${written}="x"/>`)
    expect(record.object).toEqual({ [name]: { '#attributes': { [name]: 'x' } } })
  })

  test.each([
    ['nothing', [], '<Event/>'],
    ['two elements', [{ element: 'A' }, { element: 'B' }], '<Event><A/><B/></Event>'],
  ] as const)('has one root, also of %s', (_, content, xml) => {
    expect(readContent(content).xml).toBe(xml)
  })

  test('of a value beside the root has one root', () => {
    const guid = '{00000001-0000-0000-0000-000000000000}'
    const root = { element: 'A', children: [{ slot: 0 }, { target: 'XML', data: 'x' }] }
    expect(readContent({ template: { guid, root }, values: [v.string('t')] }).xml).toBe('<A>t<?_XML x?></A>')
  })

  test('has each attribute once', () => {
    expect(
      readContent({
        element: 'E',
        attributes: [
          ['a', '1'],
          ['a', '2'],
        ],
      }).xml,
    ).toBe('<E a="1"/>')
  })
})

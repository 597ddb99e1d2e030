/** Every type of value, in each rendering. */
import { evtxValue as v, filetimeOf, type EvtxValue } from '@prexy/testing/evtx-values'
import { describe, expect, test } from 'vitest'
import { FiletimeFormat } from '@prexy/evtx/times'
import { readContent, type ReadRecord } from './reading.ts'

const GUID = '{54849625-5478-4994-A5BA-3E3B0328C30D}'

function readValue(value: EvtxValue): ReadRecord {
  const root = { element: 'E', children: [{ slot: 0 }] }
  return readContent({ template: { guid: '{00000001-0000-0000-0000-000000000000}', root }, values: [value] })
}

function raw(type: number, ...bytes: readonly number[]): EvtxValue {
  return { type, bytes: Uint8Array.from(bytes) }
}

describe('one value', () => {
  test.each<readonly [what: string, value: EvtxValue, xml: string, json: string]>([
    ['null', v.none(), '', 'null'],
    ['null with bytes', raw(0, 1, 2, 3), '', 'null'],
    ['string', v.string('Ünïcödé 💾'), 'Ünïcödé 💾', '"Ünïcödé 💾"'],
    ['long string', v.string('abc€'.repeat(100)), 'abc€'.repeat(100), `"${'abc€'.repeat(100)}"`],
    ['string with markup', v.string(`<a b="c">&'\r\n`), `&lt;a b="c"&gt;&amp;'&#13;\n`, `"<a b=\\"c\\">&'\\r\\n"`],
    ['string with spaces around', v.string(' a  '), ' a  ', '" a  "'],
    ['string with NULs at its end', v.string('ab\0\0'), 'ab', '"ab"'],
    ['string with a NUL inside', v.string('a\0b'), 'a\uFFFDb', '"a\\u0000b"'],
    ['string with half a pair', v.string('a\ud800b\udc00'), 'a\uFFFDb\uFFFD', '"a\\ud800b\\udc00"'],
    [
      'long string with half a pair',
      v.string(`${'x'.repeat(99)}\ud800`),
      `${'x'.repeat(99)}\uFFFD`,
      `"${'x'.repeat(99)}\\ud800"`,
    ],
    [
      'long string with U+FFFD',
      v.string(`${'x'.repeat(99)}\uFFFD`),
      `${'x'.repeat(99)}\uFFFD`,
      `"${'x'.repeat(99)}\uFFFD"`,
    ],
    ['string of odd length', raw(1, 0x61, 0, 0x62), 'a', '"a"'],
    ['single-byte string', v.ansi(0x61, 0x80, 0xe9, 0), 'a€é', '"a€é"'],
    ['int8', v.int8(-128), '-128', '-128'],
    ['uint8', v.uint8(255), '255', '255'],
    ['int16', v.int16(-2), '-2', '-2'],
    ['uint16', v.uint16(65_535), '65535', '65535'],
    ['int32', v.int32(-2_147_483_648), '-2147483648', '-2147483648'],
    ['uint32', v.uint32(4_294_967_295), '4294967295', '4294967295'],
    ['int64', v.int64(-1n), '-1', '-1'],
    ['int64 of all digits', v.int64(-9_223_372_036_854_775_808n), '-9223372036854775808', '-9223372036854775808'],
    ['uint64 that a number holds', v.uint64(9_007_199_254_740_991n), '9007199254740991', '9007199254740991'],
    ['uint64 of all digits', v.uint64(18_446_744_073_709_551_615n), '18446744073709551615', '18446744073709551615'],
    ['real32', v.real32(0.1), '0.1', '"0.1"'],
    ['real32 of many digits', v.real32(16_777_217.5), '16777218', '"16777218"'],
    ['real64', v.real64(0.1), '0.1', '"0.1"'],
    ['negative zero', v.real64(-0), '-0', '"-0"'],
    ['infinite', v.real64(-Infinity), '-INF', '"-INF"'],
    ['not a number', v.real32(NaN), 'NaN', '"NaN"'],
    ['false', v.bool(0), 'false', 'false'],
    ['true', v.bool(1), 'true', 'true'],
    ['true in other bits', v.bool(0x100), 'true', 'true'],
    ['true in one byte', raw(0x0d, 1), 'true', 'true'],
    ['binary', v.binary(0, 0xab, 0xff), '00ABFF', '"00ABFF"'],
    ['GUID', v.guid(GUID), GUID, `"${GUID.slice(1, -1)}"`],
    ['size of 32 bits', v.size32(0xdead), '0xdead', '"0xdead"'],
    ['size of 64 bits', v.size64(0x1_0000_0000n), '0x100000000', '"0x100000000"'],
    [
      'FILETIME',
      v.filetime(filetimeOf('2021-11-19T16:52:33.8337335Z')),
      '2021-11-19T16:52:33.8337335Z',
      '"2021-11-19T16:52:33.8337335Z"',
    ],
    [
      'SYSTEMTIME',
      v.systemTime(2_017, 5, 5, 19, 2, 2, 36, 7),
      '2017-05-19T02:02:36.007Z',
      '"2017-05-19T02:02:36.007Z"',
    ],
    [
      'SID',
      v.sid('S-1-5-21-1223297778-3299746493-1462173606-500'),
      'S-1-5-21-1223297778-3299746493-1462173606-500',
      '"S-1-5-21-1223297778-3299746493-1462173606-500"',
    ],
    ['SID of a large authority', v.sid('S-1-281474976710655-1'), 'S-1-0xFFFFFFFFFFFF-1', '"S-1-0xFFFFFFFFFFFF-1"'],
    ['SID that is cut off', raw(0x13, 1, 5, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0), 'S-1-5-18', '"S-1-5-18"'],
    ['hex32', v.hex32(0x3e7), '0x3e7', '"0x3e7"'],
    ['hex32 of nothing', v.hex32(0), '0x0', '"0x0"'],
    ['hex64', v.hex64(0x8020_0000_0000_0000n), '0x8020000000000000', '"0x8020000000000000"'],
    ['handle', v.handle(0x1f4), '0x1f4', '"0x1f4"'],
    ['XML', v.xml('<a/>'), '&lt;a/&gt;', '"<a/>"'],
    ['uint32 that is cut off', raw(8, 1, 2), '513', '513'],
    ['GUID that is cut off', raw(0x0f, 1, 2), '0102', '"0102"'],
    ['FILETIME that is cut off', raw(0x11, 1, 2), '0102', '"0102"'],
    ['real that is cut off', raw(0x0c, 1, 2), '0102', '"0102"'],
    ['a type that nobody knows', raw(0x3f, 1, 2), '0102', '"0102"'],
  ])('%s', (_, value, xml, json) => {
    const record = readValue(value)
    expect(record.xml).toBe(xml === '' ? '<E/>' : `<E>${xml}</E>`)
    expect(record.json).toBe(`{"E":${json}}`)
    const field = record.fields?.[0][1]
    expect(typeof field === 'bigint' ? String(field) : JSON.stringify(field ?? null)).toBe(json)
  })

  test('in an object, integers that a number cannot hold are bigint', () => {
    expect(readValue(v.uint64(2n ** 53n)).object).toEqual({ E: 2n ** 53n })
    expect(readValue(v.uint64(2n ** 53n - 1n)).object).toEqual({ E: 2 ** 53 - 1 })
  })
})

describe('arrays repeat the element around them', () => {
  test.each<readonly [what: string, value: EvtxValue, items: readonly (string | number | boolean | null)[]]>([
    ['strings', v.strings('a', 'b'), ['a', 'b']],
    ['strings, some empty', v.strings('a', '', 'b'), ['a', null, 'b']],
    ['strings without a NUL at the end', { type: 0x81, bytes: v.string('a\0b').bytes }, ['a', 'b']],
    ['one string', v.strings('a'), ['a']],
    ['no string', v.strings(), [null]],
    ['single-byte strings', { type: 0x82, bytes: Uint8Array.of(0x61, 0, 0x62, 0) }, ['a', 'b']],
    ['int8', v.array(3, v.int8(-1), v.int8(1)), [-1, 1]],
    ['uint8', v.array(4, v.uint8(1), v.uint8(255)), [1, 255]],
    ['int16', v.array(5, v.int16(-1), v.int16(1)), [-1, 1]],
    ['uint16', v.array(6, v.uint16(1), v.uint16(2)), [1, 2]],
    ['int32', v.array(7, v.int32(-1), v.int32(1)), [-1, 1]],
    ['uint32', v.array(8, v.uint32(1), v.uint32(2)), [1, 2]],
    ['int64', v.array(9, v.int64(-1n), v.int64(1n)), [-1, 1]],
    ['uint64', v.array(0x0a, v.uint64(1n), v.uint64(2n)), [1, 2]],
    ['real32', v.array(0x0b, v.real32(1.5), v.real32(2)), ['1.5', '2']],
    ['real64', v.array(0x0c, v.real64(1.5), v.real64(2)), ['1.5', '2']],
    ['bool', v.array(0x0d, v.bool(1), v.bool(0)), [true, false]],
    ['GUID', v.array(0x0f, v.guid(GUID), v.guid(GUID)), [GUID.slice(1, -1), GUID.slice(1, -1)]],
    [
      'FILETIME',
      v.array(0x11, v.filetime(0n), v.filetime(1n)),
      ['1601-01-01T00:00:00.0000000Z', '1601-01-01T00:00:00.0000001Z'],
    ],
    [
      'SYSTEMTIME',
      v.array(0x12, v.systemTime(2_000, 1, 6, 1), v.systemTime(2_000, 1, 0, 2)),
      ['2000-01-01T00:00:00.000Z', '2000-01-02T00:00:00.000Z'],
    ],
    ['SID', v.array(0x13, v.sid('S-1-5-18'), v.sid('S-1-5-32-544')), ['S-1-5-18', 'S-1-5-32-544']],
    ['hex32', v.array(0x14, v.hex32(1), v.hex32(31)), ['0x1', '0x1f']],
    ['hex64', v.array(0x15, v.hex64(1n), v.hex64(31n)), ['0x1', '0x1f']],
    ['binary, which has no size of its own', v.array(0x0e, v.binary(1), v.binary(2)), ['0102']],
    ['with a last item that is cut off', { type: 0x86, bytes: Uint8Array.of(1, 0, 2) }, [1, 2]],
  ])('%s', (_, value, items) => {
    const record = readValue(value)
    const names = items.map((__, i) => (i === 0 ? 'E' : `E_${i}`))
    // One item is the value itself, and a number in an array of one is text with no commas in it.
    const expected = items.length === 1 ? [items[0] === null ? null : String(items[0])] : items
    expect(record.object).toEqual(Object.fromEntries(names.map((name, i) => [name, expected[i]])))
    expect(record.xml?.match(/<E(?:\/>|>)/g)).toHaveLength(items.length)
    expect(record.fields?.map(([path, field]) => [path, field ?? null])).toEqual(expected.map((item) => ['E', item]))
  })

  test('with what else is in it', () => {
    const root = {
      element: 'L',
      children: [
        {
          element: 'E',
          attributes: [['n', { slot: 0 }]] as const,
          children: ['<', { slot: 1 }, '>', { element: 'I', children: [{ slot: 1 }] }],
        },
      ],
    }
    const template = { guid: '{00000001-0000-0000-0000-000000000000}', root }
    const record = readContent({ template, values: [v.uint8(7), v.array(4, v.uint8(1), v.uint8(2))] })
    expect(record.xml).toBe('<L><E n="7">&lt;1&gt;<I>1</I></E><E n="7">&lt;2&gt;<I>2</I></E></L>')
    expect(record.fields?.filter(([path]) => path === 'L.E')).toEqual([
      ['L.E', '<1>'],
      ['L.E', '<2>'],
    ])
  })

  test('the first one in an element; others are values with commas', () => {
    const root = { element: 'E', children: [{ slot: 0 }, ':', { slot: 1 }] }
    const record = readContent({
      template: { guid: '{00000001-0000-0000-0000-000000000000}', root },
      values: [v.array(4, v.uint8(1), v.uint8(2)), v.array(4, v.uint8(8), v.uint8(9))],
    })
    expect(record.object).toEqual({ E: '1:8,9', E_1: '2:8,9' })
  })
})

describe('times', () => {
  const times = new FiletimeFormat()

  test.each([
    [0n, '1601-01-01T00:00:00.0000000Z'],
    [filetimeOf('2000-02-29T23:59:59.9999999Z'), '2000-02-29T23:59:59.9999999Z'],
    [filetimeOf('1900-02-28T00:00:00Z') + 864_000_000_000n, '1900-03-01T00:00:00.0000000Z'],
    [filetimeOf('9999-12-31T23:59:59.9999999Z'), '9999-12-31T23:59:59.9999999Z'],
    [2n ** 64n - 1n, '60056-05-28T05:36:10.9551615Z'],
  ])('%d', (ticks, text) => {
    expect(times.format(Number(ticks & 0xffff_ffffn), Number(ticks >> 32n))).toBe(text)
  })

  test('agree with Date on every day of a cycle, to the millisecond', () => {
    for (let day = 0; day < 146_097 * 2; day += 11) {
      const ms = day * 86_400_000 + ((day * 7_919) % 86_400_000)
      const ticks = BigInt(ms) * 10_000n
      const date = new Date(ms - 11_644_473_600_000).toISOString()
      expect(times.format(Number(ticks & 0xffff_ffffn), Number(ticks >> 32n))).toBe(date.replace('Z', '0000Z'))
    }
  })
})

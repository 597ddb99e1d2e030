/** MessagePack by its specification: values and every encoding that stands for them, the shortest first. */
import { ExtData } from '@prexy/msgpack/extension'

export interface FormatRow {
  readonly what: string
  readonly value: unknown
  /** In hexadecimal; the first is what an encoder writes. */
  readonly encodings: readonly string[]
}

const ascii = (size: number): string => '61'.repeat(size)
const text = (size: number): string => 'a'.repeat(size)
const octets = (size: number): Uint8Array => new Uint8Array(size).fill(0x61)
const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')
const strings = [0, 1, 31, 32, 255, 256, 65_535, 65_536].map((size): FormatRow => {
  const forms = [
    ...(size < 32 ? [hex(0xa0 + size, 2)] : []),
    ...(size < 256 ? [`d9${hex(size, 2)}`] : []),
    ...(size < 65_536 ? [`da${hex(size, 4)}`] : []),
    `db${hex(size, 8)}`,
  ]
  return { what: `string of ${size}`, value: text(size), encodings: forms.map((head) => head + ascii(size)) }
})
const binaries = [0, 1, 255, 256, 65_535, 65_536].map((size): FormatRow => {
  const forms = [
    ...(size < 256 ? [`c4${hex(size, 2)}`] : []),
    ...(size < 65_536 ? [`c5${hex(size, 4)}`] : []),
    `c6${hex(size, 8)}`,
  ]
  return { what: `binary of ${size}`, value: octets(size), encodings: forms.map((head) => head + ascii(size)) }
})
const arrays = [0, 1, 15, 16, 65_535, 65_536].map((size): FormatRow => {
  const forms = [
    ...(size < 16 ? [hex(0x90 + size, 2)] : []),
    ...(size < 65_536 ? [`dc${hex(size, 4)}`] : []),
    `dd${hex(size, 8)}`,
  ]
  return {
    what: `array of ${size}`,
    value: new Array(size).fill(7),
    encodings: forms.map((head) => head + '07'.repeat(size)),
  }
})
const maps = [0, 1, 15, 16, 24, 33, 300].map((size): FormatRow => {
  const keys = Array.from({ length: size }, (_, i) => `k${String(i).padStart(3, '0')}`)
  const body = keys.map((key) => `a4${Buffer.from(key).toString('hex')}07`).join('')
  const forms = [...(size < 16 ? [hex(0x80 + size, 2)] : []), `de${hex(size, 4)}`, `df${hex(size, 8)}`]
  return {
    what: `map of ${size}`,
    value: Object.fromEntries(keys.map((key) => [key, 7])),
    encodings: forms.map((head) => head + body),
  }
})
const extensions = [0, 1, 2, 3, 4, 8, 16, 17, 255, 256, 65_535, 65_536].flatMap((size): FormatRow[] =>
  (size > 300 ? [5] : [1, 127, -2, -128]).map((type) => {
    const tag = hex(type & 0xff, 2)
    const fixed = [1, 2, 4, 8, 16].indexOf(size)
    const forms = [
      ...(fixed >= 0 ? [`${hex(0xd4 + fixed, 2)}${tag}`] : []),
      ...(size < 256 ? [`c7${hex(size, 2)}${tag}`] : []),
      ...(size < 65_536 ? [`c8${hex(size, 4)}${tag}`] : []),
      `c9${hex(size, 8)}${tag}`,
    ]
    return {
      what: `extension ${type} of ${size}`,
      value: new ExtData(type, octets(size)),
      encodings: forms.map((head) => head + ascii(size)),
    }
  }),
)

export const FORMAT_ROWS: readonly FormatRow[] = [
  { what: 'nil', value: null, encodings: ['c0'] },
  { what: 'false', value: false, encodings: ['c2'] },
  { what: 'true', value: true, encodings: ['c3'] },
  {
    what: '0',
    value: 0,
    encodings: [
      '00',
      'cc00',
      'cd0000',
      'ce00000000',
      'cf0000000000000000',
      'd000',
      'd10000',
      'd200000000',
      'd30000000000000000',
      'ca00000000',
      'cb0000000000000000',
    ],
  },
  {
    what: '1',
    value: 1,
    encodings: [
      '01',
      'cc01',
      'cd0001',
      'ce00000001',
      'cf0000000000000001',
      'd001',
      'd10001',
      'd200000001',
      'd30000000000000001',
      'ca3f800000',
      'cb3ff0000000000000',
    ],
  },
  {
    what: '127',
    value: 127,
    encodings: [
      '7f',
      'cc7f',
      'cd007f',
      'ce0000007f',
      'cf000000000000007f',
      'd07f',
      'd1007f',
      'd20000007f',
      'd3000000000000007f',
    ],
  },
  {
    what: '128',
    value: 128,
    encodings: ['cc80', 'cd0080', 'ce00000080', 'cf0000000000000080', 'd10080', 'd200000080', 'd30000000000000080'],
  },
  {
    what: '255',
    value: 255,
    encodings: ['ccff', 'cd00ff', 'ce000000ff', 'cf00000000000000ff', 'd100ff', 'd2000000ff', 'd300000000000000ff'],
  },
  {
    what: '256',
    value: 256,
    encodings: ['cd0100', 'ce00000100', 'cf0000000000000100', 'd10100', 'd200000100', 'd30000000000000100'],
  },
  {
    what: '65535',
    value: 65_535,
    encodings: ['cdffff', 'ce0000ffff', 'cf000000000000ffff', 'd20000ffff', 'd3000000000000ffff'],
  },
  { what: '65536', value: 65_536, encodings: ['ce00010000', 'cf0000000000010000', 'd200010000', 'd30000000000010000'] },
  {
    what: '2^31 - 1',
    value: 2_147_483_647,
    encodings: ['ce7fffffff', 'cf000000007fffffff', 'd27fffffff', 'd3000000007fffffff'],
  },
  { what: '2^31', value: 2_147_483_648, encodings: ['ce80000000', 'cf0000000080000000', 'd30000000080000000'] },
  { what: '2^32 - 1', value: 4_294_967_295, encodings: ['ceffffffff', 'cf00000000ffffffff', 'd300000000ffffffff'] },
  { what: '2^32', value: 4_294_967_296, encodings: ['cf0000000100000000', 'd30000000100000000'] },
  { what: '2^53 - 1', value: Number.MAX_SAFE_INTEGER, encodings: ['cf001fffffffffffff', 'd3001fffffffffffff'] },
  {
    what: '-1',
    value: -1,
    encodings: ['ff', 'd0ff', 'd1ffff', 'd2ffffffff', 'd3ffffffffffffffff', 'cabf800000', 'cbbff0000000000000'],
  },
  { what: '-32', value: -32, encodings: ['e0', 'd0e0', 'd1ffe0', 'd2ffffffe0', 'd3ffffffffffffffe0'] },
  { what: '-33', value: -33, encodings: ['d0df', 'd1ffdf', 'd2ffffffdf', 'd3ffffffffffffffdf'] },
  { what: '-128', value: -128, encodings: ['d080', 'd1ff80', 'd2ffffff80', 'd3ffffffffffffff80'] },
  { what: '-129', value: -129, encodings: ['d1ff7f', 'd2ffffff7f', 'd3ffffffffffffff7f'] },
  { what: '-32768', value: -32_768, encodings: ['d18000', 'd2ffff8000', 'd3ffffffffffff8000'] },
  { what: '-32769', value: -32_769, encodings: ['d2ffff7fff', 'd3ffffffffffff7fff'] },
  { what: '-2^31', value: -2_147_483_648, encodings: ['d280000000', 'd3ffffffff80000000'] },
  { what: '-2^31 - 1', value: -2_147_483_649, encodings: ['d3ffffffff7fffffff'] },
  { what: '-2^32', value: -4_294_967_296, encodings: ['d3ffffffff00000000'] },
  { what: '-(2^53 - 1)', value: Number.MIN_SAFE_INTEGER, encodings: ['d3ffe0000000000001'] },
  { what: '2^53', value: 9_007_199_254_740_992n, encodings: ['cf0020000000000000', 'd30020000000000000'] },
  { what: '2^64 - 1', value: 18_446_744_073_709_551_615n, encodings: ['cfffffffffffffffff'] },
  { what: '-2^53', value: -9_007_199_254_740_992n, encodings: ['d3ffe0000000000000'] },
  { what: '-2^63', value: -9_223_372_036_854_775_808n, encodings: ['d38000000000000000'] },
  { what: '-0', value: -0, encodings: ['cb8000000000000000', 'ca80000000'] },
  { what: '0.5', value: 0.5, encodings: ['cb3fe0000000000000', 'ca3f000000'] },
  { what: '1e300', value: 1e300, encodings: ['cb7e37e43c8800759c'] },
  { what: 'NaN', value: NaN, encodings: ['cb7ff8000000000000', 'ca7fc00000'] },
  { what: 'Infinity', value: Infinity, encodings: ['cb7ff0000000000000', 'ca7f800000'] },
  { what: '-Infinity', value: -Infinity, encodings: ['cbfff0000000000000', 'caff800000'] },
  {
    what: 'two bytes a character',
    value: 'Кириллица',
    encodings: ['b2d09ad0b8d180d0b8d0bbd0bbd0b8d186d0b0', 'd912d09ad0b8d180d0b8d0bbd0bbd0b8d186d0b0'],
  },
  { what: 'three bytes a character', value: '漢字', encodings: ['a6e6bca2e5ad97'] },
  { what: 'four bytes a character', value: '😀🚀', encodings: ['a8f09f9880f09f9a80'] },
  { what: 'a byte order mark', value: '\ufeffa', encodings: ['a4efbbbf61'] },
  { what: 'NUL', value: '\0', encodings: ['a100'] },
  {
    what: 'timestamp 32',
    value: new Date(1_000),
    encodings: ['d6ff00000001', 'c704ff00000001', 'd7ff0000000000000001', 'c70cff000000000000000000000001'],
  },
  { what: 'timestamp 32, the last', value: new Date(4_294_967_295_000), encodings: ['d6ffffffffff'] },
  { what: 'timestamp 64 by its size', value: new Date(4_294_967_296_000), encodings: ['d7ff0000000100000000'] },
  {
    what: 'timestamp 64 by its milliseconds',
    value: new Date(1_001),
    encodings: ['d7ff003d090000000001', 'c70cff000f42400000000000000001'],
  },
  { what: 'timestamp 96, before 1970', value: new Date(-1), encodings: ['c70cff3b8b87c0ffffffffffffffff'] },
  {
    what: 'timestamp 96, after 2514',
    value: new Date(17_179_869_184_000),
    encodings: ['c70cff000000000000000400000000'],
  },
  { what: 'an array of maps', value: [{ a: 1 }, { a: 2 }], encodings: ['9281a1610181a16102'] },
  { what: 'a map of arrays', value: { a: [], b: [[]] }, encodings: ['82a16190a1629190'] },
  ...strings,
  ...binaries,
  ...arrays,
  ...maps,
  ...extensions,
]

export function fromHex(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'))
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

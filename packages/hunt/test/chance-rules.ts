/** Sigma rules and events by chance, for engines that have to agree: few characters, so that the two meet often. */
import type { EventEntry, HuntEvent } from '@prexy/hunt/hunt-event'
import type { FieldScalar, FieldValue, LogSource } from '@prexy/sigma/event'
import fc from 'fast-check'

/** Cases, folds of one and two units, wildcards, dashes, quotes, escapes, control characters, characters beyond 16 bits. */
const CHARACTERS = [
  ...['a', 'A', 'b', 'B', 'k', '\u212a', 's', '\u017f', 'σ', 'ς', 'Σ', 'é', 'É', 'İ', 'ß', '😀', '1', '2', '0'],
  ...['\\', "'", '"', '`', ' ', '-', '/', '\u2013', '%', '_', '$', '{', ')', '\n', '\t', '\0', ';', '.', ':', 'x'],
]

/** Names that would be something else if they were written into a query as they are. */
export const FIELD_NAMES = ['F', 'G', "it's", 'a`b"c', "x') OR 1=1 --", 'Ünïcode 😀', 'names', '\\']

const text = fc.string({ unit: fc.constantFrom(...CHARACTERS), maxLength: 6 })
const address = fc.constantFrom(
  ...['10.0.0.1', '10.1.2.3', '10.255.255.255', '11.0.0.0', '192.168.1.7', '::1', 'fe80::1', 'FE80::1', '2001:db8::7'],
  ...['::ffff:10.0.0.1', '010.0.0.1', '10.0.0.1:80', '10.0.0', '2001:db8:0:0:0:0:0:7'],
)
const numeric = fc.constantFrom('7', '7.5', '-3', '1e3', '0x10', ' 7', '16', '9007199254740993', '1e999', '.5', '+2')
const scalar: fc.Arbitrary<FieldScalar> = fc.oneof(
  { weight: 6, arbitrary: text },
  address,
  numeric,
  fc.integer({ min: -2, max: 30 }),
  fc.constantFrom(0.1, 7.5, 1e21, -0.5, 4_688),
  fc.constantFrom(9_007_199_254_740_993n, 7n),
  // oxlint-disable-next-line unicorn/no-null -- as in JSON
  fc.constant(null),
  fc.boolean(),
)
const views: fc.Arbitrary<FieldValue> = fc
  .array(text, { minLength: 1, maxLength: 3 })
  .map((values) => ({ values: [...new Set(values)], wholes: new Set(values).size }))
const value: fc.Arbitrary<FieldValue> = fc.oneof(
  { weight: 5, arbitrary: scalar },
  fc.array(scalar, { maxLength: 3 }),
  views,
)

const LOG_SOURCES: readonly (readonly LogSource[] | undefined)[] = [
  undefined,
  [],
  [{ category: 'c' }],
  [{ category: 'c', product: 'p' }],
  [
    { product: 'p', service: "s'" },
    { category: 'c', product: 'q', service: "s'" },
  ],
]

export interface ChanceEvent {
  readonly fields: readonly (readonly [name: string, value: FieldValue])[]
  readonly text: string
  readonly sources: readonly LogSource[] | undefined
  readonly time: number | undefined
}

export const chanceEvents: fc.Arbitrary<ChanceEvent> = fc.record({
  fields: fc.uniqueArray(fc.tuple(fc.constantFrom(...FIELD_NAMES), value), {
    selector: ([name]) => name,
    maxLength: 5,
  }),
  text,
  sources: fc.constantFrom(...LOG_SOURCES),
  time: fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.constant(undefined)),
})

export function huntEvent({ fields, text: whole, sources, time }: ChanceEvent): HuntEvent {
  const map = new Map(fields)
  const entries = fields.flatMap(([name, one]): EventEntry[] =>
    typeof one === 'object' && one !== null ? [] : [[name, one]],
  )
  return {
    sources,
    time,
    ticks: 0,
    host: 'host',
    channel: 'test',
    eventId: undefined,
    recordId: undefined,
    provider: undefined,
    isRecovered: false,
    kind: 'other',
    get: (field) => map.get(field),
    text: () => whole,
    entries: () => entries,
    fieldNames: () => map.keys(),
  }
}

const field = fc.constantFrom(...FIELD_NAMES)
const pattern = fc.string({ unit: fc.constantFrom(...CHARACTERS, '*', '?', '\\', 'ab', 'ba'), maxLength: 5 })
const anchors = fc.constantFrom('', '|contains', '|startswith', '|endswith')
const REGEXES = [
  ...[
    'ab',
    'a+b?$',
    '^(?:a|b)',
    '[ab]{2}',
    'k.s',
    'a|σ',
    '\\d\\d',
    '^$',
    'é?a',
    '(?:é|É){0,2}b',
    'a.b',
    'a[^b]c?',
    '\'|"',
    '\\\\',
  ],
  ...[
    '^a$',
    '\\bab\\b',
    '\\Ba',
    '[\\x00-\\x1f]',
    '\\x41',
    '\\u{1F600}|\\x{e9}',
    '\\s',
    '\\S{3,}',
    '(a*)*b',
    '(?:a|)b?$',
    '[^a]',
    '[\\]\\-^]',
    'a{0}b',
    '\\p{Greek}',
    '[😀-😂]',
  ],
]
type Item = Readonly<Record<string, unknown>>
const item: fc.Arbitrary<Item> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(
        field,
        anchors,
        fc.constantFrom('', '', '', '|cased', '|windash', '|neq'),
        fc.oneof(pattern, fc.array(pattern, { minLength: 1, maxLength: 4 })),
      )
      .map(([name, anchor, extra, wanted]) => ({ [name + anchor + extra]: wanted })),
  },
  fc
    .tuple(field, fc.array(pattern, { minLength: 2, maxLength: 3 }))
    .map(([name, wanted]) => ({ [`${name}|contains|all`]: wanted })),
  fc
    .tuple(field, fc.constantFrom('lt', 'lte', 'gt', 'gte'), fc.constantFrom(0, 7, 7.5, 0.1, -1, 16, 1e21, 2))
    .map(([name, how, wanted]) => ({ [`${name}|${how}`]: wanted })),
  fc.tuple(field, fc.integer({ min: 0, max: 30 })).map(([name, wanted]) => ({ [name]: wanted })),
  fc.tuple(field, fc.boolean()).map(([name, wanted]) => ({ [`${name}|exists`]: wanted })),
  fc.tuple(field, fc.boolean()).map(([name, wanted]) => ({ [name]: wanted })),
  // oxlint-disable-next-line unicorn/no-null -- as in rules
  field.map((name) => ({ [name]: null })),
  fc
    .tuple(field, field, anchors, fc.constantFrom('', '|cased'))
    .map(([name, other, anchor, extra]) => ({ [`${name}|fieldref${extra}${anchor}`]: other.replaceAll('\\', '\\\\') })),
  fc
    .tuple(field, fc.constantFrom('re', 're|i', 're|m', 're|s', 're|i|m|s'), fc.constantFrom(...REGEXES))
    .map(([name, how, source]) => ({ [`${name}|${how}`]: source })),
  fc
    .tuple(
      field,
      fc.constantFrom(
        '10.0.0.0/8',
        '10.0.0.1',
        '192.168.0.0/15',
        '0.0.0.0/0',
        '::/0',
        'fe80::/10',
        '2001:db8::/33',
        '::1/128',
      ),
    )
    .filter(([, network]) => network !== '192.168.0.0/15')
    .map(([name, network]) => ({ [`${name}|cidr`]: network })),
  fc
    .tuple(field, fc.constantFrom('base64', 'base64offset', 'wide|base64offset', 'utf16be|base64'))
    .map(([name, how]) => ({ [`${name}|${how}|contains`]: 'abc' })),
  fc.tuple(field, fc.constantFrom('hour', 'day')).map(([name, part]) => ({ [`${name}|${part}`]: 1 })),
)
const map = fc.array(item, { minLength: 1, maxLength: 3 }).map((items): Item => Object.assign({}, ...items))
const keyword = fc
  .string({ unit: fc.constantFrom(...CHARACTERS, '*'), minLength: 1, maxLength: 3 })
  .filter((word) => /[^*]/.test(word))
const selection: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 5, arbitrary: map },
  fc.array(map, { minLength: 1, maxLength: 3 }),
  fc.array(keyword, { minLength: 1, maxLength: 2 }),
  fc.array(keyword, { minLength: 2, maxLength: 2 }).map((words) => ({ '|all': words })),
  fc.constantFrom(...REGEXES).map((source) => ({ '|re': source })),
)
const condition = fc.constantFrom(
  ...['a1', 'a1', 'not a1', 'a1 and a2', 'a1 or b1', '1 of a*', 'all of a*', 'not (a1 or b1)', 'a1 and not 1 of b*'],
)
const logsource = fc.constantFrom<LogSource>(
  { category: 'c' },
  { category: 'c' },
  { product: 'p' },
  { service: "s'" },
  { category: 'c', product: 'q' },
)

export interface ChanceRule {
  readonly logsource: LogSource
  readonly detection: Readonly<Record<string, unknown>>
}

export const chanceRules: fc.Arbitrary<ChanceRule> = fc.record({
  logsource,
  detection: fc.record({ a1: selection, a2: selection, b1: selection, condition }),
})

/** A rule file; titles are the rules' positions. */
export function ruleFile(rules: readonly ChanceRule[]): string {
  return rules
    .map((rule, index) => JSON.stringify({ title: String(index), id: `rule-${index}`, level: 'low', ...rule }))
    .join('\n---\n')
}

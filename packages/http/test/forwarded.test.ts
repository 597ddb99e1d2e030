import { describe, expect, it } from 'vitest'
import { type ForwardedForm, type ForwardingPeer, setForwardedFields, setRequestId } from '../src/forwarded.ts'
import { parseAddressRange } from '../src/ip-address.ts'

const RANGES = ['10.0.0.0/8', 'fd00::/8'].map((text) => parseAddressRange(text)).filter((range) => range !== undefined)

interface Row {
  readonly name: string
  readonly peer?: Partial<ForwardingPeer>
  readonly authority?: string
  readonly form?: ForwardedForm
  readonly fields: readonly string[]
  /** The fields afterwards, as lines. */
  readonly expected: readonly string[]
}

function lines(fields: readonly string[]): string[] {
  return fields.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${fields[at + 1]}`] : []))
}

const OWN = [
  'X-Forwarded-For: 192.0.2.7',
  'X-Forwarded-Host: a.test',
  'X-Forwarded-Proto: http',
  'X-Forwarded-Port: 8080',
  'X-Real-IP: 192.0.2.7',
]

// T13 of the threat model, with request identifiers below.
const UNTRUSTED: readonly Row[] = [
  { name: 'nothing', fields: [], expected: OWN },
  {
    name: 'other fields, which stay in their order',
    fields: ['A', '1', 'X-B', '2', 'From', 'me'],
    expected: ['A: 1', 'X-B: 2', 'From: me', ...OWN],
  },
  { name: 'an address', fields: ['X-Forwarded-For', '127.0.0.1'], expected: OWN },
  {
    name: 'several lines of addresses',
    fields: ['X-Forwarded-For', '127.0.0.1', 'x-forwarded-for', '10.0.0.1'],
    expected: OWN,
  },
  { name: 'the name in another case', fields: ['x-FORWARDED-fOR', '127.0.0.1'], expected: OWN },
  {
    name: 'the name with underscores, which CGI takes for the same',
    fields: ['X_Forwarded_For', '127.0.0.1'],
    expected: OWN,
  },
  { name: 'the name with both', fields: ['X-Forwarded_For', '127.0.0.1', 'X_Real-IP', '127.0.0.1'], expected: OWN },
  { name: 'a scheme', fields: ['X-Forwarded-Proto', 'https'], expected: OWN },
  { name: 'a host', fields: ['X-Forwarded-Host', 'evil.test'], expected: OWN },
  { name: 'a port', fields: ['X-Forwarded-Port', '443'], expected: OWN },
  { name: 'a real address', fields: ['X-Real-IP', '127.0.0.1'], expected: OWN },
  { name: 'Forwarded', fields: ['Forwarded', 'for=127.0.0.1;proto=https'], expected: OWN },
  { name: 'a server', fields: ['X-Forwarded-Server', 'evil'], expected: OWN },
  { name: 'a prefix', fields: ['X-Forwarded-Prefix', '/admin'], expected: OWN },
  { name: 'that TLS was used', fields: ['X-Forwarded-Ssl', 'on', 'X-Forwarded-Scheme', 'https'], expected: OWN },
  { name: 'the bare name', fields: ['X-Forwarded', 'for=127.0.0.1'], expected: OWN },
  {
    name: 'an address, and is gone',
    peer: { address: undefined },
    fields: ['X-Forwarded-For', '127.0.0.1'],
    expected: OWN.slice(1, 4),
  },
  { name: 'no Host', authority: '', fields: ['X-Forwarded-Host', 'evil'], expected: [OWN[0], ...OWN.slice(2)] },
  {
    name: 'it from an IPv6 address',
    peer: { address: '2001:db8::7' },
    fields: [],
    expected: ['X-Forwarded-For: 2001:db8::7', ...OWN.slice(1, 4), 'X-Real-IP: 2001:db8::7'],
  },
  {
    name: 'it over TLS',
    peer: { scheme: 'https', port: '8443' },
    fields: ['X-Forwarded-Proto', 'http'],
    expected: [OWN[0], OWN[1], 'X-Forwarded-Proto: https', 'X-Forwarded-Port: 8443', OWN[4]],
  },
  {
    name: 'Forwarded where only that is sent',
    form: 'forwarded',
    fields: ['Forwarded', 'for=127.0.0.1', 'X-Forwarded-For', '127.0.0.1'],
    expected: ['Forwarded: for=192.0.2.7;host=a.test;proto=http'],
  },
  {
    name: 'it from an IPv6 address, to a port, in Forwarded',
    form: 'forwarded',
    peer: { address: '2001:db8::7' },
    authority: 'a.test:8080',
    fields: [],
    expected: ['Forwarded: for="[2001:db8::7]";host="a.test:8080";proto=http'],
  },
  {
    name: 'it in Forwarded, and is gone',
    form: 'forwarded',
    peer: { address: undefined },
    fields: [],
    expected: ['Forwarded: for=unknown;host=a.test;proto=http'],
  },
  {
    name: 'anything where nothing is sent',
    form: 'none',
    fields: ['Forwarded', 'for=127.0.0.1', 'X-Forwarded-For', '127.0.0.1', 'X-Real-IP', '1.1.1.1', 'A', '1'],
    expected: ['A: 1'],
  },
  {
    name: 'nothing where both are sent',
    form: 'both',
    fields: [],
    expected: [...OWN, 'Forwarded: for=192.0.2.7;host=a.test;proto=http'],
  },
]

const PROXY = { address: '10.0.0.9', trusted: true } as const
const FROM_PROXY = ['X-Forwarded-For: 10.0.0.9', ...OWN.slice(1, 4), 'X-Real-IP: 10.0.0.9']
const TRUSTED: readonly Row[] = [
  { name: 'nothing', fields: [], expected: FROM_PROXY },
  {
    name: 'an address, which is continued',
    fields: ['X-Forwarded-For', '203.0.113.5'],
    expected: ['X-Forwarded-For: 203.0.113.5, 10.0.0.9', ...OWN.slice(1, 4), 'X-Real-IP: 203.0.113.5'],
  },
  {
    name: 'what its client made up: the near end counts',
    fields: ['X-Forwarded-For', '127.0.0.1, 203.0.113.5'],
    expected: ['X-Forwarded-For: 127.0.0.1, 203.0.113.5, 10.0.0.9', ...OWN.slice(1, 4), 'X-Real-IP: 203.0.113.5'],
  },
  {
    name: 'a chain of trusted proxies',
    fields: ['X-Forwarded-For', '203.0.113.5, 10.1.1.1', 'X-Forwarded-For', '10.2.2.2'],
    expected: [
      'X-Forwarded-For: 203.0.113.5, 10.1.1.1, 10.2.2.2, 10.0.0.9',
      ...OWN.slice(1, 4),
      'X-Real-IP: 203.0.113.5',
    ],
  },
  {
    name: 'a chain in which all are trusted',
    fields: ['X-Forwarded-For', '10.1.1.1, 10.2.2.2'],
    expected: ['X-Forwarded-For: 10.1.1.1, 10.2.2.2, 10.0.0.9', ...OWN.slice(1, 4), 'X-Real-IP: 10.1.1.1'],
  },
  {
    name: 'a chain with something that is no address',
    fields: ['X-Forwarded-For', '203.0.113.5, unknown, 10.1.1.1'],
    expected: ['X-Forwarded-For: 203.0.113.5, unknown, 10.1.1.1, 10.0.0.9', ...OWN.slice(1, 4), 'X-Real-IP: 10.1.1.1'],
  },
  { name: 'empty elements', fields: ['X-Forwarded-For', ' , ', 'X-Forwarded-Proto', ''], expected: FROM_PROXY },
  {
    name: 'an IPv6 chain',
    fields: ['X-Forwarded-For', '2001:db8::5, fd00::1'],
    expected: ['X-Forwarded-For: 2001:db8::5, fd00::1, 10.0.0.9', ...OWN.slice(1, 4), 'X-Real-IP: 2001:db8::5'],
  },
  {
    name: 'scheme, host and port',
    fields: ['X-Forwarded-Proto', 'https', 'X-Forwarded-Host', 'www.test:444', 'X-Forwarded-Port', '444'],
    expected: [
      FROM_PROXY[0],
      'X-Forwarded-Host: www.test:444',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Port: 444',
      FROM_PROXY[4],
    ],
  },
  {
    name: 'a scheme, host and port that are none',
    fields: ['X-Forwarded-Proto', 'javascript', 'X-Forwarded-Host', 'a/b', 'X-Forwarded-Port', '65536'],
    expected: FROM_PROXY,
  },
  {
    name: 'a real address',
    fields: ['X-Real-IP', '203.0.113.5'],
    expected: [...FROM_PROXY.slice(0, 4), 'X-Real-IP: 203.0.113.5'],
  },
  { name: 'a real address that is none', fields: ['X-Real-IP', 'localhost'], expected: FROM_PROXY },
  {
    name: 'Forwarded, which is continued',
    fields: ['Forwarded', 'for=203.0.113.5;proto=https'],
    expected: [...FROM_PROXY, 'Forwarded: for=203.0.113.5;proto=https, for=10.0.0.9;host=a.test;proto=http'],
  },
  {
    name: 'a chain in which a client wrote a quotation mark',
    fields: ['X-Forwarded-For', '"evil, 192.0.2.1, 10.0.0.2'],
    expected: [
      'X-Forwarded-For: "evil, 192.0.2.1, 10.0.0.2, 10.0.0.9',
      'X-Forwarded-Host: a.test',
      'X-Forwarded-Proto: http',
      'X-Forwarded-Port: 8080',
      'X-Real-IP: 192.0.2.1',
    ],
  },
  {
    name: 'Forwarded with a quotation mark that a client left open, which is nothing',
    fields: ['Forwarded', 'for="evil, for=192.0.2.1', 'Forwarded', 'for="a\\"'],
    form: 'forwarded',
    expected: ['Forwarded: for=10.0.0.9;host=a.test;proto=http'],
  },
  {
    name: 'Forwarded with a quoted comma',
    fields: ['Forwarded', 'for="a,b"', 'forwarded', 'for=c'],
    form: 'forwarded',
    expected: ['Forwarded: for="a,b", for=c, for=10.0.0.9;host=a.test;proto=http'],
  },
  {
    name: 'an address where nothing of the kind is sent',
    form: 'none',
    fields: ['X-Forwarded-For', '203.0.113.5'],
    expected: ['X-Forwarded-For: 203.0.113.5, 10.0.0.9', ...OWN.slice(1, 4), 'X-Real-IP: 203.0.113.5'],
  },
  {
    name: 'a prefix, which stays',
    fields: ['X-Forwarded-Prefix', '/shop'],
    expected: ['X-Forwarded-Prefix: /shop', ...FROM_PROXY],
  },
  { name: 'an address with underscores, which goes', fields: ['X_Forwarded_For', '203.0.113.5'], expected: FROM_PROXY },
]

function run({ peer, authority = 'a.test', form = 'x-forwarded', fields }: Row): string[] {
  const changed = [...fields]
  const whole: ForwardingPeer = { address: '192.0.2.7', trusted: false, scheme: 'http', port: '8080', ...peer }
  setForwardedFields(changed, whole, authority === '' ? undefined : authority, form, RANGES)
  return lines(changed)
}

describe('a client that says', () => {
  it.each(UNTRUSTED)('$name', (row) => {
    expect(run(row)).toEqual(row.expected)
  })
})

describe('a trusted proxy that says', () => {
  it.each(TRUSTED)('$name', (row) => {
    expect(run({ ...row, peer: PROXY })).toEqual(row.expected)
  })
})

describe('a request identifier', () => {
  it.each([
    ['of a client is replaced', false, ['X-Request-ID', 'theirs'], ['X-Request-Id: own']],
    ['of a trusted proxy is kept', true, ['X-Request-ID', 'b3:7f/a+B=_.~-'], ['X-Request-Id: b3:7f/a+B=_.~-']],
    ['is made where there is none', true, [], ['X-Request-Id: own']],
    ['that is empty is replaced', true, ['X-Request-Id', ''], ['X-Request-Id: own']],
    ['that stands twice is replaced', true, ['X-Request-Id', 'a', 'x-request-id', 'b'], ['X-Request-Id: own']],
    ['with blanks is replaced', true, ['X-Request-Id', 'a b'], ['X-Request-Id: own']],
    ['with an escape is replaced', true, ['X-Request-Id', 'a\x1b[31m'], ['X-Request-Id: own']],
    ['with markup is replaced', true, ['X-Request-Id', '<b>'], ['X-Request-Id: own']],
    ['beyond 128 characters is replaced', true, ['X-Request-Id', 'a'.repeat(129)], ['X-Request-Id: own']],
    ['of 128 characters is kept', true, ['X-Request-Id', 'a'.repeat(128)], [`X-Request-Id: ${'a'.repeat(128)}`]],
  ])('%s', (_name, trusted, fields, expected) => {
    const changed = [...fields]
    const id = setRequestId(changed, 'X-Request-Id', trusted, 'own')
    expect(lines(changed)).toEqual(expected)
    expect(expected).toEqual([`X-Request-Id: ${id}`])
  })
})

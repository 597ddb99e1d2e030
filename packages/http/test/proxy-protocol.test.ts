import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseIpAddress } from '../src/ip-address.ts'
import { MAX_PROXY_HEADER_BYTES, type ProxyHeader, readProxyHeader } from '../src/proxy-protocol.ts'

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n'
const bytesOf = (latin1: string): Uint8Array => Uint8Array.from(latin1, (character) => character.charCodeAt(0))
const v2 = (command: number, family: number, rest: readonly number[], length = rest.length): Uint8Array =>
  Uint8Array.from([...bytesOf(SIGNATURE), command, family, length >> 8, length & 0xff, ...rest])
const IPV4 = [192, 0, 2, 7, 10, 0, 0, 1, 0xdc, 0x04, 0x01, 0xbb]
const IPV6 = [
  0x20,
  1,
  0xd,
  0xb8,
  ...Array.from({ length: 11 }, () => 0),
  7,
  ...Array.from({ length: 16 }, () => 1),
  0,
  1,
  0,
  2,
]

const GOOD: readonly { readonly what: string; readonly octets: Uint8Array; readonly source: string | undefined }[] = [
  { what: 'TCP4', octets: bytesOf('PROXY TCP4 192.0.2.7 10.0.0.1 56324 443\r\n'), source: '192.0.2.7' },
  { what: 'TCP6', octets: bytesOf('PROXY TCP6 2001:db8::7 ::1 56324 443\r\n'), source: '2001:db8::7' },
  {
    what: 'the longest line',
    octets: bytesOf(`PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535${' '.repeat(48)}\r\n`),
    source: undefined,
  },
  { what: 'UNKNOWN alone', octets: bytesOf('PROXY UNKNOWN\r\n'), source: undefined },
  { what: 'binary IPv4', octets: v2(0x21, 0x11, IPV4), source: '192.0.2.7' },
  { what: 'binary IPv6', octets: v2(0x21, 0x21, IPV6), source: '2001:db8::7' },
  {
    what: 'binary IPv4 in IPv6',
    octets: v2(0x21, 0x21, [...bytesOf('\0'.repeat(10)), 255, 255, 192, 0, 2, 7, ...IPV6.slice(16)]),
    source: '192.0.2.7',
  },
  { what: 'with more told', octets: v2(0x21, 0x11, [...IPV4, 4, 0, 2, 1, 1]), source: '192.0.2.7' },
  { what: 'LOCAL', octets: v2(0x20, 0, []), source: undefined },
  { what: 'LOCAL with addresses', octets: v2(0x20, 0x11, IPV4), source: undefined },
  { what: 'unspecified', octets: v2(0x21, 0, [1, 2, 3]), source: undefined },
  {
    what: 'a Unix socket',
    octets: v2(
      0x21,
      0x31,
      Array.from({ length: 216 }, () => 0),
    ),
    source: undefined,
  },
]

const line = (text: string): Uint8Array => bytesOf(`PROXY ${text}\r\n`)
const BAD: readonly { readonly what: string; readonly octets: Uint8Array }[] = [
  { what: 'a request', octets: bytesOf('GET / HTTP/1.1\r\n') },
  { what: 'a TLS handshake', octets: Uint8Array.of(0x16, 3, 1, 2, 0, 1) },
  { what: 'PROXY in lower case', octets: bytesOf('proxy TCP4 192.0.2.7 10.0.0.1 1 2\r\n') },
  { what: 'no blank behind PROXY', octets: bytesOf('PROXY\r\n') },
  { what: 'an unknown protocol', octets: line('UDP4 192.0.2.7 10.0.0.1 1 2') },
  { what: 'UNKNOWNX', octets: line('UNKNOWNX') },
  { what: 'a missing port', octets: line('TCP4 192.0.2.7 10.0.0.1 1') },
  { what: 'a field too many', octets: line('TCP4 192.0.2.7 10.0.0.1 1 2 3') },
  { what: 'two blanks', octets: line('TCP4  192.0.2.7 10.0.0.1 1 2') },
  { what: 'a tab', octets: line('TCP4 192.0.2.7\t10.0.0.1 1 2') },
  { what: 'another family', octets: line('TCP4 2001:db8::7 ::1 1 2') },
  { what: 'the other way round', octets: line('TCP6 192.0.2.7 10.0.0.1 1 2') },
  { what: 'an octal address', octets: line('TCP4 192.0.02.7 10.0.0.1 1 2') },
  { what: 'a zone', octets: line('TCP6 fe80::1%eth0 ::1 1 2') },
  { what: 'a port with a zero in front', octets: line('TCP4 192.0.2.7 10.0.0.1 01 2') },
  { what: 'a port that is none', octets: line('TCP4 192.0.2.7 10.0.0.1 65536 2') },
  { what: 'a CR without LF', octets: bytesOf('PROXY UNKNOWN\rX') },
  { what: 'a LF without CR', octets: bytesOf('PROXY UNKNOWN\nGET / HTTP/1.1\r\n') },
  { what: 'NUL', octets: line('UNKNOWN \0') },
  { what: 'a line of 108 octets', octets: line(`UNKNOWN ${'x'.repeat(92)}`) },
  { what: 'a line without an end', octets: bytesOf(`PROXY UNKNOWN ${'x'.repeat(100)}`) },
  { what: 'version 1 in binary', octets: v2(0x11, 0x11, IPV4) },
  { what: 'an unknown command', octets: v2(0x22, 0x11, IPV4) },
  { what: 'an unknown family', octets: v2(0x21, 0x41, IPV4) },
  { what: 'an unknown transport', octets: v2(0x21, 0x13, IPV4) },
  { what: 'UDP', octets: v2(0x21, 0x12, IPV4) },
  { what: 'addresses that do not fit', octets: v2(0x21, 0x11, IPV4.slice(1)) },
  { what: 'a broken signature', octets: bytesOf('\r\n\r\n\0\r\nQUIT\r') },
  { what: 'too much', octets: v2(0x21, 0x11, IPV4, MAX_PROXY_HEADER_BYTES) },
]

describe('a PROXY header', () => {
  it.each(GOOD)('with $what tells the client, and where it ends', ({ octets, source }) => {
    expect(readProxyHeader(octets)).toEqual({ kind: 'header', bytes: octets.length, source })
    const more = Uint8Array.from([...octets, ...bytesOf('GET / HTTP/1.1\r\n\r\n')])
    expect(readProxyHeader(more)).toEqual({ kind: 'header', bytes: octets.length, source })
  })

  it.each(GOOD)('with $what is not complete in any part of it', ({ octets }) => {
    for (let end = 0; end < octets.length; end++) {
      expect(readProxyHeader(octets.subarray(0, end))).toEqual({ kind: 'more' })
    }
  })

  it.each(BAD)('with $what is a fault, and no part of it was anything but incomplete', ({ octets }) => {
    expect(readProxyHeader(octets).kind).toBe('fault')
    for (let end = 0; end < octets.length; end++) {
      expect(readProxyHeader(octets.subarray(0, end)).kind).not.toBe('header')
    }
  })

  it('is decided within its bounds, whatever comes', () => {
    const start = fc.constantFrom('', 'PROXY ', 'PROXY TCP4 ', SIGNATURE, `${SIGNATURE}\x21\x11`)
    fc.assert(
      fc.property(start, fc.uint8Array({ maxLength: 300 }), (text, rest) => {
        const octets = Uint8Array.from([...bytesOf(text), ...rest])
        let last: ProxyHeader = { kind: 'more' }
        for (let end = 1; end <= octets.length && last.kind === 'more'; end++) {
          last = readProxyHeader(octets.subarray(0, end))
          // All at once and octet by octet are the same.
          if (last.kind !== 'more') expect(readProxyHeader(octets)).toEqual(last)
        }
        if (last.kind === 'header' && last.source !== undefined) expect(parseIpAddress(last.source)).toBeDefined()
      }),
      { numRuns: 2_000 },
    )
  })
})

import { describe, expect, it } from 'vitest'
import { isInRanges, parseAddressRange, parseIpAddress } from '../src/ip-address.ts'

function hex(text: string): string | undefined {
  const octets = parseIpAddress(text)
  return octets === undefined
    ? undefined
    : Buffer.from(octets)
        .toString('hex')
        .replace(/(.{4})(?=.)/g, '$1:')
}

describe('an address', () => {
  it.each([
    ['0.0.0.0', '0000:0000:0000:0000:0000:ffff:0000:0000'],
    ['192.0.2.1', '0000:0000:0000:0000:0000:ffff:c000:0201'],
    ['255.255.255.255', '0000:0000:0000:0000:0000:ffff:ffff:ffff'],
    ['::', '0000:0000:0000:0000:0000:0000:0000:0000'],
    ['::1', '0000:0000:0000:0000:0000:0000:0000:0001'],
    ['2001:db8::', '2001:0db8:0000:0000:0000:0000:0000:0000'],
    ['2001:DB8:0:0:8:800:200C:417A', '2001:0db8:0000:0000:0008:0800:200c:417a'],
    ['1:2:3:4:5:6:7::', '0001:0002:0003:0004:0005:0006:0007:0000'],
    ['::2:3:4:5:6:7:8', '0000:0002:0003:0004:0005:0006:0007:0008'],
    ['::ffff:192.0.2.1', '0000:0000:0000:0000:0000:ffff:c000:0201'],
    ['::13.1.68.3', '0000:0000:0000:0000:0000:0000:0d01:4403'],
    ['64:ff9b::192.0.2.33', '0064:ff9b:0000:0000:0000:0000:c000:0221'],
    ['1:2:3:4:5:6:1.2.3.4', '0001:0002:0003:0004:0005:0006:0102:0304'],
    ['fe80::1%eth0', 'fe80:0000:0000:0000:0000:0000:0000:0001'],
  ])('%s is %s', (text, expected) => {
    expect(hex(text)).toBe(expected)
  })

  it.each([
    '',
    'localhost',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '01.2.3.4',
    '1.2.3.-4',
    '1.2.3.4 ',
    '0x7f.0.0.1',
    '2130706433',
    '1.2.3.4:80',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '::1:2:3:4:5:6:7:8',
    '12345::',
    'g::',
    '[::1]',
    '::1.2.3',
    '1.2.3.4::',
    '::1.2.3.4:5',
    `::${'0'.repeat(10_000)}1`,
  ])('%s is none', (text) => {
    expect(parseIpAddress(text)).toBe(undefined)
  })
})

describe('a range', () => {
  const within = (address: string, ...ranges: readonly string[]): boolean => {
    const parsed = ranges.map((text) => {
      const range = parseAddressRange(text)
      if (range === undefined) throw new Error(`${text} is no range`)
      return range
    })
    const octets = parseIpAddress(address)
    return octets !== undefined && isInRanges(octets, parsed)
  }
  it.each([
    ['10.0.0.0', '10.0.0.0/8', true],
    ['10.255.255.255', '10.0.0.0/8', true],
    ['11.0.0.0', '10.0.0.0/8', false],
    ['9.255.255.255', '10.0.0.0/8', false],
    ['172.16.0.1', '172.16.0.0/12', true],
    ['172.31.255.255', '172.16.0.0/12', true],
    ['172.32.0.0', '172.16.0.0/12', false],
    ['192.168.1.5', '192.168.1.4/31', true],
    ['192.168.1.6', '192.168.1.4/31', false],
    ['192.168.1.5', '192.168.1.5', true],
    ['192.168.1.5', '192.168.1.5/32', true],
    ['192.168.1.4', '192.168.1.5/32', false],
    ['10.9.9.9', '10.0.0.1/8', true],
    ['2001:db8::9', '2001:db8::1/64', true],
    ['1.2.3.4', '0.0.0.0/0', true],
    ['::1', '0.0.0.0/0', false],
    ['1.2.3.4', '::/0', false],
    ['2001:db8::5', '::/0', true],
    ['::ffff:10.1.2.3', '10.0.0.0/8', true],
    ['10.1.2.3', '::ffff:10.0.0.0/104', true],
    ['11.1.2.3', '::ffff:10.0.0.0/104', false],
    ['2001:db8:ffff::', '2001:db8::/32', true],
    ['2001:db9::', '2001:db8::/32', false],
    ['2001:db8:8000::', '2001:db8:8000::/33', true],
    ['2001:db8:7fff::', '2001:db8:8000::/33', false],
    ['::1', '::1', true],
    ['::2', '::1', false],
    ['fe80::1%eth0', 'fe80::/10', true],
  ])('whether %s is in %s: %s', (address, range, expected) => {
    expect(within(address, range)).toBe(expected)
  })

  it('is one of several', () => {
    expect(within('10.1.1.1', '192.168.0.0/16', '10.0.0.0/8')).toBe(true)
    expect(within('10.1.1.1')).toBe(false)
  })

  it.each([
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10/8',
    '::/129',
    'fe80::%eth0/64',
    'example.org',
    '*',
    '',
  ])('%s is none', (text) => {
    expect(parseAddressRange(text)).toBe(undefined)
  })
})

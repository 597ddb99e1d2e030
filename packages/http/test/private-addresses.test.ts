import { describe, expect, it } from 'vitest'
import { isPrivateAddress } from '../src/private-addresses.ts'

describe('an address that is not of the public internet', () => {
  it.each([
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:a00:1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1%eth0',
    'ff02::1',
    'localhost',
    '',
  ])('%s', (text) => {
    expect(isPrivateAddress(text)).toBe(true)
  })
})

describe('an address of the public internet', () => {
  it.each([
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '128.0.0.1',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '193.0.0.1',
    '223.255.255.255',
    '::ffff:1.1.1.1',
    '64:ff9b::1.1.1.1',
    '2001:200::1',
    '2606:4700:4700::1111',
    '2a00:1450::1',
  ])('%s', (text) => {
    expect(isPrivateAddress(text)).toBe(false)
  })
})

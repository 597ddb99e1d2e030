import { expect, test } from 'vitest'
import { WebSocketCounter } from '../src/websocket-counter.ts'

function frame(first: number, payload: Uint8Array, mask?: readonly number[]): number[] {
  const { length } = payload
  const lengths =
    length < 126
      ? [length]
      : length < 65_536
        ? [126, length >> 8, length & 255]
        : [127, 0, 0, 0, 0, (length >>> 24) & 255, (length >> 16) & 255, (length >> 8) & 255, length & 255]
  const masked = mask === undefined ? [...payload] : [...payload].map((octet, at) => octet ^ mask[at % 4])
  lengths[0] |= mask === undefined ? 0 : 0x80
  return [first, ...lengths, ...(mask ?? []), ...masked]
}

const text = new TextEncoder().encode('hello')
const MASK = [1, 2, 3, 250]
const OCTETS = Uint8Array.from([
  ...frame(0x81, text, MASK),
  ...frame(0x01, text),
  ...frame(0x80, new Uint8Array(200)),
  ...frame(0x82, new Uint8Array(70_000).fill(0x88)),
  ...frame(0x82, new Uint8Array(0)),
  ...frame(0x89, text),
  ...frame(0x88, Uint8Array.of(0x03, 0xe9, 0x78), MASK),
])

test.each([1, 3, 1_000, 1_000_000])('messages are counted, however the octets are cut: pieces of %i', (size) => {
  const counter = new WebSocketCounter()
  for (let at = 0; at < OCTETS.length; at += size) counter.push(OCTETS.subarray(at, at + size))
  expect(counter.counts).toEqual({
    bytes: OCTETS.length,
    textMessages: 2,
    binaryMessages: 2,
    controlFrames: 2,
    closeCode: 1_001,
  })
})

test('what is no frame ends the counting, not the octets', () => {
  const counter = new WebSocketCounter()
  counter.push(Uint8Array.from([...frame(0x81, text), 0x83, 0x00, 0x81, 0x00]))
  expect(counter.counts).toEqual({ bytes: 11, textMessages: 1, binaryMessages: 0, controlFrames: 0, broken: true })
})

/** Just enough of RFC 6455 to be either end of a WebSocket in a test, over a reader of octets. */

import { createHash } from 'node:crypto'
import type { ByteReader } from './byte-reader.ts'

/** A key and what answers it (RFC 6455 §1.3). */
export const SAMPLE_KEY = 'dGhlIHNhbXBsZSBub25jZQ=='

export function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}

/** The handshake of a client, with further header lines. */
export function handshake(target: string, ...lines: readonly string[]): string {
  const own = [
    'Connection: Upgrade',
    'Upgrade: websocket',
    `Sec-WebSocket-Key: ${SAMPLE_KEY}`,
    'Sec-WebSocket-Version: 13',
  ]
  return [`GET ${target} HTTP/1.1`, 'Host: proxy.test', ...own, ...lines, '', ''].join('\r\n')
}

/** The 101 of a server. */
export function switching(key: string): string {
  const lines = ['Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${acceptOf(key)}`]
  return ['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n')
}

export interface Frame {
  /** 1 text, 2 binary, 8 close. */
  readonly opcode: number
  readonly payload: Buffer
}

/** One whole message in one frame; a client's is masked. */
export function encodeFrame(opcode: number, payload: Uint8Array, masked: boolean): Buffer {
  const { length } = payload
  const size = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const head = Buffer.alloc(2 + size + (masked ? 4 : 0))
  head[0] = 0x80 | opcode
  head[1] = (masked ? 0x80 : 0) | (size === 0 ? length : size === 2 ? 126 : 127)
  if (size === 2) head.writeUInt16BE(length, 2)
  if (size === 8) head.writeBigUInt64BE(BigInt(length), 2)
  const mask = head.subarray(2 + size)
  for (let i = 0; i < mask.length; i++) mask[i] = 17 * i + 5
  return Buffer.concat([head, masked ? Buffer.from(payload.map((octet, i) => octet ^ mask[i % 4])) : payload])
}

/** The next frame; undefined when the peer's side ends. */
export async function readFrame(reader: ByteReader): Promise<Frame | undefined> {
  const start = await reader.exactly(2)
  if (start.length < 2) return undefined
  const short = start[1] & 0x7f
  const size = short < 126 ? 0 : short === 126 ? 2 : 8
  const extended = await reader.exactly(size)
  const length = size === 0 ? short : size === 2 ? extended.readUInt16BE() : Number(extended.readBigUInt64BE())
  const mask = await reader.exactly((start[1] & 0x80) === 0 ? 0 : 4)
  const octets = await reader.exactly(length)
  const payload = mask.length === 0 ? octets : Buffer.from(octets.map((octet, i) => octet ^ mask[i % 4]))
  return { opcode: start[0] & 0x0f, payload }
}

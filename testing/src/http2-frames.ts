/** HTTP/2 by the frame (RFC 9113 §4, §6; RFC 7541), for what a proper client would not send. */

import { connect } from 'node:net'

export const PREFACE: Uint8Array = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PUSH_PROMISE = 5
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9

export const END_STREAM = 1
export const ACK = 1
export const END_HEADERS = 4
export const PADDED = 8

const FRAME_HEAD_BYTES = 9

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Uint8Array
}

/** `length` lies about the payload's. */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = new Uint8Array(),
  length: number = payload.length,
): Buffer {
  const octets = Buffer.alloc(FRAME_HEAD_BYTES + payload.length)
  octets.writeUIntBE(length, 0, 3)
  octets[3] = type
  octets[4] = flags
  octets.writeUInt32BE(stream, 5)
  octets.set(payload, FRAME_HEAD_BYTES)
  return octets
}

/** Identifier, value and so on. */
export function settings(...values: readonly number[]): Buffer {
  const payload = Buffer.alloc(values.length * 3)
  for (let i = 0; i < values.length; i += 2) {
    payload.writeUInt16BE(values[i], i * 3)
    payload.writeUInt32BE(values[i + 1], i * 3 + 2)
  }
  return frame(SETTINGS, 0, 0, payload)
}

export function uint32(value: number): Buffer {
  const octets = Buffer.alloc(4)
  octets.writeUInt32BE(value)
  return octets
}

/** An integer of HPACK with a prefix of so many bits (RFC 7541 §5.1); `pattern` has the bits in front of it. */
export function hpackInteger(value: number, bits: number, pattern: number): number[] {
  const most = 2 ** bits - 1
  if (value < most) return [pattern | value]
  const octets = [pattern | most]
  let left = value - most
  for (; left >= 128; left = Math.floor(left / 128)) octets.push((left % 128) | 128)
  octets.push(left)
  return octets
}

/** Name, value and so on, one octet per character, as literals without indexing and without Huffman (§6.2.2). */
export function headerBlock(fields: readonly string[]): Buffer {
  const octets: number[] = []
  for (let i = 0; i < fields.length; i += 2) {
    octets.push(0)
    for (const text of [fields[i], fields[i + 1]]) {
      octets.push(...hpackInteger(text.length, 7, 0))
      for (const octet of Buffer.from(text, 'latin1')) octets.push(octet)
    }
  }
  return Buffer.from(octets)
}

export function request(method: string, path = '/'): string[] {
  return [':method', method, ':scheme', 'http', ':authority', 'proxy.test', ':path', path]
}

export interface FramePeer {
  /** What came so far, whole frames only. */
  readonly frames: readonly Frame[]
  /** Whether the other side has closed the connection, or reset it. */
  readonly isClosed: boolean
  /** Resolves when the kernel has it or the connection is gone. */
  send(...octets: readonly Uint8Array[]): Promise<void>
  /** Resolves with the first frame for which it holds; undefined when the connection closes, or nothing comes in time. */
  until(holds: (frame: Frame) => boolean, withinMs?: number): Promise<Frame | undefined>
  /** Resolves with whether the other side closed in time. */
  closed(withinMs: number): Promise<boolean>
  destroy(): void
}

export async function connectFrames(port: number): Promise<FramePeer> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const frames: Frame[] = []
  const waiting = new Set<() => void>()
  let rest: Buffer = Buffer.alloc(0)
  let isClosed = false
  const wake = (): void => {
    for (const one of waiting) one()
  }
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= FRAME_HEAD_BYTES) {
      const end = FRAME_HEAD_BYTES + rest.readUIntBE(0, 3)
      if (rest.length < end) break
      const payload = rest.subarray(FRAME_HEAD_BYTES, end)
      frames.push({ type: rest[3], flags: rest[4], stream: rest.readUInt32BE(5), payload })
      rest = rest.subarray(end)
    }
    wake()
  })
  for (const event of ['end', 'close'] as const) {
    socket.on(event, () => {
      isClosed = true
      wake()
    })
  }
  const wait = <T>(probe: () => T | undefined, withinMs: number, late: T): Promise<T> =>
    new Promise((resolve) => {
      const settle = (value: T): void => {
        clearTimeout(timer)
        waiting.delete(look)
        resolve(value)
      }
      const look = (): void => {
        const found = probe()
        if (found !== undefined) settle(found)
        else if (isClosed) settle(late)
      }
      const timer = setTimeout(() => settle(late), withinMs)
      waiting.add(look)
      look()
    })
  return {
    frames,
    get isClosed() {
      return isClosed
    },
    send: (...octets) =>
      new Promise((resolve) => {
        if (isClosed || socket.destroyed) {
          resolve()
          return
        }
        const done = (): void => {
          socket.off('close', done)
          resolve()
        }
        socket.once('close', done)
        socket.write(Buffer.concat(octets), done)
      }),
    until: (holds, withinMs = 5_000) =>
      wait<Frame | undefined>(() => frames.find((one) => holds(one)), withinMs, undefined),
    closed: async (withinMs) => {
      await wait<boolean>(() => (isClosed ? true : undefined), withinMs, false)
      return isClosed
    },
    destroy: () => socket.destroy(),
  }
}

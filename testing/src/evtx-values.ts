/** Typed values of Windows event logs as bytes. Written from the format's description, apart from the parser. */

export interface EvtxValue {
  readonly type: number
  readonly bytes: Uint8Array
}

/** A value that is binary XML: a template with values, or an element as it is. Laid down where it will stand. */
export interface EvtxNested {
  readonly nested: EvtxContent
}

export type EvtxAny = EvtxValue | EvtxNested

/** What a record or a nested value holds. */
export type EvtxContent = EvtxInstance | EvtxElement | readonly (EvtxInstance | EvtxElement)[]

export interface EvtxInstance {
  readonly template: EvtxTemplate
  readonly values: readonly EvtxAny[]
}

export interface EvtxTemplate {
  /** As `{54849625-5478-4994-A5BA-3E3B0328C30D}`; braces may be left out. */
  readonly guid: string
  readonly root: EvtxElement
}

export interface EvtxElement {
  readonly element: string
  readonly attributes?: readonly EvtxAttribute[]
  readonly children?: readonly EvtxNode[]
}

export type EvtxAttribute = readonly [name: string, ...parts: readonly EvtxNode[]]

export type EvtxNode =
  | string
  | EvtxElement
  | { readonly slot: number; readonly type?: number; readonly optional?: boolean }
  | { readonly cdata: string }
  | { readonly character: number }
  | { readonly entity: string }
  | { readonly target: string; readonly data?: string }
  | { readonly literal: EvtxValue }
  | EvtxInstance

function bytesOf(size: number, write: (view: DataView) => void): Uint8Array {
  const bytes = new Uint8Array(size)
  write(new DataView(bytes.buffer))
  return bytes
}

export function utf16Bytes(text: string): Uint8Array {
  return bytesOf(text.length * 2, (view) => {
    for (let i = 0; i < text.length; i++) view.setUint16(i * 2, text.charCodeAt(i), true)
  })
}

export function guidBytes(text: string): Uint8Array {
  const digits = text.replace(/[{}-]/g, '')
  if (!/^[0-9a-f]{32}$/i.test(digits)) throw new Error(`${text} is no GUID`)
  const bytes = Uint8Array.from({ length: 16 }, (_, i) => Number.parseInt(digits.slice(i * 2, i * 2 + 2), 16))
  return Uint8Array.of(
    ...bytes.subarray(0, 4).toReversed(),
    ...bytes.subarray(4, 6).toReversed(),
    ...bytes.subarray(6, 8).toReversed(),
    ...bytes.subarray(8),
  )
}

/** `S-1-5-18` */
export function sidBytes(text: string): Uint8Array {
  const [, revision, authority, ...parts] = text.split('-')
  return bytesOf(8 + parts.length * 4, (view) => {
    view.setUint8(0, Number(revision))
    view.setUint8(1, parts.length)
    const number = BigInt(authority)
    view.setUint16(2, Number(number >> 32n))
    view.setUint32(4, Number(number & 0xffff_ffffn))
    parts.forEach((part, i) => view.setUint32(8 + i * 4, Number(part), true))
  })
}

/** The time in 100 ns since 1601 of an ISO date with up to seven digits after the second. */
export function filetimeOf(iso: string): bigint {
  const match = /^(.{19})(?:\.(\d{1,7}))?Z$/.exec(iso)
  if (match === null) throw new Error(`${iso} is no time`)
  const ms = BigInt(Date.parse(`${match[1]}Z`)) + 11_644_473_600_000n
  return ms * 10_000n + BigInt((match[2] ?? '').padEnd(7, '0'))
}

/** One value of each type, by what it is. */
export const evtxValue = {
  none: (): EvtxValue => ({ type: 0x00, bytes: new Uint8Array(0) }),
  string: (text: string): EvtxValue => ({ type: 0x01, bytes: utf16Bytes(text) }),
  ansi: (...bytes: readonly number[]): EvtxValue => ({ type: 0x02, bytes: Uint8Array.from(bytes) }),
  int8: (value: number): EvtxValue => ({ type: 0x03, bytes: bytesOf(1, (view) => view.setInt8(0, value)) }),
  uint8: (value: number): EvtxValue => ({ type: 0x04, bytes: Uint8Array.of(value) }),
  int16: (value: number): EvtxValue => ({ type: 0x05, bytes: bytesOf(2, (view) => view.setInt16(0, value, true)) }),
  uint16: (value: number): EvtxValue => ({ type: 0x06, bytes: bytesOf(2, (view) => view.setUint16(0, value, true)) }),
  int32: (value: number): EvtxValue => ({ type: 0x07, bytes: bytesOf(4, (view) => view.setInt32(0, value, true)) }),
  uint32: (value: number): EvtxValue => ({ type: 0x08, bytes: bytesOf(4, (view) => view.setUint32(0, value, true)) }),
  int64: (value: bigint): EvtxValue => ({ type: 0x09, bytes: bytesOf(8, (view) => view.setBigInt64(0, value, true)) }),
  uint64: (value: bigint): EvtxValue => ({
    type: 0x0a,
    bytes: bytesOf(8, (view) => view.setBigUint64(0, value, true)),
  }),
  real32: (value: number): EvtxValue => ({ type: 0x0b, bytes: bytesOf(4, (view) => view.setFloat32(0, value, true)) }),
  real64: (value: number): EvtxValue => ({ type: 0x0c, bytes: bytesOf(8, (view) => view.setFloat64(0, value, true)) }),
  /** Windows writes 0 and 1; other numbers are seen. */
  bool: (value: number): EvtxValue => ({ type: 0x0d, bytes: bytesOf(4, (view) => view.setUint32(0, value, true)) }),
  binary: (...bytes: readonly number[]): EvtxValue => ({ type: 0x0e, bytes: Uint8Array.from(bytes) }),
  guid: (text: string): EvtxValue => ({ type: 0x0f, bytes: guidBytes(text) }),
  size32: (value: number): EvtxValue => ({ type: 0x10, bytes: bytesOf(4, (view) => view.setUint32(0, value, true)) }),
  size64: (value: bigint): EvtxValue => ({
    type: 0x10,
    bytes: bytesOf(8, (view) => view.setBigUint64(0, value, true)),
  }),
  filetime: (ticks: bigint): EvtxValue => ({
    type: 0x11,
    bytes: bytesOf(8, (view) => view.setBigUint64(0, ticks, true)),
  }),
  /** Year, month, day of the week, day, hour, minute, second, millisecond. */
  systemTime: (...parts: readonly number[]): EvtxValue => ({
    type: 0x12,
    bytes: bytesOf(16, (view) => parts.forEach((part, i) => view.setUint16(i * 2, part, true))),
  }),
  sid: (text: string): EvtxValue => ({ type: 0x13, bytes: sidBytes(text) }),
  hex32: (value: number): EvtxValue => ({ type: 0x14, bytes: bytesOf(4, (view) => view.setUint32(0, value, true)) }),
  hex64: (value: bigint): EvtxValue => ({ type: 0x15, bytes: bytesOf(8, (view) => view.setBigUint64(0, value, true)) }),
  handle: (value: number): EvtxValue => ({ type: 0x20, bytes: bytesOf(4, (view) => view.setUint32(0, value, true)) }),
  xml: (text: string): EvtxValue => ({ type: 0x23, bytes: utf16Bytes(text) }),
  nested: (nested: EvtxContent): EvtxNested => ({ nested }),
  /** Strings end with NUL each; other items lie side by side. */
  strings: (...texts: readonly string[]): EvtxValue => ({
    type: 0x81,
    bytes: utf16Bytes(texts.map((text) => `${text}\0`).join('')),
  }),
  array: (type: number, ...items: readonly EvtxValue[]): EvtxValue => ({
    type: 0x80 | type,
    bytes: Uint8Array.from(items.flatMap(({ bytes }) => [...bytes])),
  }),
} as const

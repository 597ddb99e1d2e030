/** UTF-8 of strings, written in place. A surrogate without a partner becomes U+FFFD at all lengths, as TextEncoder has it. */

type NativeWrite = (bytes: Uint8Array, start: number, text: string) => number

/**
 * PERF: from this many units on the runtime writes the text. 2026-11-30, Node 20.20 and 24.22, two shared cores, ns for
 * ASCII text of 12, 24 and 100 units: loop 87, 181-200, 520-770; Node's utf8Write 105-145, 117-128, 105-159;
 * TextEncoder.encodeInto 208, 179-223, 213.
 */
const utf8Write = findUtf8Write()
const nativeMinUnits = utf8Write === undefined ? 28 : 18
const writeNative: NativeWrite = utf8Write ?? writeByTextEncoder()

function writeByTextEncoder(): NativeWrite {
  const encoder = new TextEncoder()
  return (bytes, start, text) => start + encoder.encodeInto(text, bytes.subarray(start)).written
}

/** Node's and Bun's own, if it does what TextEncoder does. */
function findUtf8Write(): NativeWrite | undefined {
  const buffer: unknown = Reflect.get(globalThis, 'Buffer')
  if (typeof buffer !== 'function') return undefined
  const write: unknown = Reflect.get(buffer.prototype, 'utf8Write')
  if (!isUtf8Write(write) || !Function.prototype.toString.call(write).includes('[native code]')) return undefined
  const probe = new Uint8Array(16)
  const written = write.call(probe, '\u00e4\ud800b', 1, 15)
  if (written !== 6 || probe.subarray(0, 8).join() !== '0,195,164,239,191,189,98,0') return undefined
  return (bytes, start, text) => start + write.call(bytes, text, start, text.length * 3)
}

function isUtf8Write(value: unknown): value is (this: Uint8Array, text: string, start: number, most: number) => number {
  return typeof value === 'function'
}

/** Writes `text` at `start` and returns the offset after it. Requires room for three bytes for each UTF-16 unit. */
export function writeText(bytes: Uint8Array, start: number, text: string): number {
  const units = text.length
  if (units >= nativeMinUnits) return writeNative(bytes, start, text)
  let at = start
  for (let i = 0; i < units; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) bytes[at++] = unit
    else return writeWide(bytes, at, text, i)
  }
  return at
}

/** From the first unit that is not ASCII on. */
function writeWide(bytes: Uint8Array, start: number, text: string, first: number): number {
  let at = start
  for (let i = first; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) bytes[at++] = unit
    else if (unit < 0x800) {
      bytes[at++] = 0xc0 | (unit >> 6)
      bytes[at++] = 0x80 | (unit & 0x3f)
    } else {
      let point = unit
      if (unit >= 0xd800 && unit <= 0xdfff) {
        const low = unit < 0xdc00 && i + 1 < text.length ? text.charCodeAt(i + 1) : 0
        if (low >= 0xdc00 && low <= 0xdfff) {
          point = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
          i++
        } else point = 0xfffd
      }
      if (point >= 0x10000) {
        bytes[at++] = 0xf0 | (point >> 18)
        bytes[at++] = 0x80 | ((point >> 12) & 0x3f)
      } else bytes[at++] = 0xe0 | (point >> 12)
      bytes[at++] = 0x80 | ((point >> 6) & 0x3f)
      bytes[at++] = 0x80 | (point & 0x3f)
    }
  }
  return at
}

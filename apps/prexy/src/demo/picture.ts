import { deflateSync } from 'node:zlib'

const WIDTH = 480
const HEIGHT = 360

/**
 * A PNG picture of hills at sunrise whose comment names the shop: bytes that a rule could match and must not touch.
 */
export function drawPicture(): Uint8Array {
  const rows = Buffer.alloc((WIDTH * 3 + 1) * HEIGHT)
  for (let y = 0; y < HEIGHT; y++) {
    // Each row begins with its filter: 0, none.
    let at = y * (WIDTH * 3 + 1) + 1
    for (let x = 0; x < WIDTH; x++) {
      const [red, green, blue] = colourAt(x, y)
      rows[at++] = red
      rows[at++] = green
      rows[at++] = blue
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(WIDTH, 0)
  header.writeUInt32BE(HEIGHT, 4)
  // Eight bits, red green blue.
  header.set([8, 2, 0, 0, 0], 8)
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk(
      'tEXt',
      Buffer.from('Comment\0Photographed for Kestrel Coffee, https://www.kestrel.example/ EUR 14.50 UA-4711-2'),
    ),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

type Colour = readonly [red: number, green: number, blue: number]

const HILLS: readonly {
  readonly top: number
  readonly swing: number
  readonly wave: number
  readonly colour: Colour
}[] = [
  { top: 0.52, swing: 0.07, wave: 2.1, colour: [214, 140, 104] },
  { top: 0.62, swing: 0.08, wave: 3.3, colour: [168, 92, 70] },
  { top: 0.74, swing: 0.06, wave: 4.6, colour: [112, 58, 48] },
  { top: 0.86, swing: 0.05, wave: 6.2, colour: [58, 34, 32] },
]

function colourAt(x: number, y: number): Colour {
  const u = x / WIDTH
  const v = y / HEIGHT
  let colour = mix([250, 214, 165], [240, 150, 110], v / 0.7)
  const sun = Math.hypot((u - 0.66) * 1.33, v - 0.36)
  colour = mix([255, 246, 220], colour, (sun - 0.085) / 0.012)
  for (const { top, swing, wave, colour: hill } of HILLS) {
    const edge = top + swing * Math.sin(u * wave + top * 9) + swing * 0.4 * Math.sin(u * wave * 2.7)
    colour = mix(colour, hill, (v - edge) * 130)
  }
  return colour
}

/** `share` 0 is `a`, 1 is `b`. */
function mix(a: Colour, b: Colour, share: number): Colour {
  const t = Math.min(1, Math.max(0, share))
  return [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t]
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const result = Buffer.alloc(data.length + 12)
  result.writeUInt32BE(data.length, 0)
  result.write(type, 4, 'latin1')
  result.set(data, 8)
  result.writeUInt32BE(crc32(result.subarray(4, data.length + 8)), data.length + 8)
  return result
}

/** PNG (ISO/IEC 15948) annex D. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}

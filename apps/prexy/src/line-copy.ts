/** Lines of several processes on one stream, each whole. */
import type { Readable, Writable } from 'node:stream'

/** A line longer than this is passed on in pieces. Unit: bytes. */
export const MAX_LINE_BYTES = 65_536

/** What waits for the target beyond this stops the reading of the source. Unit: bytes. */
const MAX_WAITING_BYTES = 1_048_576

const LINE_FEED = 0x0a

/** Passes whole lines on; what is left when the source ends is a line, too. Under Node and Bun alike. */
export function copyLines(source: Readable, target: Writable): void {
  let begun: Buffer[] = []
  let bytes = 0
  const write = (chunk: Buffer): void => {
    target.write(begun.length === 0 ? chunk : Buffer.concat([...begun, chunk]))
    begun = []
    bytes = 0
    if (target.writableLength <= MAX_WAITING_BYTES) return
    source.pause()
    target.once('drain', () => source.resume())
  }
  source.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(LINE_FEED) + 1
    if (end > 0) write(chunk.subarray(0, end))
    const rest = chunk.subarray(end)
    if (rest.length === 0) return
    begun.push(rest)
    bytes += rest.length
    if (bytes > MAX_LINE_BYTES) write(Buffer.from('\n'))
  })
  source.on('end', () => {
    if (bytes > 0) write(Buffer.from('\n'))
  })
  source.on('error', () => {})
}

/** `prexy debug trace`: a body read byte by byte. */
import type { RewriteOptions } from '@prexy/config/config-schema'
import { type TraceRow, traceBody } from '@prexy/rewrite/trace'
import { CommandError } from './exit-codes.ts'
import type { RuleEntry } from './rule-options.ts'
import { compileRuleEntries } from './rule-source.ts'

/** Bytes of a body that is traced; far below the limit on held bytes, which a trace does not show. */
export const MAX_TRACED_BYTES = 16_384

/** Reads a text; stops when it is longer than a trace takes. */
export async function readTraced(stream: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk
    chunks.push(bytes)
    size += bytes.length
    if (size > MAX_TRACED_BYTES) break
  }
  return Buffer.concat(chunks)
}

/** The text for standard output; throws a CommandError. */
export async function traceEntries(
  entries: readonly RuleEntry[],
  options: RewriteOptions,
  body: Uint8Array,
): Promise<string> {
  if (body.length > MAX_TRACED_BYTES) {
    throw new CommandError(`the text is too long; a trace takes ${MAX_TRACED_BYTES} bytes at most`)
  }
  const set = await compileRuleEntries(entries, options)
  return `${traceBody(set, body).rows.map(formatRow).join('\n')}\n`
}

function formatRow({ at, byte, state, open, found, heldBytes, output }: TraceRow): string {
  const what = byte === undefined ? (state === undefined ? 'end' : 'start') : byteText(byte)
  const events = [
    ...found.map(({ rule, start, end, isKept }) => `${isKept ? 'keeps' : 'found'} rule ${rule + 1} at ${start}-${end}`),
    ...open.map((node) => `open ${node.at}${node.rules.length === 0 ? '' : `: ${rulesText(node.rules)}`}`),
    ...(output.length === 0 ? [] : [`out "${octetsText(output)}"`]),
  ]
  const where = state === undefined ? '' : `state ${state}`
  const cells = [String(at).padStart(6), what.padEnd(6), where.padEnd(10), `held ${heldBytes}`.padEnd(9)]
  return `${cells.join('  ')}${events.join(', ')}`.trimEnd()
}

function byteText(byte: number): string {
  const hex = byte.toString(16).padStart(2, '0')
  return byte > 0x20 && byte < 0x7f ? `${hex} ${String.fromCharCode(byte)}` : hex
}

function octetsText(octets: Uint8Array): string {
  return Array.from(octets, (octet) => {
    if (octet >= 0x20 && octet < 0x7f) return String.fromCharCode(octet)
    return octet === 0x0a ? '\\n' : `\\x${octet.toString(16).padStart(2, '0')}`
  }).join('')
}

function rulesText(rules: readonly number[]): string {
  return `rule ${rules.map((rule) => rule + 1).join(', ')}`
}

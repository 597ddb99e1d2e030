// Writes packages/bytes/src/single-byte-tables.ts from the TextDecoder of the runtime that runs this script, which must
// follow the Encoding Standard: Bun does, Node reads several code pages otherwise (windows-1252 as ISO 8859-1).
//
//     bun tools/generate-charsets.mjs

import { readFileSync, writeFileSync } from 'node:fs'

const LABELS = new URL('../packages/bytes/src/charset-labels.ts', import.meta.url)
const TARGET = new URL('../packages/bytes/src/single-byte-tables.ts', import.meta.url)

if (new TextDecoder('windows-1252').decode(Uint8Array.of(0x80)) !== '\u20ac') {
  throw new Error('this runtime does not follow the Encoding Standard; run the script with Bun')
}

/** @param {string} charset */
function rowsOf(charset) {
  const decoder = new TextDecoder(charset)
  const units = Array.from({ length: 128 }, (_, i) => decoder.decode(Uint8Array.of(0x80 + i)).charCodeAt(0))
  // Runs of consecutive characters, or of octets without one.
  const runs = []
  for (const unit of units) {
    const last = runs.at(-1)
    const isNext = last !== undefined && (unit === 0xfffd ? last.first === unit : last.first + last.length === unit)
    if (isNext) last.length++
    else runs.push({ first: unit, length: 1 })
  }
  return runs.map(({ first, length }) => `${first.toString(16)}${length > 1 ? `*${length}` : ''}`).join(' ')
}

const list = /SINGLE_BYTE_CHARSETS = \[(.*?)\]/s.exec(readFileSync(LABELS, 'utf8'))?.[1] ?? ''
const rows = [...list.matchAll(/'([^']+)'/g)]
  .map(([, charset]) => charset)
  .map((charset) => `  '${charset}':\n    '${rowsOf(charset)}',`)
writeFileSync(
  TARGET,
  `import type { SingleByteCharset } from './charset-labels.ts'

/**
 * Characters of the octets 80 to FF (WHATWG Encoding Standard §5, §9, §14.5): code points in hexadecimal, \`*\` and the
 * number of octets of a run of consecutive ones; FFFD for octets that stand for nothing. Made by
 * tools/generate-charsets.mjs.
 */
export const SINGLE_BYTE_TABLES: Readonly<Record<SingleByteCharset, string>> = {
${rows.join('\n').replaceAll(/ {2}'([a-z][a-z0-9]*)':/g, '  $1:')}
}
`,
)

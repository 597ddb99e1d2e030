/** Texts in Base64 that events hold, decoded: command lines, scripts, and queries are full of what is hidden so. */
import type { HuntEvent } from './hunt-event.ts'

export interface FoundBase64 {
  readonly field: string
  readonly encoded: string
  readonly decoded: string
  /** What the decoded octets are. */
  readonly form: 'utf-8' | 'utf-16le' | 'binary'
}

/** Longest encoded text that is decoded; longer ones are cut there. Unit: characters. */
export const MAX_BASE64_CHARACTERS = 65_536
/** Found in one event; further ones are left out. */
const MAX_FOUND = 100

const ENCODED = /[A-Za-z0-9+/_-]{16,}={0,2}/g
const MAX_SHOWN_CHARACTERS = 2_000

/** `minLength` is of the encoded text, at least 16. Words and paths that only look encoded decode to no text and are left out. */
export function* findBase64(event: HuntEvent, minLength: number): Generator<FoundBase64, void, undefined> {
  let found = 0
  for (const [field, value] of event.entries()) {
    if (typeof value !== 'string' || value.length < minLength) continue
    const text = value.includes('%') ? value.replace(/%(2B|2F|3D)/gi, (escape) => decodeURIComponent(escape)) : value
    for (const [whole] of text.matchAll(ENCODED)) {
      if (whole.length < minLength) continue
      const encoded = whole.slice(0, MAX_BASE64_CHARACTERS)
      const decoded = decode(encoded)
      if (decoded === undefined) continue
      yield { field, encoded: encoded.slice(0, MAX_SHOWN_CHARACTERS), ...decoded }
      if (++found >= MAX_FOUND) return
    }
  }
}

/** Octets by which files and archives are known: a few that are sent about in this form. */
const MAGICS: readonly (readonly [name: string, bytes: string])[] = [
  ['Windows program', 'MZ'],
  ['ELF program', '\u007fELF'],
  ['gzip data', '\u001f\u008b'],
  ['ZIP archive', 'PK\u0003\u0004'],
  ['Java object', '\u00ac\u00ed\u0000\u0005'],
  ['PNG image', '\u0089PNG'],
  ['PDF document', '%PDF-'],
]

function decode(encoded: string): { readonly decoded: string; readonly form: FoundBase64['form'] } | undefined {
  // A path of words is made of the same characters.
  const isWord = /^[a-z]+$/i.test(encoded) || /^[0-9a-f]+$/i.test(encoded)
  const isPath = /^[A-Za-z0-9]+(?:[/_-][A-Za-z0-9]+)+$/.test(encoded) && !(/[A-Z]/.test(encoded) && /\d/.test(encoded))
  if (isWord || isPath) return undefined
  const bytes = Buffer.from(encoded, encoded.includes('-') || encoded.includes('_') ? 'base64url' : 'base64')
  if (bytes.length < 9) return undefined
  const magic = MAGICS.find(([, start]) => bytes.toString('latin1', 0, start.length) === start)
  if (magic !== undefined) return { decoded: `(${magic[0]}, ${bytes.length} bytes)`, form: 'binary' }
  const isWide = bytes.length % 2 === 0 && bytes.subarray(0, 64).every((byte, at) => at % 2 === 0 || byte === 0)
  const text = isWide ? bytes.toString('utf16le') : utf8Of(bytes)
  if (text === undefined || !isReadable(text)) return undefined
  return { decoded: text.slice(0, MAX_SHOWN_CHARACTERS), form: isWide ? 'utf-16le' : 'utf-8' }
}

function utf8Of(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Nearly all of it is what people type. */
function isReadable(text: string): boolean {
  let good = 0
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    if ((code >= 32 && code < 127) || code === 9 || code === 10 || code === 13) good++
  }
  return good >= text.length * 0.9
}

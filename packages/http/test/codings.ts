import { type Charset, MULTI_BYTE_CHARSETS, SINGLE_BYTE_CHARSETS } from '@prexy/bytes/charset-labels'
import type { Coding } from '../src/content-coding.ts'

/** What a runtime without zstd has, best first. */
export const BASE_CODINGS: readonly Coding[] = ['br', 'gzip', 'deflate']

/** What a runtime with every decoder of text has. */
export const BASE_CHARSETS: ReadonlySet<Charset> = new Set<Charset>([
  'utf-8',
  'utf-16le',
  'utf-16be',
  ...SINGLE_BYTE_CHARSETS,
  ...MULTI_BYTE_CHARSETS,
])

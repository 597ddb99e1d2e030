import type { Coding } from '../src/content-coding.ts'

/** What a runtime without zstd has, best first. */
export const BASE_CODINGS: readonly Coding[] = ['br', 'gzip', 'deflate']

/** Conformance cases that are handed over beside the repository, where they are: one JSON object a line. */
import { existsSync, readFileSync } from 'node:fs'

const FOLDER = new URL('../../../shared/cases/', import.meta.url)

/** Why there are none; undefined where there are some. */
export const NO_OUTSIDE_CASES: string | undefined = existsSync(FOLDER)
  ? undefined
  : 'there is no folder ../shared/cases'

export function readOutsideCases<T>(name: string): T[] {
  const lines = readFileSync(new URL(name, FOLDER), 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line): T => JSON.parse(line))
}

/** A response under directives of replace_filter: a line of replace-filter.jsonl. */
export interface ReplaceFilterCase {
  readonly name: string
  readonly config_rules: readonly { readonly regex: string; readonly replacement: string; readonly flags: string }[]
  readonly types: readonly string[]
  readonly skip: string | null
  readonly max_buffered: number
  readonly vars: Readonly<Record<string, string>>
  readonly content_type: string
  readonly last_modified: string
  readonly upstream_headers: Readonly<Record<string, string>>
  readonly upstream_body_chunks: readonly string[]
  readonly expected_body: string
  readonly overflow_expected: boolean
}

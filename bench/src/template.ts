/** Replacement texts of the peers: constant bytes, or `$1` to `$9` filled in by RegExp on the matched span. */
import type { BenchRule } from './definition.ts'

/** Gives the replacement for the match at `start` to `end` of `page`. */
export type Template = (page: Uint8Array, start: number, end: number) => Uint8Array

export function compileTemplate(rule: BenchRule): Template {
  if ('text' in rule || !/\$\d/.test(rule.with)) {
    const constant = Buffer.from(rule.with, 'latin1')
    return () => constant
  }
  const pattern = new RegExp(`^(?:${rule.regex})$`, rule.flags ?? '')
  return (page, start, end) => {
    const span = Buffer.from(page.buffer, page.byteOffset + start, end - start).toString('latin1')
    return Buffer.from(expand(rule.with, pattern.exec(span) ?? []), 'latin1')
  }
}

export function expand(template: string, groups: readonly (string | undefined)[]): string {
  return template.replace(/\$(\d)/g, (_, digit: string) => groups[Number(digit)] ?? '')
}

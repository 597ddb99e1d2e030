/** Header rules as plain data, with the way back to their places in the file. */
import type { RawHeaderRule, RawHeaders } from './header-schema.ts'
import type { ConfigPath } from './problem.ts'
import type { OneOrMore, RawHeaderConditions } from './rule-schema.ts'

export type ConfigHeaderRule = (
  | { readonly set: string; readonly value: string }
  | { readonly add: string; readonly value: string }
  | { readonly remove: string }
  | { readonly replace: string; readonly regex: string; readonly with: string; readonly flags?: string }
) & {
  readonly paths?: readonly string[]
  readonly methods?: readonly string[]
  readonly hosts?: readonly string[]
  readonly requestHeaders?: RawHeaderConditions
  readonly status?: readonly (number | string)[]
  readonly types?: readonly string[]
  readonly responseHeaders?: RawHeaderConditions
}

/** Routes that take the file's header rules share one object. */
export interface HeaderList {
  readonly side: 'request' | 'response'
  readonly rules: readonly ConfigHeaderRule[]
  /** Where each rule stands in the file. */
  readonly paths: readonly ConfigPath[]
}

/** `base` is the path of `headers`. What the schema has let through; no list for a side without rules. */
export function headerListsOf(raw: RawHeaders | undefined, base: ConfigPath): readonly HeaderList[] {
  return (['request', 'response'] as const).flatMap((side) => {
    const rules = raw?.[side] ?? []
    if (rules.length === 0) return []
    return [{ side, rules: rules.map(normalizeHeaderRule), paths: rules.map((_, index) => [...base, side, index]) }]
  })
}

function normalizeHeaderRule(raw: RawHeaderRule): ConfigHeaderRule {
  const { paths, methods, hosts, requestHeaders, status, types, responseHeaders } = raw
  return {
    ...actionOf(raw),
    ...(paths === undefined ? {} : { paths: listOf(paths) }),
    ...(methods === undefined ? {} : { methods: listOf(methods) }),
    ...(hosts === undefined ? {} : { hosts: listOf(hosts) }),
    ...(requestHeaders === undefined ? {} : { requestHeaders }),
    ...(status === undefined ? {} : { status: listOf(status) }),
    ...(types === undefined ? {} : { types: listOf(types) }),
    ...(responseHeaders === undefined ? {} : { responseHeaders }),
  }
}

function actionOf({
  set,
  add,
  remove,
  replace,
  value = '',
  regex = '',
  with: text = '',
  flags,
}: RawHeaderRule): ConfigHeaderRule {
  if (set !== undefined) return { set, value }
  if (add !== undefined) return { add, value }
  if (remove !== undefined) return { remove }
  return { replace: replace ?? '', regex, with: text, ...(flags === undefined ? {} : { flags }) }
}

function listOf<T extends string | number>(value: OneOrMore<T>): readonly T[] {
  return typeof value === 'object' ? value : [value]
}

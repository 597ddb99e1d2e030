/** Header rules as plain data, with the way back to their places in the file. */
import type { RawHeaderRule, RawHeaders } from './header-schema.ts'
import type { OneOrMore, RawHeaderConditions } from './rule-schema.ts'
import type { Place } from './yaml-source.ts'

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

/** Routes that take the header rules of a level above share one object. */
export interface HeaderList {
  readonly side: 'request' | 'response'
  readonly rules: readonly ConfigHeaderRule[]
  /** Where each rule stands. */
  readonly places: readonly Place[]
}

/**
 * `base` is the place of `headers`. What the schema has let through; no list for a side without rules. `secret` puts
 * secrets into a value.
 */
export function headerListsOf(
  raw: RawHeaders | undefined,
  base: Place,
  secret: (text: string, place: Place) => string,
): readonly HeaderList[] {
  return (['request', 'response'] as const).flatMap((side) => {
    const rules = raw?.[side] ?? []
    if (rules.length === 0) return []
    const places = rules.map((_, index) => ({ source: base.source, path: [...base.path, side, index] }))
    return [
      { side, rules: rules.map((rule, index) => withSecret(normalizeHeaderRule(rule), places[index], secret)), places },
    ]
  })
}

function withSecret(
  rule: ConfigHeaderRule,
  { source, path }: Place,
  secret: (text: string, place: Place) => string,
): ConfigHeaderRule {
  return 'value' in rule ? { ...rule, value: secret(rule.value, { source, path: [...path, 'value'] }) } : rule
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

/**
 * The two kinds of SQL that rules are compiled to: one that ClickHouse has from 18.16 on, and that of DuckDB.
 *
 * Events lie in a table whose columns are the same in both. What a rule asks of a field it asks of lists: the values of
 * all fields stand in parallel lists, `names` says which field each is of. So a field's name is never an identifier, and
 * no value of a rule is anything but a literal.
 */
import type { LogSource } from './event.ts'

/** Lists parallel to `names`; in `kinds` 0 is null. */
export type ValueColumn = 'texts' | 'folded' | 'numbers' | 'addresses'

export interface SqlQuery {
  /** Columns of the table that are wanted. */
  readonly columns: readonly string[]
  /** Names and definitions of lists that conditions refer to. */
  readonly lists: readonly (readonly [name: string, definition: string])[]
  /** What is asked of each event; the last column of the answer, `hits`, has one element for each, 1 or 0. */
  readonly conditions: readonly string[]
  /** What an event needs at least; none: nothing. */
  readonly where: readonly string[]
  readonly table: string
}

export interface SqlDialect {
  text(value: string): string
  double(value: number): string
  /** Whether one element of the list is so; `condition` says it of the name `v_`. */
  some(list: string, condition: string): string
  /** Whether an element `v_` of the one and one `w_` of the other are so. */
  somePair(list: string, other: string, condition: string): string
  hasAny(list: string, texts: readonly string[]): string
  meets(list: string, other: string): string
  isEmpty(list: string): string
  contains(text: string, literal: string): string
  /** The same with a part that is no literal. */
  containsValue(text: string, part: string): string
  startsWith(text: string, part: string): string
  endsWith(text: string, part: string): string
  matches(text: string, pattern: string): string
  isNumber(value: string): string
  /** The values of a field, without nulls. */
  valuesOf(column: ValueColumn, field: string): string
  /** Whether a rule of this log source is tried on the event. */
  isRouted(logsource: LogSource): string
  /** Events of which one condition is true. */
  query(query: SqlQuery): string
}

const SOURCE_PARTS = [
  ['category', 'categories'],
  ['product', 'products'],
  ['service', 'services'],
] as const

export const CLICKHOUSE: SqlDialect = {
  text: clickhouseText,
  double(value) {
    if (Number.isSafeInteger(value)) return `toFloat64(${value})`
    // Old versions read decimals a bit off.
    const octets = new Uint8Array(new Float64Array([value]).buffer)
    return `reinterpretAsFloat64('${Array.from(octets, clickhouseOctet).join('')}')`
  },
  some: (list, condition) => `arrayExists(v_ -> ${condition}, ${list})`,
  somePair: (list, other, condition) => `arrayExists(v_ -> arrayExists(w_ -> ${condition}, ${other}), ${list})`,
  hasAny: (list, texts) =>
    texts.length === 1
      ? `has(${list}, ${clickhouseText(texts[0])})`
      : `hasAny(${list}, [${texts.map(clickhouseText).join(', ')}])`,
  meets: (list, other) => `hasAny(${list}, ${other})`,
  isEmpty: (list) => `empty(${list})`,
  contains: (text, literal) => `(position(${text}, ${literal}) > 0)`,
  // Version 18 takes a part that begins with NUL for an empty one when it is no literal, so such a part is looked for step by step.
  containsValue(text, part) {
    const places = `range(if(position(${part}, '\\x00') > 0, length(${text}), 0))`
    const found = `arrayExists(i_ -> substring(${text}, i_ + 1, length(${part})) = ${part}, ${places})`
    return `(${part} = '' OR (position(${part}, '\\x00') = 0 AND position(${text}, ${part}) > 0) OR ${found})`
  },
  startsWith: (text, part) => `startsWith(${text}, ${part})`,
  endsWith: (text, part) => `endsWith(${text}, ${part})`,
  matches: (text, pattern) => `match(${text}, ${clickhouseText(pattern)})`,
  isNumber: (value) => `NOT isNaN(${value})`,
  valuesOf: (column, field) =>
    `arrayFilter((v_, n_, k_) -> n_ = ${clickhouseText(field)} AND k_ > 0, ${column}, names, kinds)`,
  isRouted(logsource) {
    const asked = askedParts(logsource).map(([part, value]) => `${part[0]}_ = ${clickhouseText(value)}`)
    const found =
      asked.length === 0
        ? 'notEmpty(categories)'
        : `arrayExists((c_, p_, s_) -> ${asked.join(' AND ')}, categories, products, services)`
    return `(routed = 0 OR ${found})`
  },
  query({ columns, lists, conditions, where, table }) {
    const defined = lists.map(([name, definition]) => `${definition} AS ${name}`)
    const asked = conditions.map((condition) => `toUInt8(${condition})`)
    const all = [...where, ...(conditions.length === 0 ? [] : ['has(hits, 1)'])]
    return [
      ...(defined.length === 0 ? [] : [`WITH ${defined.join(', ')}`]),
      `SELECT ${[...columns, ...(asked.length === 0 ? [] : [`[${asked.join(', ')}] AS hits`])].join(', ')}`,
      `FROM ${table}`,
      ...(all.length === 0 ? [] : [`WHERE ${all.join(' AND ')}`]),
    ].join('\n')
  },
}

export const DUCKDB: SqlDialect = {
  text: duckdbText,
  double: (value) => `CAST('${value}' AS DOUBLE)`,
  some: (list, condition) => `(len(list_filter(${list}, lambda v_: ${condition})) > 0)`,
  somePair: (list, other, condition) =>
    `(len(list_filter(${list}, lambda v_: len(list_filter(${other}, lambda w_: ${condition})) > 0)) > 0)`,
  hasAny: (list, texts) => `list_has_any(${list}, [${texts.map(duckdbText).join(', ')}])`,
  meets: (list, other) => `list_has_any(${list}, ${other})`,
  isEmpty: (list) => `(len(${list}) = 0)`,
  contains: (text, literal) => `contains(${text}, ${literal})`,
  containsValue: (text, part) => `contains(${text}, ${part})`,
  startsWith: (text, part) => `starts_with(${text}, ${part})`,
  endsWith: (text, part) => `ends_with(${text}, ${part})`,
  matches: (text, pattern) => `regexp_matches(${text}, ${duckdbText(pattern)})`,
  isNumber: (value) => `NOT isnan(${value})`,
  valuesOf: (column, field) =>
    `list_filter(${column}, lambda v_, i_: names[i_] = ${duckdbText(field)} AND kinds[i_] > 0)`,
  isRouted(logsource) {
    const asked = askedParts(logsource).map(([, value, list]) => `${list}[i_] = ${duckdbText(value)}`)
    const found =
      asked.length === 0
        ? 'len(categories) > 0'
        : `len(list_filter(categories, lambda c_, i_: ${asked.join(' AND ')})) > 0`
    return `(routed = 0 OR ${found})`
  },
  query({ columns, lists, conditions, where, table }) {
    const filtered = where.length === 0 ? '' : ` WHERE ${where.join(' AND ')}`
    if (conditions.length === 0) return `SELECT ${columns.join(', ')} FROM ${table}${filtered}`
    const defined = lists.map(([name, definition]) => `, ${definition} AS ${name}`)
    return [
      `SELECT * FROM (SELECT ${columns.join(', ')}, [${conditions.join(', ')}] AS hits`,
      `FROM (SELECT *${defined.join('')} FROM ${table}${filtered})) WHERE list_contains(hits, true)`,
    ].join('\n')
  },
}

function askedParts(
  logsource: LogSource,
): readonly (readonly [part: string, value: string, list: (typeof SOURCE_PARTS)[number][1]])[] {
  return SOURCE_PARTS.flatMap(([part, list]): [string, string, typeof list][] => {
    const value = logsource[part]
    return value === undefined ? [] : [[part, value, list]]
  })
}

function clickhouseText(value: string): string {
  const escaped = value.replace(/[\\'\0-\x1f\x7f]/g, (one) => {
    return one === '\\' || one === "'" ? `\\${one}` : clickhouseOctet(one.charCodeAt(0))
  })
  return `'${escaped}'`
}

function clickhouseOctet(octet: number): string {
  return `\\x${octet.toString(16).padStart(2, '0')}`
}

/** A text of SQL has no escapes but the doubled quote; NUL cannot stand in one. */
function duckdbText(value: string): string {
  const quoted = `'${value.replaceAll("'", "''")}'`
  return value.includes('\0') ? `(${quoted.replaceAll('\0', "' || chr(0) || '")})` : quoted
}

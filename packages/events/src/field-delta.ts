/**
 * A list of header fields as what it has that another one has not. The head that goes on differs from the one that came in
 * few lines, so a recording holds the others as numbers: a third less to write, and to encode.
 */
import type { FieldList } from '@prexy/http/fields'

/** A number stands for that line of the base; a text is a name, and the text behind it its value. */
export type FieldDelta = readonly (number | string)[]

/** How far a line is looked for behind the place of the one before, in lines: bounds the time for heads of many lines. */
const MAX_AHEAD = 32

/** O(lines). A line is found again if it kept its place among the others. Lines are compared as they are: case counts. */
export function fieldDelta(base: FieldList, fields: FieldList): FieldDelta {
  const delta: (number | string)[] = []
  let next = 0
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at]
    const value = fields[at + 1]
    const stop = Math.min(base.length, next + 2 * MAX_AHEAD)
    let line = next
    while (line < stop && (base[line + 1] !== value || base[line] !== name)) line += 2
    if (line < stop) {
      delta.push(line / 2)
      next = line + 2
    } else {
      delta.push(name, value)
    }
  }
  return delta
}

/** The list that the delta was made of; undefined for one that does not fit the base. */
export function applyDelta(base: FieldList, delta: FieldDelta): FieldList | undefined {
  const fields: string[] = []
  for (let at = 0; at < delta.length; at++) {
    const part = delta[at]
    if (typeof part === 'number') {
      if (!Number.isInteger(part) || part < 0 || 2 * part >= base.length) return undefined
      fields.push(base[2 * part], base[2 * part + 1])
    } else {
      const value = delta[++at]
      if (typeof value !== 'string') return undefined
      fields.push(part, value)
    }
  }
  return fields
}

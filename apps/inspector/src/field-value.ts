/** The first value of a header field. */
export function fieldValue(fields: readonly string[], lowerName: string): string | undefined {
  for (let at = 0; at + 1 < fields.length; at += 2) if (fields[at].toLowerCase() === lowerName) return fields[at + 1]
  return undefined
}

/** Values of placeholders, by name without the percent signs; written as rules write values, wildcards included. */
export type Placeholders = ReadonlyMap<string, readonly string[]>

/** Values of one placeholder. */
export const MAX_PLACEHOLDER_VALUES = 10_000

/**
 * The values of a placeholder file: one a line, blanks around it dropped, empty lines and lines that begin with `#`
 * left out. Throws a RangeError above {@link MAX_PLACEHOLDER_VALUES}.
 */
export function parsePlaceholderFile(text: string): readonly string[] {
  const values = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  if (values.length > MAX_PLACEHOLDER_VALUES) {
    throw new RangeError(`${values.length} values; a placeholder takes up to ${MAX_PLACEHOLDER_VALUES}`)
  }
  return values
}

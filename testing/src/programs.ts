/** Programs of other people that tests run. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where a program is, found through PATH as a shell would. */
export function findProgram(name: string): string | undefined {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return join(folder, name)
    } catch {
      // Not here.
    }
  }
  return undefined
}

/** What to say of programs that are not there, or undefined when all are. */
export function missingPrograms(...names: readonly string[]): string | undefined {
  const missing = names.filter((name) => findProgram(name) === undefined)
  if (missing.length === 0) return undefined
  return `${missing.join(' and ')} not found through PATH; on Debian: apt-get install ${missing.join(' ')} (sbin folders may not be in PATH)`
}

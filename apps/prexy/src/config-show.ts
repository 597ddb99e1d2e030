import { configJsonSchema } from '@prexy/config/json-schema'
import { loadConfig } from '@prexy/config/load'
import { formatProblem } from '@prexy/config/problem'
import { showConfig } from '@prexy/config/show'
import { filesWithSource } from './config-source.ts'
import { CommandError, EXIT_ERROR, EXIT_OK } from './exit-codes.ts'
import { finishWithoutReader, writeStandardOutput } from './standard-output.ts'
import { stylesFor } from './terminal.ts'

/** Rules are not compiled: what a configuration says can be seen while a pattern of it is wrong. */
export async function showConfiguration(file: string, sites: readonly string[]): Promise<number> {
  finishWithoutReader()
  const { value, assembly, problems } = loadConfig(file, await filesWithSource(file), process.env)
  for (const problem of problems) process.stderr.write(`${formatProblem(problem)}\n`)
  if (value === undefined || assembly === undefined) return EXIT_ERROR
  const unknown = sites.find(
    (site) => !value.sites.some(({ name, hosts }) => name === site || hosts.includes(site.toLowerCase())),
  )
  if (unknown !== undefined) throw new CommandError(`there is no site of the name or host ${unknown}`)
  const style = stylesFor(process.stdout, process.env)
  const lines = showConfig(assembly, value, sites).map((line) => {
    const comment = line.lastIndexOf(' # ')
    return comment < 0 ? line : `${line.slice(0, comment)}${style.dim(line.slice(comment))}`
  })
  await writeStandardOutput(`${lines.join('\n')}\n`)
  return EXIT_OK
}

export async function printSchema(): Promise<number> {
  finishWithoutReader()
  await writeStandardOutput(`${JSON.stringify(configJsonSchema(), undefined, 2)}\n`)
  return EXIT_OK
}

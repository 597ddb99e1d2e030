/** `prexy check`: everything that is wrong with a file, each with its place, the reason and what to do. */
import { loadRules } from '@prexy/config/load'
import type { ConfigFiles } from '@prexy/config/files'
import { type ConfigProblem, formatProblem, sortProblems } from '@prexy/config/problem'
import { readYaml } from '@prexy/config/yaml-source'
import { FILE_SYSTEM } from './config-files.ts'
import { compileLists } from './config-compile.ts'
import { filesWithSource } from './config-source.ts'
import { countRules, loadConfiguration, withoutEchoes } from './config-load.ts'
import { CommandError, EXIT_ERROR, EXIT_OK } from './exit-codes.ts'
import { readText } from './read-text.ts'
import { finishWithoutReader, writeStandardOutput } from './standard-output.ts'
import { type Styles, stylesFor } from './terminal.ts'

/** What was found in one file. */
interface CheckReport {
  readonly file: string
  readonly kind: 'configuration' | 'rules'
  readonly problems: readonly ConfigProblem[]
  readonly ruleCount: number
  readonly routeCount: number
}

export async function checkFiles(files: readonly string[], json: boolean): Promise<number> {
  const style = stylesFor(process.stdout, process.env)
  let failed = false
  finishWithoutReader()
  for (const file of files) {
    let report: CheckReport
    try {
      report =
        FILE_SYSTEM.list(file) === undefined
          ? await checkText(await readText(file), file)
          : await checkConfiguration(file)
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
      // The other files are still worth checking.
      process.stderr.write(`prexy: ${error.message}\n`)
      failed = true
      continue
    }
    failed ||= hasErrors(report)
    await writeStandardOutput(json ? `${JSON.stringify(reportAsJson(report))}\n` : `${formatReport(report, style)}\n`)
  }
  return failed ? EXIT_ERROR : EXIT_OK
}

/** Checks a configuration, or a rules file when the document is a list. */
async function checkText(text: string, file: string): Promise<CheckReport> {
  if (!Array.isArray(readYaml(text, file).value)) return await checkConfiguration(file, text)
  const loaded = loadRules(text, file)
  const problems = sortProblems(withoutEchoes([...loaded.problems, ...compileLists(loaded, 'check').problems]))
  return { file, kind: 'rules', problems, ruleCount: countRules(loaded.ruleLists), routeCount: 0 }
}

/** `text`: what was read of the file already. */
async function checkConfiguration(file: string, text?: string): Promise<CheckReport> {
  const found = await filesWithSource(file)
  const files: ConfigFiles = {
    ...found,
    read: (path) =>
      path === file && text !== undefined ? { bytes: new TextEncoder().encode(text) } : found.read(path),
  }
  const { problems, ruleCount, routeCount } = loadConfiguration(file, process.env, files, 'check')
  return { file, kind: 'configuration', problems, ruleCount, routeCount }
}

function hasErrors(report: CheckReport): boolean {
  return report.problems.some((problem) => problem.severity === 'error')
}

function formatReport(report: CheckReport, style: Styles): string {
  const lines = report.problems.map((problem) => {
    const colour = problem.severity === 'error' ? style.red : style.yellow
    const line = formatProblem(problem)
    const { file, line: row, column } = problem.position
    const place = `${file}:${row}:${column}:`
    return `${style.bold(place)}${colour(line.slice(place.length))}`
  })
  const errors = report.problems.filter((problem) => problem.severity === 'error').length
  const warnings = report.problems.length - errors
  const counts = [
    ...(errors > 0 ? [counted(errors, 'error')] : []),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
    ...(errors > 0 ? [] : [counted(report.ruleCount, 'rule')]),
    ...(errors > 0 || report.kind === 'rules' ? [] : [counted(report.routeCount, 'route')]),
  ]
  const verdict = errors > 0 ? style.red('not valid') : style.green('ok')
  return [...lines, `${report.file}: ${verdict}: ${counts.join(', ')}`].join('\n')
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function reportAsJson(report: CheckReport): unknown {
  return {
    file: report.file,
    ok: !hasErrors(report),
    kind: report.kind,
    rules: report.ruleCount,
    routes: report.routeCount,
    problems: report.problems.map(({ severity, position, path, message, hint }) => ({
      severity,
      ...(position.file === report.file ? {} : { file: position.file }),
      line: position.line,
      column: position.column,
      path,
      message,
      ...(hint === undefined ? {} : { hint }),
    })),
  }
}

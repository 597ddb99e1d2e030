/** `prexy hunt rules check` and `rules fields`: what is wrong with rules, and what they ask of events. */
import { chooseRules, EVERY_RULE, fieldsOf, findRules, readPlaceholders, readRules } from '@prexy/hunt/rule-files'
import { STARTER_RULES } from '@prexy/hunt/starter-rules'
import { formatSigmaProblem } from '@prexy/sigma/problem'
import { LEVELS } from '@prexy/sigma/levels'
import type { RuleInfo, SigmaDocument } from '@prexy/sigma/rule'
import { listPlaceholders } from '@prexy/sigma/rule-set'
import { CommandError, EXIT_ERROR, EXIT_OK } from './exit-codes.ts'
import { count } from './hunt-input.ts'
import { fileErrorReason } from './file-error.ts'
import { finishWithoutReader, writeStandardOutput } from './standard-output.ts'
import { printable, stylesFor } from './terminal.ts'

export interface RulesFlags {
  readonly json?: boolean
  readonly placeholders?: string
}

function load(
  paths: readonly string[],
  { placeholders }: RulesFlags,
): ReturnType<typeof chooseRules> & {
  readonly documents: readonly SigmaDocument[]
  readonly unreadable: readonly string[]
  readonly files: number
} {
  const { texts, unreadable } = findRules(paths.length === 0 ? [STARTER_RULES] : paths)
  let values: ReturnType<typeof readPlaceholders> = []
  try {
    values = placeholders === undefined ? [] : readPlaceholders(placeholders)
  } catch (error) {
    throw new CommandError(`${placeholders ?? ''}: ${fileErrorReason(error)}`)
  }
  const chosen = chooseRules(texts, { ...EVERY_RULE, placeholders: values })
  const { documents } = readRules(texts)
  return {
    ...chosen,
    documents,
    unreadable: unreadable.map(({ path, reason }) => `${path}: ${reason}`),
    files: texts.length,
  }
}

export async function checkRules(paths: readonly string[], flags: RulesFlags): Promise<number> {
  const { set, problems, documents, unreadable, files } = load(paths, flags)
  const style = stylesFor(process.stdout, process.env)
  finishWithoutReader()
  for (const line of unreadable) process.stderr.write(`prexy: ${line}\n`)
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const warnings = problems.length - errors
  const isWrong = errors > 0 || unreadable.length > 0 || documents.length === 0
  const placeholders = listPlaceholders(documents)
  if (flags.json === true) {
    const byLevel = Object.fromEntries(LEVELS.map((level) => [level, countOf(set.rules, level)]))
    await writeStandardOutput(
      `${JSON.stringify({ files, documents: documents.length, used: set.rules.length, errors, warnings, levels: byLevel, placeholders, problems })}\n`,
    )
    return isWrong ? EXIT_ERROR : EXIT_OK
  }
  for (const problem of problems) {
    const paint = problem.severity === 'error' ? style.red : style.yellow
    await writeStandardOutput(`${paint(printable(formatSigmaProblem(problem)))}\n`)
  }
  const levels = LEVELS.toReversed()
    .map((level) => [level, countOf(set.rules, level)] as const)
    .filter(([, rules]) => rules > 0)
  const parts = [
    `${count(set.rules.length, 'rule')} of ${count(documents.length, 'document')} in ${count(files, 'file')} can be used`,
    ...(errors > 0 ? [count(errors, 'error')] : []),
    ...(warnings > 0 ? [count(warnings, 'warning')] : []),
  ]
  const lines = [
    parts.join(', '),
    ...(levels.length > 0 ? [`levels: ${levels.map(([level, rules]) => `${level} ${rules}`).join(', ')}`] : []),
    ...(placeholders.length > 0 ? [`placeholders: ${placeholders.join(', ')}`] : []),
  ]
  await writeStandardOutput(`${lines.join('\n')}\n`)
  return isWrong ? EXIT_ERROR : EXIT_OK
}

function countOf(rules: readonly RuleInfo[], level: (typeof LEVELS)[number]): number {
  return rules.filter((rule) => rule.level === level).length
}

/** How many rules read each field, by log source. */
export async function listFields(paths: readonly string[], flags: RulesFlags): Promise<number> {
  const { documents, unreadable } = load(paths, flags)
  for (const line of unreadable) process.stderr.write(`prexy: ${line}\n`)
  const counts = new Map<string, number>()
  for (const document of documents) {
    if (document.kind !== 'detection') continue
    const { category, product, service } = document.logsource
    const source = [category, product, service].filter((part) => part !== undefined).join('/')
    for (const field of fieldsOf(document.detection)) {
      const key = `${source}\t${field}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  const rows = [...counts].toSorted(([a, left], [b, right]) => right - left || (a < b ? -1 : 1))
  for (const [key, rules] of rows) {
    const [source, field] = key.split('\t')
    await writeStandardOutput(
      flags.json === true
        ? `${JSON.stringify({ field, logsource: source, rules })}\n`
        : `${String(rules).padStart(6)}  ${printable(field)}  ${printable(source)}\n`,
    )
  }
  return unreadable.length > 0 ? EXIT_ERROR : EXIT_OK
}

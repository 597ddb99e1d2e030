/** `prexy debug rewrite`: what a rule set makes of a body, and what it held on the way. */
import { decodeLatin1, encodeLatin1 } from '@prexy/bytes/latin1'
import { decodeUtf8 } from '@prexy/bytes/utf8'
import { parseRule } from '@prexy/config/load'
import { RewriteAborted } from '@prexy/rewrite/rewriter'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import {
  MAX_MAX_HELD_BYTES,
  MIN_MAX_HELD_BYTES,
  type OverflowPolicy,
  type Priority,
  type Rule,
  type RuleSetOptions,
} from '@prexy/rewrite/rules'
import {
  COMPATS,
  choiceAt,
  type Fields,
  fieldsOf,
  listAt,
  type Mode,
  MODES,
  missing,
  octetText,
  octetTextAt,
  ruleText,
} from './debug-question.ts'
import { QuestionError } from './json-lines.ts'

const PRIORITIES: readonly Priority[] = ['first', 'longest']
const POLICIES: readonly OverflowPolicy[] = ['skip', 'passthrough', 'abort']
const OPTION_FIELDS = ['priority', 'mode', 'compat', 'maxHeldBytes', 'overflow', 'vars', 'mediaType']

export function answerRewrite(question: unknown): unknown {
  const fields = fieldsOf(question, 'the question', ['rules', 'options', 'chunks'])
  const optionFields = fieldsOf(fields.options ?? {}, 'options', OPTION_FIELDS)
  const options = readOptions(optionFields)
  const mode = options.mode ?? 'text'
  const rules = readRules(listAt(fields, 'rules') ?? missing('rules'), mode, options.compat)
  const variables = readVariables(optionFields.vars, mode)
  const mediaType = octetTextAt(optionFields, 'mediaType')
  const chunks = (listAt(fields, 'chunks') ?? missing('chunks')).map((chunk, index) =>
    encodeLatin1(octetText(chunk, `chunks[${index}]`)),
  )
  const set = compileRuleSet(rules, { ...options, mode })

  const emitted: string[] = []
  const held: number[] = []
  let piece = ''
  const rewriter = set.createRewriter(
    {
      write(chunk) {
        piece += decodeLatin1(chunk)
        return true
      },
    },
    { ...(variables === undefined ? {} : { variables }), ...(mediaType === undefined ? {} : { mediaType }) },
  )
  const settle = (): void => {
    emitted.push(piece)
    piece = ''
  }
  let aborted = false
  try {
    for (const chunk of chunks) {
      let taken = rewriter.write(chunk)
      while (taken < chunk.length) taken += rewriter.write(chunk.subarray(taken))
      settle()
      held.push(rewriter.heldBytes)
    }
    while (!rewriter.end());
    settle()
  } catch (error) {
    if (!(error instanceof RewriteAborted)) throw error
    aborted = true
    settle()
    held.push(rewriter.heldBytes)
  } finally {
    rewriter.abandon()
  }
  const answer = { body: emitted.join(''), emitted, held, hits: [...rewriter.hits], overflows: rewriter.overflows }
  return aborted ? { ...answer, aborted } : answer
}

function readOptions(fields: Fields): RuleSetOptions {
  const priority = choiceAt(fields, 'priority', PRIORITIES)
  const mode = choiceAt(fields, 'mode', MODES)
  const compat = choiceAt(fields, 'compat', COMPATS)
  const overflow = choiceAt(fields, 'overflow', POLICIES)
  const maxHeldBytes = fields.maxHeldBytes ?? undefined
  // replace_filter knows limits down to nothing.
  const least = compat === 'nginx' ? 0 : MIN_MAX_HELD_BYTES
  const isLimit = typeof maxHeldBytes === 'number' && Number.isInteger(maxHeldBytes)
  if (maxHeldBytes !== undefined && (!isLimit || maxHeldBytes < least || maxHeldBytes > MAX_MAX_HELD_BYTES)) {
    const range = `from ${least} to ${MAX_MAX_HELD_BYTES}`
    throw new QuestionError(`maxHeldBytes is ${JSON.stringify(maxHeldBytes)}, not a whole number ${range}`)
  }
  return {
    ...(priority === undefined ? {} : { priority }),
    ...(mode === undefined ? {} : { mode }),
    ...(compat === undefined ? {} : { compat }),
    ...(overflow === undefined ? {} : { overflow }),
    ...(maxHeldBytes === undefined ? {} : { maxHeldBytes }),
  }
}

function readRules(values: readonly unknown[], mode: Mode, compat: 'nginx' | undefined): readonly Rule[] {
  if (compat === undefined) return values.map((value, index) => readRule(value, index, mode))
  // replace_filter's own `g` is understood too: where a question uses it, a rule without it fires once.
  const usesGlobal = values.some((value) => flagsOf(value).includes('g'))
  return values.map((value, index): Rule => {
    const rule = readRule(withoutGlobalFlag(value), index, mode)
    return usesGlobal && !flagsOf(value).includes('g') ? { once: true, ...rule } : rule
  })
}

function readRule(value: unknown, index: number, mode: Mode): Rule {
  const parsed = parseRule(value)
  if (parsed.rule === undefined) {
    const { path, message, hint } = parsed.problems[0]
    const where = `rules[${index}]${path === '' ? '' : `.${path}`}`
    throw new QuestionError(`${where}: ${message}${hint === undefined ? '' : `; ${hint}`}`)
  }
  const { rule } = parsed
  const read = (text: string, field: string): string =>
    ruleText(octetText(text, `rules[${index}].${field}`), mode, index, field)
  // Host names are characters in both modes.
  const readHost = (text: string, field: string): string =>
    ruleText(octetText(text, `rules[${index}].${field}`), 'text', index, field)
  if ('domain' in rule) return { ...rule, domain: readHost(rule.domain, 'domain'), to: readHost(rule.to, 'to') }
  if ('insert' in rule) return { ...rule, at: read(rule.at, 'at'), with: read(rule.with, 'with') }
  const flags = flagsOf(value)
  const own = flags === '' ? {} : { flags }
  if ('text' in rule) return { ...rule, ...own, text: read(rule.text, 'text'), with: read(rule.with, 'with') }
  return { ...rule, ...own, regex: read(rule.regex, 'regex'), with: read(rule.with, 'with') }
}

function flagsOf(rule: unknown): string {
  const hasFlags = typeof rule === 'object' && rule !== null && 'flags' in rule
  return hasFlags && typeof rule.flags === 'string' ? rule.flags : ''
}

/** replace_filter's `g` is no flag of the configuration, where `once` says it. */
function withoutGlobalFlag(rule: unknown): unknown {
  const flags = flagsOf(rule)
  if (typeof rule !== 'object' || rule === null || !flags.includes('g')) return rule
  return { ...rule, flags: flags.replaceAll('g', '') }
}

function readVariables(value: unknown, mode: Mode): Record<string, string> | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object' || Array.isArray(value)) throw new QuestionError('vars is no object')
  return Object.fromEntries(
    Object.entries(value).map(([name, text]) => [name, decodedVariable(octetText(text, `vars.${name}`), mode)]),
  )
}

function decodedVariable(octets: string, mode: Mode): string {
  return mode === 'octet' ? octets : decodeUtf8(encodeLatin1(octets))
}

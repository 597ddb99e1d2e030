/** `prexy debug rewrite`: what a rule set makes of a body, and what it held on the way. */
import { decodeLatin1, encodeLatin1 } from '@prexy/bytes/latin1'
import { decodeUtf8 } from '@prexy/bytes/utf8'
import { explainRule, normalizeRule } from '@prexy/config/load'
import type { RawRule } from '@prexy/config/rule-schema'
import { RewriteAborted } from '@prexy/rewrite/rewriter'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import type { OverflowPolicy, Priority, Rule, RuleSetOptions } from '@prexy/rewrite/rules'
import {
  COMPATS,
  choiceAt,
  type Fields,
  fieldsOf,
  listAt,
  type Mode,
  MODES,
  octetText,
  ruleText,
} from './debug-question.ts'
import { QuestionError } from './json-lines.ts'

const PRIORITIES: readonly Priority[] = ['first', 'longest']
const POLICIES: readonly OverflowPolicy[] = ['skip', 'passthrough', 'abort']
const OPTION_FIELDS = ['priority', 'mode', 'compat', 'maxHeldBytes', 'overflow', 'vars']

export function answerRewrite(question: unknown): unknown {
  const fields = fieldsOf(question, 'the question', ['rules', 'options', 'chunks'])
  const optionFields = fieldsOf(fields.options ?? {}, 'options', OPTION_FIELDS)
  const options = readOptions(optionFields)
  const mode = options.mode ?? 'text'
  const rules = (listAt(fields, 'rules') ?? missing('rules')).map((rule, index) => readRule(rule, index, mode))
  const variables = readVariables(optionFields.vars, mode)
  const chunks = (listAt(fields, 'chunks') ?? missing('chunks')).map((chunk, index) =>
    encodeLatin1(octetText(chunk, `chunks[${index}]`)),
  )
  const set = compileRuleSet(rules, options)

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
    variables === undefined ? {} : { variables },
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
  if (
    maxHeldBytes !== undefined &&
    (typeof maxHeldBytes !== 'number' || !Number.isSafeInteger(maxHeldBytes) || maxHeldBytes < 4)
  ) {
    throw new QuestionError(`maxHeldBytes is ${JSON.stringify(maxHeldBytes)}, not a whole number from 4`)
  }
  return {
    ...(priority === undefined ? {} : { priority }),
    ...(mode === undefined ? {} : { mode }),
    ...(compat === undefined ? {} : { compat }),
    ...(overflow === undefined ? {} : { overflow }),
    ...(maxHeldBytes === undefined ? {} : { maxHeldBytes }),
  }
}

function readRule(value: unknown, index: number, mode: Mode): Rule {
  const problems = explainRule(value)
  if (problems.length > 0) {
    const { path, message, hint } = problems[0]
    throw new QuestionError(
      `rules[${index}]${path === '' ? '' : `.${path}`}: ${message}${hint === undefined ? '' : `; ${hint}`}`,
    )
  }
  const rule = normalizeRule(value as RawRule)
  const read = (text: string, field: string): string =>
    ruleText(octetText(text, `rules[${index}].${field}`), mode, index, field)
  if ('text' in rule) return { ...rule, text: read(rule.text, 'text'), with: read(rule.with, 'with') }
  if ('regex' in rule) return { ...rule, regex: read(rule.regex, 'regex'), with: read(rule.with, 'with') }
  return { ...rule, domain: read(rule.domain, 'domain'), to: read(rule.to, 'to') }
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

function missing(field: string): never {
  throw new QuestionError(`${field} is missing`)
}

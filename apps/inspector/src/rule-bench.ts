/** What rules do to a body, by the engine that runs them in the proxy. */
import type { ExchangeRecord } from '@prexy/events/recorded-event'
import { describeRules } from '@prexy/rewrite/describe'
import { observeRuleSet } from '@prexy/rewrite/observe'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { compileRuleSet, resolveOptions } from '@prexy/rewrite/rule-set'
import { type Rule, RuleSetError, type RuleSetOptions } from '@prexy/rewrite/rules'
import { parse, stringify, YAMLParseError } from 'yaml'
import { fieldValue } from './field-value.ts'
import type { Attribution, BenchProblem, BenchReply, ShownChange } from './protocol.ts'

const PIECE_BYTES = 16_384
const OPTION_NAMES = ['priority', 'mode', 'compat', 'maxHeldBytes', 'overflow']

interface Ruled {
  readonly input: Uint8Array
  readonly output: Uint8Array
  readonly changes: readonly ShownChange[]
  readonly hits: readonly number[]
}

function applyRules(
  set: RuleSet,
  body: Uint8Array,
  init: { active?: Uint8Array; variables?: Record<string, string>; mediaType?: string },
): Ruled {
  const observed = observeRuleSet(set)
  const rewriter = observed.set.createRewriter({ write: () => true }, init)
  for (let at = 0; at < body.length; at += PIECE_BYTES) rewriter.write(body.subarray(at, at + PIECE_BYTES))
  rewriter.end()
  const [{ input, output, changes }] = observed.bodies
  return { input, output, changes, hits: [...rewriter.hits] }
}

/**
 * Which rule made which change to a recorded response. Only rules that replaced something are run: a rule that won no
 * match of a body does not change what the others find in it.
 */
export function attributeChanges(
  event: ExchangeRecord,
  rules: readonly Rule[],
  options: RuleSetOptions,
): Attribution | { readonly problem: string } {
  const before = event.bodies?.response?.octets
  const { treatment } = event
  if (before === undefined || treatment?.kind !== 'rewritten')
    return { problem: 'The body before the rules was not recorded.' }
  if (treatment.stats.hits.length !== rules.length)
    return {
      problem: `The route had ${treatment.stats.hits.length} rules when this was recorded and has ${rules.length} now.`,
    }
  const active = Uint8Array.from(treatment.stats.hits, (hits) => (hits > 0 ? 1 : 0))
  try {
    const mediaType = fieldValue(event.response?.fields ?? [], 'content-type')
    const { output, changes } = applyRules(compileRuleSet(rules, options), before, {
      active,
      variables: variablesOf(event),
      ...(mediaType === undefined ? {} : { mediaType }),
    })
    const after = event.bodies?.responseSent?.octets
    return { changes, isAsRecorded: after !== undefined && isSame(after, output) }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}

function variablesOf(event: ExchangeRecord): Record<string, string> {
  const variables: Record<string, string> = {
    host: event.host ?? '',
    path: event.target.split('?', 1)[0],
    scheme: event.scheme ?? '',
    method: event.method,
  }
  const fields = event.request?.fields ?? []
  for (let at = 0; at + 1 < fields.length; at += 2) variables[`header:${fields[at].toLowerCase()}`] = fields[at + 1]
  return variables
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((octet, at) => octet === b[at])
}

/** Runs rules that somebody writes: YAML as in a configuration, a list or a map with `rules` and options. */
export function runBench(text: string, body: Uint8Array, mediaType: string): BenchReply {
  let document: unknown
  try {
    document = parse(text)
  } catch (error) {
    if (!(error instanceof YAMLParseError)) throw error
    return problems([{ rule: undefined, field: 'YAML', message: error.message, hint: undefined }])
  }
  const { rules, options } = rulesIn(document)
  if (rules === undefined) {
    const hint = '- text: Acme\n  with: Zenith'
    return problems([{ rule: undefined, field: 'YAML', message: 'there is no list of rules', hint }])
  }
  const startedAt = performance.now()
  try {
    const set = compileRuleSet(rules, options)
    const { input, output, changes, hits } = applyRules(set, body, mediaType === '' ? {} : { mediaType })
    const milliseconds = performance.now() - startedAt
    return {
      kind: 'done',
      changes,
      input,
      output,
      hits,
      warnings: set.unbounded.map(({ rule, message }) => `rule ${rule + 1}: ${message}`),
      description: describeRules(rules, resolveOptions(options)),
      yaml: stringify({ ...options, rules }),
      milliseconds,
    }
  } catch (error) {
    if (error instanceof RuleSetError) {
      return problems(
        error.problems.map(({ rule, field, at, message, hint }) => ({
          rule,
          field: at === undefined ? field : `${field}, octet ${at + 1}`,
          message,
          hint,
        })),
      )
    }
    if (error instanceof RangeError)
      return problems([{ rule: undefined, field: 'options', message: error.message, hint: undefined }])
    throw error
  }
}

function problems(list: readonly BenchProblem[]): BenchReply {
  return { kind: 'problems', problems: list }
}

function rulesIn(document: unknown): { rules: readonly Rule[] | undefined; options: RuleSetOptions } {
  if (Array.isArray(document)) return { rules: document, options: {} }
  if (typeof document !== 'object' || document === null || !('rules' in document) || !Array.isArray(document.rules))
    return { rules: undefined, options: {} }
  const options = Object.fromEntries(Object.entries(document).filter(([name]) => OPTION_NAMES.includes(name)))
  return { rules: document.rules, options }
}

/** Reads the fields of a question strictly: a misspelt field must not pass for an absent one. */
import { encodeLatin1 } from '@prexy/bytes/latin1'
import { decodeUtf8, stepUtf8 } from '@prexy/bytes/utf8'
import { nearMiss } from '@prexy/config/near-miss'
import { type RuleProblem, RuleSetError } from '@prexy/rewrite/rules'
import { QuestionError } from './json-lines.ts'

export type Fields = Readonly<Record<string, unknown>>

/** The mapping `value`, which may have the `known` fields only. `what` names it in messages. */
export function fieldsOf(value: unknown, what: string, known: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new QuestionError(`${what} is no object`)
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    const near = nearMiss(key, known)
    const hint = near === undefined ? `known here: ${known.join(', ')}` : `did you mean ${near}?`
    throw new QuestionError(`${what} has an unknown field ${JSON.stringify(key)}; ${hint}`)
  }
  return { ...value }
}

/** The list in `fields[key]`; undefined when it is absent. JSON's null stands for absent. */
export function listAt(fields: Fields, key: string): readonly unknown[] | undefined {
  const value = fields[key]
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value)) throw new QuestionError(`${key} is no list`)
  const list: readonly unknown[] = value
  return list
}

export function missing(field: string): never {
  throw new QuestionError(`${field} is missing`)
}

/** A text of octets, one character each; undefined when it is absent. */
export function octetTextAt(fields: Fields, key: string): string | undefined {
  const value = fields[key]
  return value === undefined || value === null ? undefined : octetText(value, key)
}

export function octetText(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new QuestionError(`${what} is no text`)
  const beyond = /[^\u0000-\u00ff]/u.exec(value)
  if (beyond !== null) throw new QuestionError(`${what} has a character above U+00FF at ${beyond.index}`)
  return value
}

/** One of `choices`; undefined when it is absent. */
export function choiceAt<T extends string>(fields: Fields, key: string, choices: readonly T[]): T | undefined {
  const value = fields[key]
  if (value === undefined || value === null) return undefined
  const choice = choices.find((one) => one === value)
  if (choice === undefined)
    throw new QuestionError(`${key} is ${JSON.stringify(value)}, not one of ${choices.join(', ')}`)
  return choice
}

export type Mode = 'text' | 'octet'
export const MODES: readonly Mode[] = ['text', 'octet']
export const COMPATS: readonly 'nginx'[] = ['nginx']

/** A part of a rule as the engine takes it: octets as they are in octet mode, decoded from UTF-8 in text mode. */
export function ruleText(octets: string, mode: Mode, rule: number, field: string): string {
  if (mode === 'octet') return octets
  const bytes = encodeLatin1(octets)
  for (let at = 0; at < bytes.length; ) {
    const length = stepUtf8(bytes, at, bytes.length)
    if (length <= 0) {
      const code = field === 'regex' ? 'E_PATTERN_SYNTAX' : 'E_TEMPLATE'
      const message = 'is not UTF-8, which text mode needs'
      throw new RuleSetError([{ code, rule, field, at, message, hint: 'octet mode takes any octet' }])
    }
    at += length
  }
  return decodeUtf8(bytes)
}

/** The answer to a question that failed. */
export function errorAnswer(error: unknown): unknown {
  if (error instanceof QuestionError) return { error: 'E_QUESTION', message: error.message }
  if (error instanceof RuleSetError) return problemAnswer(error.problems[0])
  // Options that the engine refuses.
  if (error instanceof RangeError) return { error: 'E_QUESTION', message: error.message }
  throw error
}

function problemAnswer(problem: RuleProblem): unknown {
  const { code, rule, at, message, hint } = problem
  const text = hint === undefined ? message : `${message}; ${hint}`
  // A rule that makes no sense apart from its pattern and template is a question that makes none.
  if (code === 'E_RULE') return { error: 'E_QUESTION', rule, message: `${problem.field}: ${text}` }
  return { error: code, rule, ...(at === undefined ? {} : { at }), message: text }
}

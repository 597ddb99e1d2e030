/** `prexy debug match`: where the first match of several patterns is. */
import { encodeLatin1 } from '@prexy/bytes/latin1'
import { firstMatch } from '@prexy/rewrite/first-match'
import {
  COMPATS,
  choiceAt,
  fieldsOf,
  listAt,
  MODES,
  missing,
  octetText,
  octetTextAt,
  ruleText,
} from './debug-question.ts'
import { QuestionError } from './json-lines.ts'

const FIELDS = ['regexes', 'flags', 'flags_per_regex', 'mode', 'compat', 'subject', 'chunks']

export function answerMatch(question: unknown): unknown {
  const fields = fieldsOf(question, 'the question', FIELDS)
  const mode = choiceAt(fields, 'mode', MODES) ?? 'text'
  const compat = choiceAt(fields, 'compat', COMPATS)
  const regexes = (listAt(fields, 'regexes') ?? missing('regexes')).map((regex, index) =>
    ruleText(octetText(regex, `regexes[${index}]`), mode, index, 'regex'),
  )
  const flags = octetTextAt(fields, 'flags')
  const flagsPerRegex = listAt(fields, 'flags_per_regex')?.map((one, index) =>
    octetText(one, `flags_per_regex[${index}]`),
  )
  if (flagsPerRegex !== undefined && flagsPerRegex.length !== regexes.length) {
    throw new QuestionError(`flags_per_regex has ${flagsPerRegex.length} entries for ${regexes.length} regexes`)
  }
  const subject = encodeLatin1(octetTextAt(fields, 'subject') ?? missing('subject'))
  const options = {
    mode,
    ...(flags === undefined ? {} : { flags }),
    ...(flagsPerRegex === undefined ? {} : { flagsPerRegex }),
    ...(compat === undefined ? {} : { compat }),
  }
  const found = firstMatch(regexes, options, cut(subject, listAt(fields, 'chunks')))
  if (!found.matched) return { matched: false }
  // oxlint-disable-next-line unicorn/no-null -- JSON has no undefined, and a list must keep its places.
  return { matched: true, rule: found.rule, captures: found.captures.map((span) => span ?? null) }
}

/** The subject in pieces of the given sizes; the rest is the last piece. */
function cut(subject: Uint8Array, sizes: readonly unknown[] | undefined): Uint8Array[] {
  const chunks: Uint8Array[] = []
  let from = 0
  for (const size of sizes ?? []) {
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
      throw new QuestionError(`chunks has ${JSON.stringify(size)}, which is no size`)
    }
    if (size > subject.length - from) throw new QuestionError('chunks are longer than the subject')
    chunks.push(subject.subarray(from, from + size))
    from += size
  }
  chunks.push(subject.subarray(from))
  return chunks
}

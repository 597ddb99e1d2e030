/**
 * `return`, `if` and `rewrite` of a level, which nginx runs in their order before anything else of it: what is answered
 * under which condition. Where a condition or what it does cannot be told, and it may keep clients out, more is closed.
 */
import { type NginxAnswer, answerOf, redirectOf, redirectingRewrite } from './nginx-answer.ts'
import { ALWAYS, both, ifCondition, readPattern, type RouteCondition } from './nginx-conditions.ts'
import type { RuleRefusal } from './nginx-rules.ts'
import type { NginxNotes, NginxScope } from './nginx-scope.ts'
import type { NginxDirective } from './nginx-syntax.ts'
import type { NginxConstants } from './nginx-variables.ts'

/** `unless`: the answer is for every request that `when` does not hold for. */
export interface NginxGuard {
  readonly kind: 'when' | 'unless'
  readonly when: RouteCondition
  readonly answer: NginxAnswer
  readonly directive: NginxDirective
}

interface GuardContext {
  readonly scope: NginxScope
  readonly constants: NginxConstants
  readonly notes: NginxNotes
  readonly refusalOf: RuleRefusal
}

/** In order; nothing comes behind one that always holds. `strips`: a `rewrite` that is carried over elsewhere. */
export function guardsOf(context: GuardContext, strips: NginxDirective | undefined): readonly NginxGuard[] {
  const { scope, constants, notes } = context
  const guards: NginxGuard[] = []
  for (const directive of scope.directives) {
    if (directive === strips) continue
    if (directive.name === 'break') break
    if (directive.name === 'return') {
      guards.push({ kind: 'when', when: ALWAYS, directive, answer: returned(directive, scope, constants, notes) })
      break
    }
    if (directive.name === 'if') guards.push(...ifGuards(directive, context))
    if (directive.name !== 'rewrite') continue
    const guard = rewriteGuard(directive, context)
    guards.push(guard)
    if (guard.when === ALWAYS) break
  }
  return guards
}

export function isClosing(answer: NginxAnswer): boolean {
  return 'respond' in answer && answer.respond.status >= 400
}

function returned(
  directive: NginxDirective,
  scope: NginxScope,
  constants: NginxConstants,
  notes: NginxNotes,
): NginxAnswer {
  return answerOf(directive, scope, constants, notes) ?? { respond: { status: 404 } }
}

function ifGuards(directive: NginxDirective, context: GuardContext): readonly NginxGuard[] {
  const { scope, constants, notes, refusalOf } = context
  const condition = ifCondition(directive.args, refusalOf)
  const acting = directive.block?.find(({ name }) => name === 'return' || name === 'rewrite')
  if (directive.block?.some(({ name }) => !/^(return|rewrite|set|break)$/.test(name)) === true) {
    notes.add('missing', directive, 'routes have method, header and path for conditions')
  }
  // What `set` makes of variables is not read anywhere.
  if (acting === undefined) {
    if (condition === undefined) notes.add('missing', directive, 'what it does depends on what routes do not see')
    return []
  }
  const then: Omit<NginxGuard, 'kind'> =
    acting.name === 'return'
      ? { when: ALWAYS, directive, answer: returned(acting, scope, constants, notes) }
      : rewriteGuard(acting, context)
  if (condition === undefined) {
    if (!isClosing(then.answer)) {
      notes.add('missing', directive, 'its condition is about what routes do not see; it never holds here')
      return []
    }
    notes.add('missing', directive, 'its condition is about what routes do not see; it always holds here, and closes')
    return [{ kind: 'when', ...then }]
  }
  const { when: cases = [], unless } = condition
  const guards = cases.flatMap((when): readonly NginxGuard[] => {
    const met = both(when, then.when)
    return met === undefined || met === 'vague' ? [] : [{ kind: 'when', ...then, when: met }]
  })
  if (unless === undefined) return guards
  if (then.when === ALWAYS) return [...guards, { kind: 'unless', ...then, when: unless }]
  // Both a condition that cannot be turned round and a path.
  notes.add('missing', directive, 'it is taken to hold always')
  return [{ kind: 'when', ...then }]
}

/** A redirect where it can be told, else an answer of 502: the path does not change on its way up. */
function rewriteGuard(directive: NginxDirective, { constants, notes, refusalOf }: GuardContext): NginxGuard {
  const whole = redirectingRewrite(directive, constants, notes)
  if (whole !== undefined) return { kind: 'when', when: ALWAYS, directive, answer: whole }
  const [regex = '', replacement = '', flag = ''] = directive.args
  const { exact, wider } = readPattern(regex, false, refusalOf)
  const redirects = /^(https?:\/\/|\$scheme)/.test(replacement) || flag === 'permanent' || flag === 'redirect'
  if (redirects && exact !== undefined) {
    const answer = redirectOf(directive, replacement, flag === 'permanent' ? 301 : 302, constants, notes)
    if (answer !== undefined) return { kind: 'when', when: { patterns: [exact] }, directive, answer }
  }
  notes.add('missing', directive, 'paths do not change on their way up; what it matches is answered 502')
  const when: RouteCondition = wider === undefined ? ALWAYS : { patterns: [wider] }
  return { kind: 'when', when, directive, answer: { respond: { status: 502 } } }
}

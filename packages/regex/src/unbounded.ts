/**
 * Which rules can hold text for as long as a body lasts: those whose live thread can go round without a match
 * completing (the text read since would have to be copied if it failed in the end), or at all when the replacement
 * needs the text.
 */
import { Automaton, type AutomatonRule, OP_MATCH, type State, type Step } from './automaton.ts'

/** States that one rule may be followed through. */
const MAX_STATES = 2_000

/** Why the rule can hold without bound, or undefined when it cannot. */
export function findUnbounded(rule: AutomatonRule): string | undefined {
  const automaton = new Automaton([{ ...rule, max: Infinity }], { priority: 'longest', firedKeepsToken: false })
  const edges = new Map<string, string[]>()
  const pending: State[] = []
  const seen = new Set<string>()
  const visit = (state: State): void => {
    if (state.groups.length === 0 || seen.has(state.key)) return
    seen.add(state.key)
    pending.push(state)
  }
  // INVARIANT: without a limit on matches no step is undecided.
  // Threads that begin at one place, in every context, and nothing that begins later.
  for (let context = 0; context < automaton.contexts.count; context++) {
    const start = (automaton.enter(context, automaton.initialActive) as Step).target
    for (let symbol = 0; symbol < automaton.classCount; symbol++) {
      const { target } = automaton.step(start, symbol) as Step
      if (target.groups.length > 0) visit(automaton.headless(target, target.groups.slice(0, 1)))
    }
  }
  while (pending.length > 0) {
    if (seen.size > MAX_STATES) return `it was followed through ${MAX_STATES} states without an end`
    const state = pending.pop() as State
    const next: string[] = []
    for (let symbol = 0; symbol < automaton.classCount; symbol++) {
      const { target, ops } = automaton.step(state, symbol) as Step
      if (target.groups.length === 0) continue
      // A completed match settles all before it, unless its text is needed.
      if (rule.usesSpan || !completes(ops)) next.push(target.key)
      visit(target)
    }
    edges.set(state.key, next)
  }
  if (!hasCycle(edges)) return undefined
  return rule.usesSpan
    ? 'the replacement needs the matched text, and there is no limit to its length'
    : 'it can go on without limit before it is known whether it matches'
}

function completes(ops: Int32Array): boolean {
  return ops.length > 0 && ops[0] === OP_MATCH
}

function hasCycle(edges: ReadonlyMap<string, readonly string[]>): boolean {
  const done = new Set<string>()
  const open = new Set<string>()
  for (const root of edges.keys()) {
    if (done.has(root)) continue
    const stack: { key: string; next: number }[] = [{ key: root, next: 0 }]
    open.add(root)
    while (stack.length > 0) {
      const top = stack[stack.length - 1]
      const to = edges.get(top.key)?.[top.next++]
      if (to === undefined) {
        open.delete(top.key)
        done.add(top.key)
        stack.pop()
      } else if (open.has(to)) return true
      else if (!done.has(to)) {
        open.add(to)
        stack.push({ key: to, next: 0 })
      }
    }
  }
  return false
}

/**
 * What the engine does for a body, counted: a stream rewriter of its own whose kernel and automaton are watched. Counts
 * are the same on every machine; times are the bench's.
 */
import { type CacheLimits, DEFAULT_CACHE_LIMITS, Tokenizer } from '@prexy/regex/tokenizer'
import { compileRules, resolveOptions, tokenizerOptions, toTokenizerRule } from '@prexy/rewrite/rule-set'
import type { Rule, RuleSetOptions } from '@prexy/rewrite/rules'
import { StreamRewriter } from '@prexy/rewrite/stream-rewriter'

export interface Watched {
  readonly tokenizer: Tokenizer
  run(body: Uint8Array, chunkBytes: number): StepCount
}

export interface StepCount {
  /** States and records that were worked out, by the kernel's asking for them. */
  readonly automatonSteps: number
  /** Steps inside of those: which groups of a state can still win. So many a rule set, not a body. */
  readonly analysisSteps: number
  /** Bytes that the kernel read by its threads and not by states: a visit to every instruction each, at most. */
  readonly simulatedBytes: number
  /** Threads in the states that those steps began and ended in: what they cost. */
  readonly threadVisits: number
  /** Operations on the spine in the longest record, which bounds what a byte costs in the kernel. */
  readonly longestRecord: number
  /** Times that the kernel was entered. */
  readonly kernelCalls: number
  readonly statesBuilt: number
  readonly cacheFlushes: number
  readonly output: Uint8Array
  readonly hits: readonly number[]
  readonly overflows: number
  readonly mostHeld: number
  /** Of the rule set's WebAssembly memory, at the end. */
  readonly memoryBytes: number
}

/** `cacheLimits` of zero has every byte go through the automaton: what a body costs that defeats the cache. */
export function watch(
  rules: readonly Rule[],
  options: RuleSetOptions,
  cacheLimits: CacheLimits = DEFAULT_CACHE_LIMITS,
): Watched {
  const settings = resolveOptions(options)
  const compiled = compileRules(rules, settings)
  const tokenizer = new Tokenizer(compiled.map(toTokenizerRule), tokenizerOptions(settings), cacheLimits)
  const counts = {
    automatonSteps: 0,
    analysisSteps: 0,
    simulatedBytes: 0,
    threadVisits: 0,
    longestRecord: 0,
    kernelCalls: 0,
  }
  watchAutomaton(tokenizer, counts)
  watchKernel(tokenizer, counts)
  return {
    tokenizer,
    run(body, chunkBytes) {
      const before = { ...counts, statesBuilt: tokenizer.statesBuilt, cacheFlushes: tokenizer.cacheFlushes }
      const pieces: Uint8Array[] = []
      const sink = { write: (chunk: Uint8Array): boolean => pieces.push(chunk.slice()) > 0 }
      const rewriter = new StreamRewriter(tokenizer, compiled, settings, sink, {})
      let mostHeld = 0
      for (let at = 0; at < body.length; at += chunkBytes) {
        rewriter.write(body.subarray(at, at + chunkBytes))
        mostHeld = Math.max(mostHeld, rewriter.heldBytes)
      }
      rewriter.end()
      return {
        automatonSteps: counts.automatonSteps - before.automatonSteps,
        analysisSteps: counts.analysisSteps - before.analysisSteps,
        simulatedBytes: counts.simulatedBytes - before.simulatedBytes,
        threadVisits: counts.threadVisits - before.threadVisits,
        longestRecord: counts.longestRecord,
        kernelCalls: counts.kernelCalls - before.kernelCalls,
        statesBuilt: tokenizer.statesBuilt - before.statesBuilt,
        cacheFlushes: tokenizer.cacheFlushes - before.cacheFlushes,
        output: concat(pieces),
        hits: [...rewriter.hits],
        overflows: rewriter.overflows,
        mostHeld,
        memoryBytes: tokenizer.kernel.memory.buffer.byteLength,
      }
    },
  }
}

interface Counts {
  automatonSteps: number
  analysisSteps: number
  simulatedBytes: number
  threadVisits: number
  longestRecord: number
  kernelCalls: number
}

function watchAutomaton({ automaton }: Tokenizer, counts: Counts): void {
  const step = automaton.step.bind(automaton)
  /** More than 0 while the automaton takes steps for itself, to find out what can follow. */
  let depth = 0
  automaton.step = (state, symbol, decisions) => {
    depth++
    const result = step(state, symbol, decisions)
    depth--
    if (depth > 0) {
      counts.analysisSteps++
      return result
    }
    counts.automatonSteps++
    for (const group of state.groups) counts.threadVisits += group.threads.length
    if ('target' in result) {
      for (const group of result.target.groups) counts.threadVisits += group.threads.length
      counts.longestRecord = Math.max(counts.longestRecord, result.ops.length)
    }
    return result
  }
  const textGroupOf = automaton.textGroupOf.bind(automaton)
  automaton.textGroupOf = (state) => {
    depth++
    const group = textGroupOf(state)
    depth--
    return group
  }
}

/** Where the kernel has its position; see kernel/index.ts. */
const POSITION = 0

function watchKernel(tokenizer: Tokenizer, counts: Counts): void {
  const { kernel } = tokenizer
  const watched = Object.fromEntries(
    Object.entries(kernel).map(([name, value]) => [
      name,
      typeof value !== 'function'
        ? value
        : (...args: unknown[]): unknown => {
            counts.kernelCalls++
            const from = tokenizer.words[POSITION]
            const result: unknown = value(...args)
            if (name === 'simulate') counts.simulatedBytes += tokenizer.words[POSITION] - from
            return result
          },
    ]),
  )
  Object.defineProperty(tokenizer, 'kernel', { value: watched })
}

function concat(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}

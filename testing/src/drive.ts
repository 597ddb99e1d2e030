/** Runs the real engine over a cut body and records everything that it lets a caller see. */
import type { RuleSet, RewriterInit } from '@prexy/rewrite/rewriter'
import { RewriteAborted } from '@prexy/rewrite/rewriter'
import { cutBody, seededRandom, type Split } from './splits.ts'

export interface Drive {
  /** All output up to the end of each write. */
  readonly outputs: readonly (readonly number[])[]
  /** Bytes of the body written up to the end of each write. */
  readonly written: readonly number[]
  /** `heldBytes` after each write. */
  readonly held: readonly number[]
  readonly output: readonly number[]
  readonly hits: readonly number[]
  readonly overflows: number
  readonly aborted: boolean
}

export interface DriveOptions extends RewriterInit {
  /** The sink asks for a pause now and then, at places that this seed decides. */
  readonly pauseSeed?: number
}

/** More calls than that for one chunk means that the engine no longer gets on. */
const MAX_CALLS_PER_CHUNK = 100_000

/** Overwrites each chunk as soon as the engine has given it back: it may not look at a borrowed chunk later. */
export function drive(ruleSet: RuleSet, body: readonly number[], split: Split, options: DriveOptions = {}): Drive {
  const { pauseSeed, ...init } = options
  const output: number[] = []
  const random = seededRandom(pauseSeed ?? 0)
  let hasPaused = false
  const sink = {
    write(chunk: Uint8Array): boolean {
      if (hasPaused) throw new Error('the engine wrote to a sink that had asked for a pause')
      for (const byte of chunk) output.push(byte)
      hasPaused = pauseSeed !== undefined && random() < 0.4
      return !hasPaused
    },
  }
  const rewriter = ruleSet.createRewriter(sink, init)
  const outputs: number[][] = []
  const held: number[] = []
  const written: number[] = []
  const finish = (aborted: boolean): Drive => ({
    outputs,
    written,
    held,
    output,
    hits: [...rewriter.hits],
    overflows: rewriter.overflows,
    aborted,
  })
  try {
    for (const chunk of cutBody(body, split)) {
      let taken = 0
      let calls = 0
      do {
        const rest = chunk.slice(taken)
        const count = rewriter.write(rest)
        rest.fill(0x5a)
        if (count < 0 || count > rest.length) throw new Error(`write took ${count} of ${rest.length} bytes`)
        if (count < rest.length && !hasPaused) throw new Error('write left bytes though the sink asked for no pause')
        taken += count
        hasPaused = false
        calls += 1
        if (calls > MAX_CALLS_PER_CHUNK) throw new Error('write takes nothing any more')
      } while (taken < chunk.length)
      outputs.push([...output])
      written.push((written.at(-1) ?? 0) + chunk.length)
      held.push(rewriter.heldBytes)
    }
    for (let calls = 0; !rewriter.end(); calls += 1) {
      if (!hasPaused) throw new Error('end returned false though the sink asked for no pause')
      hasPaused = false
      if (calls > MAX_CALLS_PER_CHUNK) throw new Error('end never returns true')
    }
  } catch (error) {
    if (error instanceof RewriteAborted) return finish(true)
    throw error
  }
  return finish(false)
}

import { Transform } from 'node:stream'

/** What {@link createNodeTransform} drives; the Rewriter of `@prexy/rewrite/rewriter` is one. */
export interface PausableRewriter {
  /** Takes a part of the chunk and returns how much; all of it unless the sink asked for a pause. */
  write(chunk: Uint8Array): number
  /** Output waits for the sink; `write` and `end` go on with it. */
  readonly blocked: boolean
  /** True when everything was handed over, false when the sink asked for a pause. */
  end(): boolean
  abandon(): void
}

/** Gets the rewriter's output: borrowed until `write` returns; false asks for a pause. */
export interface TransformSink {
  write(chunk: Uint8Array): boolean
}

/** Output is gathered up to this many bytes, since each push costs as much as hundreds of them. */
const PIECE_BYTES = 65_536

/**
 * A Transform of `node:stream` around a rewriter for one body:
 * `upstream.pipe(createNodeTransform((sink) => ruleSet.createRewriter(sink))).pipe(response)`.
 *
 * Takes Buffers and Uint8Arrays. A reader that stops reading stops the writer, also in the middle of a chunk. An error
 * of the rewriter destroys the stream; destroying the stream abandons the rewriter.
 */
export function createNodeTransform(start: (sink: TransformSink) => PausableRewriter): Transform {
  let scratch = new Uint8Array(PIECE_BYTES)
  let gathered = 0
  const rewriter = start({
    write(chunk) {
      if (gathered + chunk.length > scratch.length) {
        const larger = new Uint8Array(gathered + chunk.length)
        larger.set(scratch.subarray(0, gathered))
        scratch = larger
      }
      scratch.set(chunk, gathered)
      gathered += chunk.length
      return gathered < PIECE_BYTES
    },
  })
  let resume: (() => void) | undefined

  const handOver = (): boolean => {
    if (gathered === 0) return true
    // The reader keeps what it gets, so it gets a copy.
    const piece = Buffer.from(scratch.subarray(0, gathered))
    gathered = 0
    return transform.push(piece)
  }
  /** Calls `step` until it is done, each time the reader has room. */
  const drive = (step: () => boolean, callback: (error?: Error | null) => void): void => {
    const go = (): void => {
      resume = undefined
      try {
        for (;;) {
          const done = step()
          const room = handOver()
          if (done) break
          if (!room) {
            resume = go
            return
          }
        }
      } catch (error) {
        callback(error instanceof Error ? error : new Error(String(error)))
        return
      }
      callback()
    }
    go()
  }

  const transform = new Transform({
    transform(chunk: Uint8Array, _encoding, callback) {
      let taken = 0
      const step = (): boolean => {
        taken += rewriter.write(chunk.subarray(taken))
        return taken === chunk.length && !rewriter.blocked
      }
      drive(step, callback)
    },
    flush(callback) {
      drive(() => rewriter.end(), callback)
    },
    read(size) {
      if (resume === undefined) Transform.prototype._read.call(transform, size)
      else resume()
    },
    destroy(error, callback) {
      rewriter.abandon()
      callback(error)
    },
  })
  return transform
}

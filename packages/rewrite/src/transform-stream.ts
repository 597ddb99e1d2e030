import { GatherSink } from './gather-sink.ts'
import type { RewriterInit, RuleSet } from './rewriter.ts'

/** Both ends of a transform, as CompressionStream and TextDecoderStream have them; for `pipeThrough`. */
export interface RewriteStream {
  readonly writable: WritableStream<Uint8Array>
  readonly readable: ReadableStream<Uint8Array>
}

/**
 * A transform stream of the web platform that applies a rule set to one body:
 * `response.body.pipeThrough(createRewriteStream(set))`.
 *
 * Each chunk that comes out is the receiver's to keep. A reader that stops reading stops the writer, also in the middle
 * of a chunk, so that memory stays within one piece whatever the replacements make of it. Under `overflow: abort` the
 * readable end fails with `RewriteAborted`.
 */
export function createRewriteStream(set: RuleSet, init?: RewriterInit): RewriteStream {
  // The platform's TransformStream cannot pause within a chunk, which long replacements need.
  const gather = new GatherSink()
  const rewriter = set.createRewriter(gather, init)
  let readerController: ReadableStreamDefaultController<Uint8Array>
  let writerController: WritableStreamDefaultController
  let wake: (() => void) | undefined
  let failed = false

  const handOver = (): void => {
    if (gather.bytes.length === 0) return
    readerController.enqueue(gather.bytes.slice())
    gather.clear()
  }
  const roomForMore = async (): Promise<void> => {
    while (!failed && (readerController.desiredSize ?? 0) <= 0) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  const fail = (reason: unknown): void => {
    failed = true
    rewriter.abandon()
    wake?.()
    readerController.error(reason)
  }

  return {
    readable: new ReadableStream<Uint8Array>(
      {
        start(controller) {
          readerController = controller
        },
        pull() {
          wake?.()
        },
        cancel(reason) {
          failed = true
          rewriter.abandon()
          wake?.()
          writerController.error(reason)
        },
      },
      { highWaterMark: 1 },
    ),
    writable: new WritableStream<Uint8Array>({
      start(controller) {
        writerController = controller
      },
      async write(chunk) {
        await roomForMore()
        try {
          for (let taken = 0; !failed && (taken < chunk.length || rewriter.blocked); ) {
            taken += rewriter.write(chunk.subarray(taken))
            handOver()
            if (taken < chunk.length || rewriter.blocked) await roomForMore()
          }
        } catch (error) {
          handOver()
          fail(error)
          throw error
        }
      },
      async close() {
        await roomForMore()
        while (!failed && !rewriter.end()) {
          handOver()
          await roomForMore()
        }
        if (failed) return
        handOver()
        readerController.close()
      },
      abort: fail,
    }),
  }
}

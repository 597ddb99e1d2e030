// The part of the Streams Standard that transform-stream.ts uses. Node, Bun, Deno and browsers all have it, but this
// package compiles without the types of any of them.

interface ReadableStreamDefaultController<R> {
  readonly desiredSize: number | null
  enqueue(chunk: R): void
  close(): void
  error(reason: unknown): void
}

declare class ReadableStream<R> {
  constructor(
    source: {
      start?(controller: ReadableStreamDefaultController<R>): void
      pull?(): void
      cancel?(reason: unknown): void
    },
    strategy?: { readonly highWaterMark: number },
  )
}

interface WritableStreamDefaultController {
  error(reason: unknown): void
}

declare class WritableStream<W> {
  constructor(sink: {
    start?(controller: WritableStreamDefaultController): void
    write?(chunk: W): Promise<void>
    close?(): Promise<void>
    abort?(reason: unknown): void
  })
}

/**
 * Sorting of more than fits into memory: what is over a limit goes to sorted files in a temporary directory, which are
 * merged when all are there. Items are kept as JSON, a line each.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SortLimits {
  /** Items kept in memory, as JSON; default 8 MiB. As objects they take two or three times that. Unit: characters. */
  readonly maxMemory: number
  /** Files merged at once; more are merged in several steps. Default 64. */
  readonly maxFiles: number
}

export const DEFAULT_SORT_LIMITS: SortLimits = { maxMemory: 8_388_608, maxFiles: 64 }

/** Folders that are there now, of all sorts of this process. */
const openFolders = new Set<string>()

/** Removes what sorts have on disk: for a process that ends before it could close them. */
export function removeSortFolders(): void {
  for (const folder of openFolders) rmSync(folder, { recursive: true, force: true })
  openFolders.clear()
}

const READ_BYTES = 262_144
const WRITE_CHARACTERS = 262_144

interface Kept<Item> {
  readonly item: Item
  readonly size: number
}

/** Items of a type that JSON can hold. The order must be total, or equal items come in the order in which they were added. */
export class ExternalSort<Item> {
  readonly #compare: (a: Item, b: Item) => number
  readonly #limits: SortLimits
  #kept: Kept<Item>[]
  #size: number
  #folder: string | undefined
  #files: string[]
  #serial: number
  count: number

  constructor(compare: (a: Item, b: Item) => number, limits: SortLimits = DEFAULT_SORT_LIMITS) {
    this.#compare = compare
    this.#limits = limits
    this.#kept = []
    this.#size = 0
    this.#folder = undefined
    this.#files = []
    this.#serial = 0
    this.count = 0
  }

  /** `size`: about what the item takes as JSON, in characters. */
  add(item: Item, size: number): void {
    this.count++
    this.#kept.push({ item, size })
    this.#size += size
    if (this.#size > this.#limits.maxMemory) this.#spill()
  }

  /** Files that were written because memory did not suffice. */
  get spilledFiles(): number {
    return this.#serial
  }

  /** All items in order. To be called once; `close` in any case. */
  *sorted(): Generator<Item, void, undefined> {
    while (this.#files.length > this.#limits.maxFiles) this.#mergeSome()
    this.#sortKept()
    const kept = this.#kept.values()
    const inMemory = (function* (): Generator<Item> {
      for (const { item } of kept) yield item
    })()
    yield* mergeSorted([...this.#files.map((file) => readItems<Item>(file)), inMemory], this.#compare)
  }

  /** Removes what is on disk. */
  close(): void {
    if (this.#folder !== undefined) {
      rmSync(this.#folder, { recursive: true, force: true })
      openFolders.delete(this.#folder)
    }
    this.#folder = undefined
    this.#files = []
    this.#kept = []
  }

  #sortKept(): void {
    this.#kept.sort((a, b) => this.#compare(a.item, b.item))
  }

  #spill(): void {
    this.#sortKept()
    const kept = this.#kept
    this.#files.push(
      this.#write(
        (function* () {
          for (const { item } of kept) yield item
        })(),
      ),
    )
    this.#kept = []
    this.#size = 0
  }

  /** Merges the first files into one, which takes their place. */
  #mergeSome(): void {
    const some = this.#files.splice(0, this.#limits.maxFiles)
    const merged = this.#write(
      mergeSorted(
        some.map((file) => readItems<Item>(file)),
        this.#compare,
      ),
    )
    for (const file of some) rmSync(file)
    this.#files.unshift(merged)
  }

  #write(items: Iterable<Item>): string {
    const folder = this.#folder ?? mkdtempSync(join(tmpdir(), 'prexy-hunt-'))
    this.#folder = folder
    openFolders.add(folder)
    const path = join(folder, `${this.#serial++}.jsonl`)
    // What hits say may be secret.
    const file = openSync(path, 'wx', 0o600)
    try {
      let text = ''
      for (const item of items) {
        text += `${JSON.stringify(item)}\n`
        if (text.length < WRITE_CHARACTERS) continue
        writeAll(file, Buffer.from(text))
        text = ''
      }
      writeAll(file, Buffer.from(text))
    } finally {
      closeSync(file)
    }
    return path
  }
}

function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}

function* readItems<Item>(path: string): Generator<Item, void, undefined> {
  const parse: (text: string) => Item = JSON.parse
  const file = openSync(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(READ_BYTES)
    let rest = Buffer.alloc(0)
    for (;;) {
      const read = readSync(file, buffer)
      if (read === 0) return
      const bytes = Buffer.concat([rest, buffer.subarray(0, read)])
      const last = bytes.lastIndexOf(10)
      rest = Buffer.from(bytes.subarray(last + 1))
      if (last < 0) continue
      for (const line of bytes.toString('utf8', 0, last).split('\n')) {
        yield parse(line)
      }
    }
  } finally {
    closeSync(file)
  }
}

/** Sorted sequences as one; of equal items that of the earlier sequence comes first. */
export function* mergeSorted<Item>(
  sequences: readonly Iterator<Item>[],
  compare: (a: Item, b: Item) => number,
): Generator<Item, void, undefined> {
  interface Head {
    item: Item
    readonly index: number
  }
  const heap: Head[] = []
  const isBefore = (a: Head, b: Head): boolean => {
    const order = compare(a.item, b.item)
    return order < 0 || (order === 0 && a.index < b.index)
  }
  const sink = (from: number): void => {
    let at = from
    for (;;) {
      let least = at
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && isBefore(heap[child], heap[least])) least = child
      }
      if (least === at) return
      ;[heap[at], heap[least]] = [heap[least], heap[at]]
      at = least
    }
  }
  sequences.forEach((sequence, index) => {
    const next = sequence.next()
    if (next.done !== true) heap.push({ item: next.value, index })
  })
  for (let at = (heap.length >> 1) - 1; at >= 0; at--) sink(at)
  try {
    while (heap.length > 0) {
      const head = heap[0]
      yield head.item
      const next = sequences[head.index].next()
      if (next.done === true) {
        const last = heap.pop()
        if (last !== undefined && heap.length > 0) heap[0] = last
      } else head.item = next.value
      sink(0)
    }
  } finally {
    for (const sequence of sequences) sequence.return?.()
  }
}

/**
 * Constructors for the shapes that turn up at run time: a fixed number of textual copies of one function, each given to
 * one shape for the life of the process.
 *
 * V8 keeps what it learns about a piece of code with the code. A copy that only ever stores one shape's keys compiles to
 * plain field writes; one function for all shapes stays generic, and so does a closure made many times. `new Function`
 * would do as well, but not under a Content-Security-Policy without `unsafe-eval`.
 *
 * PERF: 2026-11-30, Node 20.20 / 24.22, two shared cores, ns per object of 10 and 24 fields: constructor 38-44, 60-130;
 * object literal 26-39, 44-88; `o[key] = value` 200-250, 1950. Rejected: spread of a template 165-176, 466-585;
 * JSON.parse of one 713-918, 1624-1802.
 *
 * The pool is process-wide because code is. SECURITY: an attacker can use it up with shapes of his own, each often enough;
 * other shapes are then built as without a pool.
 */
import { CONSTRUCTORS, WIDE_OBJECT } from './constructors.generated.ts'

type Maker = (values: readonly unknown[], base: number) => object
type Fields = Record<string, unknown>

const taken = new Map<string, Maker>()

/** A maker for these keys, the same one for the same keys; undefined when the pool is used up. 1 to 32 distinct keys. */
export function claimConstructor(keys: readonly string[]): Maker | undefined {
  const name = JSON.stringify(keys)
  const claimed = taken.get(name)
  if (claimed !== undefined) return claimed
  if (taken.size >= CONSTRUCTORS.length) return undefined
  const maker = CONSTRUCTORS[taken.size](keys, settleFields)
  taken.set(name, maker)
  return maker
}

/**
 * Lets every field be met with an object, a small integer and a float before the constructor's own code runs: V8 then
 * treats them as of any type at once, instead of building new hidden classes as types turn up. Enough objects are made for
 * V8 to fix their size.
 */
function settleFields(target: new (values: readonly unknown[], base: number) => object, keys: readonly string[]): void {
  for (let round = 0; round < 12; round++) {
    const value = round % 3 === 0 ? keys : round % 3 === 1 ? round : 0.5
    Reflect.construct(storeAll, [keys, new Array(keys.length).fill(value)], target)
  }
}

function storeAll(this: Fields, keys: readonly string[], values: readonly unknown[]): void {
  for (let i = 0; i < keys.length; i++) this[keys[i]] = values[i]
}

/**
 * An empty object for 16 keys or more of no known shape: it may get twice 32 fields before V8 makes a dictionary of it,
 * where `{}` may get 19.
 */
export function createWide(): Fields {
  return WIDE_OBJECT()
}

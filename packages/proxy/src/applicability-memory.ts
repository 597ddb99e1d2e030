/**
 * Which rules found nothing in a resource when it was last rewritten whole, so that they are left out next time; when
 * none is left, the body need not be read at all.
 *
 * The result is the same: a rule without a match took nothing from the others. It holds as long as the origin's strong
 * entity tag is the same, which promises the same octets (RFC 9110 §8.8.1); weak tags and dates promise less, so nothing
 * is remembered for them.
 *
 * One memory for each route, which has one rule set. Bounded: the least recently used resource is forgotten.
 */

import { type FieldList, joinedValue, singleValue } from '@prexy/http/fields'
import type { RequestHead, ResponseHead } from '@prexy/http/message'

/** What a response is known by. */
export interface ResourceVersion {
  /** Everything but the validator that decides which octets the rules see, and which rules. */
  readonly resource: string
  /** The origin's strong entity tag. */
  readonly validator: string
}

/**
 * The version that a response is, if it can be remembered: the answer 200 to a GET with one strong entity tag. `active`:
 * the rules that apply.
 *
 * SECURITY: a body that ends when the connection does may have been cut off, which nothing tells (RFC 9112 §8). What it
 * did not hold says nothing about the whole.
 */
export function resourceVersion(
  { method, authority, path }: Pick<RequestHead, 'method' | 'authority' | 'path'>,
  { status, fields, body }: Pick<ResponseHead, 'status' | 'fields' | 'body'>,
  active: Uint8Array,
): ResourceVersion | undefined {
  if (method !== 'GET' || status !== 200 || body.kind === 'until-close') return undefined
  const validator = singleValue(fields, 'etag')
  if (validator === undefined || !isStrong(validator)) return undefined
  return new Version(authority, path, fields, active, validator)
}

/** PERF: where nothing is remembered, and nothing is to be, nobody asks what the resource is called. */
class Version implements ResourceVersion {
  readonly validator: string
  readonly #authority: string | undefined
  readonly #path: string
  readonly #fields: FieldList
  readonly #active: Uint8Array
  #resource: string | undefined = undefined

  constructor(authority: string | undefined, path: string, fields: FieldList, active: Uint8Array, validator: string) {
    this.#authority = authority
    this.#path = path
    this.#fields = fields
    this.#active = active
    this.validator = validator
  }

  get resource(): string {
    // The type may tell the encoding.
    this.#resource ??= [
      this.#authority ?? '',
      this.#path,
      keyOf(this.#active),
      joinedValue(this.#fields, 'content-type') ?? '',
    ].join(' ')
    return this.#resource
  }
}

function isStrong(tag: string): boolean {
  return tag.length >= 2 && tag[0] === '"' && tag.indexOf('"', 1) === tag.length - 1
}

let lastActive: Uint8Array = new Uint8Array(0)
let lastKey = ''

/** PERF: the last one is kept, because where all rules hold for a request they are one array. */
function keyOf(active: Uint8Array): string {
  if (active === lastActive) return lastKey
  lastActive = active
  lastKey = active.join('')
  return lastKey
}

/**
 * Sets of rules that resources are narrowed to, per route: the engine works out a part of its tables for each set anew,
 * which costs more than it saves where every page has its own. Beyond, a set is only left out whole.
 */
export const MAX_RECALLED_SETS = 64

/** Resources with longer names or validators are not remembered. Unit: characters. */
export const MAX_RESOURCE_CHARS = 1_024

interface Entry {
  readonly validator: string
  /** One byte per rule, nonzero where it found nothing. */
  readonly idle: Uint8Array
  /** What is left of the rules in `active`, as {@link ApplicabilityMemory.recall} told it last. */
  active: Uint8Array | undefined
  left: Uint8Array
}

export class ApplicabilityMemory {
  readonly #maxResources: number
  /** In the order of use, the least recently used first. */
  readonly #entries = new Map<string, Entry>()
  readonly #sets = new Set<string>()

  /** With 0 nothing is remembered. */
  constructor(maxResources: number) {
    this.#maxResources = maxResources
  }

  get size(): number {
    return this.#entries.size
  }

  /** Of the active rules those that may find something, or all of them. Another version of the resource forgets the one before. */
  recall(version: ResourceVersion, active: Uint8Array): Uint8Array {
    if (this.#entries.size === 0) return active
    const { resource, validator } = version
    const entry = this.#entries.get(resource)
    if (entry === undefined) return active
    if (entry.validator !== validator) {
      this.#entries.delete(resource)
      return active
    }
    // PERF: most come in turn while all have room; the order matters only where some may have to go.
    if (2 * this.#entries.size > this.#maxResources) {
      this.#entries.delete(resource)
      this.#entries.set(resource, entry)
    }
    if (entry.active === active) return entry.left
    const left = active.map((isActive, rule) => (entry.idle[rule] === 0 ? isActive : 0))
    entry.left = !left.includes(1) || this.#mayNarrow(left) ? left : active
    entry.active = active
    return entry.left
  }

  #mayNarrow(left: Uint8Array): boolean {
    const key = left.join('')
    if (this.#sets.has(key)) return true
    if (this.#sets.size >= MAX_RECALLED_SETS) return false
    this.#sets.add(key)
    return true
  }

  /**
   * The whole body was rewritten by the rules of `active`, which matched as often as `hits` says, and no limit was met.
   * Rules that {@link recall} left out have no hits and stay out.
   */
  remember(version: ResourceVersion, active: Uint8Array, hits: ArrayLike<number>): void {
    if (this.#entries.size === 0 && !isAnyIdle(active, hits)) return
    const { resource, validator } = version
    const known = this.#entries.get(resource)
    if (known?.validator === validator && isSame(known.idle, active, hits)) return
    const idle = active.map((isActive, rule) => (isActive !== 0 && hits[rule] === 0 ? 1 : 0))
    this.#entries.delete(resource)
    if (!idle.includes(1) || resource.length + validator.length > MAX_RESOURCE_CHARS) return
    this.#entries.set(resource, { validator, idle, active: undefined, left: active })
    if (this.#entries.size <= this.#maxResources) return
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest)
      break
    }
  }
}

function isAnyIdle(active: Uint8Array, hits: ArrayLike<number>): boolean {
  for (let rule = 0; rule < active.length; rule++) if (active[rule] !== 0 && hits[rule] === 0) return true
  return false
}

function isSame(idle: Uint8Array, active: Uint8Array, hits: ArrayLike<number>): boolean {
  for (let rule = 0; rule < active.length; rule++) {
    if ((idle[rule] !== 0) !== (active[rule] !== 0 && hits[rule] === 0)) return false
  }
  return true
}

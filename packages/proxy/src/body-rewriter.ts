/**
 * The rewriter of one response body, whose encoding only its beginning tells: what comes is held until that is known,
 * then the rules see the body in its encoding. A body in an encoding that they cannot be applied to is copied.
 */
import { CHARSET_WINDOW_BYTES, CharsetDetector, type DetectedCharset } from '@prexy/http/charset'
import { charsetsOf, createEncodedRewriter, type EncodedRewriter } from '@prexy/rewrite/rule-charsets'
import { IntegrityRewriter, type IsRewritten } from '@prexy/rewrite/integrity'
import type { Rewriter, RewriterInit, RuleSet } from '@prexy/rewrite/rewriter'

type ByteSink = Parameters<RuleSet['createRewriter']>[0]

const NOTHING = new Uint8Array(0)

export class BodyRewriter implements Rewriter {
  readonly #rules: RuleSet | undefined
  readonly #sink: ByteSink
  readonly #init: RewriterInit
  readonly #detector: CharsetDetector
  readonly #windowBytes: number
  /** What is held of the body until its encoding is known; then what of that the rules have not taken. */
  #head: Uint8Array = NOTHING
  #detected: DetectedCharset | undefined = undefined
  #inner: Rewriter | EncodedRewriter | undefined = undefined

  readonly #isRewritten: IsRewritten | undefined
  #integrity: IntegrityRewriter | undefined = undefined

  /**
   * `contentType`: the response's, if it has one that can be relied on. With `isRewritten` the page loses the integrity
   * attributes of what is. Without rules the body is copied.
   */
  constructor(
    rules: RuleSet | undefined,
    sink: ByteSink,
    init: RewriterInit,
    contentType: string | undefined,
    isRewritten: IsRewritten | undefined,
  ) {
    this.#isRewritten = isRewritten
    this.#rules = rules
    this.#sink = sink
    this.#init = init
    this.#windowBytes = Math.min(CHARSET_WINDOW_BYTES, rules?.options.maxHeldBytes ?? CHARSET_WINDOW_BYTES)
    this.#detector = detectorFor(contentType, this.#windowBytes)
    if (rules === undefined) this.#inner = new Copier(sink, 0)
    else if (charsetsOf(rules) === 'any') this.#inner = this.#ahead(rules.createRewriter(sink, init))
  }

  /** The body's encoding; undefined while it is not known, and where the rules look at octets whatever they are. */
  get charset(): DetectedCharset['charset'] | undefined {
    return this.#detected?.charset
  }

  /** The rules cannot be applied to text in the body's encoding. */
  get isCopied(): boolean {
    return this.#inner instanceof Copier
  }

  /** Characters of replacements that the encoding lacks. */
  get unencodable(): number {
    const inner = this.#inner
    return inner !== undefined && 'unencodable' in inner ? inner.unencodable : 0
  }

  /** Integrity attributes that were taken away. */
  get droppedIntegrity(): number {
    return this.#integrity?.dropped ?? 0
  }

  get blocked(): boolean {
    return this.#inner !== undefined && (this.#inner.blocked || this.#head.length > 0)
  }

  get heldBytes(): number {
    return this.#inner === undefined ? this.#head.length : this.#inner.heldBytes
  }

  get heldBytesAtMost(): number {
    return this.#inner === undefined ? this.#head.length : this.#inner.heldBytesAtMost
  }

  get hits(): Readonly<Uint32Array> {
    return this.#inner?.hits ?? new Uint32Array(this.#rules?.rules.length ?? 0)
  }

  get overflows(): number {
    return this.#inner?.overflows ?? 0
  }

  write(chunk: Uint8Array): number {
    const inner = this.#inner
    if (inner !== undefined) return this.#giveHead(inner) ? inner.write(chunk) : 0
    if (this.#head.length === 0) {
      // As a rule the first octets tell, and nothing is copied.
      const opened = this.#open(chunk, false)
      if (opened !== undefined) return opened.write(chunk)
      // Not `slice`, which copies nothing of a Buffer.
      this.#head = Uint8Array.from(chunk)
      return chunk.length
    }
    const taken = Math.min(chunk.length, this.#windowBytes - this.#head.length)
    const from = this.#head.length
    const head = new Uint8Array(from + taken)
    head.set(this.#head)
    head.set(chunk.subarray(0, taken), from)
    this.#head = head
    if (head.length < this.#windowBytes && !mayTell(head, from)) return taken
    const opened = this.#open(head, false)
    if (opened === undefined || !this.#giveHead(opened)) return taken
    return taken + opened.write(chunk.subarray(taken))
  }

  end(): boolean {
    const inner = this.#inner ?? this.#open(this.#head, true)
    return inner !== undefined && this.#giveHead(inner) && inner.end()
  }

  abandon(): void {
    this.#head = NOTHING
    this.#inner?.abandon()
  }

  /** False while the sink has asked for a pause. */
  #giveHead(inner: Rewriter): boolean {
    if (this.#head.length === 0) return true
    this.#head = this.#head.subarray(inner.write(this.#head))
    return this.#head.length === 0 && !inner.blocked
  }

  /** The rewriter for a body that begins with `head`; undefined while more octets could tell its encoding. */
  #open(head: Uint8Array, isWhole: boolean): Rewriter | undefined {
    const detected = this.#detector.detect(head, isWhole)
    if (detected === undefined) return undefined
    this.#detected = detected
    this.#inner = this.#rewriterFor(detected.charset) ?? new Copier(this.#sink, this.#rules?.rules.length ?? 0)
    return this.#inner
  }

  #rewriterFor(charset: DetectedCharset['charset']): Rewriter | undefined {
    if (this.#rules === undefined) return undefined
    const charsets = charsetsOf(this.#rules)
    if (charset === 'foreign' || charsets === 'any' || !charsets.has(charset)) return undefined
    return createEncodedRewriter(this.#rules, charset, this.#sink, this.#init, (rewriter) => this.#ahead(rewriter))
  }

  #ahead(rewriter: Rewriter): Rewriter {
    if (this.#isRewritten === undefined) return rewriter
    this.#integrity = new IntegrityRewriter(rewriter, this.#isRewritten)
    return this.#integrity
  }
}

let lastType: string | undefined
let lastWindow = 0
let lastDetector = new CharsetDetector(lastType, lastWindow)

/** Most bodies are of the type of the one before. */
function detectorFor(contentType: string | undefined, windowBytes: number): CharsetDetector {
  if (contentType === lastType && windowBytes === lastWindow) return lastDetector
  lastType = contentType
  lastWindow = windowBytes
  lastDetector = new CharsetDetector(contentType, windowBytes)
  return lastDetector
}

/**
 * Whether octets from `from` on can have completed a declaration: all end in one of these, and only the first octets
 * tell without one. Else a body that comes octet by octet would be looked through for each.
 */
function mayTell(head: Uint8Array, from: number): boolean {
  if (from < FIRST_OCTETS) return true
  for (let at = from; at < head.length; at++) if (head[at] === GREATER_THAN || head[at] === SEMICOLON) return true
  return false
}

/** More than the longest beginning that tells by itself: `@charset "`. */
const FIRST_OCTETS = 16
const GREATER_THAN = 0x3e
const SEMICOLON = 0x3b

/** Hands over what comes. */
class Copier implements Rewriter {
  readonly #sink: ByteSink
  readonly hits: Readonly<Uint32Array>
  readonly heldBytes = 0
  readonly heldBytesAtMost = 0
  readonly overflows = 0
  blocked = false

  constructor(sink: ByteSink, rules: number) {
    this.#sink = sink
    this.hits = new Uint32Array(rules)
  }

  write(chunk: Uint8Array): number {
    this.blocked = chunk.length > 0 && !this.#sink.write(chunk)
    return chunk.length
  }

  end(): boolean {
    this.blocked = false
    return true
  }

  abandon(): void {
    this.blocked = false
  }
}

/**
 * Takes `integrity` attributes off the scripts and links of a page whose targets rules may change: a browser would refuse
 * them (Subresource Integrity §3.3). The page streams through ahead of the rules, which do not see what was taken.
 *
 * Only start tags of `script` and `link` are looked at, found as a browser's tokenizer finds them (HTML Living Standard
 * §13.2.5): not in comments, not in the text of scripts, styles, titles and the like, not in quoted values. Octets above
 * 7F are never part of what is looked for, so any encoding will do in which ASCII octets are ASCII.
 */
import { decodeLatin1 } from '@prexy/bytes/latin1'
import type { Rewriter } from './rewriter.ts'

/** A longer tag is left as it is; until its end is seen that much of it is held. Unit: bytes. */
export const MAX_TAG_BYTES = 8_192

/** Whether what a script or link loads comes by way of rules. */
export type IsRewritten = (url: string) => boolean

const NOTHING = new Uint8Array(0)

/** Elements whose content is text (HTML §13.2.5.2, §13.2.5.3). */
const TEXT_ELEMENTS = new Set(['script', 'style', 'textarea', 'title', 'xmp', 'iframe', 'noembed', 'noframes'])

type State =
  | 'data'
  /** After `<`, `</`. */
  | 'open'
  | 'endOpen'
  | 'name'
  /** After `<!`, `<!-`. */
  | 'declaration'
  | 'declarationDash'
  | 'comment'
  /** To the next `>`: doctypes, `<?`. */
  | 'bogus'
  | 'beforeAttribute'
  | 'attribute'
  | 'afterAttribute'
  | 'beforeValue'
  | 'doubleQuoted'
  | 'singleQuoted'
  | 'unquoted'
  /** The content of one of {@link TEXT_ELEMENTS}, and its end tag's name so far. */
  | 'text'
  | 'textEnd'

const LESS = 0x3c
const GREATER = 0x3e
const SLASH = 0x2f
const EQUALS = 0x3d
const DASH = 0x2d
const MAX_NAME = 12

class IntegrityFilter {
  readonly #isRewritten: IsRewritten
  #state: State = 'data'
  /** The tag's name, in lower case, as far as it matters. */
  #name = ''
  #isEnd = false
  /** The name of the element whose text is read, with `</` before it; how much of it has come. */
  #endTag = ''
  #matched = 0
  /** Dashes at the end of a comment so far. */
  #dashes = 0
  /** The tag that is being read, while it may be one to change. */
  readonly #held = new Uint8Array(MAX_TAG_BYTES)
  #heldBytes = 0
  #holds = false
  #out: Uint8Array = NOTHING
  #outBytes = 0
  dropped = 0

  constructor(isRewritten: IsRewritten) {
    this.#isRewritten = isRewritten
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** What goes on of the page; valid until the next call. */
  filter(chunk: Uint8Array): Uint8Array {
    const room = this.#heldBytes + chunk.length
    if (this.#out.length < room) this.#out = new Uint8Array(room)
    this.#outBytes = 0
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const octet = chunk[at]
      if (octet !== LESS && (this.#state === 'data' || this.#state === 'text')) {
        const next = chunk.indexOf(LESS, at)
        if (next < 0) break
        at = next - 1
        continue
      }
      if (this.#state === 'data') {
        this.#put(chunk.subarray(from, at))
        this.#holds = true
      }
      const isHeld = this.#holds
      if (isHeld) this.#held[this.#heldBytes++] = octet
      this.#step(octet)
      if (!isHeld) continue
      if (!this.#holds || this.#heldBytes === MAX_TAG_BYTES) this.#release()
      from = at + 1
    }
    if (!this.#holds) this.#put(chunk.subarray(from))
    return this.#out.subarray(0, this.#outBytes)
  }

  finish(): Uint8Array {
    this.#outBytes = 0
    if (this.#out.length < this.#heldBytes) this.#out = new Uint8Array(this.#heldBytes)
    this.#release()
    return this.#out.subarray(0, this.#outBytes)
  }

  #put(octets: Uint8Array): void {
    this.#out.set(octets, this.#outBytes)
    this.#outBytes += octets.length
  }

  #release(): void {
    this.#put(this.#held.subarray(0, this.#heldBytes))
    this.#heldBytes = 0
    this.#holds = false
  }

  /** One state of the tokenizer for one octet; `#holds` is false from where a tag needs no longer be held. */
  #step(octet: number): void {
    switch (this.#state) {
      case 'data':
        this.#state = 'open'
        this.#isEnd = false
        return
      case 'open':
        if (octet === SLASH) this.#state = 'endOpen'
        else if (octet === 0x21) this.#state = 'declaration'
        else if (octet === 0x3f) this.#leave('bogus')
        else this.#beginName(octet)
        return
      case 'endOpen':
        this.#isEnd = true
        if (octet === GREATER) this.#leave('data')
        else this.#beginName(octet)
        return
      case 'name':
        if (!endsName(octet)) {
          if (this.#name.length < MAX_NAME) this.#name += String.fromCharCode(octet).toLowerCase()
          return
        }
        if (this.#isEnd || (this.#name !== 'script' && this.#name !== 'link')) this.#holds = false
        if (octet === GREATER) this.#endOfTag()
        else this.#state = 'beforeAttribute'
        return
      case 'declaration':
        if (octet === DASH) this.#state = 'declarationDash'
        else this.#leave(octet === GREATER ? 'data' : 'bogus')
        return
      case 'declarationDash':
        this.#dashes = 2
        this.#leave(octet === DASH ? 'comment' : octet === GREATER ? 'data' : 'bogus')
        return
      case 'comment':
        if (octet === GREATER && this.#dashes >= 2) this.#state = 'data'
        else if (octet === DASH) this.#dashes++
        // `--!>` ends a comment, too.
        else if (octet !== 0x21 || this.#dashes < 2) this.#dashes = 0
        return
      case 'bogus':
        if (octet === GREATER) this.#state = 'data'
        return
      case 'text':
        if (octet !== LESS) return
        this.#state = 'textEnd'
        this.#matched = 1
        return
      case 'textEnd':
        this.#stepTextEnd(octet)
        return
      default:
        this.#stepAttribute(octet)
    }
  }

  #beginName(octet: number): void {
    const lower = octet | 0x20
    if (lower >= 0x61 && lower <= 0x7a) {
      this.#name = String.fromCharCode(lower)
      this.#state = 'name'
    } else if (this.#state === 'endOpen') {
      this.#leave('bogus')
    } else if (octet === LESS) {
      // `<<` is text, and the second may begin a tag.
      this.#state = 'open'
    } else {
      this.#leave('data')
    }
  }

  /** What was held is no tag. */
  #leave(state: State): void {
    this.#state = state
    this.#holds = false
  }

  #stepTextEnd(octet: number): void {
    const { length } = this.#endTag
    if (this.#matched === length && endsName(octet)) {
      this.#isEnd = true
      this.#state = octet === GREATER ? 'data' : 'beforeAttribute'
      return
    }
    const expected = this.#endTag.charCodeAt(this.#matched)
    const isLetter = this.#matched > 1
    if (this.#matched < length && (isLetter ? octet | 0x20 : octet) === expected) this.#matched++
    else if (octet === LESS) this.#matched = 1
    else this.#state = 'text'
  }

  #stepAttribute(octet: number): void {
    if (this.#state === 'doubleQuoted') {
      if (octet === 0x22) this.#state = 'beforeAttribute'
      return
    }
    if (this.#state === 'singleQuoted') {
      if (octet === 0x27) this.#state = 'beforeAttribute'
      return
    }
    if (octet === GREATER) return this.#endOfTag()
    if (isBlank(octet)) {
      if (this.#state === 'attribute') this.#state = 'afterAttribute'
      else if (this.#state === 'unquoted') this.#state = 'beforeAttribute'
      return
    }
    switch (this.#state) {
      case 'beforeValue':
        this.#state = octet === 0x22 ? 'doubleQuoted' : octet === 0x27 ? 'singleQuoted' : 'unquoted'
        return
      case 'unquoted':
        return
      case 'beforeAttribute':
        if (octet !== SLASH) this.#state = 'attribute'
        return
      default:
        this.#state = octet === SLASH ? 'beforeAttribute' : octet === EQUALS ? 'beforeValue' : 'attribute'
    }
  }

  #endOfTag(): void {
    if (this.#holds) this.#changeTag()
    this.#holds = false
    const isText = !this.#isEnd && TEXT_ELEMENTS.has(this.#name)
    if (isText) this.#endTag = `</${this.#name}`
    this.#state = isText ? 'text' : 'data'
  }

  /** Takes the attributes out of the held tag. */
  #changeTag(): void {
    const text = decodeLatin1(this.#held, 0, this.#heldBytes)
    const attributes = attributesOf(text, 1 + this.#name.length)
    const marked = attributes.filter(({ name }) => name === 'integrity')
    if (marked.length === 0) return
    const target = attributes.find(({ name }) => name === (this.#name === 'script' ? 'src' : 'href'))
    if (target === undefined || !this.#isRewritten(target.value)) return
    this.dropped++
    for (const { start, end } of marked.reverse()) {
      this.#held.copyWithin(start, end, this.#heldBytes)
      this.#heldBytes -= end - start
    }
  }
}

function isBlank(octet: number): boolean {
  return octet === 0x20 || octet === 0x0a || octet === 0x09 || octet === 0x0d || octet === 0x0c
}

function endsName(octet: number): boolean {
  return isBlank(octet) || octet === SLASH || octet === GREATER
}

interface Attribute {
  readonly name: string
  readonly value: string
  /** With the blanks before it. */
  readonly start: number
  readonly end: number
}

const ATTRIBUTE =
  /[\t\n\f\r /]*([^\t\n\f\r />][^\t\n\f\r />=]*)(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r >]*)))?/y

function attributesOf(tag: string, from: number): Attribute[] {
  const attributes: Attribute[] = []
  ATTRIBUTE.lastIndex = from
  for (let start = from; ; ) {
    const found = ATTRIBUTE.exec(tag)
    if (found === null) return attributes
    const end = ATTRIBUTE.lastIndex
    const value = found[2] ?? found[3] ?? found[4] ?? ''
    attributes.push({ name: found[1].toLowerCase(), value, start, end })
    start = end
  }
}

/** A page's rewriter behind the filter. */
export class IntegrityRewriter implements Rewriter {
  readonly #filter: IntegrityFilter
  readonly #inner: Rewriter
  #waiting: Uint8Array = NOTHING
  #finished = false

  constructor(inner: Rewriter, isRewritten: IsRewritten) {
    this.#inner = inner
    this.#filter = new IntegrityFilter(isRewritten)
  }

  /** Tags that lost their attribute. */
  get dropped(): number {
    return this.#filter.dropped
  }

  get blocked(): boolean {
    return this.#waiting.length > 0 || this.#inner.blocked
  }

  get heldBytes(): number {
    return this.#inner.heldBytes + this.#filter.heldBytes
  }

  get heldBytesAtMost(): number {
    return this.#inner.heldBytesAtMost + this.#filter.heldBytes
  }

  get hits(): Readonly<Uint32Array> {
    return this.#inner.hits
  }

  get overflows(): number {
    return this.#inner.overflows
  }

  write(chunk: Uint8Array): number {
    if (!this.#giveWaiting()) return 0
    this.#waiting = this.#filter.filter(chunk)
    this.#giveWaiting()
    return chunk.length
  }

  end(): boolean {
    if (!this.#giveWaiting()) return false
    if (!this.#finished) {
      this.#finished = true
      this.#waiting = this.#filter.finish()
      if (!this.#giveWaiting()) return false
    }
    return this.#inner.end()
  }

  abandon(): void {
    this.#waiting = NOTHING
    this.#inner.abandon()
  }

  /** False while the sink has asked for a pause. */
  #giveWaiting(): boolean {
    if (this.#waiting.length > 0 || this.#inner.blocked) {
      this.#waiting = this.#waiting.subarray(this.#inner.write(this.#waiting))
    }
    return this.#waiting.length === 0 && !this.#inner.blocked
  }
}

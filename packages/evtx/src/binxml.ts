/**
 * The tokens of binary XML, [MS-EVEN6] §2.2.12, as trees. One loop with a stack of its own: what is nested deeper than the
 * limit is refused, not recursed into. Every read is checked against the end of the stretch.
 */
import { u16, u32 } from './integers.hot.ts'
import {
  CDATA,
  CHARACTER,
  ELEMENT,
  ENTITY,
  INSTANCE,
  INSTRUCTION,
  LITERAL,
  SLOT,
  TEXT,
  type AttributeNode,
  type Node,
  type ObjectLayout,
  type SlotNode,
} from './nodes.ts'
import { ContentFault } from './problems.ts'
import { readAnsi } from './text.hot.ts'
import { ANSI_TYPE, fixedSize, SID_TYPE, STRING_TYPE } from './value-types.ts'

/** Set in a token that more of its kind follow; nothing here depends on it. */
const MORE_FLAG = 0x40
const END_OF_FRAGMENT = 0x00
const OPEN_ELEMENT = 0x01
const CLOSE_START = 0x02
const CLOSE_EMPTY = 0x03
const END_ELEMENT = 0x04
const VALUE = 0x05
const ATTRIBUTE = 0x06
const CDATA_SECTION = 0x07
const CHARACTER_REFERENCE = 0x08
const ENTITY_REFERENCE = 0x09
const INSTRUCTION_TARGET = 0x0a
const INSTRUCTION_DATA = 0x0b
export const TEMPLATE_INSTANCE = 0x0c
const SUBSTITUTION = 0x0d
const OPTIONAL_SUBSTITUTION = 0x0e
export const FRAGMENT_HEADER = 0x0f
export const FRAGMENT_HEADER_BYTES = 4

/** Where names are, by their offset in the chunk. */
export interface NameSource {
  readonly bytes: Uint8Array
  /** Throws a {@link ContentFault} when there is none. */
  name(offset: number): string
}

/** What reads the template instances of a record's content. */
export interface InstanceReader {
  /** Reads the instance after the token that ended at `at`. */
  readInstance(at: number, end: number): { readonly instance: number; readonly next: number; readonly depth: number }
}

export interface Fragment {
  readonly nodes: readonly Node[]
  /** Elements inside each other, those of instances included. */
  readonly depth: number
}

export interface FragmentOptions {
  /** Elements of definitions carry a number that those of records do not. */
  readonly dependencyIds: boolean
  /** Absent in definitions, which hold slots and no instances. */
  readonly instances: InstanceReader | undefined
  readonly maxDepth: number
  /** Gets the offset of every reference to a name. */
  readonly nameReferences: number[] | undefined
}

interface OpenElement {
  readonly kind: typeof ELEMENT
  readonly name: string
  readonly attributes: AttributeNode[]
  readonly children: Node[]
  readonly slots: SlotNode[]
  layout: ObjectLayout | 'later' | 'none'
}

export function parseFragment(source: NameSource, start: number, end: number, options: FragmentOptions): Fragment {
  return new FragmentParser(source, start, end, options).parse()
}

class FragmentParser {
  readonly #source: NameSource
  readonly #options: FragmentOptions
  readonly #end: number
  #at: number
  readonly #top: Node[] = []
  readonly #open: OpenElement[] = []
  /** Of the attribute that values belong to; absent outside of start tags. */
  #parts: Node[] | undefined
  #inStartTag = false
  #target: string | undefined
  #depth = 0

  constructor(source: NameSource, start: number, end: number, options: FragmentOptions) {
    this.#source = source
    this.#options = options
    this.#at = start
    this.#end = end
  }

  parse(): Fragment {
    const { bytes } = this.#source
    while (this.#at < this.#end) {
      const tokenAt = this.#at
      const token = bytes[this.#at++] & ~MORE_FLAG
      if (token !== INSTRUCTION_DATA) this.#finishInstruction()
      switch (token) {
        case END_OF_FRAGMENT:
          return this.#finish()
        case OPEN_ELEMENT:
          this.#openElement((bytes[tokenAt] & MORE_FLAG) !== 0)
          break
        case CLOSE_START:
          this.#requireStartTag()
          this.#inStartTag = false
          this.#parts = undefined
          break
        case CLOSE_EMPTY:
          this.#requireStartTag()
          this.#closeElement()
          break
        case END_ELEMENT:
          if (this.#open.length === 0 || this.#inStartTag) throw this.#fault('the end of an element that is not open')
          this.#closeElement()
          break
        case VALUE:
          this.#value()
          break
        case ATTRIBUTE: {
          this.#requireStartTag()
          const parts: Node[] = []
          const name = this.#name()
          this.#open[this.#open.length - 1].attributes.push({ name, parts })
          this.#parts = parts
          break
        }
        case CDATA_SECTION:
          this.#push({ kind: CDATA, text: this.#countedText() })
          break
        case CHARACTER_REFERENCE:
          this.#push({ kind: CHARACTER, code: u16(bytes, this.#take(2)) })
          break
        case ENTITY_REFERENCE:
          this.#push({ kind: ENTITY, name: this.#name() })
          break
        case INSTRUCTION_TARGET:
          this.#target = this.#name()
          break
        case INSTRUCTION_DATA: {
          const data = this.#countedText()
          if (this.#target === undefined) throw this.#fault('data of a processing instruction without a target')
          this.#push({ kind: INSTRUCTION, target: this.#target, data })
          this.#target = undefined
          break
        }
        case TEMPLATE_INSTANCE:
          this.#instance()
          break
        case SUBSTITUTION:
        case OPTIONAL_SUBSTITUTION:
          this.#slot(token === OPTIONAL_SUBSTITUTION)
          break
        case FRAGMENT_HEADER:
          this.#take(FRAGMENT_HEADER_BYTES - 1)
          break
        default:
          throw new ContentFault(`there is no token 0x${bytes[tokenAt].toString(16)} (at ${tokenAt} of the chunk)`)
      }
    }
    this.#finishInstruction()
    return this.#finish()
  }

  #finish(): Fragment {
    if (this.#open.length > 0)
      throw this.#fault(`the fragment ends inside of <${this.#open[this.#open.length - 1].name}>`)
    return { nodes: this.#top, depth: this.#depth }
  }

  #openElement(hasAttributes: boolean): void {
    if (this.#inStartTag) throw this.#fault('an element inside of a start tag')
    const { dependencyIds, maxDepth } = this.#options
    // The size of the element is not needed: its end has a token.
    this.#take(dependencyIds ? 6 : 4)
    const name = this.#name()
    if (hasAttributes) this.#take(4)
    const layout = this.#options.instances === undefined ? 'later' : 'none'
    const element: OpenElement = { kind: ELEMENT, name, attributes: [], children: [], slots: [], layout }
    this.#push(element)
    this.#open.push(element)
    this.#sawDepth(this.#open.length)
    if (this.#open.length > maxDepth) throw this.#fault(`elements nested deeper than ${maxDepth} (maxElementDepth)`)
    this.#inStartTag = true
  }

  #closeElement(): void {
    this.#open.pop()
    this.#inStartTag = false
    this.#parts = undefined
  }

  #value(): void {
    const { bytes } = this.#source
    const type = bytes[this.#take(1)]
    if (type === STRING_TYPE) {
      this.#push({ kind: TEXT, text: this.#countedText() })
    } else if (type === ANSI_TYPE) {
      const length = u16(bytes, this.#take(2))
      const at = this.#take(length)
      this.#push({ kind: TEXT, text: readAnsi(bytes, at, at + length) })
    } else {
      const size = type === SID_TYPE && this.#at + 1 < this.#end ? 8 + bytes[this.#at + 1] * 4 : fixedSize(type)
      if (size === 0) throw this.#fault(`a literal value of type 0x${type.toString(16)}`)
      const at = this.#take(size)
      this.#push({ kind: LITERAL, type, bytes: bytes.slice(at, at + size) })
    }
  }

  #instance(): void {
    const { instances, maxDepth } = this.#options
    if (instances === undefined) throw this.#fault('a template inside of a template')
    if (this.#inStartTag) throw this.#fault('a template inside of a start tag')
    const { instance, next, depth } = instances.readInstance(this.#at, this.#end)
    this.#at = next
    this.#sawDepth(this.#open.length + depth)
    if (this.#depth > maxDepth) throw this.#fault(`elements nested deeper than ${maxDepth} (maxElementDepth)`)
    this.#push({ kind: INSTANCE, instance })
  }

  #slot(optional: boolean): void {
    const index = u16(this.#source.bytes, this.#take(3))
    if (this.#options.instances !== undefined) throw this.#fault('a substitution outside of a template')
    const slot: SlotNode = { kind: SLOT, index, optional }
    if (this.#open.length > 0) this.#open[this.#open.length - 1].slots.push(slot)
    this.#push(slot)
  }

  #push(node: Node): void {
    if (this.#inStartTag) {
      if (this.#parts === undefined) throw this.#fault('a value in a start tag before any attribute')
      this.#parts.push(node)
    } else if (this.#open.length > 0) {
      this.#open[this.#open.length - 1].children.push(node)
    } else {
      this.#top.push(node)
    }
  }

  /** A target may stand without data. */
  #finishInstruction(): void {
    if (this.#target === undefined) return
    this.#push({ kind: INSTRUCTION, target: this.#target, data: '' })
    this.#target = undefined
  }

  #requireStartTag(): void {
    if (!this.#inStartTag) throw this.#fault('the end of a start tag or an attribute, and none is open')
  }

  #sawDepth(depth: number): void {
    if (depth > this.#depth) this.#depth = depth
  }

  /** A name stands where it is used first, and is referred to from everywhere else. */
  #name(): string {
    const { bytes } = this.#source
    const at = this.#take(4)
    const offset = u32(bytes, at)
    this.#options.nameReferences?.push(at)
    const name = this.#source.name(offset)
    if (offset === this.#at) this.#take(NAME_HEAD_BYTES + u16(bytes, offset + 6) * 2 + 2)
    return name
  }

  #countedText(): string {
    const { bytes } = this.#source
    const length = u16(bytes, this.#take(2))
    let at = this.#take(length * 2)
    let text = ''
    for (const end = this.#at; at < end; at += 2) text += String.fromCharCode(u16(bytes, at))
    return text
  }

  /** Goes over `size` bytes and says where they begin. */
  #take(size: number): number {
    const at = this.#at
    if (size > this.#end - at) throw this.#fault('the content ends inside of a token')
    this.#at = at + size
    return at
  }

  #fault(reason: string): ContentFault {
    return new ContentFault(`${reason} (before ${this.#at} of the chunk)`)
  }
}

/** Of a name: the next one with its hash, the hash, the number of characters. Characters and a NUL follow. */
export const NAME_HEAD_BYTES = 8

/** Records as XML, as the Windows event viewer shows them: always well-formed, whatever the record holds. */
import { findRepeat, repeatsOf, type Repeat } from './array-repeat.ts'
import { NO_CONTENT, type RecordContent } from './content.ts'
import {
  CDATA,
  CHARACTER,
  ELEMENT,
  ENTITY,
  entityText,
  INSTANCE,
  INSTRUCTION,
  LITERAL,
  SLOT,
  TEXT,
  type ElementNode,
  type Node,
} from './nodes.ts'
import type { RenderBudget } from './render-budget.ts'
import { ARRAY_FLAG, NULL_TYPE } from './value-types.ts'
import { isEmptyValue, type ValueReader } from './values.ts'

/** `compact` is one line. `indented` puts elements that hold elements on lines of their own, two spaces a level. */
export type XmlLayout = 'compact' | 'indented'

const NO_INSTANCE = -1
const LOOSE_TEXT: readonly number[] = [TEXT, CDATA, LITERAL, CHARACTER, ENTITY]

export class XmlWriter {
  readonly #values: ValueReader
  readonly #budget: RenderBudget
  #layout: XmlLayout = 'compact'
  #out = ''
  #level = 0
  /** A start tag was written except for its end. */
  #isStartOpen = false
  /** The last thing that was written is the end of an element. */
  #isAfterElement = false
  #repeat: Repeat | undefined
  /** Elements outside of any other. */
  #roots = 0
  /** There is text outside of any element. */
  #hasLooseText = false

  constructor(values: ValueReader, budget: RenderBudget) {
    this.#values = values
    this.#budget = budget
  }

  /** Throws a `BudgetSpent`. */
  write(content: RecordContent, layout: XmlLayout): string {
    this.#layout = layout
    this.#out = ''
    this.#level = 0
    this.#isStartOpen = false
    this.#isAfterElement = false
    this.#repeat = undefined
    this.#roots = 0
    this.#hasLooseText = false
    this.#content(content, content.root, false)
    const out = this.#out
    this.#out = ''
    if (out === '') return '<Event/>'
    // A document has one element, and text only within.
    return this.#roots === 1 && !this.#hasLooseText ? out : `<Event>${out}</Event>`
  }

  #content(content: RecordContent, what: number, inAttribute: boolean): void {
    if (what > NO_CONTENT) this.#nodes(content, content.templates[what].nodes, what, inAttribute)
    else this.#nodes(content, content.fragments[NO_CONTENT - 1 - what], NO_INSTANCE, inAttribute)
  }

  #nodes(content: RecordContent, nodes: readonly Node[], instance: number, inAttribute: boolean): void {
    const isOutside = this.#level === 0 && !inAttribute
    for (const node of nodes) {
      this.#budget.spend(1)
      if (isOutside && LOOSE_TEXT.includes(node.kind)) this.#hasLooseText = true
      switch (node.kind) {
        case ELEMENT:
          if (!inAttribute) this.#elements(content, node, instance)
          break
        case TEXT:
          this.#text(node.text, inAttribute)
          break
        case CDATA:
          if (inAttribute) this.#text(node.text, true)
          else this.#append(`<![CDATA[${allowed(node.text).replaceAll(']]>', ']]]]><![CDATA[>')}]]>`)
          break
        case LITERAL:
          this.#text(this.#values.text(node.bytes, node.type, 0, node.bytes.length, 'braced'), inAttribute)
          break
        case SLOT:
          this.#slot(content, content.slot(instance, node.index), inAttribute)
          break
        case CHARACTER:
          this.#append(isAllowed(node.code) ? `&#${node.code};` : REPLACEMENT)
          break
        case ENTITY:
          this.#append(entityText(node.name) === undefined ? `&amp;${escapeText(node.name)};` : `&${node.name};`)
          break
        case INSTRUCTION:
          if (!inAttribute) this.#append(`<?${targetName(node.target)} ${allowed(node.data).replaceAll('?>', '? >')}?>`)
          break
        case INSTANCE:
          this.#content(content, node.instance, inAttribute)
          break
      }
    }
  }

  #slot(content: RecordContent, slot: number, inAttribute: boolean): void {
    if (slot < 0) return
    if (content.slotContent[slot] !== NO_CONTENT) {
      this.#content(content, content.slotContent[slot], inAttribute)
      return
    }
    const bytes = chunkBytes(content)
    const type = content.slotType[slot]
    const repeat = findRepeat(this.#repeat, slot)
    const text =
      repeat !== undefined
        ? this.#values.text(bytes, type & ~ARRAY_FLAG, repeat.start, repeat.end, 'braced')
        : this.#values.text(bytes, type, content.slotStart[slot], content.slotEnd[slot], 'braced')
    if (this.#level === 0 && !inAttribute && text !== '') this.#hasLooseText = true
    this.#text(text, inAttribute)
  }

  #elements(content: RecordContent, element: ElementNode, instance: number): void {
    if (element.slots.length > 0 && isWithoutValue(content, element.children, instance)) return
    const repeats =
      element.slots.length === 0 || !content.hasArrays
        ? undefined
        : repeatsOf(content, element, instance, this.#repeat, this.#budget)
    if (repeats === undefined) {
      this.#element(content, element, instance)
      return
    }
    const outer = this.#repeat
    for (const repeat of repeats) {
      this.#repeat = repeat
      this.#element(content, element, instance)
    }
    this.#repeat = outer
  }

  #element(content: RecordContent, element: ElementNode, instance: number): void {
    const name = xmlName(element.name)
    if (this.#level === 0) this.#roots++
    if (this.#layout === 'indented' && this.#out !== '') this.#newLine()
    this.#append(`<${name}`)
    this.#attributes(content, element, instance)
    this.#isStartOpen = true
    this.#level++
    this.#nodes(content, element.children, instance, false)
    this.#level--
    if (this.#isStartOpen) {
      this.#isStartOpen = false
      this.#append('/>')
    } else {
      if (this.#layout === 'indented' && this.#isAfterElement) this.#newLine()
      this.#append(`</${name}>`)
    }
    this.#isAfterElement = true
  }

  #attributes(content: RecordContent, element: ElementNode, instance: number): void {
    const written = element.attributes.length > 1 ? new Set<string>() : undefined
    for (const attribute of element.attributes) {
      if (isLeftOut(content, attribute.parts, instance)) continue
      const name = xmlName(attribute.name)
      // A second one of the same name would not be XML.
      if (written?.has(name)) continue
      written?.add(name)
      this.#append(` ${name}="`)
      this.#nodes(content, attribute.parts, instance, true)
      this.#append('"')
    }
  }

  #newLine(): void {
    this.#append(`\n${'  '.repeat(this.#level)}`)
  }

  #text(text: string, inAttribute: boolean): void {
    if (text !== '') this.#append(inAttribute ? escapeAttribute(text) : escapeText(text))
  }

  #append(text: string): void {
    this.#budget.spend(text.length)
    this.#isAfterElement = false
    if (this.#isStartOpen) {
      this.#isStartOpen = false
      this.#out += '>'
    }
    this.#out += text
  }
}

/** An element made of optional values that are all of the null type: as if it were not in the template. */
function isWithoutValue(content: RecordContent, children: readonly Node[], instance: number): boolean {
  if (children.length === 0) return false
  for (const child of children) {
    if (child.kind !== SLOT || !child.optional) return false
    const slot = content.slot(instance, child.index)
    if (slot >= 0 && content.slotType[slot] !== NULL_TYPE) return false
  }
  return true
}

/** An attribute made of optional values of which there is none. */
export function isLeftOut(content: RecordContent, parts: readonly Node[], instance: number): boolean {
  if (parts.length === 0) return false
  for (const part of parts) {
    if (part.kind !== SLOT || !part.optional) return false
    const slot = content.slot(instance, part.index)
    if (slot < 0) continue
    if (!isEmptyValue(chunkBytes(content), content.slotType[slot], content.slotStart[slot], content.slotEnd[slot])) {
      return false
    }
  }
  return true
}

function chunkBytes(content: RecordContent): Uint8Array {
  if (content.chunk === undefined) throw new Error('no record was read')
  return content.chunk.bytes
}

const REPLACEMENT = '\uFFFD'
// Halves of surrogate pairs, and what XML 1.0 §2.2 does not allow at all.
const NOT_ALLOWED =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g
// oxlint-disable-next-line no-control-regex
const TEXT_TO_ESCAPE = /[&<>\u0000-\u0008\u000b-\u001f\ud800-\udfff\ufffe\uffff]/
// oxlint-disable-next-line no-control-regex
const ATTRIBUTE_TO_ESCAPE = /[&<>"\u0000-\u001f\ud800-\udfff\ufffe\uffff]/

function isAllowed(code: number): boolean {
  return code >= 0x20 ? code < 0xd800 || (code > 0xdfff && code < 0xfffe) : code === 9 || code === 10 || code === 13
}

function allowed(text: string): string {
  return text.replace(NOT_ALLOWED, REPLACEMENT)
}

function escapeText(text: string): string {
  if (!TEXT_TO_ESCAPE.test(text)) return text
  // A carriage return that is not escaped is a line feed to whoever parses the XML.
  return allowed(text)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#13;')
}

function escapeAttribute(text: string): string {
  if (!ATTRIBUTE_TO_ESCAPE.test(text)) return text
  return escapeText(text).replaceAll('"', '&quot;').replaceAll('\t', '&#9;').replaceAll('\n', '&#10;')
}

/** Of a processing instruction. The declaration of a document is none. */
function targetName(target: string): string {
  const name = xmlName(target)
  return /^xml$/i.test(name) ? `_${name}` : name
}

const PLAIN_NAME = /^[A-Za-z_][\w.:-]*$/
/**
 * Letters that names have in every edition of XML 1.0: parsers of the fourth refuse what came later. Latin, Greek,
 * Cyrillic, kana, ideographs, Hangul.
 */
const LETTERS =
  'A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u00ff\u038e-\u03a1\u03a3-\u03ce\u0401-\u040c\u040e-\u044f\u0451-\u045c' +
  '\u3041-\u3094\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3'
const NAME_START = new RegExp(`^[${LETTERS}_:]`)
const NO_NAME_CHARACTER = new RegExp(`[^${LETTERS}0-9_.:-]`, 'g')

/** A name that breaks XML is written with `_` in place of what breaks it. */
function xmlName(name: string): string {
  if (PLAIN_NAME.test(name)) return name
  const changed = name.replace(NO_NAME_CHARACTER, '_')
  return NAME_START.test(changed) ? changed : `_${changed}`
}

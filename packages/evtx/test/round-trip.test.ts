/** Any tree of elements, as a record of its own or as template and values, gives the XML and the object that it is. */
import { evtxValue as v, type EvtxAny, type EvtxElement, type EvtxNode } from '@prexy/testing/evtx-values'
import { itHolds } from '@prexy/testing/properties'
import fc from 'fast-check'
import { expect } from 'vitest'
import { fileOf, readAll } from './reading.ts'

/** An element whose parts are text, which a template may hold as it is or take from a value. */
interface Tree {
  readonly name: string
  readonly attributes: readonly (readonly [name: string, text: Part])[]
  readonly children: readonly (Tree | Part)[]
}

interface Part {
  readonly text: string
  readonly isValue: boolean
}

const name = fc.constantFrom('Event', 'System', 'EventData', 'UserData', 'Data', 'A', 'b', 'Größe', 'x-1.2')
const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
  fc.constantFrom('x'.repeat(33), 'ä'.repeat(128), '<&>"\'', '€'.repeat(140)),
)
// Values end where their NULs begin.
const part: fc.Arbitrary<Part> = fc.record({ text: text.filter((each) => !each.endsWith('\0')), isValue: fc.boolean() })
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.record({
    name,
    attributes: fc.uniqueArray(fc.tuple(fc.constantFrom('Name', 'n', 'm'), part), {
      maxLength: 2,
      selector: ([attribute]) => attribute,
    }),
    children: fc.array(fc.oneof({ depthSize: 'small' }, part, tie('tree')), { maxLength: 4 }),
  }),
}))

function isTree(child: Tree | Part): child is Tree {
  return 'children' in child
}

/** The element with all its text in it. */
function asElement({ name: element, attributes, children }: Tree): EvtxElement {
  return {
    element,
    attributes: attributes.map(([attribute, { text: value }]) => [attribute, value] as const),
    children: children.map((child) => (isTree(child) ? asElement(child) : child.text)),
  }
}

/** The element with slots for what are values, which go into `values`. */
function asTemplate({ name: element, attributes, children }: Tree, values: EvtxAny[]): EvtxElement {
  const node = ({ text: value, isValue }: Part): EvtxNode => {
    if (!isValue) return value
    values.push(v.string(value))
    return { slot: values.length - 1 }
  }
  return {
    element,
    attributes: attributes.map(([attribute, value]) => [attribute, node(value)] as const),
    children: children.map((child) => (isTree(child) ? asTemplate(child, values) : node(child))),
  }
}

function escaped(value: string): string {
  return (
    value
      .replace(/\p{Surrogate}/gu, '\uFFFD')
      // oxlint-disable-next-line no-control-regex
      .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\uFFFD')
      .replace(/[&<>\r]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#13;' })[char] ?? char)
  )
}

function attributeText(value: string): string {
  return escaped(value).replace(/["\t\n]/g, (char) => ({ '"': '&quot;', '\t': '&#9;', '\n': '&#10;' })[char] ?? char)
}

function asXml({ name: element, attributes, children }: Tree): string {
  const start = `${element}${attributes.map(([each, { text: value }]) => ` ${each}="${attributeText(value)}"`).join('')}`
  if (children.length === 0) return `<${start}/>`
  return `<${start}>${children.map((child) => (isTree(child) ? asXml(child) : escaped(child.text))).join('')}</${element}>`
}

/** All text of the tree, in order, without its attributes. */
function words(tree: Tree): readonly string[] {
  return tree.children.flatMap((child) => (isTree(child) ? words(child) : [child.text]))
}

itHolds('XML of any tree', tree, 150, (given) => {
  const values: EvtxAny[] = []
  const root = asTemplate(given, values)
  const template = { guid: '{00000001-0000-0000-0000-000000000000}', root }
  const outer = { guid: '{00000002-0000-0000-0000-000000000000}', root: { element: 'O', children: [{ slot: 0 }] } }
  const nested = v.nested({ template, values })
  const { records, report } = readAll(
    fileOf([asElement(given), { template, values }, { template: outer, values: [nested] }]),
  )
  expect(report.problems).toEqual([])
  const xml = asXml(given)
  expect(records.map((record) => record.xml)).toEqual([xml, xml, `<O>${xml}</O>`])
  // With or without a template, an event is the same object and has the same fields.
  expect(records[1].json).toBe(records[0].json)
  expect(records[2].json).toBe(`{"O":${records[0].json}}`)
  expect(records[1].fields?.filter(([, value]) => value !== undefined)).toEqual(
    records[0].fields?.filter(([, value]) => value !== undefined),
  )
  const all = words(given).join('')
  expect(
    [...(records[0].fields ?? [])]
      .filter(([path]) => !path.includes('_attributes'))
      .map(([, value]) => value)
      .join(''),
  ).toHaveLength(all.length)
})

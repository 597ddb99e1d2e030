/**
 * YAML documents as plain trees that know where everything stands.
 *
 * YAML 1.2 core schema: `yes` and `off` are text, dates too. Refused with their line: keys that stand twice, tags, merge
 * keys, aliases that expand to more than {@link MAX_ALIASED_NODES} nodes, files above {@link MAX_RULE_FILE_CHARACTERS}.
 */
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, parseAllDocuments } from 'yaml'
import { readPlainYaml } from './plain-yaml.ts'
import { SigmaFault, type SigmaProblem } from './problem.ts'

/** Longest rule file that is read, in UTF-16 code units. */
export const MAX_RULE_FILE_CHARACTERS: number = 4 * 1024 * 1024

/** Nodes that the aliases of one document may add. */
export const MAX_ALIASED_NODES = 10_000

/** Lists and maps inside each other. */
export const MAX_YAML_DEPTH = 64

export interface SourceScalar {
  readonly kind: 'text' | 'number' | 'boolean' | 'null'
  /** The value of a text; numbers and booleans as they are written. */
  readonly text: string
  /** Offset into the file. */
  readonly at: number
}

export interface SourceEntry {
  readonly key: string
  readonly keyAt: number
  readonly value: SourceNode
}

export interface SourceMap {
  readonly kind: 'map'
  readonly entries: readonly SourceEntry[]
  readonly at: number
}

export interface SourceList {
  readonly kind: 'list'
  readonly items: readonly SourceNode[]
  readonly at: number
}

export type SourceNode = SourceScalar | SourceMap | SourceList

export interface SourceFile {
  readonly file: string
  /** Documents that could be read; empty ones are left out. */
  readonly documents: readonly SourceNode[]
  readonly problems: readonly SigmaProblem[]
  /** The line, from 1, of an offset. */
  lineOf(at: number): number
}

/** Reads the documents of a rule file. Never throws: what is wrong is in `problems`. */
export function readSourceFile(text: string, file: string): SourceFile {
  const lineStarts: number[] = []
  const lineOf = (at: number): number => {
    if (lineStarts.length === 0) {
      lineStarts.push(0)
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) lineStarts.push(end + 1)
    }
    let low = 0
    let high = lineStarts.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (lineStarts[middle] <= at) low = middle
      else high = middle
    }
    return low + 1
  }
  const problem = (at: number, message: string, hint: string | undefined): SigmaProblem => {
    return { severity: 'error', file, line: lineOf(at), rule: undefined, message, hint }
  }
  if (text.length > MAX_RULE_FILE_CHARACTERS) {
    const message = `the file is longer than ${MAX_RULE_FILE_CHARACTERS} characters`
    return { file, documents: [], problems: [problem(0, message, 'split it')], lineOf }
  }
  const plain = readPlainYaml(text)
  if (plain !== undefined) return { file, documents: plain, problems: [], lineOf }
  const { documents, faults } = readFullYaml(text)
  return { file, documents, problems: faults.map(({ at, message, hint }) => problem(at, message, hint)), lineOf }
}

/** All of YAML. A fault for each document that could not be read. */
export function readFullYaml(text: string): { documents: readonly SourceNode[]; faults: readonly SigmaFault[] } {
  const documents: SourceNode[] = []
  const faults: SigmaFault[] = []
  const parsed = parseAllDocuments(text, { prettyErrors: false, merge: false, uniqueKeys: true, version: '1.2' })
  for (const document of Array.isArray(parsed) ? parsed : []) {
    const first = document.errors[0] ?? document.warnings[0]
    if (first !== undefined) {
      faults.push(new SigmaFault(first.pos[0], `not readable as YAML: ${first.message}`))
      continue
    }
    if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) continue
    try {
      documents.push(convert(document.contents, document, { aliased: 0, depth: 0 }))
    } catch (error) {
      if (!(error instanceof SigmaFault)) throw error
      faults.push(error)
    }
  }
  return { documents, faults }
}

interface Budget {
  aliased: number
  depth: number
}

function convert(node: Node, document: Document, budget: Budget): SourceNode {
  const at = node.range?.[0] ?? 0
  if (budget.aliased > MAX_ALIASED_NODES) {
    throw new SigmaFault(at, `aliases expand to more than ${MAX_ALIASED_NODES} values`, 'write the values out')
  }
  if (isAlias(node)) {
    const target = node.resolve(document)
    if (target === undefined) throw new SigmaFault(at, `nothing is anchored as &${node.source}`)
    budget.aliased++
    return nested(target, document, budget, at)
  }
  if (isMap(node)) {
    const entries = node.items.map(({ key, value }): SourceEntry => {
      const keyNode = isAlias(key) ? key.resolve(document) : key
      if (!isScalar(keyNode) || keyNode.value === null) throw new SigmaFault(at, 'a key is no text', 'put a name there')
      const keyAt = keyNode.range?.[0] ?? at
      const content = isNodeLike(value)
        ? nested(value, document, budget, keyAt)
        : { kind: 'null' as const, text: '', at: keyAt }
      return { key: scalarText(keyNode.value, keyNode.source), keyAt, value: content }
    })
    if (budget.aliased > 0) budget.aliased += entries.length
    return { kind: 'map', entries, at }
  }
  if (isSeq(node)) {
    if (budget.aliased > 0) budget.aliased += node.items.length
    const items = node.items.map((item): SourceNode => {
      return isNodeLike(item) ? nested(item, document, budget, at) : { kind: 'null', text: '', at }
    })
    return { kind: 'list', items, at }
  }
  if (!isScalar(node)) throw new SigmaFault(at, 'not readable as YAML')
  const { value, source } = node
  if (value === null || value === undefined) return { kind: 'null', text: '', at }
  if (typeof value === 'string') return { kind: 'text', text: value, at }
  if (typeof value === 'boolean') return { kind: 'boolean', text: scalarText(value, source), at }
  return { kind: 'number', text: scalarText(value, source), at }
}

function nested(node: Node, document: Document, budget: Budget, at: number): SourceNode {
  if (budget.depth >= MAX_YAML_DEPTH) {
    throw new SigmaFault(at, `values are nested more than ${MAX_YAML_DEPTH} deep`)
  }
  budget.depth++
  const converted = convert(node, document, budget)
  budget.depth--
  return converted
}

function isNodeLike(value: unknown): value is Node {
  return isAlias(value) || isMap(value) || isSeq(value) || isScalar(value)
}

function scalarText(value: unknown, source: string | undefined): string {
  return typeof value === 'string' ? value : (source ?? String(value))
}

/** The value of a key; undefined when the map has none. */
export function entryOf(map: SourceMap, key: string): SourceEntry | undefined {
  return map.entries.find((entry) => entry.key === key)
}

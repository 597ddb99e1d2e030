/**
 * Groups whose place follows from where the match begins and ends: `<title>([^<]*)</title>` has its group seven bytes
 * after the one and eight before the other. Nothing has to be read again for them.
 */
import type { CodePointRanges, PatternMode } from './ast.ts'
import type { ProgramNode } from './program.ts'

/** A place in a match: so many bytes after its start, or before its end. */
export interface MatchPlace {
  readonly from: 'start' | 'end'
  readonly bytes: number
}

export interface FixedGroup {
  readonly begin: MatchPlace
  readonly end: MatchPlace
}

/** Where a group is, in bytes; undefined when its place depends on the text, or it may take no part. */
export function findFixedGroup(root: ProgramNode, group: number, mode: PatternMode): FixedGroup | undefined {
  if (group === 0) return { begin: { from: 'start', bytes: 0 }, end: { from: 'end', bytes: 0 } }
  return findIn(root, group, mode, 0, 0)
}

/** `before` and `after`: bytes of the match outside of `node`, undefined where they vary. */
function findIn(
  node: ProgramNode,
  group: number,
  mode: PatternMode,
  before: number | undefined,
  after: number | undefined,
): FixedGroup | undefined {
  switch (node.kind) {
    case 'capture': {
      if (node.index !== group) return findIn(node.node, group, mode, before, after)
      const length = byteLength(node.node, mode)
      const begin = placeOf(before, plus(length, after))
      const end = placeOf(plus(before, length), after)
      return begin === undefined || end === undefined ? undefined : { begin, end }
    }
    case 'concat':
    case 'sequence': {
      const lengths = node.nodes.map((each) => byteLength(each, mode))
      for (const [index, each] of node.nodes.entries()) {
        const found = findIn(
          each,
          group,
          mode,
          lengths.slice(0, index).reduce(plus, before),
          lengths.slice(index + 1).reduce(plus, after),
        )
        if (found !== undefined) return found
      }
      return undefined
    }
    case 'repeat':
      return node.min === 1 && node.max === 1 ? findIn(node.node, group, mode, before, after) : undefined
    default:
      return undefined
  }
}

function placeOf(fromStart: number | undefined, fromEnd: number | undefined): MatchPlace | undefined {
  if (fromStart !== undefined) return { from: 'start', bytes: fromStart }
  return fromEnd === undefined ? undefined : { from: 'end', bytes: fromEnd }
}

function plus(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b
}

/** Bytes that every match of a node has; undefined when they vary. */
function byteLength(node: ProgramNode, mode: PatternMode): number | undefined {
  switch (node.kind) {
    case 'empty':
    case 'assert':
    case 'hostEdge':
      return 0
    case 'class':
      return mode === 'octet' ? 1 : utf8Length(node.ranges)
    case 'concat':
    case 'sequence':
      return node.nodes.map((each) => byteLength(each, mode)).reduce(plus, 0)
    case 'alternate': {
      const [first, ...others] = node.nodes.map((each) => byteLength(each, mode))
      return others.every((length) => length === first) ? first : undefined
    }
    case 'capture':
      return byteLength(node.node, mode)
    case 'repeat': {
      const length = byteLength(node.node, mode)
      if (length === 0) return 0
      return length === undefined || node.min !== node.max ? undefined : length * node.min
    }
  }
}

function utf8Length(ranges: CodePointRanges): number | undefined {
  const lengths = new Set<number>()
  for (const point of ranges) lengths.add(point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4)
  // A range may not span two lengths: both of its ends are looked at.
  return lengths.size === 1 ? [...lengths][0] : undefined
}

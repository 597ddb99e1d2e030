import type { CodePointRanges, Node } from '../src/ast.ts'

/**
 * A syntax tree as one line, for tables: classes as `a` or `[hex-hex ...]`, assertions by name in angle brackets,
 * sequences and alternatives as `cat(..)` and `alt(..)`, `(n: ..)` for groups and `x{min,max}` with `?` when lazy.
 */
export function treeText(node: Node): string {
  switch (node.kind) {
    case 'empty':
      return 'empty'
    case 'class':
      return classText(node.ranges)
    case 'assert':
      return `<${node.assertion}>`
    case 'concat':
      return `cat(${node.nodes.map(treeText).join(' ')})`
    case 'alternate':
      return `alt(${node.nodes.map(treeText).join(' ')})`
    case 'repeat':
      return `${treeText(node.node)}{${node.min},${node.max === Number.POSITIVE_INFINITY ? '' : node.max}}${node.greedy ? '' : '?'}`
    case 'capture':
      return `(${node.index}: ${treeText(node.node)})`
  }
}

export function classText(ranges: CodePointRanges): string {
  if (ranges.length === 2 && ranges[0] === ranges[1] && /[0-9A-Za-z]/.test(String.fromCodePoint(ranges[0]))) {
    return String.fromCodePoint(ranges[0])
  }
  const parts: string[] = []
  for (let i = 0; i < ranges.length; i += 2) {
    const [low, high] = [ranges[i], ranges[i + 1]].map((point) => point.toString(16).toUpperCase().padStart(2, '0'))
    parts.push(low === high ? low : `${low}-${high}`)
  }
  return `[${parts.join(' ')}]`
}

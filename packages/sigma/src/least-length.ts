import type { Node } from '@prexy/regex/ast'

/** Characters that a match of the pattern has at least. */
export function leastLength(node: Node): number {
  switch (node.kind) {
    case 'class':
      return 1
    case 'concat':
      return node.nodes.reduce((sum, one) => sum + leastLength(one), 0)
    case 'alternate':
      return node.nodes.reduce((least, one) => Math.min(least, leastLength(one)), Infinity)
    case 'repeat':
      return node.min === 0 ? 0 : node.min * leastLength(node.node)
    case 'capture':
      return leastLength(node.node)
    default:
      return 0
  }
}

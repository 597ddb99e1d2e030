import type { SourceNode } from './source-tree.ts'

export function readPlainYaml(_text: string): readonly SourceNode[] | undefined {
  return undefined
}

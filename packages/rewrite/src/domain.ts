/**
 * `domain` rules: one host name for another in whatever form a page writes it.
 *
 * Only the name itself is matched and replaced; scheme, port, path and the way separators are escaped stay as they
 * came. What makes it safe are its edges. Left: the start of the body, a byte that no host name holds, or an escape
 * that stands for one such byte (`%2F`, `%252F`, `\u002f`: their last byte is a letter or digit). Right: the end or a
 * byte that no host name holds, where a `.` counts as part of a name only when a label follows.
 */
import type { CodePointRanges, Node } from '@prexy/regex/ast'
import type { ProgramNode } from '@prexy/regex/program'
import type { DomainRule } from './rules.ts'

/** RFC 1035 §2.3.4. */
const MAX_LABEL_BYTES = 63
/** Labels before the name that `subdomains: map` takes away; deeper names lose only these. */
const MAX_SUBDOMAIN_LABELS = 8
const MAX_HOST_BYTES = 253

const NO_SPAN = { start: 0, end: 0 }
const LABEL_BYTES: CodePointRanges = [0x2d, 0x2d, 0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a]
const DOT: CodePointRanges = [0x2e, 0x2e]

/** Why a host name cannot be used; undefined when it can. */
export function hostProblem(host: string): { message: string; hint: string } | undefined {
  if (host === '') return { message: 'the host name is empty', hint: 'write a name such as a.example' }
  if (/[^\x21-\x7e]/.test(host)) {
    return { message: `'${host}' is not an ASCII host name`, hint: 'write it in its xn-- form' }
  }
  if (host.includes('/')) {
    return { message: `'${host}' is not a host name`, hint: 'leave out the scheme and the path: they stay as they are' }
  }
  if (host.includes(':')) {
    return { message: `'${host}' is not a host name`, hint: 'leave out the port: it stays as it is' }
  }
  if (host.length > MAX_HOST_BYTES) {
    return { message: `a host name has at most ${MAX_HOST_BYTES} characters`, hint: 'shorten it' }
  }
  for (const label of host.split('.')) {
    if (label === '') return { message: `'${host}' has an empty label`, hint: 'write single dots between labels' }
    if (label.length > MAX_LABEL_BYTES) {
      return { message: `a label has at most ${MAX_LABEL_BYTES} characters`, hint: 'shorten it' }
    }
    const bad = /[^A-Za-z0-9_-]/.exec(label)
    if (bad !== null) {
      return { message: `'${bad[0]}' cannot be part of a host name`, hint: 'use letters, digits, - and _' }
    }
  }
  return undefined
}

/** The tree of a domain rule; to be compiled with `hostEnd`. Its name is matched in any ASCII letter case. */
export function domainNode(rule: DomainRule): ProgramNode {
  const name: Node = { kind: 'concat', nodes: [...rule.domain].map(caselessLetter), span: NO_SPAN }
  if (rule.subdomains !== 'map') {
    const assertion = rule.subdomains === 'keep' ? 'hostStartOrSubdomain' : 'hostStart'
    return { kind: 'sequence', nodes: [{ kind: 'hostEdge', assertion }, name] }
  }
  const label = repeat({ kind: 'class', ranges: LABEL_BYTES, span: NO_SPAN }, 1, MAX_LABEL_BYTES)
  const labelDot: Node = {
    kind: 'concat',
    nodes: [label, { kind: 'class', ranges: DOT, span: NO_SPAN }],
    span: NO_SPAN,
  }
  return {
    kind: 'sequence',
    nodes: [{ kind: 'hostEdge', assertion: 'hostStart' }, repeat(labelDot, 0, MAX_SUBDOMAIN_LABELS), name],
  }
}

function repeat(node: Node, min: number, max: number): Node {
  return { kind: 'repeat', min, max, greedy: true, node, span: NO_SPAN }
}

function caselessLetter(character: string): Node {
  const lower = character.toLowerCase().charCodeAt(0)
  const upper = character.toUpperCase().charCodeAt(0)
  const ranges = lower === upper ? [lower, lower] : [upper, upper, lower, lower]
  return { kind: 'class', ranges, span: NO_SPAN }
}

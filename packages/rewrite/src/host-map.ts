/**
 * The domain rules of a rule set for what is no body of a response: header fields, both ways, and request bodies.
 *
 * *Down* is the rules' own direction, from the origin's names to those that clients use. *Up* is its inverse. It is
 * exact where each name is written by one rule only; where several rules write the same name, the first of them says
 * what it is upstream. `subdomains: keep` holds in both directions; under `map` and `ignore` only the name itself leads
 * back.
 */
import { decodeLatin1, encodeLatin1 } from '@prexy/bytes/latin1'
import { parseHostName } from './host-name.ts'
import type { RuleSet } from './rewriter.ts'
import { compileRuleSet } from './rule-set.ts'
import type { DomainRule, Rule } from './rules.ts'

export interface HostMap {
  /** The rules of the map; conditions are for the caller to judge, as `active`, one byte per rule of this list. */
  readonly rules: readonly DomainRule[]
  /** The same rules as rule sets in octet mode, without conditions and counts. */
  readonly down: RuleSet
  readonly up: RuleSet
  /** Every name that a rule leads to, in lower case and ASCII. */
  readonly clientNames: readonly string[]
}

/** The map of the domain rules among `rules`, which compile; undefined if there are none. */
export function hostMapOf(rules: readonly Rule[]): HostMap | undefined {
  const domains = rules.filter((rule): rule is DomainRule => 'domain' in rule && !isIdentity(rule))
  if (domains.length === 0) return undefined
  const down = domains.map(({ domain, to, subdomains = 'ignore' }): DomainRule => ({ domain, to, subdomains }))
  const up = down.map(
    ({ domain, to, subdomains }): DomainRule => ({
      domain: to,
      to: domain,
      subdomains: subdomains === 'keep' ? 'keep' : 'ignore',
    }),
  )
  return {
    rules: domains,
    down: compileRuleSet(down, { mode: 'octet' }),
    up: compileRuleSet(up, { mode: 'octet' }),
    clientNames: [...new Set(domains.flatMap(({ to }) => asciiName(to) ?? []))],
  }
}

function isIdentity({ domain, to }: DomainRule): boolean {
  return asciiName(domain) === asciiName(to)
}

function asciiName(host: string): string | undefined {
  const parsed = parseHostName(host)
  return 'message' in parsed ? undefined : parsed.ascii.toLowerCase()
}

/**
 * A function that applies one side of a {@link HostMap} to short texts of one character per octet, such as field
 * values. What it gives holds no character that was not in the text or in a host name of the rules. `active`: one byte
 * per rule, nonzero where the rule holds; absent: every rule does.
 */
export function hostMapper(set: RuleSet, active?: Uint8Array): (text: string) => string {
  const needles = needlesOf(set)
  const init = active === undefined ? {} : { active }
  return (text) => {
    if (!mayHold(text, needles)) return text
    let mapped = ''
    const sink = {
      write(chunk: Uint8Array): boolean {
        mapped += decodeLatin1(chunk)
        return true
      },
    }
    const rewriter = set.createRewriter(sink, init)
    rewriter.write(encodeLatin1(text))
    rewriter.end()
    return mapped
  }
}

/** A text that every spelling of a rule's name holds, in lower case: most field values have none of them. */
const NEEDLES = new WeakMap<RuleSet, readonly string[]>()

function needlesOf(set: RuleSet): readonly string[] {
  const known = NEEDLES.get(set)
  if (known !== undefined) return known
  const needles = new Set<string>()
  for (const rule of set.rules) if ('domain' in rule) needles.add(needleOf(rule.domain))
  const list = [...needles]
  NEEDLES.set(set, list)
  return list
}

/** The longest label that has one spelling only; empty, which every text holds, if there is none. */
function needleOf(domain: string): string {
  const parsed = parseHostName(domain)
  if ('message' in parsed) return ''
  const unicodeLabels = parsed.unicode.split('.')
  const plain = parsed.ascii.split('.').filter((label, index) => label === unicodeLabels[index])
  return plain.reduce((longest, label) => (label.length > longest.length ? label : longest), '').toLowerCase()
}

function mayHold(text: string, needles: readonly string[]): boolean {
  if (text === '') return false
  const lower = text.toLowerCase()
  return needles.some((needle) => lower.includes(needle))
}

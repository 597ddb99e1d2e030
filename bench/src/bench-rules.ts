/** Generated rules, and the pages for them: the same for the same definition. */
import type { BenchRule, BenchRules, EngineDefinition, ProxyPage } from './definition.ts'
import { htmlPage } from './html-page.ts'
import { mulberry32 } from './random.ts'

const LITERALS_SEED = 11
const ALTERNATIONS_SEED = 12
const SYLLABLES = 'an be cor da el fi gra ho in jo ka lo mar ne or pe qui ro sta tu um ve wi xa yo zen'.split(' ')
const DOMAINS = ['example', 'shop.example', 'cdn.example', 'static.example'] as const

export function rulesOf(rules: BenchRules): readonly BenchRule[] {
  if ('literals' in rules) return literals(rules.literals)
  if ('alternations' in rules) return alternations(rules.alternations)
  return rules
}

/** The page of an engine definition. */
export function enginePage({ page, rules }: EngineDefinition): Uint8Array {
  return pageFor(page, rules, page.bytes)
}

/** A page with needles that are written out, or texts of so many of the rules. */
export function pageFor(page: ProxyPage, rules: BenchRules, bytes: number): Uint8Array {
  const { needles } = page
  if (typeof needles !== 'number') return htmlPage({ ...page, needles }, bytes)
  const all = rulesOf(rules)
  const chosen = Array.from({ length: needles }, (_, i) => {
    const rule = all[Math.floor((i * all.length) / needles)]
    if (!('text' in rule)) throw new Error('needles that are counted are texts of rules')
    return rule.text
  })
  return htmlPage({ ...page, needles: chosen }, bytes)
}

/** Literals as a site's list of hosts, product names and paths has them; none begins with another. */
function literals(count: number): BenchRule[] {
  const random = mulberry32(LITERALS_SEED)
  const word = (syllables: number): string =>
    Array.from({ length: syllables }, () => SYLLABLES[random() % SYLLABLES.length]).join('')
  const texts = new Set<string>()
  const beginnings = new Set<string>()
  while (texts.size < count) {
    const text = [
      (): string => `${word(3)}.${DOMAINS[random() % DOMAINS.length]}`,
      (): string => `/${word(2)}/${word(2)}.${['js', 'css', 'png'][random() % 3]}`,
      (): string => `${word(2)} ${word(3)}`.replace(/^./, (letter) => letter.toUpperCase()),
      (): string => word(4),
    ][texts.size % 4]()
    const own = Array.from(text, (_, at) => text.slice(0, at + 1))
    if (beginnings.has(text) || own.some((beginning) => texts.has(beginning))) continue
    for (const beginning of own) beginnings.add(beginning)
    texts.add(text)
  }
  return [...texts].map((text, i) => ({ text, with: `${i.toString(36)}.mirror.test` }))
}

/** `(?:foo|bar|baz)[0-9a-f]{2,6}-[A-Z_]+`: alternatives, classes and counts in each rule. */
function alternations(count: number): BenchRule[] {
  const random = mulberry32(ALTERNATIONS_SEED)
  const word = (): string => Array.from({ length: 3 }, () => SYLLABLES[random() % SYLLABLES.length]).join('')
  return Array.from({ length: count }, (_, i) => {
    const words = Array.from({ length: 3 + (i % 4) }, word).join('|')
    return { regex: `(?:${words})[0-9a-f]{2,6}-[A-Z_]+`, with: `<${i}>` }
  })
}

/**
 * The domain rules of a rule set for what is no body of a response: header fields, both ways, and request bodies.
 *
 * *Down* is the rules' own direction, from the origin's names to those that clients use. *Up* is its inverse. It is
 * exact where each name is written by one rule only; where several rules write the same name, the first of them says
 * what it is upstream. `subdomains: keep` holds in both directions; under `map` and `ignore` only the name itself leads
 * back.
 *
 * Field values are short and many, and name hosts in fewer spellings than pages: plain, percent-encoded, `xn--`. They
 * are searched by a regular expression with the edges of a domain rule, whose cost is linear (every repeat is bounded);
 * an automaton and its tables for each direction would cost more than all the values it ever sees.
 */
import { decodeLatin1 } from '@prexy/bytes/latin1'
import { encodeUtf8 } from '@prexy/bytes/utf8'
import { type HostName, parseHostName } from './host-name.ts'
import type { DomainRule, Rule } from './rules.ts'

export interface HostMap {
  /** The rules of the map; their conditions are for the caller to judge, as `active`: one byte per rule of this list. */
  readonly rules: readonly DomainRule[]
  readonly down: readonly NameRule[]
  readonly up: readonly NameRule[]
  /** Every name that a rule leads to, in lower case and ASCII. */
  readonly clientNames: readonly string[]
}

/** A domain rule without conditions and counts, its names taken apart. */
export interface NameRule {
  readonly from: HostName
  /** In ASCII. */
  readonly to: string
  readonly subdomains: 'ignore' | 'keep' | 'map'
}

/** The map of the domain rules among `rules`, which compile; undefined if there are none. */
export function hostMapOf(rules: readonly Rule[]): HostMap | undefined {
  const kept: DomainRule[] = []
  const down: NameRule[] = []
  const up: NameRule[] = []
  for (const rule of rules) {
    if (!('domain' in rule)) continue
    const origin = parseHostName(rule.domain)
    const client = parseHostName(rule.to)
    if ('message' in origin || 'message' in client || sameName(origin, client)) continue
    const { subdomains = 'ignore' } = rule
    kept.push(rule)
    down.push({ from: origin, to: client.ascii, subdomains })
    up.push({ from: client, to: origin.ascii, subdomains: subdomains === 'keep' ? 'keep' : 'ignore' })
  }
  if (kept.length === 0) return undefined
  const clientNames = [...new Set(down.map(({ to }) => to.toLowerCase()))]
  return { rules: kept, down, up, clientNames }
}

function sameName(a: HostName, b: HostName): boolean {
  return a.ascii.toLowerCase() === b.ascii.toLowerCase()
}

/** The rules of one direction as they go into a rule set, for bodies. */
export function domainRulesOf(names: readonly NameRule[]): readonly DomainRule[] {
  return names.map(({ from, to, subdomains }) => ({ domain: from.ascii, to, subdomains }))
}

/**
 * A function that applies one direction of a {@link HostMap} to short texts of one character per octet, such as field
 * values. What it gives holds no character that was not in the text or in a host name of the rules, and it grows by no
 * more than the rules' names do.
 */
export function hostMapper(names: readonly NameRule[]): (text: string) => string {
  if (names.length === 0) return (text) => text
  const needles = [...new Set(names.map(({ from }) => needleOf(from)))]
  const pattern = new RegExp(names.map((name) => `(${nameSource(name)})`).join('|'), 'g')
  const replacement = (match: string, ...groups: readonly unknown[]): string => {
    const rule = groups.findIndex((group) => group !== undefined)
    return rule < names.length ? names[rule].to : match
  }
  return (text) => (mayHold(text, needles) ? text.replace(pattern, replacement) : text)
}

/** The longest label that has one spelling only, in lower case; empty, which every text holds, if there is none. */
function needleOf({ ascii, unicode }: HostName): string {
  const unicodeLabels = unicode.split('.')
  const plain = ascii.split('.').filter((label, index) => label === unicodeLabels[index])
  return plain.reduce((longest, label) => (label.length > longest.length ? label : longest), '').toLowerCase()
}

function mayHold(text: string, needles: readonly string[]): boolean {
  if (text === '') return false
  const lower = text.toLowerCase()
  return needles.some((needle) => lower.includes(needle))
}

/** Two hexadecimal digits of an ASCII character that no host name holds, the percent sign left out. */
const SEPARATOR_DIGITS = '(?:[01][0-9a-fA-F]|2[0-46-9a-cA-CfF]|3[a-fA-F]|40|5[b-eB-E]|60|7[b-fB-F])'

/**
 * Where a name can begin: at the start, behind a character that no name holds, or behind an escape of one. Behind a
 * percent sign that begins an escape, or a backslash, there is no name but the rest of an escape.
 */
const START =
  '(?:(?<![A-Za-z0-9_.%\\\\-])|(?<=%(?:25)?)(?!(?:25)?[0-7][0-9a-fA-F])(?<!%25(?=25))' +
  `|(?<=%(?:25)?${SEPARATOR_DIGITS}))`
/** Behind the dot of a label that no escape ends. */
const BELOW = `(?<=[A-Za-z0-9_-]\\.)(?<!%(?:25)?(?:25|${SEPARATOR_DIGITS})\\.)`
/** A `.` counts as part of a name only before a label. */
const END = '(?!\\.?[A-Za-z0-9_-])'
/** RFC 1035 §2.3.4; labels as `subdomains: map` takes them away. */
const LABELS = '(?:[A-Za-z0-9_-]{1,63}\\.){0,8}'

function nameSource({ from, subdomains }: NameRule): string {
  const unicodeLabels = from.unicode.split('.')
  const name = from.ascii
    .split('.')
    .map((ascii, index) => labelSource(ascii, unicodeLabels[index]))
    .join('\\.')
  if (subdomains === 'map') return `${START}${LABELS}${name}${END}`
  // The name comes first, so that the search skips to where one stands; its left edge is looked at from behind it.
  const start = subdomains === 'keep' ? `(?:${START}|${BELOW})` : START
  return `${name}(?<=${start}${name})${END}`
}

function labelSource(ascii: string, unicode: string): string {
  const plain = caseless(ascii)
  if (ascii === unicode) return plain
  const octets = encodeUtf8(unicode)
  const escaped = Array.from(octets, (octet) =>
    octet < 0x80 ? String.fromCharCode(octet) : `%${octet.toString(16).padStart(2, '0')}`,
  ).join('')
  return `(?:${plain}|${caseless(escaped)}|${caseless(decodeLatin1(octets))})`
}

/** ASCII letters in either case. The `i` flag would take octets of other characters for letters, too. */
function caseless(text: string): string {
  return text.replace(/[A-Za-z]/g, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`)
}

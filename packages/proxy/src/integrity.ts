/**
 * Hashes in pages of what rules may change: `integrity` attributes (Subresource Integrity) and the hashes of inline
 * scripts and styles in a Content-Security-Policy.
 */
import { hostOf, prepareConditions, rulesForType } from '@prexy/http/conditions'
import { type FieldList, fieldValues, isNamed } from '@prexy/http/fields'
import type { IsRewritten } from '@prexy/rewrite/integrity'
import { type Rule, typesOf } from '@prexy/rewrite/rules'
import { withoutLinkIntegrity } from './link-integrity.ts'
import { POLICY_NAMES } from './policy-hashes.ts'

/** What a page may name the hash of. */
const HASHED_TYPES = ['text/javascript', 'application/javascript', 'application/x-javascript', 'text/css']
const PAGE_TYPES = ['text/html', 'application/xhtml+xml']

/** Whether some rule may change scripts or styles. */
export function changesHashed(rules: readonly Rule[]): boolean {
  const conditions = prepareConditions(rules.map((rule) => ({ types: typesOf(rule) })))
  const all = new Uint8Array(conditions.length).fill(1)
  return HASHED_TYPES.some((type) => rulesForType(conditions, all, type) !== undefined)
}

export function isPage(contentType: string | undefined): boolean {
  const essence = (contentType ?? '').split(';', 1)[0].trim().toLowerCase()
  return PAGE_TYPES.includes(essence)
}

/**
 * What of a page's scripts and links comes by way of this proxy's rules: relative URLs, and those of the host that the
 * client asked, of the upstream, and of names that domain rules change.
 */
export function rewrittenUrls(authorities: readonly (string | undefined)[], rules: readonly Rule[]): IsRewritten {
  const hosts = new Set(authorities.map(hostOf))
  const domains = rules.flatMap((rule) =>
    'domain' in rule ? [{ name: rule.domain.toLowerCase(), below: (rule.subdomains ?? 'ignore') !== 'ignore' }] : [],
  )
  return (url) => {
    const absolute = /^[\t\n\f\r ]*(?:https?:)?[/\\]{2}([^/\\?#]*)/i.exec(url)
    if (absolute === null) return !/^[\t\n\f\r ]*[a-z][a-z0-9+.-]*:/i.test(url)
    const host = hostOf(absolute[1].slice(absolute[1].lastIndexOf('@') + 1))
    if (host === '') return false
    return hosts.has(host) || domains.some(({ name, below }) => host === name || (below && host.endsWith(`.${name}`)))
  }
}

/** Takes the parameter off links to what comes by way of rules. Changes `fields`; returns whether it did. */
export function dropLinkIntegrity(fields: string[], isRewritten: IsRewritten): boolean {
  let isChanged = false
  for (let at = 0; at < fields.length; at += 2) {
    if (!isNamed(fields[at], 'link') || !/integrity/i.test(fields[at + 1])) continue
    const value = withoutLinkIntegrity(fields[at + 1], isRewritten)
    if (value === fields[at + 1]) continue
    fields[at + 1] = value
    isChanged = true
  }
  return isChanged
}

/** A hash or more in a policy, enforced or only reported (CSP Level 3 §2.3.1). */
export function hasHashedPolicy(fields: FieldList): boolean {
  return POLICY_NAMES.some((name) => fieldValues(fields, name).some((value) => /'sha(?:256|384|512)-/i.test(value)))
}

const ATTRIBUTE = 'integrity='

/** Looks for the attribute in the octets of a page, wherever it stands; a page without one costs next to nothing. */
export class IntegrityWatch {
  found = false
  /** The last octets, which may be its beginning. */
  #tail: Buffer = Buffer.alloc(0)

  look(chunk: Uint8Array): void {
    if (this.found) return
    const octets = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const isFirst = this.#tail.length === 0
    const edge = isFirst ? octets : Buffer.concat([this.#tail, octets.subarray(0, ATTRIBUTE.length - 1)])
    this.found = octets.includes(ATTRIBUTE) || (!isFirst && edge.includes(ATTRIBUTE))
    const all = octets.length >= ATTRIBUTE.length - 1 ? octets : edge
    this.#tail = Buffer.from(all.subarray(Math.max(0, all.length - ATTRIBUTE.length + 1)))
  }
}

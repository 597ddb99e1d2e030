/**
 * Header fields that name hosts, under a map of host names (the `domain` rules of a route).
 *
 * What a field says is left as it is but for the names: schemes, ports, paths and relative references stay. The map is
 * applied to the whole value, as it is to a page, so a URL within the query of another is mapped like any other.
 *
 * SECURITY: no value that would not be one is ever set; see `isFieldValue`.
 */
import { isFieldValue, isNamed, type NameSet, nameSet, setHasName } from './fields.ts'
import { type CookieScope, mapSetCookie } from './set-cookie.ts'

/** A text of one character per octet with its host names mapped. */
export type MapText = (text: string) => string

/** Values with URLs, origins or host names in them. */
const DOWN: NameSet = nameSet([
  'access-control-allow-origin',
  'content-location',
  'link',
  'location',
  'refresh',
  'report-to',
  'reporting-endpoints',
  'sourcemap',
  'speculation-rules',
  'timing-allow-origin',
  // ALLOW-FROM is all that its like ever named.
  'x-frame-options',
  'x-pingback',
  'x-sourcemap',
])

/** Values in which `*.a.example` stands for every name below. */
const DOWN_WITH_WILDCARDS: NameSet = nameSet([
  'content-security-policy',
  'content-security-policy-report-only',
  'feature-policy',
  'permissions-policy',
  'x-content-security-policy',
  'x-webkit-csp',
])

const UP: NameSet = nameSet([
  'cookie',
  'destination',
  // WebDAV's, with URLs of resources (RFC 4918 §10.4).
  'if',
  'origin',
  'referer',
])

/** Names of changed fields, in lower case, each once. */
export type ChangedNames = readonly string[]

/**
 * Maps the origin's names in the fields of a response. Changes `fields`. Alt-Svc goes: it would lead clients around us,
 * or to ports of ours that nothing listens on; `clear` may stay. `cookies` is called where there is a cookie.
 */
export function mapResponseFields(fields: string[], map: MapText, cookies: () => CookieScope): ChangedNames {
  const changed = new Set<string>()
  let scope: CookieScope | undefined
  const mapCookie: MapText = (value) => mapSetCookie(value, (scope ??= cookies()))
  let kept = 0
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at]
    const value = fields[at + 1]
    if (isNamed(name, 'alt-svc') && value !== 'clear') {
      changed.add('alt-svc')
      continue
    }
    const mapped = mapResponseField(name, value, map, mapCookie)
    if (mapped !== value) changed.add(name.toLowerCase())
    fields[kept] = name
    fields[kept + 1] = mapped
    kept += 2
  }
  if (kept < fields.length) fields.length = kept
  return [...changed]
}

function mapResponseField(name: string, value: string, map: MapText, mapCookie: MapText): string {
  let mapped = value
  if (setHasName(DOWN, name)) mapped = map(value)
  else if (setHasName(DOWN_WITH_WILDCARDS, name)) mapped = mapWildcards(value, map)
  else if (isNamed(name, 'set-cookie')) mapped = mapCookie(value)
  return isFieldValue(mapped) ? mapped : value
}

/** Maps the client's names in the fields of a request but Host. Changes `fields`. */
export function mapRequestFields(fields: string[], map: MapText): ChangedNames {
  const changed = new Set<string>()
  for (let at = 0; at < fields.length; at += 2) {
    if (!setHasName(UP, fields[at])) continue
    const mapped = map(fields[at + 1])
    if (mapped === fields[at + 1] || !isFieldValue(mapped)) continue
    fields[at + 1] = mapped
    changed.add(fields[at].toLowerCase())
  }
  return [...changed]
}

const ANY_LABEL = 'prexy-any-label'

/** `*.a.example` is mapped as a name below a.example is; the star stays where that keeps its label. */
function mapWildcards(value: string, map: MapText): string {
  if (!value.includes('*.') || value.includes(ANY_LABEL)) return map(value)
  const spelled = value.replaceAll('*.', `${ANY_LABEL}.`)
  return map(spelled).replaceAll(`${ANY_LABEL}.`, '*.')
}

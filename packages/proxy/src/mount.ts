/** A site of the upstream that clients see under another path: prefixes of paths, both ways. */
import { isNamed } from '@prexy/http/fields'
import { parseAuthority } from '@prexy/http/authority'
import { matchingPath } from '@prexy/http/request-target'

export interface Mount {
  /** Where clients see it, without a slash at the end; empty for the root. */
  readonly at: string
  /** Where the upstream has it, likewise. */
  readonly to: string
}

/** `/shop/` as {@link Mount} has it. */
export function mountOf(at: string, to: string): Mount {
  return { at: at.replace(/\/+$/, ''), to: to.replace(/\/+$/, '') }
}

/**
 * A request's path and query as the upstream has it; undefined for a path outside of the mount.
 *
 * SECURITY: routes are chosen by the path without dot segments. A path that has some is sent in that form, so that it
 * cannot lead out of where the upstream has the site.
 */
export function mountedTarget({ at, to }: Mount, target: string): string | undefined {
  const mark = target.indexOf('?')
  const [path, query] = mark < 0 ? [target, ''] : [target.slice(0, mark), target.slice(mark)]
  const hasDots = /\/\.|%2e/i.test(path)
  const rest = (hasDots ? undefined : below(at, path)) ?? below(at, matchingPath(path))
  return rest === undefined ? undefined : `${joined(to, rest)}${query}`
}

/** What follows the prefix: empty, or from a slash on; undefined if the path is not below it. */
function below(prefix: string, path: string): string | undefined {
  if (!path.startsWith(prefix)) return undefined
  const rest = path.slice(prefix.length)
  return rest === '' || rest.startsWith('/') ? rest : undefined
}

function joined(prefix: string, rest: string): string {
  const path = `${prefix}${rest}`
  return path === '' ? '/' : path
}

/** A path of the upstream as clients see it; undefined if they do not. */
function seen({ at, to }: Mount, path: string): string | undefined {
  const rest = below(to, path)
  return rest === undefined ? undefined : joined(at, rest)
}

/**
 * Gives the client's paths to fields of a response that name some: Location, Content-Location and the Path of cookies.
 * `ours`: authorities that stand for the site. Returns the names of changed fields. Changes `fields`.
 */
export function mountResponse(
  mount: Mount,
  fields: string[],
  ours: readonly (string | undefined)[],
): readonly string[] {
  const changed = new Set<string>()
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at]
    const isReference = isNamed(name, 'location') || isNamed(name, 'content-location')
    if (!isReference && !isNamed(name, 'set-cookie')) continue
    const value = fields[at + 1]
    const mapped = isReference ? mountedReference(mount, value, ours) : mountedCookie(mount, value)
    if (mapped === value) continue
    fields[at + 1] = mapped
    changed.add(name.toLowerCase())
  }
  return [...changed]
}

/** What names another site, or a path beside the mount, stays. */
function mountedReference(mount: Mount, value: string, ours: readonly (string | undefined)[]): string {
  const match = /^(?:(https?):\/\/([^/?#]*)|)(\/[^?#]*|)([\s\S]*)$/i.exec(value)
  if (match === null) return value
  const [, scheme, authority, path, rest] = match
  if (scheme === undefined && (path === '' || path.startsWith('//'))) return value
  if (scheme !== undefined && !ours.some((one) => one !== undefined && isSameHost(one, authority))) return value
  const mapped = seen(mount, path === '' ? '/' : path)
  if (mapped === undefined) return value
  return scheme === undefined ? `${mapped}${rest}` : `${scheme}://${authority}${mapped}${rest}`
}

function isSameHost(one: string, other: string): boolean {
  const host = parseAuthority(other)?.host
  return host !== undefined && parseAuthority(one)?.host === host
}

/** A cookie of a path above the mount is one of all of it. `__Host-` ones (RFC 6265bis §4.1.3.2) may have no other path. */
function mountedCookie(mount: Mount, value: string): string {
  if (/^\s*__Host-/i.test(value)) return value
  return value.replace(/(;\s*path\s*=\s*)([^;]*?)(\s*)(?=;|$)/gi, (whole, head: string, path: string, tail: string) => {
    if (!path.startsWith('/')) return whole
    const bare = path.replace(/\/$/, '')
    const inside = seen(mount, bare)
    const isAbove = below(bare, mount.to) !== undefined
    if (inside === undefined && !isAbove) return whole
    const mapped = inside ?? (mount.at === '' ? '/' : mount.at)
    const isFolder = path.length > 1 && path.endsWith('/') && !mapped.endsWith('/')
    return `${head}${mapped}${isFolder ? '/' : ''}${tail}`
  })
}

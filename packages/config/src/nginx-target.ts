/** Where a route leads, as far as the schema has it. */
import { configSchema } from './config-schema.ts'
import type { NginxLocation } from './nginx-locations.ts'
import { type NginxNotes, type NginxScope } from './nginx-scope.ts'
import type { NginxDirective } from './nginx-syntax.ts'
import type { NginxTarget, NginxUpstream } from './nginx-upstream.ts'

export type ImportedUpstream = string | { readonly url: string; readonly maxIdleConnections?: number }

export interface ImportedMount {
  readonly at: string
  readonly to: string
}

/** Whether routes of ours can say that: what is being built stands here until it is there. */
export function schemaHas(route: object): boolean {
  return configSchema.safeParse({ routes: [{ upstream: 'http://127.0.0.1', ...route }] }).success
}

/** Undefined if the schema has none for it, which is told. */
export function upstreamOf(
  target: NginxTarget,
  upstreams: ReadonlyMap<string, NginxUpstream>,
  _scope: NginxScope,
  directive: NginxDirective,
  notes: NginxNotes,
): ImportedUpstream | undefined {
  const group = upstreams.get(target.authority)
  const [first, ...others] = group?.peers ?? []
  if (group !== undefined && first === undefined) {
    notes.add('missing', directive, `the upstream ${target.authority} has no server that is carried over; answered 502`)
    return undefined
  }
  for (const peer of others) notes.add('missing', peer.directive, 'a route has one server')
  const url = `${target.scheme}://${group === undefined ? target.authority : first.address}`
  if (!schemaHas({ upstream: url })) {
    notes.add('missing', directive, `${url} is no address that a route can have; answered 502 until it has an upstream`)
    return undefined
  }
  if (group?.keepalive === undefined || !Number.isSafeInteger(group.keepalive)) return url
  return { url, maxIdleConnections: group.keepalive }
}

/** How the path changes on the way up; undefined if it does not. */
export function mountOf(
  { uri }: NginxTarget,
  path: string | undefined,
  kind: NginxLocation['kind'],
  directive: NginxDirective,
  notes: NginxNotes,
): ImportedMount | undefined | 'refused' {
  if (uri === undefined || uri === path) return undefined
  // The end is a slash on both sides or on none: then the rest of the path is the same.
  if (path !== undefined && kind !== 'exact' && path.endsWith('/') && uri.endsWith('/')) {
    const mount = { at: path.replace(/(.)\/$/, '$1'), to: uri.replace(/(.)\/$/, '$1') }
    if (schemaHas({ mount, upstream: 'http://127.0.0.1' })) return mount
  }
  notes.add('missing', directive, `paths go up as they came, not as ${uri}; answered 502 until the route is looked at`)
  return 'refused'
}

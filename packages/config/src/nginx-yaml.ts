/** What was read from nginx, as a file of ours with comments. */
import { Document, isMap, isNode, isScalar, visit } from 'yaml'
import type { ImportedRoute, ImportedServing, ImportedSite, NginxImport } from './nginx-import.ts'
import type { NginxNote } from './nginx-scope.ts'

const SERVING_KEYS = [
  'rules',
  'rewrite',
  'headers',
  'preserveHost',
  'ignoreNoTransform',
  'lastModified',
  'compress',
] as const

export function formatImport(imported: NginxImport, file: string): string {
  const routes = [...imported.sites.flatMap((site) => site.routes), ...imported.routes]
  const shared = sharedServing(routes.filter(({ upstream }) => upstream !== undefined).map(({ serving }) => serving))
  const comments: [path: readonly (string | number)[], text: string][] = []
  const { listen, upstreams, forwarded, timeouts, maxBodyBytes } = imported
  const fallback = routeList(imported.routes, shared, ['routes'], comments)
  const value = {
    listen: listen.length === 1 ? listen[0] : listen,
    pathMatching: 'decoded',
    ...(imported.trustedProxies.length === 0 ? {} : { trustedProxies: imported.trustedProxies }),
    forwarded,
    requestId: 'off',
    ...(Object.keys(timeouts).length === 0 ? {} : { timeouts }),
    ...(maxBodyBytes === undefined ? {} : { limits: { request: { maxBodyBytes } } }),
    ...(Object.keys(upstreams).length === 0 ? {} : { upstreams }),
    ...shared,
    ...(imported.sites.length === 0
      ? {}
      : { sites: imported.sites.map((site, index) => siteValue(site, index, shared, comments)) }),
    ...fallback,
  }
  const document = new Document(value)
  visit(document, {
    Seq(_, sequence) {
      const isShort = sequence.items.every(isScalar) && String(sequence.toJSON()).length < 60
      if (isShort) sequence.flow = true
    },
  })
  for (const [path, text] of comments) comment(document, path, text)
  for (const [key, text] of Object.entries(TOP_COMMENTS)) comment(document, [key], text)
  document.commentBefore = headComment(imported.notes, file)
  return document.toString({ lineWidth: 0, singleQuote: true })
}

/** What stands above each field of the file. */
const TOP_COMMENTS: Readonly<Record<string, string>> = {
  pathMatching: ' As nginx reads paths.',
  trustedProxies: ' set_real_ip_from.',
  forwarded: ' nginx tells upstreams of the client only what proxy_set_header says.',
  requestId: ' nginx gives requests no identifier.',
  limits: ' client_max_body_size.',
}

/** A comment above a field, or above an entry of a list. */
function comment(document: Document, path: readonly (string | number)[], text: string): void {
  const parent = document.getIn(path.slice(0, -1), true)
  const last = path.at(-1)
  if (typeof last === 'string' && isMap(parent ?? document.contents)) {
    const map = path.length === 1 ? document.contents : parent
    if (!isMap(map)) return
    const pair = map.items.find(({ key }) => isNode(key) && key.toJSON() === last)
    if (pair !== undefined && isNode(pair.key)) pair.key.commentBefore = text
    return
  }
  const node = document.getIn(path, true)
  if (isNode(node)) node.commentBefore = text
}

function headComment(notes: readonly NginxNote[], file: string): string {
  const lines = [`Made by prexy import nginx from ${file}.`]
  const missing = notes.filter(({ kind }) => kind === 'missing')
  const differs = notes.filter(({ kind }) => kind === 'differs')
  if (missing.length > 0) lines.push('', 'Not carried over:', ...missing.map(noteLine))
  if (differs.length > 0) lines.push('', 'Carried over, and different in some cases:', ...differs.map(noteLine))
  return lines.map((line) => (line === '' ? '' : ` ${line}`)).join('\n')
}

function noteLine(note: NginxNote): string {
  return `  ${formatNote(note)}`
}

/** `file:line: directive: reason`. */
export function formatNote({ file, line, directive, reason }: NginxNote): string {
  return `${file}:${line}: ${directive}: ${reason}`.replaceAll(/[\n\r]/g, ' ')
}

type ServingKey = (typeof SERVING_KEYS)[number]

/** What a route says where the file says something else that the route does not have. */
const NEUTRAL: Readonly<Record<Exclude<ServingKey, 'rewrite'>, unknown>> = {
  rules: [],
  headers: {},
  preserveHost: false,
  ignoreNoTransform: false,
  lastModified: 'remove',
  compress: false,
}

/** What most routes say stands once, at the top. */
function sharedServing(all: readonly ImportedServing[]): ImportedServing {
  const shared: Record<string, unknown> = {}
  const rules = mostCommon(all, ['rules', 'rewrite'])
  // What the file says in `rewrite` holds below where it is not said otherwise, and compat cannot be unsaid.
  const isCompat = rules.rewrite?.compat !== undefined
  if (!isCompat || all.every((one) => one.rules === undefined || one.rewrite?.compat !== undefined)) {
    Object.assign(shared, rules)
  }
  for (const key of SERVING_KEYS.slice(2)) Object.assign(shared, mostCommon(all, [key]))
  return shared
}

function mostCommon(all: readonly ImportedServing[], keys: readonly ServingKey[]): ImportedServing {
  const counts = new Map<string, number>()
  let best: { readonly count: number; readonly serving: ImportedServing } = { count: 0, serving: {} }
  for (const one of all) {
    const said = keys.flatMap((key) => (one[key] === undefined ? [] : [[key, one[key]] as const]))
    const text = JSON.stringify(said)
    const count = (counts.get(text) ?? 0) + 1
    counts.set(text, count)
    if (count > best.count) best = { count, serving: Object.fromEntries(said) }
  }
  return best.count > 1 || all.length === 1 ? best.serving : {}
}

function ownServing(serving: ImportedServing, shared: ImportedServing): object {
  return Object.fromEntries(
    SERVING_KEYS.flatMap((key): (readonly [string, unknown])[] => {
      if (JSON.stringify(serving[key]) === JSON.stringify(shared[key])) return []
      if (serving[key] !== undefined) return [[key, serving[key]]]
      return key === 'rewrite' ? [] : [[key, NEUTRAL[key]]]
    }),
  )
}

function siteValue(
  site: ImportedSite,
  index: number,
  shared: ImportedServing,
  comments: [readonly (string | number)[], string][],
): object {
  comments.push([['sites', index], ` ${site.from}`])
  const host = site.hosts.length === 1 ? site.hosts[0] : site.hosts
  const { listeners } = site
  const listener = listeners === undefined ? {} : { listener: listeners.length === 1 ? listeners[0] : listeners }
  return { host, ...listener, ...routeList(site.routes, shared, ['sites', index, 'routes'], comments) }
}

/** The routes; the last one, if it takes everything that is left, as the fields of the level itself. */
function routeList(
  routes: readonly ImportedRoute[],
  shared: ImportedServing,
  base: readonly (string | number)[],
  comments: [readonly (string | number)[], string][],
): object {
  const last = routes.at(-1)
  const isTop = last !== undefined && Object.keys(last.condition).length === 0 && isPlain(last, shared, base.length > 1)
  const listed = isTop ? routes.slice(0, -1) : routes
  const rest: Record<string, unknown> = isTop ? routeValue(last, shared) : {}
  if (isTop) comments.push([[...base.slice(0, -1), Object.keys(rest)[0]], ` ${last.from}`])
  for (const [index, route] of listed.entries()) comments.push([[...base, index], ` ${route.from}`])
  return { ...(listed.length === 0 ? {} : { routes: listed.map((route) => routeValue(route, shared)) }), ...rest }
}

/** A site takes every action, the file itself an upstream only; what else a route says must not hold for others. */
function isPlain(route: ImportedRoute, shared: ImportedServing, isSite: boolean): boolean {
  if (route.mount !== undefined || route.access !== undefined) return false
  if (route.upstream === undefined && !isSite) return false
  return route.upstream === undefined || Object.keys(ownServing(route.serving, shared)).length === 0
}

function routeValue(route: ImportedRoute, shared: ImportedServing): Record<string, unknown> {
  const { condition, upstream, mount, redirect, respond, access, serving } = route
  return {
    ...condition,
    ...(upstream === undefined ? {} : { upstream }),
    ...(mount === undefined ? {} : { mount }),
    ...(redirect === undefined ? {} : { redirect }),
    ...(respond === undefined ? {} : { respond }),
    ...(access === undefined ? {} : { access }),
    ...(upstream === undefined ? {} : ownServing(serving, shared)),
  }
}

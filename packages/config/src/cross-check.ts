/** What no single field shows. */
import { addressOf, isSocketAddress, listenAddressOf } from './addresses.ts'
import { type Assembly, fileLevel, type Level, levelAt, type Placed, routesOfSite } from './assemble.ts'
import { MIN_HELD_BYTES, type RawRoute, type RewriteOptions } from './config-schema.ts'
import { placeText } from './documents.ts'
import { type ConfigProblem, formatPath } from './problem.ts'
import type { RawRuleEntry } from './rule-schema.ts'
import { nearMiss } from './near-miss.ts'
import { listOf } from './provision.ts'
import { checkUpstream } from './upstream-settings.ts'
import type { Place } from './yaml-source.ts'

/** Below the least, a limit has a meaning in `compat: nginx` only. */
export function holdsTooLittle({ maxHeldBytes = MIN_HELD_BYTES, compat }: RewriteOptions): boolean {
  return maxHeldBytes < MIN_HELD_BYTES && compat !== 'nginx'
}

type Report = (severity: ConfigProblem['severity'], place: Place, message: string, hint: string) => void

export function crossCheck(assembly: Assembly): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const report: Report = (severity, { source, path }, message, hint) => {
    problems.push({ severity, position: source.positionOf(path), path: formatPath(path), message, hint })
  }
  const { top, sites, routes, start } = assembly
  const file = fileLevel(assembly)
  if (top.upstream === undefined && routes.length === 0 && sites.length === 0) {
    report('error', start, 'says no upstream', 'add upstream: http://127.0.0.1:9000, or routes')
  }
  const levels: { readonly level: Level; readonly above: readonly Level[] }[] = [{ level: file, above: [] }]
  for (const route of routes) levels.push({ level: levelAt(route), above: [file] })
  for (const site of sites) {
    const level = levelAt(site)
    levels.push({ level, above: [file] })
    for (const route of routesOfSite(site)) levels.push({ level: levelAt(route), above: [level, file] })
  }
  for (const { level, above } of levels) checkLevel(level, above, report)
  checkUpstreams(
    assembly,
    levels.map(({ level }) => level),
    report,
  )
  checkInverse(assembly, file, report)
  checkListen(assembly, file, report)
  checkShadowed(routes, report)
  for (const site of sites) checkShadowed(routesOfSite(site), report)
  checkHosts(assembly, report)
  checkListeners(assembly, report)
  return problems
}

function within({ source, path }: Place, ...steps: readonly (string | number)[]): Place {
  return { source, path: [...path, ...steps] }
}

/** `above`: from the nearest. */
function checkLevel({ serving, placeOf }: Level, above: readonly Level[], report: Report): void {
  const { rewrite, inherit, rules, headers } = serving
  if (rewrite?.maxHeldBytes !== undefined) {
    const options = [...above].reverse().reduce((all, { serving: { rewrite: one } }) => ({ ...all, ...one }), {})
    if (holdsTooLittle({ ...options, ...rewrite })) {
      const message = `${rewrite.maxHeldBytes} is too small`
      report('error', within(placeOf('rewrite'), 'maxHeldBytes'), message, `the least is ${MIN_HELD_BYTES}`)
    }
  }
  if (inherit === undefined) return
  if (above.length === 0)
    report('warning', placeOf('inherit'), 'does nothing here: there is no level above', 'remove it')
  else if (rules === undefined && headers === undefined) {
    report('warning', placeOf('inherit'), 'does nothing without rules or headers beside it', 'remove it')
  }
}

/** Those that are named, and those that levels write out. */
function checkUpstreams({ top, topPlaces, start }: Assembly, levels: readonly Level[], report: Report): void {
  const names = Object.keys(top.upstreams)
  const place = topPlaces.get('upstreams') ?? start
  for (const [name, upstream] of Object.entries(top.upstreams)) {
    for (const { severity, path, message, hint } of checkUpstream(upstream, [])) {
      report(severity, within(place, name, ...path), message, hint)
    }
  }
  for (const { serving, placeOf } of levels) {
    const { upstream, compareWith } = serving
    if (upstream !== undefined) {
      for (const { severity, path, message, hint } of checkUpstream(upstream, names)) {
        report(severity, within(placeOf('upstream'), ...path), message, hint)
      }
    }
    if (compareWith === undefined || compareWith === 'off') continue
    const [url, ...at] = typeof compareWith === 'string' ? [compareWith] : [compareWith.url, 'url']
    for (const { severity, path, message, hint } of checkUpstream(url, names)) {
      report(severity, within(placeOf('compareWith'), ...at, ...path), message, hint)
    }
  }
}

/** Whether some rule among those that a level takes is about host names; sets count as such when they hold one. */
function namesHosts(assembly: Assembly, entries: readonly RawRuleEntry[], above: readonly string[] = []): boolean {
  return entries.some((entry) => {
    if (!('use' in entry)) return 'domain' in entry
    const set = assembly.ruleSets.get(entry.use)
    return set !== undefined && !above.includes(entry.use) && namesHosts(assembly, set.value, [...above, entry.use])
  })
}

/** `requestBodies` and `requestQuery` without a domain rule at the level itself, above it or in what inherits it. */
function checkInverse(assembly: Assembly, file: Level, report: Report): void {
  const { top, routes, sites } = assembly
  const taken = (level: Level, above: readonly RawRuleEntry[]): readonly RawRuleEntry[] => {
    const { rules, inherit } = level.serving
    if (rules === undefined) return above
    return inherit === 'add' ? [...rules, ...above] : rules
  }
  for (const field of ['requestBodies', 'requestQuery'] as const) {
    const check = (level: Level, rules: readonly RawRuleEntry[]): void => {
      if (level.serving[field] !== true || namesHosts(assembly, rules)) return
      const hint = 'add one: it says which host names are meant'
      report('warning', level.placeOf(field), 'does nothing without a domain rule', hint)
    }
    const inheriting: RawRuleEntry[] = []
    for (const route of routes) {
      const rules = taken(levelAt(route), top.rules)
      check(levelAt(route), rules)
      if (route.value[field] === undefined) inheriting.push(...rules)
    }
    for (const site of sites) {
      const level = levelAt(site)
      const rules = taken(level, top.rules)
      const below: RawRuleEntry[] = [...rules]
      for (const route of routesOfSite(site)) {
        const ofRoute = taken(levelAt(route), rules)
        check(levelAt(route), ofRoute)
        if (route.value[field] === undefined && route.value.rules !== undefined) below.push(...ofRoute)
      }
      check(level, below)
      if (top[field] === true && site.value[field] === undefined && site.value.rules !== undefined)
        inheriting.push(...below)
    }
    check(file, [...top.rules, ...inheriting])
  }
}

function checkListen({ top }: Assembly, file: Level, report: Report): void {
  const seen = new Set<string>()
  for (const [index, address] of listOf(top.listen).entries()) {
    const place = Array.isArray(top.listen) ? within(file.placeOf('listen'), index) : file.placeOf('listen')
    const { host, port } = listenAddressOf(addressOf(address))
    const key = `${host ?? ''}:${port}`
    const isSocket = isSocketAddress(addressOf(address))
    if (typeof address === 'object' && !isSocket) {
      for (const field of ['mode', 'owner'] as const) {
        if (address[field] !== undefined) report('error', within(place, field), 'is for sockets only', 'remove it')
      }
    }
    if (port > 65_535) report('error', place, `there is no port ${port}`, 'the highest is 65535')
    else if ((port !== 0 || isSocket) && seen.has(key)) report('error', place, 'stands twice', 'keep one of the two')
    seen.add(key)
    const trusted = top.trustedProxies === undefined ? [] : listOf(top.trustedProxies)
    if (typeof address === 'object' && address.proxyProtocol === true && trusted.length === 0) {
      const message = 'lets nobody in without trustedProxies'
      report('error', within(place, 'proxyProtocol'), message, 'name the addresses of the proxy in front')
    }
  }
}

function checkShadowed(routes: readonly Placed<RawRoute>[], report: Report): void {
  const seen = new Map<string, Place>()
  for (const { value, place } of routes) {
    const { host = [], hostRegex, listener, path = [], pathRegex, method = [], header = {} } = value
    const key = JSON.stringify([listOf(host), hostRegex, listener, listOf(path), pathRegex, listOf(method), header])
    const earlier = seen.get(key)
    if (earlier === undefined) seen.set(key, place)
    else {
      const same = earlier.source === place.source ? formatPath(earlier.path) : `the route in ${placeText(earlier)}`
      const what = 'header' in value || 'method' in value ? 'takes the same requests' : 'has the same host and path'
      report('warning', place, `never takes a request: ${same} ${what}`, 'remove one')
    }
  }
}

/** What no address is called is never served. */
function checkListeners({ top, sites, routes }: Assembly, report: Report): void {
  const names = listOf(top.listen).flatMap((entry) => (typeof entry === 'object' ? (entry.name ?? []) : []))
  for (const placed of [...routes, ...sites, ...sites.flatMap((site) => routesOfSite(site))]) {
    for (const name of listOf(placed.value.listener ?? [])) {
      if (names.includes(name)) continue
      const hint = nearMiss(name, names)
      report(
        'error',
        within(placed.place, 'listener'),
        `no entry of listen has the name ${name}`,
        hint === undefined ? 'give it to one: {address: 8080, name: NAME}' : `did you mean ${hint}?`,
      )
    }
  }
}

/** A name in two sites would make it a matter of file names which of them is seen. */
function checkHosts({ sites }: Assembly, report: Report): void {
  const seen = new Map<string, Place>()
  for (const { value, place } of sites) {
    for (const [index, host] of listOf(value.host).entries()) {
      // Each listener may have a site of its own for a name.
      const keys = listOf(value.listener ?? '').map((listener) => `${listener}\n${host.toLowerCase()}`)
      const at = Array.isArray(value.host) ? within(place, 'host', index) : within(place, 'host')
      const earlier = keys.map((key) => seen.get(key)).find((one) => one !== undefined)
      if (earlier === undefined) for (const key of keys) seen.set(key, at)
      else report('error', at, `${host} is a host in ${placeText(earlier)} already`, 'keep it in one of the two')
    }
  }
}

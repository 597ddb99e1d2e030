/**
 * A configuration as prexy understands it: all files in one, what is inherited written out, each value with the place it
 * comes from. The text is a configuration itself and means the same, but for the secrets in it, which are masked.
 */
import { type Assembly, fileLevel, type Level, levelAt, routesOfSite } from './assemble.ts'
import type { Config, RouteConfig } from './config.ts'
import { besideFile } from './files.ts'
import type { HeaderList } from './header-list.ts'
import { maskedSecret } from './secrets.ts'
import type { Place } from './yaml-source.ts'

/** Fields of a level that are not inherited, or are written by themselves. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'include',
  'source',
  'inherit',
  'rules',
  'ruleSets',
  'headers',
  'sites',
  'routes',
  'rewrite',
  'name',
  'host',
  'hostRegex',
  'listener',
  'path',
  'pathRegex',
  'method',
  'header',
  'upstream',
  'redirect',
  'respond',
  'access',
  'errorPages',
])

/** What a route or site does is said by one of them; the nearest level that has one decides. */
const ACTIONS = ['upstream', 'redirect', 'respond'] as const

/** Fields of levels that a level below takes over. */
const INHERITED: readonly string[] = [
  'mode',
  'compareWith',
  'compress',
  'requestBodies',
  'requestQuery',
  'preserveHost',
  'ignoreNoTransform',
  'serverTiming',
  'lastModified',
  'integrity',
  'policyHashes',
  'maintenance',
  'robots',
  'mount',
]

/** Names of header fields that carry credentials. */
const SECRET_FIELD = /authorization|cookie|token|secret|api-?key|password|credential/i

/** Fields whose values are credentials. */
const SECRET_KEY = /^(token|password|secret|passphrase)$/i

/** Lines of YAML. `only`: the names or hosts of the sites to show; none for everything. */
export function showConfig(assembly: Assembly, config: Config, only: readonly string[] = []): readonly string[] {
  return new Shower(assembly, config).run(only)
}

class Shower {
  readonly #lines: string[] = []
  readonly #assembly: Assembly
  readonly #config: Config
  readonly #file: Level

  constructor(assembly: Assembly, config: Config) {
    this.#assembly = assembly
    this.#config = config
    this.#file = fileLevel(assembly)
  }

  run(only: readonly string[]): readonly string[] {
    const { sites, routes } = this.#assembly
    const wanted = sites.flatMap((site, index) => {
      const { name, hosts, routes: made } = this.#config.sites[index]
      return only.length === 0 || only.some((word) => word === name || hosts.includes(word.toLowerCase()))
        ? [{ site, name, made }]
        : []
    })
    if (only.length === 0) this.#top()
    if (wanted.length > 0) this.#lines.push('sites:')
    for (const { site, name, made } of wanted) {
      const level = levelAt(site)
      this.#item(2, 'host', site.value.host, level.placeOf('host'))
      this.#value(4, 'name', name, site.value.name === undefined ? undefined : level.placeOf('name'))
      if (site.value.listener !== undefined) {
        this.#value(4, 'listener', site.value.listener, level.placeOf('listener'))
      }
      this.#level(4, [level, this.#file], made.at(-1))
      const below = routesOfSite(site)
      if (below.length > 0) this.#lines.push('    routes:')
      for (const [index, route] of below.entries()) this.#route(6, made[index], [levelAt(route), level, this.#file])
    }
    if (only.length === 0 && routes.length > 0) {
      this.#lines.push('routes:')
      for (const [index, route] of routes.entries()) {
        this.#route(2, this.#config.routes[index], [levelAt(route), this.#file])
      }
    }
    return this.#lines
  }

  /** What the files say for everything. */
  #top(): void {
    const { top, topPlaces } = this.#assembly
    for (const [field, value] of Object.entries(top)) {
      if (OWN_FIELDS.has(field) || isEmpty(value)) continue
      this.#value(0, field, value, topPlaces.get(field))
    }
    const { upstream } = top
    if (upstream !== undefined) this.#value(0, 'upstream', upstream, topPlaces.get('upstream'))
    if (!isEmpty(top.rewrite)) this.#value(0, 'rewrite', top.rewrite, topPlaces.get('rewrite'))
    for (const field of ['access', 'errorPages'] as const) this.#merged(0, field, [this.#file])
    this.#rules(0, this.#config.fileRules, topPlaces.get('rules'))
    this.#headers(0, this.#config.fileHeaders, topPlaces.get('headers'))
  }

  #route(indent: number, made: RouteConfig, levels: readonly [Level, ...(readonly Level[])]): void {
    const [own] = levels
    this.#item(indent, 'name', made.name, 'name' in own.serving ? own.placeOf('name') : undefined)
    for (const field of ['host', 'hostRegex', 'listener', 'path', 'pathRegex', 'method', 'header'] as const) {
      if (field in own.serving) this.#value(indent + 2, field, Reflect.get(own.serving, field), own.placeOf(field))
    }
    this.#level(indent + 2, levels, made)
  }

  /** What holds for a level, from whichever level it is. `made`: what became of it; undefined for one that does nothing. */
  #level(indent: number, levels: readonly Level[], made: RouteConfig | undefined): void {
    const acting = levels.find(({ serving }) => ACTIONS.some((action) => serving[action] !== undefined))
    for (const action of ACTIONS) {
      const value = acting?.serving[action]
      if (value !== undefined) this.#value(indent, action, value, acting?.placeOf(action))
    }
    for (const field of INHERITED) {
      const level = levels.find(({ serving }) => Reflect.get(serving, field) !== undefined)
      if (level !== undefined) this.#value(indent, field, Reflect.get(level.serving, field), level.placeOf(field))
    }
    for (const field of ['access', 'errorPages'] as const) this.#merged(indent, field, levels)
    if (made?.action.kind !== 'forward') return
    this.#merged(indent, 'rewrite', levels)
    const { topPlaces } = this.#assembly
    const saying = (field: 'rules' | 'headers'): Place | undefined =>
      levels
        .find((level) => (level === this.#file ? topPlaces.has(field) : level.serving[field] !== undefined))
        ?.placeOf(field)
    this.#rules(indent, made.ruleList, saying('rules'))
    this.#headers(indent, made.headerLists, saying('headers'))
  }

  /** A mapping of which each field comes from the nearest level that has it. */
  #merged(indent: number, field: 'rewrite' | 'access' | 'errorPages', levels: readonly Level[]): void {
    const options = new Map<string, { readonly value: unknown; readonly place: Place }>()
    for (const { serving, placeOf } of levels) {
      for (const [name, value] of Object.entries(serving[field] ?? {})) {
        const { source, path } = placeOf(field)
        if (!options.has(name)) options.set(name, { value, place: { source, path: [...path, name] } })
      }
    }
    if (options.size > 0) this.#lines.push(`${' '.repeat(indent)}${field}:`)
    for (const [name, { value, place }] of options) this.#value(indent + 2, name, value, place)
  }

  /** `said`: where a level says that there are rules, or none. */
  #rules(indent: number, { places }: RouteConfig['ruleList'], said: Place | undefined): void {
    if (said === undefined) return
    if (places.length === 0) return this.#value(indent, 'rules', [], said)
    this.#lines.push(`${' '.repeat(indent)}rules:`)
    for (const place of places) this.#line(`${' '.repeat(indent + 2)}- ${flow(valueAt(place))}`, place)
  }

  #headers(indent: number, lists: readonly HeaderList[], said: Place | undefined): void {
    if (said === undefined) return
    if (lists.length === 0) return this.#value(indent, 'headers', {}, said)
    this.#lines.push(`${' '.repeat(indent)}headers:`)
    for (const { side, places } of lists) {
      this.#lines.push(`${' '.repeat(indent + 2)}${side}:`)
      for (const place of places) {
        this.#line(`${' '.repeat(indent + 4)}- ${flow(maskedHeaderRule(valueAt(place)))}`, place)
      }
    }
  }

  #item(indent: number, key: string, value: unknown, place: Place | undefined): void {
    this.#line(`${' '.repeat(indent)}- ${key}: ${flow(value)}`, place)
  }

  /** A mapping takes a line for each of its fields, since each may stand elsewhere in its file. */
  #value(indent: number, key: string, value: unknown, place: Place | undefined): void {
    const head = `${' '.repeat(indent)}${flow(key)}:`
    if (typeof value !== 'object' || value === null || Array.isArray(value) || isEmpty(value)) {
      this.#line(`${head} ${flow(typeof value === 'string' ? shownText(key, value, place) : value)}`, place)
      return
    }
    this.#lines.push(head)
    for (const [name, one] of Object.entries(value)) {
      const at = place === undefined ? undefined : { source: place.source, path: [...place.path, name] }
      this.#value(
        indent + 2,
        name,
        (key === 'users' || `${key}.${name}` === 'admin.token') && typeof one === 'string' ? maskedSecret(one) : one,
        at,
      )
    }
  }

  #line(text: string, place: Place | undefined): void {
    const origin = place === undefined ? 'default' : originOf(place)
    this.#lines.push(`${text} # ${origin}`)
  }
}

function shownText(key: string, value: string, place: Place | undefined): string {
  return SECRET_KEY.test(key) ? maskedSecret(value) : besideOrigin(value, place)
}

/** A file is named from the folder of the file that says it; what is shown is in no folder. */
function besideOrigin(value: string, place: Place | undefined): string {
  if (place === undefined) return value
  const { source, path } = place
  const key = String(path.at(-1))
  const namesFile = /^file$|File$|^page$/.test(key) || path.at(-2) === 'errorPages'
  return namesFile ? besideFile(source.file, value) : value
}

function originOf({ source, path }: Place): string {
  const { file, line } = source.positionOf(path)
  return `${file}:${line}`
}

function valueAt({ source, path }: Place): unknown {
  let value = source.value
  for (const step of path) value = typeof value === 'object' && value !== null ? Reflect.get(value, step) : undefined
  return value
}

function maskedHeaderRule(rule: unknown): unknown {
  if (typeof rule !== 'object' || rule === null || !('value' in rule) || typeof rule.value !== 'string') return rule
  const named = Object.entries(rule).some(([key, name]) => /^(set|add)$/.test(key) && SECRET_FIELD.test(String(name)))
  return named ? { ...rule, value: maskedSecret(rule.value) } : rule
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** A text that means itself in YAML's core schema, in a flow collection, too. */
const PLAIN = /^[A-Za-z/.][\w/.:-]*$/
const NOT_TEXT = /^(null|true|false|\.(inf|nan))$/i

function flow(value: unknown): string {
  if (typeof value === 'string') {
    return PLAIN.test(value) && !NOT_TEXT.test(value) && !value.endsWith(':') ? value : JSON.stringify(value)
  }
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  return `{ ${Object.entries(value)
    .map(([key, one]) => `${flow(key)}: ${flow(one)}`)
    .join(', ')} }`
}

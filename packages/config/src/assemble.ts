/** Several files made one: what may stand in each of them, and where it stands. */
import type { z } from 'zod'
import {
  configSchema,
  type RawConfig,
  type RawRoute,
  type RawServing,
  type RawSite,
  siteSchema,
} from './config-schema.ts'
import { placeText } from './documents.ts'
import { explainAgainst } from './explain.ts'
import { parseDocument } from './parse-document.ts'
import { type ConfigProblem, formatPath } from './problem.ts'
import type { RawRuleEntry } from './rule-schema.ts'
import type { Place, YamlSource } from './yaml-source.ts'

export interface Placed<T> {
  readonly value: T
  readonly place: Place
}

/** What all files say together. */
export interface Assembly {
  /** The fields that stand once; `sites`, `routes` and `ruleSets` are below. */
  readonly top: RawConfig
  /** Where each of them stands; a field that no file says has no place. */
  readonly topPlaces: ReadonlyMap<string, Place>
  readonly sites: readonly Placed<RawSite>[]
  readonly routes: readonly Placed<RawRoute>[]
  readonly ruleSets: ReadonlyMap<string, Placed<readonly RawRuleEntry[]>>
  /** The document itself, for what stands nowhere. */
  readonly start: Place
}

/** Fields of which every file has some. */
const GATHERED: ReadonlySet<string> = new Set(['include', 'sites', 'routes', 'ruleSets'])

/** Whether a document is one site, by itself. */
export function isSiteFile(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'host')
}

/** The documents as one configuration; undefined with the reasons in `problems`. */
export function assemble(sources: readonly YamlSource[]): {
  readonly assembly: Assembly | undefined
  readonly problems: readonly ConfigProblem[]
} {
  const problems: ConfigProblem[] = []
  const topPlaces = new Map<string, Place>()
  const sites: Placed<RawSite>[] = []
  const routes: Placed<RawRoute>[] = []
  const ruleSets = new Map<string, Placed<readonly RawRuleEntry[]>>()
  let top: RawConfig | undefined
  const twice = (what: string, place: Place, earlier: Place): void => {
    const message = `${what} stands in ${placeText(earlier)} already`
    const position = place.source.keyPositionOf(place.path)
    problems.push({ severity: 'error', position, path: formatPath(place.path), message, hint: 'keep one of the two' })
  }
  let broken = false
  for (const source of sources) {
    if (source.value === undefined) {
      broken = true
      continue
    }
    if (isSiteFile(source.value)) {
      const parsed = parsedOnce(PARSED_SITES, source, siteSchema)
      if (parsed !== undefined) sites.push({ value: parsed, place: { source, path: [] } })
      else problems.push(...problemsAgainst(source, siteSchema))
      continue
    }
    const parsed = parsedOnce(PARSED_CONFIGS, source, configSchema)
    if (parsed === undefined) {
      problems.push(...problemsAgainst(source, configSchema))
      continue
    }
    const said = Object.keys(source.value ?? {})
    for (const field of said) {
      if (GATHERED.has(field)) continue
      const place = { source, path: [field] }
      const earlier = topPlaces.get(field)
      if (earlier !== undefined) twice(field, place, earlier)
      else topPlaces.set(field, place)
    }
    const own = Object.fromEntries(Object.entries(parsed).filter(([field]) => said.includes(field)))
    top = top === undefined ? parsed : { ...top, ...own }
    for (const [index, value] of parsed.sites.entries()) {
      sites.push({ value, place: { source, path: ['sites', index] } })
    }
    for (const [index, value] of parsed.routes.entries()) {
      routes.push({ value, place: { source, path: ['routes', index] } })
    }
    for (const [name, value] of Object.entries(parsed.ruleSets)) {
      const place = { source, path: ['ruleSets', name] }
      const earlier = ruleSets.get(name)
      if (earlier === undefined) ruleSets.set(name, { value, place })
      else twice(`the rule set ${name}`, place, earlier.place)
    }
  }
  const [first] = sources
  if (broken || first === undefined || problems.length > 0) return { assembly: undefined, problems }
  top ??= configSchema.parse({})
  return { assembly: { top, topPlaces, sites, routes, ruleSets, start: { source: first, path: [] } }, problems }
}

/** Of sources that a later reading may hand in again. */
const PARSED_SITES = new WeakMap<YamlSource, RawSite>()
const PARSED_CONFIGS = new WeakMap<YamlSource, RawConfig>()

function parsedOnce<T>(known: WeakMap<YamlSource, T>, source: YamlSource, schema: z.ZodType<T>): T | undefined {
  const earlier = known.get(source)
  if (earlier !== undefined) return earlier
  const parsed = parseDocument(schema, source.value)
  if (parsed !== undefined) known.set(source, parsed)
  return parsed
}

export function problemsAgainst(source: YamlSource, schema: z.core.$ZodType): ConfigProblem[] {
  return explainAgainst(schema, source.value).map(({ path, atKey, message, hint }) => ({
    severity: 'error' as const,
    position: atKey ? source.keyPositionOf(path) : source.positionOf(path),
    path: formatPath(path),
    message,
    hint,
  }))
}

/** File, site and route say the same kind of things, the lower ones with more weight. */
export interface Level {
  readonly serving: RawServing & Partial<Pick<RawSite, 'upstream' | 'redirect' | 'respond'>>
  /** Where a field of it stands. */
  readonly placeOf: (field: string) => Place
}

export function fileLevel({ top, topPlaces, start }: Assembly): Level {
  return { serving: top, placeOf: (field) => topPlaces.get(field) ?? start }
}

export function levelAt<T extends Level['serving']>({ value, place: { source, path } }: Placed<T>): Level {
  return { serving: value, placeOf: (field) => ({ source, path: [...path, field] }) }
}

/** The routes of a site, in order. */
export function routesOfSite({ value, place: { source, path } }: Placed<RawSite>): readonly Placed<RawRoute>[] {
  return (value.routes ?? []).map((route, index) => ({
    value: route,
    place: { source, path: [...path, 'routes', index] },
  }))
}

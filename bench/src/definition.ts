/** Bench definitions: what is measured, as data in `bench/definitions`. Checked by hand, unknown fields are errors. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A generated page: `needles` in turn, each at the begin of a stretch of `matchEveryBytes`, filler between them. */
export interface PageDefinition {
  readonly matchEveryBytes: number
  readonly needles: readonly string[]
}

export type BenchRule =
  | { readonly text: string; readonly with: string; readonly flags?: string }
  | { readonly regex: string; readonly with: string; readonly flags?: string }

interface BaseDefinition {
  readonly name: string
  readonly what: string
  readonly runtimes: readonly RuntimeName[]
  /** Processes per engine and runtime, each measuring once. */
  readonly samples: number
  readonly secondsPerSample: number
}

/** One page through an engine, again and again, in one process. */
export interface EngineDefinition extends BaseDefinition {
  readonly model: 'engine'
  readonly rules: readonly BenchRule[]
  readonly page: PageDefinition & { readonly bytes: number }
  /** Sizes of the pieces that a streaming engine is given. */
  readonly chunkBytes: number
  /** Replacements in one page; an engine that makes another number of them is not measured but reported. */
  readonly expectedMatches: number
  readonly engines: readonly EngineName[]
}

/** Requests through a proxy in front of an origin; what counts is the CPU time of the proxy's processes. */
export interface ProxyDefinition extends BaseDefinition {
  readonly model: 'proxy'
  readonly rules: readonly BenchRule[]
  readonly page: PageDefinition
  /** Sizes of the bodies, in bytes. */
  readonly bodies: readonly number[]
  readonly connections: number
  readonly proxies: readonly ProxyName[]
}

/** What MessagePack codecs are given; generated, the same bytes every time. */
export type MsgpackDocument =
  | { readonly kind: 'events'; readonly events: number }
  | { readonly kind: 'small' }
  | { readonly kind: 'hostile'; readonly bytes: number }

/** A document through MessagePack codecs, each in fresh processes. */
export interface MsgpackDefinition extends BaseDefinition {
  readonly model: 'msgpack'
  /** `decode-first`: CPU time and kept memory of one decode. `memory`: what the process grew by. Others: medians. */
  readonly task: MsgpackTask
  readonly document: MsgpackDocument
  /** The first is what the others are compared with. */
  readonly codecs: readonly CodecName[]
}

export type Definition = EngineDefinition | ProxyDefinition | MsgpackDefinition

export const TASKS = ['decode-first', 'decode', 'encode', 'memory'] as const
export type MsgpackTask = (typeof TASKS)[number]

export const CODECS = [
  '@msgpack/msgpack',
  'msgpackr',
  'prexy',
  'prexy known shapes',
  'prexy lazy',
  'prexy columns',
  'prexy pooled',
] as const
export type CodecName = (typeof CODECS)[number]

export const ENGINES = ['prexy', 'dfa-loop', 'regexp-replace'] as const
export type EngineName = (typeof ENGINES)[number]

export const PROXIES = ['nginx-pass', 'nginx-sub-filter', 'prexy'] as const
export type ProxyName = (typeof PROXIES)[number]

/** `node` is whichever Node runs the bench. */
export const RUNTIMES = ['node', 'node24', 'bun'] as const
export type RuntimeName = (typeof RUNTIMES)[number]

const BASE_FIELDS = ['name', 'model', 'what', 'runtimes', 'samples', 'secondsPerSample']
const MODEL_FIELDS = {
  engine: ['page', 'rules', 'chunkBytes', 'expectedMatches', 'engines'],
  proxy: ['page', 'rules', 'bodies', 'connections', 'proxies'],
  msgpack: ['task', 'document', 'codecs'],
} satisfies { [Model in Definition['model']]: readonly string[] }

/** Every definition in a folder, by name. Throws on the first that does not hold what its model needs. */
export function readDefinitions(folder: string): ReadonlyMap<string, Definition> {
  const definitions = new Map<string, Definition>()
  for (const file of readdirSync(folder).sort()) {
    if (!file.endsWith('.json')) continue
    const definition = parseDefinition(readFileSync(join(folder, file), 'utf8'))
    if (`${definition.name}.json` !== file)
      throw new Error(`${file} defines "${definition.name}"; both must be called alike`)
    definitions.set(definition.name, definition)
  }
  return definitions
}

export function parseDefinition(text: string): Definition {
  const value: unknown = JSON.parse(text)
  if (!isDefinition(value)) throw new Error('a definition has a "model": "engine", "proxy" or "msgpack"')
  const fields = new Set([...BASE_FIELDS, ...MODEL_FIELDS[value.model]])
  for (const field of fields) {
    if (!Object.hasOwn(value, field)) throw new Error(`${String(value.name)}: "${field}" is missing`)
  }
  for (const field of Object.keys(value)) {
    if (!fields.has(field)) throw new Error(`${value.name}: "${field}" is not a field of the model "${value.model}"`)
  }
  requireKnown(value.name, value.runtimes, RUNTIMES)
  if (value.model === 'engine') requireKnown(value.name, value.engines, ENGINES)
  else if (value.model === 'proxy') requireKnown(value.name, value.proxies, PROXIES)
  else {
    requireKnown(value.name, value.codecs, CODECS)
    requireKnown(value.name, [value.task], TASKS)
  }
  return value
}

function isDefinition(value: unknown): value is Definition {
  return (
    typeof value === 'object' &&
    value !== null &&
    'model' in value &&
    (value.model === 'engine' || value.model === 'proxy' || value.model === 'msgpack')
  )
}

function requireKnown(name: string, given: readonly string[], known: readonly string[]): void {
  for (const entry of given) {
    if (!known.includes(entry)) throw new Error(`${name}: "${entry}" is none of ${known.join(', ')}`)
  }
}

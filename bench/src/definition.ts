/** Bench definitions: what is measured, as data in `bench/definitions`. Checked by hand, unknown fields are errors. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A generated page: `needles`, if any, in turn, each at the begin of a stretch of `matchEveryBytes`, filler between. */
export interface PageDefinition {
  readonly matchEveryBytes: number
  readonly needles: readonly string[]
}

export type BenchRule =
  | { readonly text: string; readonly with: string; readonly flags?: string }
  | { readonly regex: string; readonly with: string; readonly flags?: string }

/** Rules written out, or generated (bench-rules.ts): so many literals, or so many alternations with classes. */
export type BenchRules = readonly BenchRule[] | { readonly literals: number } | { readonly alternations: number }

/** `must` and `aim`: how many times as fast as `against` the subject is in the best runtime. */
export interface Goal {
  readonly subject: string
  readonly against: string
  readonly must: number
  readonly aim: number
}

interface BaseDefinition {
  readonly name: string
  readonly what: string
  readonly runtimes: readonly RuntimeName[]
  /** Processes per engine and runtime, each measuring once. */
  readonly samples: number
  readonly secondsPerSample: number
}

/** One page through engines, which take turns of a few milliseconds in one process; what counts is CPU time. */
export interface EngineDefinition extends BaseDefinition {
  readonly model: 'engine'
  readonly rules: BenchRules
  /** `needles`: written out, or so many of the rules' texts, evenly spread. */
  readonly page: Omit<PageDefinition, 'needles'> & {
    readonly bytes: number
    readonly needles: readonly string[] | number
  }
  /** Replacements in one page; an engine that makes another number of them is not measured but reported. */
  readonly expectedMatches: number
  readonly subjects: readonly EngineSubject[]
  readonly goals: readonly Goal[]
}

/** Subjects with the same rules must give the same bytes, but for `hyperscan`, which gives none. */
export interface EngineSubject {
  readonly name: string
  readonly engine: EngineName
  /** Sizes of the pieces that a streaming engine is given; `dfa-loop` and `regexp-replace` get the whole page. */
  readonly chunkBytes: number
  /** Absent: those of the definition. */
  readonly rules?: BenchRules
}

/** The rule sets of the adversarial corpus, each over its own body, against the plain loop over an ordinary page. */
export interface CorpusDefinition extends BaseDefinition {
  readonly model: 'corpus'
  /** Of each body. */
  readonly bytes: number
  /** The definition whose `dfa-loop` over its own page is the measure. */
  readonly ordinary: string
  /** Times the plain loop's speed, for the slowest of the corpus. */
  readonly must: number
  readonly aim: number
}

/** What it costs until a rule set can run, each time in a fresh process. */
export interface CompileDefinition extends BaseDefinition {
  readonly model: 'compile'
  readonly subjects: readonly CompileSubject[]
}

/** `must` and `aim` in milliseconds of CPU time, for the first compilation of a process. */
export interface CompileSubject {
  readonly name: string
  readonly rules: BenchRules
  readonly must: number
  readonly aim: number
}

/** Requests through proxies in front of an origin; what counts is the CPU time of a proxy's processes. */
export interface ProxyDefinition extends BaseDefinition {
  readonly model: 'proxy'
  readonly rules: BenchRules
  /** `needles`: written out, or so many of the rules' texts, evenly spread. */
  readonly page: ProxyPage
  /** Sizes of the bodies, in bytes, before they are compressed. */
  readonly bodies: readonly number[]
  /** `application/octet-stream` is a type that no rule is for. */
  readonly type: 'text/html' | 'application/octet-stream'
  /** `gzip`: the origin sends it and the client gets it, both at the level of prexy's encoder. */
  readonly coding: 'identity' | 'gzip'
  /** `https`: HTTP/1.1 over TLS. `h2`: HTTP/2 over TLS, by h2load with 10 streams a connection. */
  readonly transport: ProxyTransport
  readonly connections: number
  readonly proxies: readonly ProxyName[]
  readonly goals: readonly ProxyGoal[]
}

/** How the load comes. */
export const TRANSPORTS = ['http', 'https', 'h2'] as const
export type ProxyTransport = (typeof TRANSPORTS)[number]

export type ProxyPage = Omit<PageDefinition, 'needles'> & { readonly needles: readonly string[] | number }

/** `must` and `aim`: how many times the CPU time of `against` the subject may take, in the best runtime. */
export interface ProxyGoal extends Goal {
  readonly body: number
}

/** Very many connections to a proxy. */
export interface ConnectionsDefinition extends BaseDefinition {
  readonly model: 'connections'
  readonly rules: BenchRules
  readonly page: ProxyPage
  /** Size of the body, in bytes. */
  readonly body: number
  readonly connections: number
  /**
   * Connections that make requests while the others are idle. 0: what an idle one takes is measured, from a fifth of the
   * connections to all of them.
   */
  readonly active: number
  readonly proxies: readonly ProxyName[]
  /** Most kilobytes per idle connection, in the best runtime. */
  readonly goals: readonly { readonly subject: ProxyName; readonly must: number; readonly aim: number }[]
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

/** Generated events against sets of Sigma rules. */
export interface SigmaDefinition extends BaseDefinition {
  readonly model: 'sigma'
  /** What rules and events are about: process creation on Windows, or requests. */
  readonly events: 'process' | 'web'
  readonly eventCount: number
  readonly subjects: readonly SigmaSubject[]
  readonly goals: readonly Goal[]
}

export interface SigmaSubject {
  readonly name: string
  readonly evaluator: EvaluatorName
  /** The first so many of the rules. */
  readonly rules: number
}

/** A generated Windows event log through readers, each in fresh processes. */
export interface EvtxDefinition extends BaseDefinition {
  readonly model: 'evtx'
  /** Records of the log. */
  readonly events: number
  readonly readers: readonly EvtxReaderName[]
  readonly goals: readonly Goal[]
}

/** Two workers against one: how connections are spread, and how many requests are answered. */
export interface WorkersDefinition extends BaseDefinition {
  readonly model: 'workers'
  /** Connections at a time. */
  readonly connections: number
  /** Times that they are opened anew, to see who has how many. */
  readonly trials: number
  /** Connections that one of two workers may have. */
  readonly most: number
  /** Routes that are looked at before the one that answers, which prexy does itself: so many that it takes 100 us and more. */
  readonly answerRoutes: number
  /** Times as many requests per second. */
  readonly goals: readonly { readonly subject: string; readonly must: number; readonly aim: number }[]
}

/** `must` and `aim`: how many times the 99th percentile of `against`, in the best runtime. */
export interface BesideGoal {
  readonly subject: 'prexy' | 'nginx-sub-filter'
  readonly against: 'prexy' | 'nginx-sub-filter'
  readonly must: number
  readonly aim: number
}

/** Small requests beside large bodies. */
export interface BesideDefinition extends BaseDefinition {
  readonly model: 'beside'
  readonly rules: BenchRules
  readonly page: ProxyPage
  /** Sizes of the bodies, in bytes. */
  readonly small: number
  readonly large: number
  /** Clients that pull large bodies, one after the other. */
  readonly pullers: number
  /** Connections for small requests. */
  readonly connections: number
  readonly requestsPerSecond: number
  readonly goals: readonly BesideGoal[]
}

/** A proxy in front of very many sites. */
export interface SitesDefinition extends BaseDefinition {
  readonly model: 'sites'
  readonly sites: number
  readonly rulesPerSite: number
  /** Sites that get a first request, evenly spread. */
  readonly asked: number
  /** Most milliseconds, in the best runtime. */
  readonly goals: readonly { readonly subject: string; readonly must: number; readonly aim: number }[]
}

/** A start of the packed program, up to the first page. */
export interface StartDefinition extends BaseDefinition {
  readonly model: 'start'
  /** In the best runtime. */
  readonly goals: readonly { readonly subject: string; readonly must: number; readonly aim: number }[]
}

/** Single techniques; the pairs are code, in techniques-sample.ts. */
export interface TechniquesDefinition extends BaseDefinition {
  readonly model: 'techniques'
}

/** Nothing is measured: what fleets take is worked out from what was. */
export interface FleetDefinition extends BaseDefinition {
  readonly model: 'fleet'
  /** Whose figures are taken. */
  readonly runtime: RuntimeName
  /** Share of a machine that is to be used at most, so that what one that fails had finds room. */
  readonly utilization: number
  readonly machine: FleetMachine
  readonly scenarios: readonly FleetScenario[]
}

export interface FleetMachine {
  readonly cores: number
  readonly memoryGigabytes: number
  readonly networkGigabits: number
  /** Longest that a start may take, in CPU time of a process. */
  readonly startSeconds: number
  /** Sites of a process that are compiled at a time, `limits.maxCompiledRuleSets`. */
  readonly compiledSites: number
}

export interface FleetScenario {
  readonly name: string
  readonly sites: number
  readonly requestsPerSecond: number
  /** Of a response, before it is compressed. */
  readonly bodyBytes: number
  /** Of clients, open at a time. */
  readonly connections: number
  readonly tls: boolean
}

/** Two C libraries, by a small C program that is compiled with each. */
export interface LibcDefinition extends BaseDefinition {
  readonly model: 'libc'
  readonly tasks: readonly LibcTask[]
  /** Numbers of threads. */
  readonly threads: readonly number[]
}

/** Whole hunts over generated logs. */
export interface HuntDefinition extends BaseDefinition {
  readonly model: 'hunt'
  readonly subjects: readonly HuntSubject[]
  /** About a subject's speed, or with `, memory` behind its name about the most that it held; in the best runtime. */
  readonly goals: readonly {
    readonly subject: string
    readonly unit: 'MB/s' | 'MB'
    readonly must: number
    readonly aim: number
  }[]
}

/** The inspector in a browser, against a page that decodes and renders as one does at first. */
export interface InspectorDefinition extends BaseDefinition {
  readonly model: 'inspector'
  /** Of the recording that is opened. */
  readonly events: number
  /** Rows that the other page puts into its table. */
  readonly plainRows: number
  /** Filters on what the inspector keeps in columns. */
  readonly filters: readonly string[]
  readonly live: { readonly eventsPerSecond: number; readonly seconds: number }
  readonly goals: readonly {
    readonly subject: string
    readonly unit: 'x the time' | 'MB' | 'ms'
    readonly must: number
    readonly aim: number
  }[]
}

export interface HuntSubject {
  readonly name: string
  /** Windows event logs, or one access log. */
  readonly input: 'windows' | 'requests'
  readonly megabytes: number
  /** So many generated ones, or those that come with prexy. */
  readonly rules: number | 'starter'
}

export type Definition =
  | EngineDefinition
  | CorpusDefinition
  | CompileDefinition
  | ProxyDefinition
  | ConnectionsDefinition
  | MsgpackDefinition
  | SigmaDefinition
  | EvtxDefinition
  | SitesDefinition
  | BesideDefinition
  | HuntDefinition
  | LibcDefinition
  | StartDefinition
  | TechniquesDefinition
  | FleetDefinition
  | WorkersDefinition
  | InspectorDefinition

export const LIBC_TASKS = ['allocate', 'rare', 'dense', 'text'] as const
/** `rare` and `dense`: memchr over a page of 64 KiB where there is no hit, or one every 45 octets. `text`: strstr. */
export type LibcTask = (typeof LIBC_TASKS)[number]

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

export const ENGINES = ['prexy', 'dfa-loop', 'regexp-replace', 'hyperscan'] as const
export type EngineName = (typeof ENGINES)[number]

export const EVALUATORS = ['prexy', 'one by one'] as const
export type EvaluatorName = (typeof EVALUATORS)[number]

export const EVTX_READERS = [
  '@ts-evtx/core objects',
  '@ts-evtx/core XML',
  'prexy shapes',
  'prexy fields',
  'prexy objects',
  'prexy JSON',
  'prexy XML',
] as const
export type EvtxReaderName = (typeof EVTX_READERS)[number]

/**
 * `relay` and `relay-native` only pass octets on: the floor of a runtime, by node:net and by Bun's own API.
 * `nginx-gunzip-sub-filter` decompresses in one server, replaces and compresses in another of the same process, because
 * its filter does not decompress for a client that takes gzip. `prexy-record` records every exchange to a disk, without
 * bodies, secrets taken out. `apache-substitute` is Apache with mod_substitute, `haproxy-pass` HAProxy, which rewrites no
 * bodies, `http-proxy-middleware` that package with its response interceptor.
 */
export const PROXIES = [
  'nginx-pass',
  'nginx-sub-filter',
  'nginx-gunzip-sub-filter',
  'prexy',
  'prexy-record',
  'relay',
  'relay-native',
  'apache-substitute',
  'haproxy-pass',
  'http-proxy-middleware',
] as const
export type ProxyName = (typeof PROXIES)[number]

/** `node` is whichever Node runs the bench. */
export const RUNTIMES = ['node', 'node24', 'bun'] as const
export type RuntimeName = (typeof RUNTIMES)[number]

const BASE_FIELDS = ['name', 'model', 'what', 'runtimes', 'samples', 'secondsPerSample']
const MODEL_FIELDS = {
  engine: ['page', 'rules', 'expectedMatches', 'subjects', 'goals'],
  corpus: ['bytes', 'ordinary', 'must', 'aim'],
  compile: ['subjects'],
  proxy: ['page', 'rules', 'bodies', 'type', 'coding', 'transport', 'connections', 'proxies', 'goals'],
  connections: ['page', 'rules', 'body', 'connections', 'active', 'proxies', 'goals'],
  msgpack: ['task', 'document', 'codecs'],
  sigma: ['events', 'eventCount', 'subjects', 'goals'],
  evtx: ['events', 'readers', 'goals'],
  sites: ['sites', 'rulesPerSite', 'asked', 'goals'],
  beside: ['page', 'rules', 'small', 'large', 'pullers', 'connections', 'requestsPerSecond', 'goals'],
  hunt: ['subjects', 'goals'],
  workers: ['connections', 'trials', 'most', 'answerRoutes', 'goals'],
  libc: ['tasks', 'threads'],
  start: ['goals'],
  techniques: [],
  fleet: ['runtime', 'utilization', 'machine', 'scenarios'],
  inspector: ['events', 'plainRows', 'filters', 'live', 'goals'],
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
  if (!isDefinition(value)) throw new Error(`a definition has a "model": ${Object.keys(MODEL_FIELDS).join(', ')}`)
  const fields = new Set([...BASE_FIELDS, ...MODEL_FIELDS[value.model]])
  for (const field of fields) {
    if (!Object.hasOwn(value, field)) throw new Error(`${String(value.name)}: "${field}" is missing`)
  }
  for (const field of Object.keys(value)) {
    if (!fields.has(field)) throw new Error(`${value.name}: "${field}" is not a field of the model "${value.model}"`)
  }
  requireKnown(value.name, value.runtimes, RUNTIMES)
  switch (value.model) {
    case 'engine': {
      const engines = value.subjects.map(({ engine }) => engine)
      requireKnown(value.name, engines, ENGINES)
      const names = value.subjects.map(({ name }) => name)
      requireKnown(
        value.name,
        value.goals.flatMap(({ subject, against }) => [subject, against]),
        names,
      )
      break
    }
    case 'proxy':
      requireKnown(value.name, [value.transport], TRANSPORTS)
      requireKnown(value.name, value.proxies, PROXIES)
      requireKnown(
        value.name,
        value.goals.flatMap(({ subject, against }) => [subject, against]),
        value.proxies,
      )
      break
    case 'connections':
      requireKnown(value.name, value.proxies, PROXIES)
      break
    case 'msgpack':
      requireKnown(value.name, value.codecs, CODECS)
      requireKnown(value.name, [value.task], TASKS)
      break
    case 'sigma': {
      const evaluators = value.subjects.map(({ evaluator }) => evaluator)
      requireKnown(value.name, evaluators, EVALUATORS)
      const ends = value.goals.flatMap(({ subject, against }) => [subject, against])
      const names = value.subjects.map(({ name }) => name)
      requireKnown(value.name, ends, names)
      break
    }
    case 'evtx': {
      requireKnown(value.name, value.readers, EVTX_READERS)
      const ends = value.goals.flatMap(({ subject, against }) => [subject, against])
      requireKnown(value.name, ends, value.readers)
      break
    }
    case 'libc':
      requireKnown(value.name, value.tasks, LIBC_TASKS)
      break
    case 'fleet':
      requireKnown(value.name, [value.runtime], RUNTIMES)
      break
    case 'start':
    case 'techniques':
    case 'corpus':
    case 'compile':
    case 'sites':
    case 'beside':
    case 'workers':
    case 'hunt':
    case 'inspector':
  }
  return value
}

function isDefinition(value: unknown): value is Definition {
  return (
    typeof value === 'object' &&
    value !== null &&
    'model' in value &&
    typeof value.model === 'string' &&
    Object.hasOwn(MODEL_FIELDS, value.model)
  )
}

function requireKnown(name: string, given: readonly string[], known: readonly string[]): void {
  for (const entry of given) {
    if (!known.includes(entry)) throw new Error(`${name}: "${entry}" is none of ${known.join(', ')}`)
  }
}

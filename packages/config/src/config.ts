/** What a configuration says, as plain data. */
import type { RawConfig, RawMode, RewriteOptions, Limits, Timeouts } from './config-schema.ts'
import type { CompressCoding, RawCompress } from './compress-schema.ts'
import type { HeaderList } from './header-list.ts'
import type { RawListenTls } from './listen-schema.ts'
import type { RawIngest } from './admin-schema.ts'
import type { RawRecord } from './record-schema.ts'
import type { RawDomainRule, RawHeaderConditions, RawInsertRule, RawRegexRule, RawTextRule } from './rule-schema.ts'
import type { Place } from './yaml-source.ts'
import type { UpstreamSettings } from './upstream-settings.ts'

interface Conditions {
  readonly types?: readonly string[]
  readonly paths?: readonly string[]
  readonly status?: readonly (number | string)[]
  readonly methods?: readonly string[]
  readonly hosts?: readonly string[]
}

/** A rule as a file has it, with every condition as a list. */
export type ConfigRule = (
  | Omit<RawTextRule, keyof Conditions>
  | Omit<RawRegexRule, keyof Conditions>
  | Omit<RawDomainRule, keyof Conditions>
  | Omit<RawInsertRule, keyof Conditions>
) &
  Conditions

/** Rules that are compiled into one set. Routes that take the rules of a level above share one object. */
export interface RuleList {
  readonly rules: readonly ConfigRule[]
  readonly options: RewriteOptions
  /** Where each rule stands. */
  readonly places: readonly Place[]
}

/** `host` is undefined for every address of the machine; a socket of it is `unix:` and a path, with port 0. */
export interface ListenAddress {
  readonly host: string | undefined
  readonly port: number
  readonly name?: string
  /** Absent: cleartext. */
  /** Of a socket: as `chmod` has it. */
  readonly mode?: number
  /** Of a socket: as `chown` has it. */
  readonly owner?: string
  readonly tls?: ListenTls
  readonly http2?: boolean
  readonly redirectPort?: number
  readonly proxyProtocol?: boolean
}

export interface ListenTls extends Omit<RawListenTls, 'certificates'> {
  /** At least one, whose files could be read. */
  readonly certificates: readonly CertificateFiles[]
}

/** What two files hold, PEM for short, and the entry that names them. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
  /** Of a mapping with `certFile` and `keyFile`. */
  readonly place: Place
}

/** `to` is a template with variables of the request, as header rules have them. */
export interface RedirectAction {
  readonly kind: 'redirect'
  readonly to: string
  readonly status: number
  readonly keepQuery: boolean
  /** Where `to` stands. */
  readonly place: Place
}

/** What a route does with a request. Routes that take it from a level above share one object. */
export type RouteAction =
  | { readonly kind: 'forward'; readonly upstream: UpstreamSettings }
  | RedirectAction
  | {
      readonly kind: 'respond'
      readonly status: number
      /** Names and values in turn. */
      readonly fields: readonly string[]
      readonly body: Uint8Array
    }

/** How often one client may ask. Routes that take it from a level above share one object. */
export interface RateLimitSettings {
  /** The level that says it. */
  readonly name: string
  readonly requests: number
  readonly seconds: number
  readonly burst: number
}

export interface PasswordSettings {
  readonly realm: string
  /** Hashes by name. */
  readonly users: Readonly<Record<string, string>>
}

/** Who may ask, and how often. Routes that take it from a level above share one object. */
export interface AccessSettings {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  readonly passwords?: PasswordSettings
  readonly rateLimit?: RateLimitSettings
}

/** A body with its Content-Type. */
export interface PageSettings {
  readonly body: Uint8Array
  readonly type: string
}

export interface MaintenanceSettings {
  readonly page?: PageSettings
  readonly retryAfterSeconds: number
  readonly allow: readonly string[]
}

/** A pattern that the path or the host of a request must have, or with `not` must not have. */
export interface TextPatternSettings {
  readonly regex: string
  readonly flags?: 'i'
  readonly not?: boolean
  /** Where the pattern stands. */
  readonly place: Place
}

/** What is not said has a default in `DEFAULT_COMPARE`. Routes that take it from a level above share one object. */
export interface CompareSettings {
  readonly upstream: UpstreamSettings
  readonly percent: number
  /** In lower case. */
  readonly headers: readonly string[]
  readonly ignore: readonly TextPatternSettings[]
  readonly maxBodyBytes: number
  readonly timeoutMs: number
}

export interface CompressSettings {
  readonly codings: readonly CompressCoding[]
  readonly types: readonly string[]
  readonly minBytes: number
  readonly levels: NonNullable<RawCompress['levels']>
}

export interface RouteConfig {
  /** Unique. */
  readonly name: string
  /** Lower case, exact or `*.` and a name; empty for any. Of a route of a site: empty. */
  readonly hosts: readonly string[]
  /** Path globs; empty for any. */
  readonly paths: readonly string[]
  /** All must hold. */
  readonly pathPatterns?: readonly TextPatternSettings[]
  readonly hostPatterns?: readonly TextPatternSettings[]
  /** Absent: any. */
  readonly listeners?: readonly string[]
  /** Empty for any. */
  readonly methods: readonly string[]
  readonly requestHeaders?: RawHeaderConditions
  readonly action: RouteAction
  readonly ruleList: RuleList
  /** At most one of each side. */
  readonly headerLists: readonly HeaderList[]
  /** Absent: `on`. */
  readonly mode?: RawMode
  readonly compareWith?: CompareSettings | undefined
  readonly compress?: CompressSettings | undefined
  readonly requestBodies?: boolean
  readonly requestQuery?: boolean
  readonly preserveHost?: boolean
  readonly ignoreNoTransform?: boolean
  readonly serverTiming?: boolean
  readonly lastModified?: 'remove' | 'keep'
  readonly integrity?: 'warn' | 'drop'
  readonly policyHashes?: 'keep' | 'unsafe-inline'
  readonly access?: AccessSettings
  readonly maintenance?: MaintenanceSettings | undefined
  /** By status or class. */
  readonly errorPages?: Readonly<Record<string, PageSettings>>
  readonly robots?: string
  /** Paths of clients and those of the upstream for them. */
  readonly mount?: { readonly at: string; readonly to: string }
}

/** Routes for some host names only. */
export interface SiteConfig {
  /** Unique among sites. */
  readonly name: string
  /** Lower case, exact or `*.` and a name; each in one site only, or in one of each listener. */
  readonly hosts: readonly string[]
  /** Absent: everywhere. */
  readonly listeners?: readonly string[]
  /** In order; the first that fits takes the request. */
  readonly routes: readonly RouteConfig[]
}

/** The admin listener. */
export interface AdminSettings {
  readonly listen: Pick<ListenAddress, 'host' | 'port'>
  /** Absent: a new one at each start. */
  readonly token?: string
  readonly hosts: readonly string[]
  readonly openMetrics: boolean
  /** Absent: events of applications are not taken. */
  readonly ingest?: IngestSettings
}

/** Which events of applications are taken. What is not said has the defaults of `packages/admin`. */
export interface IngestSettings extends Omit<RawIngest, 'origins'> {
  /** In lower case. */
  readonly origins: readonly string[]
}

/** What is recorded. What is not said has the defaults of `packages/record`. */
export interface RecordSettings extends Omit<RawRecord, 'tags' | 'routes' | 'secretNames'> {
  readonly tags?: readonly string[]
  readonly routes?: readonly string[]
  readonly secretNames?: readonly string[]
}

/** `file` is undefined for standard error. */
export interface AccessLogSettings {
  readonly file: string | undefined
  readonly format: string
}

/** What a configuration says. Where it says nothing, the parts concerned have their defaults. */
export interface Config {
  readonly listen: readonly ListenAddress[]
  /** A request goes to the site that names its host: exactly, else by the longest pattern. */
  readonly sites: readonly SiteConfig[]
  /** Of requests that no site takes. In order; the first that fits takes the request. */
  readonly routes: readonly RouteConfig[]
  /** Absent: `normalized`. */
  readonly pathMatching?: NonNullable<RawConfig['pathMatching']>
  /** What sites and routes without rules of their own have. */
  readonly fileRules: RuleList
  readonly fileHeaders: readonly HeaderList[]
  readonly fileErrorPages?: Readonly<Record<string, PageSettings>>
  readonly timeouts: Timeouts
  readonly limits: Limits
  readonly trustedProxies?: readonly string[]
  readonly forwarded?: NonNullable<RawConfig['forwarded']>
  readonly requestId?: string
  /** Absent: there is no admin listener. */
  readonly admin?: AdminSettings
  /** Absent: nothing is recorded. */
  readonly record?: RecordSettings
  /** Absent: one. */
  readonly workers?: number | 'auto'
  readonly log: RawConfig['log']
  /** Absent: lines of requests go where the others go, as `log` says. */
  readonly accessLog?: AccessLogSettings
  readonly trace?: NonNullable<RawConfig['trace']>
}

/** A route ready to serve: everything about it that does not depend on the request, worked out once. */
import { prepareConditions, requestFieldNames } from '@prexy/http/conditions'
import { GateMemo } from '@prexy/http/gate-memo'
import type { GateRoute } from '@prexy/http/gate-route'
import type { CookieScope } from '@prexy/http/set-cookie'
import { CONTENT_CODINGS } from '@prexy/net/content-decoder'
import { domainRulesOf, hostMapOf } from '@prexy/rewrite/host-map'
import type { RuleSet } from '@prexy/rewrite/rewriter'
import { charsetsOf } from '@prexy/rewrite/rule-charsets'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { type Rule, typesOf } from '@prexy/rewrite/rules'
import { ApplicabilityMemory } from './applicability-memory.ts'
import type { HeaderRules } from './header-rules.ts'
import { changesHashed } from './integrity.ts'
import type { RouteConfig } from './proxy-config.ts'
import type { EncoderLevels } from './rewrite-body.ts'
import { requestFieldsOf } from './request-variables.ts'
import { type SiteNames, siteNamesOf } from './site-names.ts'
import type { UpstreamPool } from './upstream-pool.ts'

export interface Route {
  readonly name: string
  readonly pool: UpstreamPool
  readonly rules: RuleSet | undefined
  readonly gate: GateRoute
  /** Decides by the gate. */
  readonly gateMemo: GateMemo
  readonly serverTiming: boolean
  readonly encoderLevels: EncoderLevels
  /** What to do about integrity attributes; undefined if no rule may change what they are about. */
  readonly integrity: 'warn' | 'drop' | undefined
  readonly policyHashes: 'keep' | 'unsafe-inline'
  readonly memory: ApplicabilityMemory
  readonly preserveHost: boolean | undefined
  /** What domain rules make of header fields; undefined if there are none. */
  readonly names: SiteNames | undefined
  readonly requestQuery: boolean
  /** The inverse of its domain rules for request bodies; undefined to leave them alone. */
  readonly requestBodies: RuleSet | undefined
  readonly requestHeaders: HeaderRules | undefined
  readonly responseHeaders: HeaderRules | undefined
}

export interface RouteParts {
  readonly pool: UpstreamPool
  readonly rules: RuleSet | undefined
  /** Rules of the routes beside it, which serve the same browsers. */
  readonly rulesBeside: readonly (readonly Rule[])[]
  /** Whether names of clients are those of another upstream; see `Neighbours`. */
  readonly leadsElsewhere?: CookieScope['leadsElsewhere']
  /** Request fields by which the routes beside it are told apart, in lower case. */
  readonly fieldsBeside: readonly string[]
  readonly maxRememberedResources: number
}

const NO_LEVELS: EncoderLevels = {}

export function makeRoute(config: RouteConfig, parts: RouteParts): Route {
  const { pool, rules, rulesBeside } = parts
  const gate = makeGateRoute(config, parts)
  return {
    name: config.name,
    pool,
    rules,
    serverTiming: config.serverTiming ?? false,
    encoderLevels: config.compress?.levels ?? NO_LEVELS,
    gate,
    gateMemo: new GateMemo(gate),
    integrity: changesHashed(rules?.rules ?? []) ? (config.integrity ?? 'warn') : undefined,
    policyHashes: config.policyHashes ?? 'keep',
    memory: new ApplicabilityMemory(parts.maxRememberedResources),
    preserveHost: config.preserveHost,
    requestQuery: config.requestQuery ?? false,
    requestBodies: config.requestBodies === true ? requestBodyRules(rules) : undefined,
    requestHeaders: config.requestHeaders,
    responseHeaders: config.responseHeaders,
    names: rules === undefined ? undefined : siteNamesOf(rules.rules, rulesBeside, parts.leadsElsewhere),
  }
}

function requestBodyRules(rules: RuleSet | undefined): RuleSet | undefined {
  const map = rules === undefined ? undefined : hostMapOf(rules.rules)
  return map === undefined ? undefined : compileRuleSet(domainRulesOf(map.up), { mode: 'octet' })
}

function makeGateRoute(
  { ignoreNoTransform, lastModified, compress }: RouteConfig,
  { rules, fieldsBeside }: RouteParts,
): GateRoute {
  const conditions = prepareConditions((rules?.rules ?? []).map((rule) => ({ ...rule, types: typesOf(rule) })))
  const variables = rules?.variables ?? []
  return {
    conditions,
    ruleSetHash: rules?.hash ?? '',
    ignoreNoTransform: ignoreNoTransform ?? false,
    lastModified: lastModified ?? { kind: 'remove' },
    variesBy: [...new Set([...requestFieldNames(conditions), ...requestFieldsOf(variables), ...fieldsBeside])],
    alwaysNew: variables.includes('time'),
    codings: CONTENT_CODINGS,
    charsets: charsetsOf(rules),
    compression:
      compress === undefined
        ? undefined
        : {
            codings: compress.codings.filter((coding) => CONTENT_CODINGS.includes(coding)),
            types: prepareConditions([{ types: compress.types }]),
            minBytes: compress.minBytes,
          },
  }
}

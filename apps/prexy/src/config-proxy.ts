/** From the routes of a configuration to those of a proxy. */
import type { Config, RouteConfig } from '@prexy/config/config'
import type { HeaderList } from '@prexy/config/header-list'
import type { HeaderRules } from '@prexy/proxy/header-rules'
import type { ProxyConfig, RouteConfig as ProxyRoute } from '@prexy/proxy/proxy-config'
import type { RouteAnswer } from '@prexy/proxy/route-answer'
import type { CompiledLists } from './config-compile.ts'

/** `rulesChangedMs`: when the newest file of the configuration was changed. */
export function proxyRoutes(
  { routes, sites }: Pick<Config, 'routes' | 'sites'>,
  compiled: CompiledLists,
  rulesChangedMs: number,
): Pick<ProxyConfig, 'routes' | 'sites'> {
  const make = (route: RouteConfig): ProxyRoute => proxyRoute(route, compiled, rulesChangedMs)
  return {
    routes: routes.map(make),
    sites: sites.map((site) => ({ hosts: site.hosts, routes: site.routes.map(make) })),
  }
}

function proxyRoute(route: RouteConfig, compiled: CompiledLists, rulesChangedMs: number): ProxyRoute {
  const headersOf = (side: HeaderList['side']): HeaderRules | undefined => {
    const list = route.headerLists.find((one) => one.side === side)
    return list === undefined ? undefined : compiled.headersOf(list)
  }
  const rules = compiled.setOf(route.ruleList)
  const requestHeaders = headersOf('request')
  const responseHeaders = headersOf('response')
  const {
    name,
    hosts,
    paths,
    methods,
    requestHeaders: fields,
    action,
    requestBodies,
    requestQuery,
    preserveHost,
    ignoreNoTransform,
    serverTiming,
    lastModified,
    integrity,
  } = route
  return {
    name,
    ...(action.kind === 'forward' ? { upstream: action.upstream } : { answer: answerOf(action, compiled) }),
    ...(hosts.length === 0 ? {} : { hosts }),
    ...(paths.length === 0 ? {} : { paths }),
    ...(methods.length === 0 ? {} : { methods }),
    ...(fields === undefined ? {} : { fields }),
    ...(rules === undefined || rules.rules.length === 0 ? {} : { rules }),
    ...(requestHeaders === undefined ? {} : { requestHeaders }),
    ...(responseHeaders === undefined ? {} : { responseHeaders }),
    ...(requestBodies === undefined ? {} : { requestBodies }),
    ...(requestQuery === undefined ? {} : { requestQuery }),
    ...(preserveHost === undefined ? {} : { preserveHost }),
    ...(ignoreNoTransform === undefined ? {} : { ignoreNoTransform }),
    ...(serverTiming === undefined ? {} : { serverTiming }),
    ...(integrity === undefined ? {} : { integrity }),
    ...(lastModified === 'keep' ? { lastModified: { kind: 'keep', rulesChangedMs } } : {}),
  }
}

function answerOf(
  action: Exclude<RouteConfig['action'], { readonly kind: 'forward' }>,
  compiled: CompiledLists,
): RouteAnswer {
  if (action.kind === 'respond') return action
  const target = compiled.targetOf(action)
  if (target === undefined) throw new Error('a target that does not compile is an error of the configuration')
  return { kind: 'redirect', status: action.status, target, keepQuery: action.keepQuery }
}

/**
 * Who else serves names below a name. Browsers send a cookie for `b.test` to every name below it, also to one that
 * another route takes, which need not have rules to lead it to another upstream.
 */
import { ANY_LABEL, domainMatches } from '@prexy/http/set-cookie'
import type { UpstreamConfig } from './proxy-config.ts'

export interface Neighbour {
  /** Undefined: it forwards nothing. */
  readonly upstream: UpstreamConfig | undefined
  /** What a request for the name is for, as its upstream knows it; a host without port. */
  counterpartOf(name: string): string
}

export class Neighbours<Route extends Neighbour> {
  readonly #patterns: readonly string[]
  readonly #routesFor: (name: string) => readonly Route[]
  /** By name, what is at and below it; made when first needed, of names of two labels and more. */
  #below: Map<string, string[]> | undefined = undefined

  /**
   * `patterns`: the hosts of all routes, names or `*.example.org`; `routesFor`: those that may take a request for a name.
   */
  constructor(patterns: readonly string[], routesFor: (name: string) => readonly Route[]) {
    this.#patterns = patterns
    this.#routesFor = routesFor
  }

  /**
   * Whether, of the names at and below `name`, one is not the route's but is another's with another upstream, to which a
   * cookie for the origin's `domain` would not have come. Names that no host says do not count, but as all at once.
   */
  leadsElsewhere(route: Route, name: string, domain: string): boolean {
    const names = [name, `${ANY_LABEL}.${name}`, ...(this.#namesBelow().get(name) ?? [])]
    return names.some((one) => {
      const takers = this.#routesFor(one)
      // What else the route's own names lead to is one site with it, and cookies of the host alone go there, too.
      if (takers.includes(route)) return false
      return takers.some(
        (other) =>
          other.upstream !== undefined &&
          other.upstream !== route.upstream &&
          !domainMatches(other.counterpartOf(one), domain),
      )
    })
  }

  #namesBelow(): ReadonlyMap<string, readonly string[]> {
    if (this.#below !== undefined) return this.#below
    const below = new Map<string, string[]>()
    for (const pattern of this.#patterns) {
      const name = pattern.toLowerCase().replace(/^\*/, ANY_LABEL)
      for (let parent = name; parent.includes('.'); parent = parent.slice(parent.indexOf('.') + 1)) {
        const names = below.get(parent)
        if (names === undefined) below.set(parent, [name])
        else names.push(name)
      }
    }
    this.#below = below
    return below
  }
}

/**
 * What a fleet takes: cores, memory and machines for so many sites and requests, from what one request, one connection and
 * one site cost when they were measured. No simulation of queues: at the utilisation that is aimed at, waiting is short, and
 * `proxy-beside-large` measures it.
 */
import type { FleetDefinition, FleetScenario } from './definition.ts'
import type { Figures } from './figures.ts'

/** What was measured, of one runtime. */
export interface FleetCosts {
  /** CPU time of a rewritten response by its size, in ascending order. */
  readonly requestUs: readonly (readonly [bytes: number, microseconds: number])[]
  /** How much more TLS costs, per request on a kept connection. */
  readonly tlsUs: number
  readonly connectionBytes: number
  /** Of a process that holds no sites. */
  readonly processBytes: number
  /** Of a site that is known but not compiled, and of one that is. */
  readonly siteBytes: number
  readonly compiledSiteBytes: number
  /** CPU time of a start, per site. */
  readonly siteStartMs: number
}

export interface FleetSize {
  readonly cores: number
  readonly processes: number
  readonly machines: number
  /** Groups of machines that have different sites: 1 where each may have them all. */
  readonly groups: number
  readonly bytesPerProcess: number
  readonly bytesPerMachine: number
  readonly startSeconds: number
  readonly gigabitsPerMachine: number
  /** What the number of machines comes from, and the share of a machine that each need takes then: the tightest first. */
  readonly needs: readonly (readonly [what: string, share: number])[]
}

const SITES = 10_000
const ASKED = 300
const SIZES = [1_024, 102_400, 1_048_576]

export function fleetCosts(figures: Figures, runtime: string): FleetCosts {
  const request = (definition: string, bytes: number): number =>
    figures.require(definition, `prexy ${bytes} B`, runtime).value
  const megabytes = (subject: string): number => figures.require('proxy-sites', subject, runtime).value * 1e6
  const started = megabytes('memory after the start')
  const processBytes = figures.require('start', 'memory', runtime).value * 1e6
  return {
    requestUs: SIZES.map((bytes) => [bytes, request('proxy-sub-filter', bytes)]),
    tlsUs: Math.max(0, request('proxy-https', 102_400) - request('proxy-sub-filter', 102_400)),
    connectionBytes: figures.require('proxy-idle-memory', 'prexy', runtime).value * 1_024,
    processBytes,
    siteBytes: Math.max(0, started - processBytes) / SITES,
    compiledSiteBytes: Math.max(0, megabytes(`memory after ${ASKED} sites`) - started) / ASKED,
    siteStartMs: figures.require('proxy-sites', 'start, CPU', runtime).value / SITES,
  }
}

/** Between two sizes and beyond them along a line. */
export function requestCostUs({ requestUs }: FleetCosts, bytes: number): number {
  const larger = requestUs.findIndex(([size]) => size >= bytes)
  const upper = larger === -1 ? requestUs.length - 1 : Math.max(1, larger)
  const [[fromBytes, from], [toBytes, to]] = [requestUs[upper - 1], requestUs[upper]]
  return Math.max(0, from + ((to - from) * (bytes - fromBytes)) / (toBytes - fromBytes))
}

export function fleetSize(
  costs: FleetCosts,
  scenario: FleetScenario,
  { machine, utilization }: FleetDefinition,
): FleetSize {
  const perRequestUs = requestCostUs(costs, scenario.bodyBytes) + (scenario.tls ? costs.tlsUs : 0)
  const cores = (scenario.requestsPerSecond * perRequestUs) / 1e6 / utilization
  const gigabits = (scenario.requestsPerSecond * scenario.bodyBytes * 8 * 2) / 1e9
  const mayTake = (machine.memoryGigabytes * 1e9 * utilization) / machine.cores
  if (costs.processBytes + costs.siteBytes + costs.compiledSiteBytes > mayTake)
    throw new Error(
      `a core of the machine has ${(mayTake / 1e6).toFixed(0)} MB for its process, which is less than one site takes`,
    )
  // Sites are divided until a process starts in time and its share of a machine's memory holds them.
  let groups = 1
  for (;;) {
    const sitesPerGroup = Math.ceil(scenario.sites / groups)
    const startSeconds = (sitesPerGroup * costs.siteStartMs) / 1_000
    const compiled = Math.min(machine.compiledSites, sitesPerGroup)
    const bytesPerProcess = costs.processBytes + sitesPerGroup * costs.siteBytes + compiled * costs.compiledSiteBytes
    const byCpu = cores / machine.cores
    const byNetwork = gigabits / machine.networkGigabits / utilization
    const connectionBytes = scenario.connections * costs.connectionBytes
    const machines = Math.max(groups, Math.ceil(Math.max(byCpu, byNetwork)))
    const bytesPerMachine = bytesPerProcess * machine.cores + connectionBytes / machines
    const fits = bytesPerProcess <= mayTake && bytesPerMachine <= machine.memoryGigabytes * 1e9
    if (fits && startSeconds <= machine.startSeconds) {
      const needs: readonly (readonly [string, number])[] = [
        ['CPU', byCpu / machines],
        ['memory', bytesPerMachine / (machine.memoryGigabytes * 1e9)],
        ['network', byNetwork / machines],
        ['start', startSeconds / machine.startSeconds],
      ]
      return {
        cores,
        processes: machines * machine.cores,
        machines,
        groups,
        bytesPerProcess,
        bytesPerMachine,
        startSeconds,
        gigabitsPerMachine: gigabits / machines,
        needs: needs.toSorted((a, b) => b[1] - a[1]),
      }
    }
    groups++
  }
}

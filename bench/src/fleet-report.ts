/** The cost model as tables, for a terminal and for docs/cost-model.md. */
import type { FleetDefinition } from './definition.ts'
import type { Figures } from './figures.ts'
import { type FleetCosts, fleetCosts, fleetSize, requestCostUs } from './fleet.ts'
import { markdownTable } from './markdown.ts'

export function fleetReport(figures: Figures, definition: FleetDefinition): string {
  const costs = fleetCosts(figures, definition.runtime)
  return `${costTable(costs, definition)}\n\n${sizeTable(costs, definition)}\n\n${needTable(costs, definition)}`
}

function costTable(costs: FleetCosts, { runtime }: FleetDefinition): string {
  return markdownTable(
    ['what', `cost (${runtime})`],
    [
      ...[1_024, 20_480, 102_400, 1_048_576].map((bytes) => [
        `a rewritten response of ${bytes / 1_024} KB`,
        `${requestCostUs(costs, bytes).toFixed(0)} us of CPU time`,
      ]),
      ['TLS, on a kept connection', `${costs.tlsUs.toFixed(0)} us more`],
      ['a process without sites', `${(costs.processBytes / 1e6).toFixed(0)} MB`],
      ['a client connection that waits', `${(costs.connectionBytes / 1_024).toFixed(1)} KB`],
      [
        'a site of 20 rules that is known',
        `${(costs.siteBytes / 1_024).toFixed(1)} KB, and ${costs.siteStartMs.toFixed(2)} ms of CPU time at the start`,
      ],
      ['a site whose rules are compiled', `${(costs.compiledSiteBytes / 1_024).toFixed(0)} KB more`],
    ],
  )
}

function sizeTable(costs: FleetCosts, definition: FleetDefinition): string {
  return markdownTable(
    [
      'fleet',
      'sites',
      'requests/s',
      'body',
      'connections',
      'cores',
      'machines',
      'groups',
      'memory per process',
      'memory per machine',
      'start',
    ],
    definition.scenarios.map((scenario) => {
      const size = fleetSize(costs, scenario, definition)
      return [
        scenario.name,
        scenario.sites.toLocaleString('en-US'),
        scenario.requestsPerSecond.toLocaleString('en-US'),
        `${scenario.bodyBytes / 1_024} KB`,
        scenario.connections.toLocaleString('en-US'),
        Math.ceil(size.cores).toLocaleString('en-US'),
        String(size.machines),
        String(size.groups),
        `${(size.bytesPerProcess / 1e9).toFixed(2)} GB`,
        `${(size.bytesPerMachine / 1e9).toFixed(1)} GB`,
        `${size.startSeconds.toFixed(0)} s`,
      ]
    }),
  )
}

function needTable(costs: FleetCosts, definition: FleetDefinition): string {
  return markdownTable(
    ['fleet', 'what is tightest first, as a share of what there is'],
    definition.scenarios.map((scenario) => [
      scenario.name,
      fleetSize(costs, scenario, definition)
        .needs.map(([what, share]) => `${what} ${(share * 100).toFixed(0)} %`)
        .join(', '),
    ]),
  )
}

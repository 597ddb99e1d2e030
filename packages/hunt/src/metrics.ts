/** Counts of what a log holds: event ids, computers, sources; for requests clients, statuses, agents. */
import type { HuntEvent } from './hunt-event.ts'
import type { SumTable } from './sums.ts'

export const METRICS = ['events', 'hosts', 'clients', 'statuses', 'agents', 'methods'] as const
export type Metric = (typeof METRICS)[number]

/** Positions of the counts of a client behind the number of its requests. */
export const CLIENT_COUNTS = { refused: 1, failed: 2, agents: 3 } as const

/** Longest text of a key; longer ones are counted by their beginning. Unit: characters. */
const MAX_KEY_CHARACTERS = 200

export function countEvent(event: HuntEvent, sums: SumTable): void {
  const { time } = event
  if (event.host !== '') sums.add(['hosts', event.host], time)
  if (event.kind !== 'web') {
    sums.add(['events', event.channel, String(event.eventId ?? ''), event.provider ?? ''], time)
    return
  }
  sums.add(['events', event.channel, '', ''], time)
  const status = Number(event.get('sc-status') ?? NaN)
  const client = textOf(event, 'c-ip')
  const agent = textOf(event, 'cs-user-agent')
  const { refused, failed } = CLIENT_COUNTS
  if (client !== undefined) {
    sums.add(['clients', client], time, status >= 500 ? [failed] : status >= 400 ? [refused] : undefined)
    // Right behind its client in the order of keys, so that they can be counted without keeping them.
    sums.add(['clients', client, agent ?? ''], time)
  }
  if (!Number.isNaN(status)) sums.add(['statuses', String(status)], time)
  sums.add(['agents', agent ?? '-'], time)
  const method = textOf(event, 'cs-method')
  if (method !== undefined && method !== '') sums.add(['methods', method], time)
}

function textOf(event: HuntEvent, field: string): string | undefined {
  const value = event.get(field)
  return typeof value === 'string' ? value.slice(0, MAX_KEY_CHARACTERS) : undefined
}

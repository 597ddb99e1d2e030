/** How many of what, of the events that the list shows. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { WorkerClient } from './client.ts'
import { countText, durationText } from './format.ts'
import type { Calls } from './protocol.ts'

const TITLES = [
  ['route', 'Routes'],
  ['rule', 'Rules that replaced something'],
  ['status', 'Status'],
  ['type', 'Media types'],
  ['reason', 'Why rules did not run'],
  ['outcome', 'How exchanges ended'],
] as const

export function TotalsPanel({
  client,
  version,
  onFilter,
  onSelect,
}: {
  client: WorkerClient
  version: number
  onFilter: (filter: string) => void
  onSelect: (event: string) => void
}): JSX.Element {
  const [result, setResult] = useState<Calls['totals']['result'] | undefined>()
  useEffect(() => {
    let isWanted = true
    void client.call('totals', undefined).then((found) => {
      if (isWanted) setResult(found)
    })
    return () => {
      isWanted = false
    }
  }, [client, version])
  if (result === undefined) return <p class="empty">Counting …</p>
  const { totals, slowest } = result
  return (
    <div class="totals" tabIndex={0} role="region" aria-label="totals">
      {TITLES.map(([name, title]) => (
        <table class="small" key={name}>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th scope="col">{name}</th>
              <th scope="col">events</th>
              <th scope="col">failed</th>
              <th scope="col">mean</th>
            </tr>
          </thead>
          <tbody>
            {totals.by[name].map(({ value, filter, events, failures, meanMs }) => (
              <tr key={value}>
                <th scope="row">
                  <button type="button" class="link" onClick={() => onFilter(filter)}>
                    {value}
                  </button>
                </th>
                <td>{countText(events)}</td>
                <td>{failures === 0 ? '' : countText(failures)}</td>
                <td>{durationText(meanMs * 1_000)}</td>
              </tr>
            ))}
            {totals.by[name].length === 0 && (
              <tr>
                <td colSpan={4}>none</td>
              </tr>
            )}
          </tbody>
        </table>
      ))}
      <table class="small">
        <caption>Slowest</caption>
        <tbody>
          {slowest.map((row) => (
            <tr key={row.event}>
              <td>{durationText(row.endUs)}</td>
              <th scope="row">
                <button type="button" class="link" onClick={() => onSelect(row.event)}>
                  {row.method} {row.host} {row.target}
                </button>
              </th>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** What the hunt found in one event: rules, and what of them holds. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { WorkerClient } from './client.ts'
import type { ExplainedHit } from './hunt-protocol.ts'
import { LevelBadge } from './level-badge.tsx'

export function HitView({
  name,
  hits,
  client,
}: {
  name: string
  /** Changes when there may be others. */
  hits: number
  client: WorkerClient
}): JSX.Element | undefined {
  const [found, setFound] = useState<readonly ExplainedHit[]>([])
  useEffect(() => {
    let isWanted = true
    void client.call('explain', name).then((explained) => {
      if (isWanted) setFound(explained)
    })
    return () => {
      isWanted = false
    }
  }, [client, name, hits])
  if (found.length === 0) return undefined
  return (
    <section class="found" aria-label="hits of the hunt">
      {found.map(({ rule, fields }) => (
        <details key={`${rule.file}:${rule.line}`} open>
          <summary>
            <LevelBadge level={rule.level} /> <strong>{rule.title}</strong>
          </summary>
          {rule.description !== undefined && <p>{rule.description}</p>}
          {rule.tags.length > 0 && (
            <p class="tags">
              {rule.tags.map((tag) => (
                <span key={tag} class="tag">
                  {tag}
                </span>
              ))}
            </p>
          )}
          {fields.length > 0 && (
            <table class="small">
              <tbody>
                {fields.map(({ selection, field, value }) => (
                  <tr key={`${selection} ${field}`}>
                    <th scope="row" title={`in ${selection}`}>
                      {field}
                    </th>
                    <td>
                      <code>{value === '' ? 'found in the event' : value}</code>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
          <p class="hint">
            {rule.file}:{rule.line}
            {rule.id === undefined ? '' : ` · ${rule.id}`}
          </p>
        </details>
      ))}
    </section>
  )
}

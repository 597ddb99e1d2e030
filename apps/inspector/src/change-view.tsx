/** A body with what rules took out and put in. */
import type { ComponentChildren, JSX } from 'preact'
import type { ShownChange } from './protocol.ts'

/** Octets around a change that are shown. */
const CONTEXT_BYTES = 120
const MAX_CHANGES = 200
const decoder = new TextDecoder()

export function ChangeView({
  input,
  changes,
  isWhole,
}: {
  input: Uint8Array
  changes: readonly ShownChange[]
  /** All of the body, not only what is around the changes. */
  isWhole: boolean
}): JSX.Element {
  const parts: ComponentChildren[] = []
  let at = 0
  const text = (from: number, to: number): string => decoder.decode(input.subarray(from, to))
  const between = (to: number, isLast: boolean): void => {
    const length = to - at
    const isFirst = at === 0
    if (isWhole || length <= 3 * CONTEXT_BYTES) {
      parts.push(text(at, to))
      return
    }
    if (!isFirst) parts.push(text(at, at + CONTEXT_BYTES))
    const skipped = length - (isFirst || isLast ? CONTEXT_BYTES : 2 * CONTEXT_BYTES)
    parts.push(<span class="skipped">{` … ${skipped} octets as they were … `}</span>)
    if (!isLast) parts.push(text(to - CONTEXT_BYTES, to))
  }
  for (const { rule, start, end, replacement } of changes.slice(0, MAX_CHANGES)) {
    between(start, false)
    parts.push(
      <span class={`change rule-${rule % 8}`} title={`rule ${rule + 1}`}>
        <span class="change-rule">{rule + 1}</span>
        {end > start && <del>{text(start, end)}</del>}
        {replacement.length > 0 && <ins>{decoder.decode(replacement)}</ins>}
      </span>,
    )
    at = end
  }
  between(input.length, true)
  return (
    <div>
      {changes.length > MAX_CHANGES && (
        <p>
          The first {MAX_CHANGES} of {changes.length} changes.
        </p>
      )}
      <pre class="diff" tabIndex={0} aria-label="changes of the body">
        {parts}
      </pre>
    </div>
  )
}

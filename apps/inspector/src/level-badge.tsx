/** The level of a rule as a word in a box. */
import type { JSX } from 'preact'

export function LevelBadge({ level }: { level: string | undefined }): JSX.Element {
  return <span class={`level level-${level ?? 'none'}`}>{level ?? 'no level'}</span>
}

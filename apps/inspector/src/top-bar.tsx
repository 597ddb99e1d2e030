/** What to look at: source, panel, columns; and how much of it there is. */
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { Recording } from './admin-api.ts'
import { bytesText, countText } from './format.ts'
import type { StoreStatus } from './protocol.ts'
import { COLUMNS } from './table-columns.ts'
import type { Panel, ViewState } from './view-state.ts'

const PANELS: readonly (readonly [Panel, string])[] = [
  ['list', 'Events'],
  ['totals', 'Totals'],
  ['hunt', 'Hunt'],
  ['workbench', 'Rule workbench'],
]

const CONNECTIONS: Readonly<Record<StoreStatus['connection'], string>> = {
  none: '',
  loading: 'loading …',
  connecting: 'connecting …',
  live: 'live',
  lost: 'connection lost; trying again',
  refused: 'signed out',
  loaded: 'recorded',
}

const LOADING: readonly StoreStatus['connection'][] = ['loading', 'connecting']

interface TopBarProps {
  readonly view: ViewState
  readonly onView: (change: Partial<ViewState>) => void
  readonly status: StoreStatus | undefined
  /** Events that the filter lets through. */
  readonly count: number
  readonly recordings: readonly Recording[]
  readonly isPaused: boolean
  readonly onPause: (isPaused: boolean) => void
  readonly onFile: (file: File) => void
  readonly onSignOut: () => void
}

export function TopBar(props: TopBarProps): JSX.Element {
  const { view, onView, status, count, recordings, isPaused, onPause, onFile, onSignOut } = props
  const [isColumns, setColumns] = useState(false)
  const fileField = useRef<HTMLInputElement>(null)
  return (
    <>
      <header>
        <h1>prexy</h1>
        <nav aria-label="panels">
          {PANELS.map(([panel, title]) => (
            <button type="button" key={panel} aria-pressed={view.panel === panel} onClick={() => onView({ panel })}>
              {title}
            </button>
          ))}
        </nav>
        <label>
          <span class="hidden">source of events</span>
          <select
            value={view.source}
            onChange={(event) => onView({ source: event.currentTarget.value, selected: undefined, range: undefined })}
          >
            <option value="live">Live</option>
            {recordings.map((recording) => (
              <option key={recording.id} value={recording.id}>
                {recording.name ?? recording.id} · {countText(recording.events)} events
              </option>
            ))}
            {view.source === 'file' && <option value="file">A file</option>}
          </select>
        </label>
        <button type="button" onClick={() => fileField.current?.click()}>
          Open a file
        </button>
        <input
          ref={fileField}
          class="hidden"
          type="file"
          accept=".prexyrec"
          aria-label="a segment of a recording"
          tabIndex={-1}
          onChange={(event) => {
            const file = event.currentTarget.files?.[0]
            if (file === undefined) return
            onFile(file)
            event.currentTarget.value = ''
          }}
        />
        <span class={`status is-${status?.connection ?? 'none'}`} role="status">
          {status === undefined ? '' : CONNECTIONS[status.connection]}
          {status?.progress === undefined ? '' : ` ${Math.round(100 * status.progress)} %`}
        </span>
        <span class="counts">
          {countText(count)} of {countText(status?.events ?? 0)} events
          {(status?.evicted ?? 0) > 0 && (
            <span title="the oldest make room for newer ones">
              {' '}
              · {countText(status?.evicted ?? 0)} older ones gone
            </span>
          )}
          {(status?.dropped ?? 0) > 0 && (
            <strong title="this page read too slowly"> · {countText(status?.dropped ?? 0)} missed</strong>
          )}
          {' · '}
          {bytesText(status?.bytes ?? 0)}
        </span>
        {view.source === 'live' && (
          <button
            type="button"
            aria-pressed={isPaused}
            title="events go on to be taken; the list stands still (p)"
            onClick={() => onPause(!isPaused)}
          >
            Pause
          </button>
        )}
        <button type="button" onClick={() => setColumns(!isColumns)} aria-expanded={isColumns}>
          Columns
        </button>
        <button type="button" onClick={toggleTheme} aria-label="dark or light" title="dark or light">
          ◐
        </button>
        <button type="button" onClick={() => onSignOut()}>
          Sign out
        </button>
      </header>
      {status !== undefined && LOADING.includes(status.connection) && (
        <progress
          class="loading"
          aria-label="loading"
          {...(status.progress === undefined ? {} : { max: 1, value: status.progress })}
        />
      )}
      {isColumns && (
        <fieldset class="columns">
          <legend>Columns</legend>
          {COLUMNS.map(({ name, title }) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={view.columns.includes(name)}
                onChange={(event) => {
                  const wanted = event.currentTarget.checked
                  const columns = COLUMNS.map((column) => column.name).filter((own) =>
                    own === name ? wanted : view.columns.includes(own),
                  )
                  if (columns.length > 0) onView({ columns })
                }}
              />
              {title}
            </label>
          ))}
        </fieldset>
      )}
    </>
  )
}

const THEME = 'prexy-theme'

/** What somebody chose in this browser before. */
export function applyTheme(): void {
  try {
    const theme = localStorage.getItem(THEME)
    if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme
  } catch {
    // Storage can be switched off.
  }
}

function toggleTheme(): void {
  const { dataset } = document.documentElement
  const isDark =
    dataset.theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : dataset.theme === 'dark'
  dataset.theme = isDark ? 'light' : 'dark'
  try {
    localStorage.setItem(THEME, dataset.theme)
  } catch {
    // It holds as long as the page.
  }
}

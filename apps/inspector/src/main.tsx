/** The inspector: sign-in, then events as they happen or as they were recorded. */
import { render } from 'preact'
import type { JSX, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { stringify } from 'yaml'
import {
  askRecordings,
  askRoutes,
  isSignedIn,
  type Recording,
  type Route,
  SignedOut,
  signIn,
  signOut,
} from './admin-api.ts'
import { startWorker, type WorkerClient } from './client.ts'
import { Detail } from './detail.tsx'
import { EventTable } from './event-table.tsx'
import { FilterBar } from './filter-bar.tsx'
import { countText } from './format.ts'
import { HistogramView } from './histogram.tsx'
import type { QueryReply, Source, StoreStatus } from './protocol.ts'
import { FIRST_HUNT, HuntPanel, type HuntInput } from './hunt-panel.tsx'
import { NO_HUNT } from './hunt-protocol.ts'
import { NARROW_COLUMNS } from './table-columns.ts'
import { applyTheme, TopBar } from './top-bar.tsx'
import { TotalsPanel } from './totals-panel.tsx'
import { DEFAULT_VIEW, type Panel, readView, type ViewState, writeView } from './view-state.ts'
import { type BenchInput, FIRST_BENCH, Workbench } from './workbench.tsx'

const REFRESH_MS = 250
const NARROW = matchMedia('(max-width: 760px)')
const PANEL_KEYS: Readonly<Record<string, Panel | undefined>> = { 1: 'list', 2: 'totals', 3: 'hunt', 4: 'workbench' }

function SignIn({ onDone, first }: { onDone: () => void; first: string }): JSX.Element {
  const [problem, setProblem] = useState(first)
  const [token, setToken] = useState('')
  const send = async (): Promise<void> => {
    const found = await signIn(token.trim()).catch(() => 'the proxy does not answer')
    if (found === undefined) onDone()
    else setProblem(found)
  }
  return (
    <main class="sign-in">
      <h1>prexy inspector</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <label>
          Token
          <input
            type="password"
            autocomplete="current-password"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Sign in</button>
      </form>
      {problem !== '' && <p role="alert">{problem}</p>}
      <p>
        It is <code>admin.token</code> of the configuration. Where that says nothing, prexy makes one at each start and
        prints an address that has it: “admin on http://…#token=…”.
      </p>
    </main>
  )
}

function Inspector({ onSignedOut }: { onSignedOut: () => void }): JSX.Element {
  const client = useMemo(startWorker, [])
  const [view, setView] = useState<ViewState>(() => readView(location.hash))
  const [cursor, setCursor] = useState(-1)
  const [bench, setBench] = useState<BenchInput>(FIRST_BENCH)
  const [huntInput, setHuntInput] = useState<HuntInput>(FIRST_HUNT)
  const [isPaused, setPaused] = useState(false)
  const isNarrow = useNarrow()
  const filterField = useRef<HTMLInputElement>(null)
  const change = (changed: Partial<ViewState>): void => setView((before) => ({ ...before, ...changed }))
  const { status, reply, problem, note, routes, recordings, open } = useEvents(client, view, isPaused, onSignedOut)
  const { filter, range, sort } = view

  useAddress(view, setView)
  useKeys(filterField, {
    onEscape: () => change({ selected: undefined }),
    onPanel: (panel) => change({ panel }),
    onPause: () => setPaused((before) => !before),
  })
  const openFile = (file: File): void => {
    change({ source: 'file', selected: undefined, range: undefined })
    void open({ kind: 'file', file })
  }
  const hunt = status?.hunt ?? NO_HUNT
  const isDefault = view.columns.join() === DEFAULT_VIEW.columns.join()
  const columns = (isNarrow && isDefault ? NARROW_COLUMNS : view.columns).filter(
    (name) => name !== 'hit' || hunt.state !== 'none' || !isDefault,
  )

  const count = reply?.count ?? 0
  // PERF: what a status changes is not these; while events come there are ten a second of it.
  const histogram = useMemo(
    () =>
      reply !== undefined && (
        <HistogramView histogram={reply.histogram} range={range} onRange={(chosen) => change({ range: chosen })} />
      ),
    [reply, range],
  )
  const table = useMemo(
    () => (
      <EventTable
        client={client}
        count={count}
        version={reply?.version ?? 0}
        above={reply?.above ?? 0}
        firstRows={reply?.first ?? []}
        columns={columns}
        sort={sort}
        selected={view.selected}
        cursor={cursor}
        onCursor={setCursor}
        onSort={(chosen) => change({ sort: chosen })}
        onSelect={(selected) => change({ selected })}
      />
    ),
    [client, reply?.version, columns.join(), sort, view.selected, cursor],
  )
  return (
    <div
      class="inspector"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        const file = event.dataTransfer?.files[0]
        if (file !== undefined) openFile(file)
      }}
    >
      <TopBar
        view={view}
        onView={change}
        status={status}
        count={count}
        recordings={recordings}
        isPaused={isPaused}
        onPause={setPaused}
        onFile={openFile}
        onSignOut={() => void signOut().then(onSignedOut)}
      />
      {note !== '' && (
        <p class="note" role="alert">
          {note}
        </p>
      )}
      {view.panel === 'workbench' ? (
        <main>
          <Workbench input={bench} onInput={setBench} />
        </main>
      ) : view.panel === 'hunt' ? (
        <main>
          <HuntPanel
            client={client}
            status={hunt}
            input={huntInput}
            onInput={setHuntInput}
            onStart={() => {
              if (!isDefault && !view.columns.includes('hit')) change({ columns: [...view.columns, 'hit'] })
            }}
            onFilter={(term) => change({ filter: term, range: undefined, panel: 'list' })}
          />
        </main>
      ) : (
        <main class={view.selected === undefined ? '' : 'with-detail'}>
          <div class="events">
            <FilterBar
              client={client}
              filter={view.filter}
              problem={problem}
              field={filterField}
              onFilter={(text) => change({ filter: text })}
            />
            {histogram}
            {view.panel === 'totals' ? (
              <TotalsPanel
                client={client}
                version={reply?.version ?? 0}
                onFilter={(term) => change({ filter: `${view.filter} ${term}`.trim(), panel: 'list' })}
                onSelect={(selected) => change({ selected })}
              />
            ) : count === 0 ? (
              <Empty
                status={status}
                isFiltered={filter !== '' || range !== undefined}
                onAll={() => change({ filter: '', range: undefined })}
              />
            ) : (
              table
            )}
          </div>
          {view.selected !== undefined && (
            <Detail
              name={view.selected}
              loaded={status?.events ?? 0}
              hunted={hunt.hits}
              client={client}
              routes={routes}
              onClose={() => change({ selected: undefined })}
              onBench={(body, mediaType, route) => {
                const rules =
                  route === undefined || route.rules.length === 0
                    ? FIRST_BENCH.rules
                    : stringify({ ...route.options, rules: route.rules })
                setBench({ rules, body, mediaType })
                change({ panel: 'workbench' })
              }}
            />
          )}
        </main>
      )}
    </div>
  )
}

interface Events {
  readonly status: StoreStatus | undefined
  readonly reply: Extract<QueryReply, { kind: 'found' }> | undefined
  readonly problem: Extract<QueryReply, { kind: 'problem' }>['problem'] | undefined
  /** What went wrong with opening something, or what is missing of it. */
  readonly note: string
  readonly routes: readonly Route[]
  readonly recordings: readonly Recording[]
  readonly open: (source: Source) => Promise<void>
}

/** What the worker says to what the view asks for. */
function useEvents(client: WorkerClient, view: ViewState, isPaused: boolean, onSignedOut: () => void): Events {
  const [status, setStatus] = useState<StoreStatus | undefined>()
  const [reply, setReply] = useState<Events['reply']>()
  const [problem, setProblem] = useState<Events['problem']>()
  const [note, setNote] = useState('')
  const [routes, setRoutes] = useState<readonly Route[]>([])
  const [recordings, setRecordings] = useState<readonly Recording[]>([])
  const opened = useRef(0)

  useEffect(() => {
    client.onStatus = (told) => {
      setStatus(told)
      if (told.connection === 'refused') onSignedOut()
    }
    client.onFault = (message) => setNote(`The inspector has a fault and may stand still; load it again. ${message}`)
    const failed = (error: unknown): void => {
      if (error instanceof SignedOut) onSignedOut()
      else setNote(error instanceof Error ? error.message : String(error))
    }
    askRoutes().then((found) => setRoutes(found), failed)
    askRecordings().then((found) => setRecordings(found), failed)
  }, [client])

  const open = async (source: Source): Promise<void> => {
    const mine = ++opened.current
    const tell = (text: string): void => {
      // What became of a source that nobody looks at any more is nothing to tell.
      if (mine === opened.current) setNote(text)
    }
    tell('')
    try {
      tell((await client.call('open', source)).note ?? '')
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error))
    }
  }
  useEffect(() => {
    if (view.source !== 'file')
      void open(view.source === 'live' ? { kind: 'live' } : { kind: 'session', id: view.source })
  }, [client, view.source])

  const take = (answer: QueryReply): void => {
    if (answer.kind === 'found') {
      setReply(answer)
      setProblem(undefined)
    } else if (answer.kind === 'problem') setProblem(answer.problem)
  }
  const { filter, range, sort } = view
  // At once, however fast somebody types: the worker gives up what was asked before.
  useLayoutEffect(() => {
    void client.call('query', { filter, range, sort }).then(take)
  }, [client, filter, range, sort, view.source])
  useRefresh(client, status, isPaused, take)
  return { status, reply, problem, note, routes, recordings, open }
}

/** Keeps the address and the view the same. */
function useAddress(view: ViewState, setView: (view: ViewState) => void): void {
  useEffect(() => {
    const text = writeView(view)
    history.replaceState(undefined, '', text === '' ? location.pathname : `#${text}`)
  }, [view])
  useEffect(() => {
    const onHash = (): void => setView(readView(location.hash))
    addEventListener('hashchange', onHash)
    return () => removeEventListener('hashchange', onHash)
  }, [])
}

/** Asks again for what came since: one question at a time, however fast events come, and one more for what came meanwhile. */
function useRefresh(
  client: WorkerClient,
  status: StoreStatus | undefined,
  isPaused: boolean,
  take: (answer: QueryReply) => void,
): void {
  const state = useRef({ isAsking: false, isDue: false })
  useEffect(() => {
    const { current } = state
    current.isDue = true
    if (current.isAsking || isPaused) return
    current.isAsking = true
    const again = async (): Promise<void> => {
      current.isDue = false
      take(await client.call('refresh', undefined))
      if (current.isDue) setTimeout(() => void again(), REFRESH_MS)
      else current.isAsking = false
    }
    setTimeout(() => void again(), REFRESH_MS)
  }, [client, status, isPaused])
}

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(NARROW.matches)
  useEffect(() => {
    const onChange = (): void => setNarrow(NARROW.matches)
    NARROW.addEventListener('change', onChange)
    return () => NARROW.removeEventListener('change', onChange)
  }, [])
  return isNarrow
}

interface KeyActions {
  readonly onEscape: () => void
  readonly onPanel: (panel: Panel) => void
  readonly onPause: () => void
}

function useKeys(filterField: RefObject<HTMLInputElement | null>, actions: KeyActions): void {
  const latest = useRef(actions)
  latest.current = actions
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { target } = event
      if (
        target instanceof HTMLInputElement ||
        target instanceof HTMLTextAreaElement ||
        target instanceof HTMLSelectElement
      )
        return
      if (event.ctrlKey || event.metaKey || event.altKey) return
      if (event.key === '/') filterField.current?.focus()
      else if (event.key === 'Escape') latest.current.onEscape()
      else if (event.key === 'p') latest.current.onPause()
      else if (PANEL_KEYS[event.key] !== undefined) latest.current.onPanel(PANEL_KEYS[event.key] ?? 'list')
      else if (event.key === '?') document.querySelector<HTMLButtonElement>('.filter > button')?.click()
      else if (
        (event.key === 'j' || event.key === 'k') &&
        !(target instanceof HTMLElement && target.closest('.scroller'))
      )
        document.querySelector<HTMLElement>('.scroller')?.focus()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

function Empty({
  status,
  isFiltered,
  onAll,
}: {
  status: StoreStatus | undefined
  isFiltered: boolean
  onAll: () => void
}): JSX.Element {
  if (isFiltered && (status?.events ?? 0) > 0)
    return (
      <div class="empty">
        <p>None of the {countText(status?.events ?? 0)} events fits.</p>
        <button type="button" onClick={onAll}>
          Show all
        </button>
      </div>
    )
  return (
    <div class="empty">
      {status?.connection === 'live' ? (
        <>
          <p>Connected. Nothing has gone through the proxy yet.</p>
          <p>Send it a request, in a browser or with curl, and it appears here.</p>
        </>
      ) : status?.connection === 'loaded' ? (
        <p>This recording has no events.</p>
      ) : status?.connection === 'lost' ? (
        <>
          <p>There are no live events.</p>
          <p>
            Either the proxy is not running, or it does not record: <code>record: {'{}'}</code> in its configuration
            keeps the last events in memory for this page. Recorded files can be opened in any case.
          </p>
        </>
      ) : (
        <p>Loading …</p>
      )}
    </div>
  )
}

function App({ first }: { first: string | undefined }): JSX.Element {
  const [problem, setProblem] = useState(first)
  if (problem !== undefined) return <SignIn first={problem} onDone={() => setProblem(undefined)} />
  return <Inspector onSignedOut={() => setProblem('')} />
}

/** The token in the address is used once and taken out, before anything else can read it. */
async function signInByAddress(): Promise<string | undefined> {
  const fragment = new URLSearchParams(location.hash.slice(1))
  const token = fragment.get('token')
  if (token !== null) {
    fragment.delete('token')
    const rest = fragment.toString()
    history.replaceState(undefined, '', rest === '' ? location.pathname : `#${rest}`)
    return await signIn(token)
  }
  return (await isSignedIn()) ? undefined : ''
}

applyTheme()
const root = document.getElementById('app')
if (root !== null) {
  signInByAddress()
    .catch(() => 'the proxy does not answer')
    .then((problem) => render(<App first={problem} />, root))
    .catch((error: unknown) => {
      root.textContent = `The inspector cannot start: ${String(error)}`
    })
}

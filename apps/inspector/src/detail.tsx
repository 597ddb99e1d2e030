/** Everything about one event. */
import type { ExchangeRecord, RecordedEvent, WebSocketSide } from '@prexy/events/recorded-event'
import { eventName } from '@prexy/events/recorded-event'
import { curlCommand } from '@prexy/record/curl'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { BodyView } from './body-view.tsx'
import { ChangeView } from './change-view.tsx'
import type { Route } from './admin-api.ts'
import type { WorkerClient } from './client.ts'
import { bytesText, cutText, durationText, timeText } from './format.ts'
import type { Calls } from './protocol.ts'
import { fieldValue } from './field-value.ts'
import { HitView } from './hit-view.tsx'
import { readView, writeView } from './view-state.ts'

/** UTF-16 units of one value. */
const MAX_VALUE_UNITS = 20_000
/** Lines of one head. */
const MAX_FIELDS = 500

interface DetailProps {
  readonly name: string
  /** How many events there are: one that is not there yet is looked for again. */
  readonly loaded: number
  /** Events with a hit of the hunt. */
  readonly hunted: number
  readonly client: WorkerClient
  readonly routes: readonly Route[]
  readonly onClose: () => void
  readonly onBench: (body: Uint8Array, type: string, route: Route | undefined) => void
}

export function Detail({ name, loaded, hunted, client, routes, onClose, onBench }: DetailProps): JSX.Element {
  const [found, setFound] = useState<RecordedEvent | 'gone' | Error | undefined>()
  const isMissing = found === 'gone'
  const event = found instanceof Error || found === 'gone' ? undefined : found
  useEffect(() => setFound(undefined), [client, name])
  useEffect(() => {
    let isWanted = true
    const take = (answer: RecordedEvent | Error | undefined): void => {
      if (isWanted) setFound(answer ?? 'gone')
    }
    client.call('event', name).then(take, take)
    return () => {
      isWanted = false
    }
  }, [client, name, isMissing ? loaded : undefined])
  return (
    <aside class="detail" aria-label="event">
      <div class="detail-head">
        <h2>{event === undefined ? 'Event' : titleOf(event)}</h2>
        {event !== undefined && 'status' in event && event.status !== undefined && (
          <span class={`status-code status-${Math.floor(event.status / 100)}xx`}>{event.status}</span>
        )}
        <button type="button" onClick={onClose} aria-label="close the event">
          ×
        </button>
      </div>
      {found instanceof Error && <p role="alert">This event cannot be read: {found.message}.</p>}
      {found === 'gone' && (
        <p>This event is not there any more: newer ones took its place, or it was in another recording.</p>
      )}
      {event !== undefined && (
        <>
          <HitView name={name} hits={hunted} client={client} />
          <EventDetail event={event} name={name} client={client} routes={routes} onBench={onBench} />
        </>
      )}
    </aside>
  )
}

function titleOf(event: RecordedEvent): string {
  if (event.kind === 'gap') return 'A gap'
  if (event.kind === 'application') return event.name
  return `${event.method} ${cutText(event.target, MAX_VALUE_UNITS)}`
}

type EventProps = Omit<DetailProps, 'onClose' | 'loaded' | 'hunted'> & { readonly event: RecordedEvent }

function EventDetail({ event, ...rest }: EventProps): JSX.Element {
  if (event.kind === 'gap')
    return <p>{event.dropped} events were not recorded here: more came than could be written.</p>
  if (event.kind === 'application') {
    return (
      <>
        <div class="actions">
          <RequestLinks requestId={event.requestId} traceId={event.traceId} />
        </div>
        <Facts
          facts={[
            ['time', timeText(event.startedAtMs)],
            ['source', event.source],
            ['type', event.type],
            ['level', event.level],
            ['message', event.message],
            ['duration', event.durationMs === undefined ? undefined : `${event.durationMs} ms`],
            ['event', eventName(event)],
            ['request id', event.requestId],
            ['trace', event.traceId],
          ]}
        />
        {event.data !== undefined && (
          <Facts facts={Object.entries(event.data).map(([name, value]): Fact => [name, String(value)])} />
        )}
      </>
    )
  }
  return <ExchangeDetail event={event} {...rest} />
}

/** To what was recorded of the same request and the same trace: exchanges and events of applications. */
function RequestLinks({
  requestId,
  traceId,
}: {
  readonly requestId: string | undefined
  readonly traceId: string | undefined
}): JSX.Element {
  return (
    <>
      {requestId !== undefined && (
        <button type="button" onClick={() => showAllWith(requestId)}>
          All of this request
        </button>
      )}
      {traceId !== undefined && (
        <button type="button" onClick={() => showAllWith(traceId)}>
          All of this trace
        </button>
      )}
    </>
  )
}

/** Lists all that holds the text, with the event that is open now. */
function showAllWith(text: string): void {
  const filter = `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
  location.hash = writeView({ ...readView(location.hash), panel: 'list', range: undefined, filter })
}

type Fact = readonly [string, string | undefined]

function Facts({ facts }: { facts: readonly Fact[] }): JSX.Element {
  return (
    <dl class="facts">
      {facts.map(([name, value]) =>
        value === undefined ? undefined : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{cutText(value, MAX_VALUE_UNITS)}</dd>
          </div>
        ),
      )}
    </dl>
  )
}

function ExchangeDetail({
  event,
  name,
  client,
  routes,
  onBench,
}: Omit<EventProps, 'event'> & { event: ExchangeRecord }): JSX.Element {
  const route = routes.find(({ name }) => name === event.route)
  const { bodies } = event
  const type = (fieldValue(event.response?.fields ?? [], 'content-type') ?? '').split(';', 1)[0].trim().toLowerCase()
  const requestType = (fieldValue(event.request?.fields ?? [], 'content-type') ?? '')
    .split(';', 1)[0]
    .trim()
    .toLowerCase()
  const before = bodies?.response?.octets
  return (
    <>
      <div class="actions">
        <CopyCurl event={event} />
        <RequestLinks requestId={event.requestId} traceId={event.traceparent?.split('-')[1]} />
        {before !== undefined && (
          <button type="button" onClick={() => onBench(before, type, route)}>
            Open in the workbench
          </button>
        )}
      </div>
      <Facts
        facts={[
          ['outcome', event.detail === undefined ? event.outcome : `${event.outcome}: ${event.detail}`],
          ['status', event.status?.toString()],
          ['host', event.host],
          ['route', event.route],
          ['upstream', event.upstreamAddress ?? event.upstream],
          ['client', event.client],
          ['time', timeText(event.startedAtMs)],
          ['event', eventName(event)],
          ['request id', event.requestId],
          ['trace', event.traceparent],
          ['to the client', bytesText(event.clientOutBytes)],
          ['from the upstream', bytesText(event.upstreamInBytes)],
        ]}
      />
      <Timings event={event} />
      <RuleHits event={event} route={route} />
      {event.webSocket !== undefined && (
        <table class="small">
          <caption>WebSocket</caption>
          <thead>
            <tr>
              <th scope="col">from</th>
              <th scope="col">texts</th>
              <th scope="col">binary</th>
              <th scope="col">control</th>
              <th scope="col">octets</th>
              <th scope="col">close</th>
            </tr>
          </thead>
          <tbody>
            <SideRow name="client" side={event.webSocket.fromClient} />
            <SideRow name="upstream" side={event.webSocket.fromUpstream} />
          </tbody>
        </table>
      )}
      {bodies?.response !== undefined && bodies.responseSent !== undefined && (
        <Attributed event={event} name={name} client={client} route={route} />
      )}
      <Heads title="Request" fields={event.request?.fields} sent={event.request?.sentFields} to="to the upstream" />
      {bodies?.request !== undefined && <BodyView label="Request body" body={bodies.request} type={requestType} />}
      {bodies?.requestSent !== undefined && (
        <BodyView label="Request body as sent on" body={bodies.requestSent} type={requestType} />
      )}
      <Heads title="Response" fields={event.response?.fields} sent={event.response?.sentFields} to="to the client" />
      {bodies?.response !== undefined && (
        <BodyView label="Response body from the upstream" body={bodies.response} type={type} />
      )}
      {bodies?.responseSent !== undefined && (
        <BodyView label="Response body to the client" body={bodies.responseSent} type={type} />
      )}
      {bodies === undefined && (
        <p class="hint">
          Bodies are not recorded. With <code>record: {'{ bodies: {} }'}</code> in the configuration they are, and
          changes can be seen here rule by rule.
        </p>
      )}
    </>
  )
}

function SideRow({ name, side }: { name: string; side: WebSocketSide }): JSX.Element {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{side.textMessages}</td>
      <td>{side.binaryMessages}</td>
      <td>{side.controlFrames}</td>
      <td>{side.bytes}</td>
      <td>{side.closeCode ?? ''}</td>
    </tr>
  )
}

function CopyCurl({ event }: { event: ExchangeRecord }): JSX.Element {
  const [told, tell] = useState('')
  const copy = async (): Promise<void> => {
    const { command, notes } = curlCommand(event)
    try {
      await navigator.clipboard.writeText(command)
      tell(['copied', ...notes].join('; '))
    } catch {
      tell(command)
    }
  }
  return (
    <>
      <button type="button" onClick={() => void copy()}>
        Copy as curl
      </button>
      <span role="status" class="copied">
        {told}
      </span>
    </>
  )
}

function Timings({ event: { timings } }: { event: ExchangeRecord }): JSX.Element {
  const steps: readonly (readonly [string, number | undefined])[] = [
    ['request head', timings.requestHeadUs],
    ['upstream asked', timings.upstreamAskedUs],
    ['upstream connected', timings.upstreamConnectedUs],
    ['response head', timings.responseHeadUs],
    ['end', timings.endUs],
  ]
  const total = Math.max(1, timings.endUs)
  let last = 0
  return (
    <table class="small timings">
      <caption>Timings</caption>
      <tbody>
        {steps.map(([name, at]) => {
          if (at === undefined) return undefined
          const from = last
          last = at
          return (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{durationText(at)}</td>
              <td>
                <svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
                  <rect
                    class={PHASES[name]}
                    x={(100 * from) / total}
                    y="0"
                    height="6"
                    width={Math.max(0.5, (100 * (at - from)) / total)}
                  />
                </svg>
              </td>
            </tr>
          )
        })}
        {timings.rewriteUs !== undefined && (
          <tr>
            <th scope="row">CPU of the rules</th>
            <td>{durationText(timings.rewriteUs)}</td>
            <td />
          </tr>
        )}
      </tbody>
    </table>
  )
}

/** As the waterfall of the list has them. */
const PHASES: Readonly<Record<string, string | undefined>> = {
  'request head': 'request',
  'upstream asked': 'request',
  'upstream connected': 'connect',
  'response head': 'wait',
  end: 'receive',
}

function RuleHits({ event, route }: { event: ExchangeRecord; route: Route | undefined }): JSX.Element | undefined {
  const { treatment } = event
  if (treatment === undefined) return undefined
  if (treatment.kind !== 'rewritten')
    return (
      <p class="hint">
        Rules did not run: <strong>{treatment.reason}</strong>
        {REASONS[treatment.reason] === undefined ? '' : ` — ${REASONS[treatment.reason]}`}
      </p>
    )
  const { hits, inBytes, outBytes, peakHeldBytes, overflows } = treatment.stats
  const hitting = hits.flatMap((count, rule) => (count > 0 ? [{ count, rule }] : []))
  return (
    <table class="small">
      <caption>
        Rules: {bytesText(inBytes)} in, {bytesText(outBytes)} out, {bytesText(peakHeldBytes)} held at most
        {overflows > 0 ? `, maxHeldBytes met ${overflows} times` : ''}
      </caption>
      <tbody>
        {hitting.map(({ count, rule }) => (
          <tr key={rule}>
            <th scope="row">
              <span class={`change-rule rule-${rule % 8}`}>{rule + 1}</span>
            </th>
            <td>{count} replaced</td>
            <td>{route?.rules.length === hits.length ? ruleText(route.rules[rule]) : ''}</td>
          </tr>
        ))}
        {hitting.length === 0 && (
          <tr>
            <td>They ran and found nothing.</td>
          </tr>
        )}
      </tbody>
    </table>
  )
}

const REASONS: Readonly<Record<string, string | undefined>> = {
  'no-rules': 'the route has none',
  'content-type': 'no rule is for this media type; see `types`',
  status: 'no rule is for this status',
  charset: 'the text is in an encoding that rules cannot be applied to',
  'no-content': 'the response has no body',
  'partial-content': 'only a part of the body was asked for',
  'no-transform': 'the response says that it must not be changed',
  'coding-unknown': 'it is compressed in a way that is not known',
  'coding-stacked': 'it is compressed more than once',
  upgrade: 'the connection is no longer HTTP',
  'nothing-found': 'no rule found anything in this version of the resource before',
}

function ruleText(rule: object): string {
  return Object.entries(rule)
    .slice(0, 3)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}

function Attributed({
  event,
  name,
  client,
  route,
}: {
  event: ExchangeRecord
  name: string
  client: WorkerClient
  route: Route | undefined
}): JSX.Element | undefined {
  const [result, setResult] = useState<Calls['attribute']['result'] | undefined>()
  const [isWhole, setWhole] = useState(false)
  useEffect(() => {
    let isWanted = true
    setResult(undefined)
    if (route !== undefined)
      void client.call('attribute', { event: name, rules: route.rules, options: route.options }).then((found) => {
        if (isWanted) setResult(found)
      })
    return () => {
      isWanted = false
    }
  }, [client, name, route])
  const input = event.bodies?.response?.octets
  if (input === undefined) return undefined
  return (
    <section aria-label="what the rules changed" class="attributed">
      <div class="body-head">
        <strong>What the rules changed</strong>
        <button type="button" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
          whole body
        </button>
      </div>
      {route === undefined && (
        <p class="hint">The running configuration has no route of this name, so changes cannot be told by rule.</p>
      )}
      {result !== undefined && 'problem' in result && <p class="hint">{result.problem}</p>}
      {result !== undefined && 'changes' in result && (
        <>
          {!result.isAsRecorded && (
            <p class="hint">
              With the rules of now the output is not what was recorded: they changed since, or the recording is cut, or
              secrets were taken out of it.
            </p>
          )}
          <ChangeView input={input} changes={result.changes} isWhole={isWhole} />
        </>
      )}
    </section>
  )
}

function Heads({
  title,
  fields,
  sent,
  to,
}: {
  title: string
  fields: readonly string[] | undefined
  sent: readonly string[] | undefined
  to: string
}): JSX.Element | undefined {
  if (fields === undefined) return undefined
  const before = pairs(fields)
  const after = sent === undefined ? undefined : pairs(sent)
  const key = ([name, value]: readonly [string, string]): string => `${name.toLowerCase()}: ${value}`
  const kept = new Set(after?.map(key))
  const known = new Set(before.map(key))
  return (
    <table class="small heads">
      <caption>
        {title} fields{after === undefined ? '' : `; what differs ${to} is marked`}
      </caption>
      <tbody>
        {before.map(([name, value], index) => {
          const isGone = after !== undefined && !kept.has(key([name, value]))
          return (
            <tr key={`before-${index}`} class={isGone ? 'gone' : ''}>
              <th scope="row">{name}</th>
              <td>{isGone ? <del>{value}</del> : value}</td>
            </tr>
          )
        })}
        {after
          ?.filter((pair) => !known.has(key(pair)))
          .map(([name, value], index) => (
            <tr key={`after-${index}`} class="added">
              <th scope="row">{name}</th>
              <td>
                <ins>{value}</ins>
              </td>
            </tr>
          ))}
      </tbody>
    </table>
  )
}

function pairs(fields: readonly string[]): (readonly [string, string])[] {
  const list: (readonly [string, string])[] = []
  for (let at = 0; at + 1 < fields.length && list.length < MAX_FIELDS; at += 2)
    list.push([cutText(fields[at], MAX_VALUE_UNITS), cutText(fields[at + 1], MAX_VALUE_UNITS)])
  return list
}

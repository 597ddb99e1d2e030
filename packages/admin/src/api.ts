/** The admin API: one table of operations, from which requests are answered and the OpenAPI description is made. */
import type { AdminHost } from './host.ts'
import type { MetricsSnapshot } from './metrics.ts'
import { PROMETHEUS_TYPE, prometheusText } from './prometheus.ts'

export interface ApiAnswer {
  readonly status: number
  /** Absent: there is no body. */
  readonly type: string | undefined
  readonly body: string | AsyncIterable<Uint8Array>
  readonly headers?: Readonly<Record<string, string>>
}

export interface ApiCall {
  readonly host: AdminHost
  /** Of the `{name}` in the path. */
  readonly name: string
  readonly query: URLSearchParams
}

export interface Operation {
  readonly method: 'GET' | 'POST'
  /** One segment may be `{name}`. */
  readonly path: string
  readonly summary: string
  /** Whether it is answered to anybody who can reach the listener: `metrics` where the configuration says so. */
  readonly open: boolean | 'metrics'
  /** Status and what it means. */
  readonly answers: Readonly<Record<number, string>>
  readonly type: string
  readonly handle: (call: ApiCall) => Promise<ApiAnswer> | ApiAnswer
}

const JSON_TYPE = 'application/json'
const TEXT_TYPE = 'text/plain; charset=utf-8'
export const MESSAGEPACK_TYPE = 'application/vnd.msgpack'

export const OPERATIONS: readonly Operation[] = [
  {
    method: 'GET',
    path: '/healthz',
    summary: 'Whether the process is alive',
    open: true,
    answers: { 200: 'It is.' },
    type: TEXT_TYPE,
    handle: () => ({ status: 200, type: TEXT_TYPE, body: 'ok\n' }),
  },
  {
    method: 'GET',
    path: '/readyz',
    summary: 'Whether requests are wanted',
    open: true,
    answers: { 200: 'They are.', 503: 'The proxy starts, or it is to stop.' },
    type: TEXT_TYPE,
    handle: ({ host }) =>
      host.isReady()
        ? { status: 200, type: TEXT_TYPE, body: 'ready\n' }
        : { status: 503, type: TEXT_TYPE, body: 'not ready\n' },
  },
  {
    method: 'GET',
    path: '/metrics',
    summary: 'Counters for Prometheus',
    open: 'metrics',
    answers: { 200: 'Text format 0.0.4.' },
    type: PROMETHEUS_TYPE,
    handle: async ({ host }) => {
      const { metrics, gauges } = await host.measure()
      return { status: 200, type: PROMETHEUS_TYPE, body: prometheusText(metrics, gauges) }
    },
  },
  {
    method: 'GET',
    path: '/api/status',
    summary: 'Version, workers, listeners, connections, memory',
    open: false,
    answers: { 200: 'The status.' },
    type: JSON_TYPE,
    handle: async ({ host }) => json(await host.status()),
  },
  {
    method: 'GET',
    path: '/api/routes',
    summary: 'Routes with their rules',
    open: false,
    answers: { 200: 'In the order in which they are asked.' },
    type: JSON_TYPE,
    handle: ({ host }) => json(host.routes()),
  },
  {
    method: 'GET',
    path: '/api/metrics',
    summary: 'The same counters as JSON: requests, bodies, rule hits per route',
    open: false,
    answers: { 200: 'What was counted since the start.' },
    type: JSON_TYPE,
    handle: async ({ host }) => json((await host.measure()).metrics),
  },
  {
    method: 'GET',
    path: '/api/comparisons',
    summary: 'What came of comparing responses with those of another proxy, by route, with the newest difference',
    open: false,
    answers: { 200: 'Routes of which something was compared.' },
    type: JSON_TYPE,
    handle: async ({ host }) => json(comparisonsOf((await host.measure()).metrics)),
  },
  {
    method: 'GET',
    path: '/api/recordings',
    summary: 'Recorded sessions',
    open: false,
    answers: { 200: 'Newest first.', 404: 'Nothing is recorded.' },
    type: JSON_TYPE,
    handle: async ({ host }) => {
      if (host.recordings === undefined) return notRecorded()
      const { recordingList } = await import('./recordings.ts')
      return json(await recordingList(host.recordings))
    },
  },
  {
    method: 'GET',
    path: '/api/recordings/{name}/events',
    summary: 'The events of a session, one MessagePack map after the other',
    open: false,
    answers: { 200: 'In the order in which each worker recorded them.', 404: 'There is no such session.' },
    type: MESSAGEPACK_TYPE,
    handle: async ({ host, name }) => {
      if (host.recordings === undefined) return notRecorded()
      const { recordingOctets } = await import('./recordings.ts')
      const octets = await recordingOctets(host.recordings, name)
      if (octets === undefined) return fault(404, `there is no session ${name}`)
      return { status: 200, type: MESSAGEPACK_TYPE, body: octets }
    },
  },
  {
    method: 'POST',
    path: '/api/reload',
    summary: 'Loads the configuration again',
    open: false,
    answers: { 200: 'It is in use.', 422: 'It has errors; the one before stays in use.' },
    type: JSON_TYPE,
    handle: async ({ host }) => {
      const outcome = await host.reload()
      return { ...json(outcome), status: outcome.kind === 'reloaded' ? 200 : 422 }
    },
  },
  {
    method: 'POST',
    path: '/api/drain',
    summary: 'Lets what is under way finish, then stops, as SIGTERM does',
    open: false,
    answers: { 202: 'It begins.' },
    type: JSON_TYPE,
    handle: ({ host }) => {
      host.drain()
      return { ...json({ state: 'draining' }), status: 202 }
    },
  },
  {
    method: 'GET',
    path: '/api/openapi.json',
    summary: 'This description',
    open: false,
    answers: { 200: 'OpenAPI 3.1.' },
    type: JSON_TYPE,
    handle: async ({ host }) => json(describeApi((await host.status()).version)),
  },
]

/** Answered by `events-endpoint.ts`: other tokens and other origins than for the rest. */
const EVENTS_DESCRIPTION = {
  post: {
    summary: 'Events of applications, which are recorded beside exchanges',
    requestBody: { required: true, content: { [MESSAGEPACK_TYPE]: {}, [JSON_TYPE]: {} } },
    responses: Object.fromEntries(
      Object.entries({
        200: 'How many events were accepted, dropped, known and refused.',
        400: 'It is no batch.',
        404: 'Events of applications are not taken.',
        413: 'It is too long.',
        415: 'It is neither MessagePack nor JSON.',
        422: 'All events were refused.',
        429: 'Events come too fast; Retry-After says when to send it again.',
        503: 'Too many wait; Retry-After says when to send it again.',
      }).map(([status, description]) => [status, { description, content: { [JSON_TYPE]: {} } }]),
    ),
  },
}

function comparisonsOf({ routes }: MetricsSnapshot): object {
  return Object.fromEntries(
    Object.entries(routes).flatMap(([name, { comparisons, differences, difference }]) =>
      Object.keys(comparisons).length === 0 ? [] : [[name, { comparisons, differences, difference }]],
    ),
  )
}

/** An OpenAPI 3.1 description of {@link OPERATIONS}. */
export function describeApi(version: string): object {
  const paths = new Map<string, Record<string, object>>()
  for (const { method, path, summary, open, answers, type } of OPERATIONS) {
    const own = paths.get(path) ?? {}
    own[method.toLowerCase()] = {
      summary,
      ...(open === true ? { security: [] } : {}),
      ...(path.includes('{name}')
        ? { parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }] }
        : {}),
      responses: Object.fromEntries(
        Object.entries(answers).map(([status, description]) => [status, { description, content: { [type]: {} } }]),
      ),
    }
    paths.set(path, own)
  }
  paths.set('/api/events', EVENTS_DESCRIPTION)
  return {
    openapi: '3.1.0',
    info: { title: 'prexy admin API', version },
    security: [{ token: [] }],
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    paths: Object.fromEntries(paths),
  }
}

export function json(value: unknown): ApiAnswer {
  return { status: 200, type: JSON_TYPE, body: `${JSON.stringify(value)}\n` }
}

export function fault(status: number, error: string): ApiAnswer {
  return { ...json({ error }), status }
}

function notRecorded(): ApiAnswer {
  return fault(404, 'nothing is recorded: the configuration has no record.directory')
}

/** The operation for a path, and what stands for its `{name}`; or the methods that the path has. */
export function findOperation(
  method: string,
  path: string,
): { readonly operation: Operation; readonly name: string } | { readonly allow: readonly string[] } {
  const asked = method === 'HEAD' ? 'GET' : method
  const allow: string[] = []
  for (const operation of OPERATIONS) {
    const name = nameIn(operation.path, path)
    if (name === undefined) continue
    if (operation.method === asked) return { operation, name }
    allow.push(operation.method)
  }
  return { allow }
}

function nameIn(template: string, path: string): string | undefined {
  const at = template.indexOf('{name}')
  if (at < 0) return template === path ? '' : undefined
  const after = template.slice(at + '{name}'.length)
  if (!path.startsWith(template.slice(0, at)) || !path.endsWith(after) || path.length <= template.length - 6)
    return undefined
  const name = path.slice(at, path.length - after.length)
  return name.includes('/') ? undefined : name
}

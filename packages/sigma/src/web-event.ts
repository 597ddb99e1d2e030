/**
 * Requests as events of the categories `webserver` and `proxy`.
 *
 * Authors of rules disagree about what a URI field holds: most rules that read `cs-uri-query` give it a path, some write
 * their literals percent-encoded and some decoded. So these fields have several *views*, and a test is true when it is
 * true of one of them: the target as it was sent, its path, its query, and each of them decoded, once. Nothing is
 * decoded twice: rules look for `%252E`.
 */
import type { FieldValue, FieldViews, LogSource, SigmaEvent } from './event.ts'

/** What is known of a request and its response; undefined is what was not recorded. */
export interface WebRequest {
  /** Milliseconds since 1970. */
  readonly time: number | undefined
  readonly method: string
  /** As it stands in the request line: origin form, absolute form, authority form or `*`. */
  readonly target: string
  /** `http` or `https`, for rules that expect whole URLs. */
  readonly scheme: string | undefined
  /** The Host field, or the authority. */
  readonly host: string | undefined
  /** `HTTP/1.1` */
  readonly version: string | undefined
  readonly userAgent: string | undefined
  readonly referer: string | undefined
  /** The Cookie field. */
  readonly cookie: string | undefined
  readonly contentType: string | undefined
  /** An authenticated name. */
  readonly username: string | undefined
  readonly clientAddress: string | undefined
  readonly serverAddress: string | undefined
  readonly serverPort: number | undefined
  readonly status: number | undefined
  /** Octets received from the client. */
  readonly requestBytes: number | undefined
  /** Octets sent to it. */
  readonly responseBytes: number | undefined
  readonly durationMs: number | undefined
  /** Fields of the recorder's own, by name; they come before those of this list. */
  readonly fields: ReadonlyMap<string, FieldValue> | undefined
  /** The whole request as text, for keywords; undefined takes the request line and the fields above. */
  readonly text: string | undefined
}

/** Both categories: the public rules of the one are as true of the other. */
export const WEB_SOURCES: readonly LogSource[] = [{ category: 'webserver' }, { category: 'proxy' }]

/** A request as rules see it. Views are made when a rule asks for them, once. */
export function webEvent(request: WebRequest, sources: readonly LogSource[] = WEB_SOURCES): SigmaEvent {
  let views: UriViews | undefined
  return {
    sources,
    time: request.time,
    get(field) {
      const own = request.fields?.get(field)
      if (own !== undefined) return own
      const read = FIELDS.get(field)
      if (read !== undefined) return read(request)
      const view = VIEWS.get(field)
      if (view === undefined) return undefined
      views ??= viewsOf(request)
      return view(views)
    },
    text: () => request.text ?? textOfRequest(request),
  }
}

type Reader = (request: WebRequest) => FieldValue | undefined

/** Names of the specification's taxonomy for web servers and proxies, and those that public rules use beside them. */
const FIELDS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['cs-method', ({ method }) => method],
  ['cs-host', ({ host }) => (host === undefined ? undefined : views([host], [withoutPort(host)]))],
  ['r-dns', ({ host }) => (host === undefined ? undefined : withoutPort(host))],
  ['cs-version', ({ version }) => version],
  ['c-useragent', ({ userAgent }) => userAgent],
  ['cs-user-agent', ({ userAgent }) => userAgent],
  ['cs-referer', ({ referer }) => referer],
  ['cs-referrer', ({ referer }) => referer],
  ['cs-cookie', ({ cookie }) => cookie],
  ['cs-content-type', ({ contentType }) => contentType],
  ['cs-username', ({ username }) => username ?? '-'],
  ['c-ip', ({ clientAddress }) => clientAddress],
  ['src_ip', ({ clientAddress }) => clientAddress],
  ['s-ip', ({ serverAddress }) => serverAddress],
  ['dst_ip', ({ serverAddress }) => serverAddress],
  ['s-port', ({ serverPort }) => serverPort],
  ['dst_port', ({ serverPort }) => serverPort],
  ['sc-status', ({ status }) => status],
  // The appendix has the two reversed for proxies; their names say who sent.
  ['cs-bytes', ({ requestBytes }) => requestBytes],
  ['sc-bytes', ({ responseBytes }) => responseBytes],
  ['time-taken', ({ durationMs }) => durationMs],
  ['date', ({ time }) => isoTime(time)?.slice(0, 10)],
  ['time', ({ time }) => isoTime(time)?.slice(11, 19)],
])

interface UriViews {
  /** Target, path and query, and the whole URL before them. */
  readonly all: FieldViews
  readonly targetPathQuery: FieldViews
  readonly path: FieldViews
  readonly extension: string | undefined
}

const VIEWS: ReadonlyMap<string, (views: UriViews) => FieldValue | undefined> = new Map<
  string,
  (views: UriViews) => FieldValue | undefined
>([
  ['c-uri', ({ all }) => all],
  ['cs-uri', ({ all }) => all],
  ['cs-uri-query', ({ targetPathQuery }) => targetPathQuery],
  ['c-uri-query', ({ targetPathQuery }) => targetPathQuery],
  ['cs-uri-stem', ({ path }) => path],
  ['c-uri-stem', ({ path }) => path],
  ['c-uri-extension', ({ extension }) => extension],
])

const ABSOLUTE_FORM = /^([A-Za-z][A-Za-z0-9+.-]{0,20}):\/\/([^/?#]*)/

/** What a request always answers, beside fields of its recorder's own. */
export const WEB_FIELD_NAMES: readonly string[] = [...FIELDS.keys(), ...VIEWS.keys()]

function viewsOf({ target, scheme, host }: WebRequest): UriViews {
  const absoluteForm = ABSOLUTE_FORM.exec(target)
  const origin = absoluteForm === null ? target : target.slice(absoluteForm[0].length)
  const mark = origin.indexOf('?')
  const path = mark < 0 ? origin : origin.slice(0, mark)
  const query = mark < 0 ? undefined : origin.slice(mark + 1)
  const base =
    absoluteForm !== null
      ? absoluteForm[0]
      : host === undefined || !origin.startsWith('/')
        ? undefined
        : `${scheme ?? 'http'}://${host}`
  const file = path.slice(path.lastIndexOf('/') + 1)
  const dot = file.lastIndexOf('.')
  const targets = formsOf(path, query)
  const paths = distinct([path, decodeOnce(path)])
  const parts = query === undefined ? paths : [...paths, ...formsOf(undefined, query)]
  return {
    all: base === undefined ? views(targets, parts) : views(formsOf(base + path, query), [...targets, ...parts]),
    targetPathQuery: views(targets, parts),
    path: views(paths, []),
    extension: dot < 0 ? undefined : file.slice(dot + 1).toLowerCase(),
  }
}

/** As it is, decoded, and decoded with `+` for a blank in the query, as forms write it. */
function formsOf(path: string | undefined, query: string | undefined): readonly string[] {
  const lead = path === undefined ? '' : query === undefined ? path : `${path}?`
  const raw = lead + (query ?? '')
  const forms = [raw, decodeOnce(raw)]
  if (query?.includes('+') === true) forms.push(decodeOnce(lead + query.replaceAll('+', ' ')))
  return distinct(forms)
}

/** INVARIANT: each part stands in one of the wholes, because no escape spans the question mark. */
function views(wholes: readonly string[], parts: readonly string[]): FieldViews {
  return { values: distinct([...wholes, ...parts]), wholes: wholes.length }
}

/** Percent-decoded, once. Octets that are no UTF-8 stay as they are written. */
export function decodeOnce(text: string): string {
  if (!text.includes('%')) return text
  return text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) => {
    try {
      return decodeURIComponent(run)
    } catch {
      // A part of the run may be decodable: ASCII is.
      return run.replace(/%[0-7][0-9A-Fa-f]/g, (one) => decodeURIComponent(one))
    }
  })
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)]
}

function withoutPort(host: string): string {
  return host.replace(/:\d{0,5}$/, '')
}

function isoTime(time: number | undefined): string | undefined {
  return time === undefined || !(Math.abs(time) <= 8.64e15) ? undefined : new Date(time).toISOString()
}

function textOfRequest(request: WebRequest): string {
  const { method, target, version, host, userAgent, referer, cookie, contentType, status } = request
  const lines = [`${method} ${target} ${version ?? ''}`.trimEnd()]
  for (const [name, value] of [
    ['Host', host],
    ['User-Agent', userAgent],
    ['Referer', referer],
    ['Cookie', cookie],
    ['Content-Type', contentType],
    ['Status', status],
  ] as const) {
    if (value !== undefined) lines.push(`${name}: ${value}`)
  }
  const decoded = decodeOnce(target)
  if (decoded !== target) lines.push(decoded)
  return lines.join('\n')
}

/**
 * Formats of access logs, as nginx (`log_format`) and Apache (`LogFormat`) write them down, compiled to readers of lines.
 *
 * A format is literals with fields between them. A field ends where the literal behind it begins; between quotes, quotes
 * that the server escaped do not end it.
 */

/** What a field of a line is. Names are those of the taxonomy of Sigma, where it has one. */
export type LogRole =
  | 'client'
  | 'user'
  | 'time'
  | 'request'
  | 'method'
  | 'target'
  | 'path'
  | 'query'
  | 'version'
  | 'scheme'
  | 'status'
  | 'response-bytes'
  | 'request-bytes'
  | 'referer'
  | 'user-agent'
  | 'host'
  | 'cookie'
  | 'content-type'
  | 'server'
  | 'server-port'
  | 'seconds'
  | 'milliseconds'
  | 'microseconds'
  | 'ignored'

export interface LogField {
  readonly role: LogRole | undefined
  /** What a field without a role is called in rules. */
  readonly name: string
}

export interface LogFormat {
  readonly name: string
  readonly fields: readonly LogField[]
  /** The texts of the fields, in their order; undefined when the line is not of this format. The array is reused. */
  split(line: string): readonly string[] | undefined
}

const COMMON = '%h %l %u %t "%r" %>s %b'
const COMBINED = `${COMMON} "%{Referer}i" "%{User-Agent}i"`

/** Formats that have a name. What a line has behind the last field of `combined` is kept as the field `extra`. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['common', COMMON],
  ['combined', COMBINED],
  ['vhost_combined', `%v:%p ${COMBINED}`],
])

/** Why a format cannot be used. */
export class LogFormatError extends Error {
  override readonly name: string = 'LogFormatError'
}

/** Compiles a name, a `log_format` of nginx or a `LogFormat` of Apache. Throws a {@link LogFormatError}. */
export function compileLogFormat(format: string): LogFormat {
  const named = NAMED.get(format)
  if (named !== undefined) return compile(format, apacheParts(named))
  if (/\$\{?[a-z]/.test(format)) return compile(format, nginxParts(format))
  if (/%[{><!\d]*[A-Za-z{]/.test(format)) return compile(format, apacheParts(format.replaceAll('\\"', '"')))
  const names = [...NAMED.keys()].join(', ')
  throw new LogFormatError(
    `"${format}" is no format of an access log; there are ${names}, or give a log_format of nginx ($remote_addr ...) or a LogFormat of Apache (%h ...)`,
  )
}

interface Parts {
  readonly literals: string[]
  readonly fields: LogField[]
}

const NGINX_ROLES: ReadonlyMap<string, LogRole> = new Map<string, LogRole>([
  ['remote_addr', 'client'],
  ['remote_user', 'user'],
  ['time_local', 'time'],
  ['time_iso8601', 'time'],
  ['msec', 'time'],
  ['request', 'request'],
  ['request_method', 'method'],
  ['request_uri', 'target'],
  ['uri', 'path'],
  ['document_uri', 'path'],
  ['args', 'query'],
  ['query_string', 'query'],
  ['server_protocol', 'version'],
  ['scheme', 'scheme'],
  ['status', 'status'],
  ['body_bytes_sent', 'response-bytes'],
  ['bytes_sent', 'response-bytes'],
  ['request_length', 'request-bytes'],
  ['http_referer', 'referer'],
  ['http_user_agent', 'user-agent'],
  ['http_host', 'host'],
  ['host', 'host'],
  ['server_name', 'host'],
  ['http_cookie', 'cookie'],
  ['content_type', 'content-type'],
  ['server_addr', 'server'],
  ['server_port', 'server-port'],
  ['request_time', 'seconds'],
])

function nginxParts(format: string): Parts {
  const parts: Parts = { literals: [''], fields: [] }
  const variable = /\$(?:\{([A-Za-z0-9_]+)\}|([A-Za-z0-9_]+))/g
  let at = 0
  for (const match of format.matchAll(variable)) {
    const name = match[1] ?? match[2]
    parts.literals[parts.literals.length - 1] += format.slice(at, match.index)
    parts.fields.push({ role: NGINX_ROLES.get(name), name })
    parts.literals.push('')
    at = match.index + match[0].length
  }
  parts.literals[parts.literals.length - 1] += format.slice(at)
  return parts
}

const APACHE_ROLES: ReadonlyMap<string, LogRole> = new Map<string, LogRole>([
  ['h', 'client'],
  ['a', 'client'],
  ['l', 'ignored'],
  ['u', 'user'],
  ['t', 'time'],
  ['r', 'request'],
  ['m', 'method'],
  ['U', 'path'],
  ['q', 'query'],
  ['H', 'version'],
  ['s', 'status'],
  ['b', 'response-bytes'],
  ['B', 'response-bytes'],
  ['O', 'response-bytes'],
  ['I', 'request-bytes'],
  ['v', 'host'],
  ['V', 'host'],
  ['A', 'server'],
  ['p', 'server-port'],
  ['D', 'microseconds'],
  ['T', 'seconds'],
])

const APACHE_REQUEST_FIELDS: ReadonlyMap<string, LogRole> = new Map<string, LogRole>([
  ['referer', 'referer'],
  ['user-agent', 'user-agent'],
  ['host', 'host'],
  ['cookie', 'cookie'],
  ['content-type', 'content-type'],
])

function apacheParts(format: string): Parts {
  const parts: Parts = { literals: [''], fields: [] }
  const directive = /%(?:%|[!\d,<>]*(?:\{([^}]*)\})?(\^?[A-Za-z]{1,2}))/g
  const literal = (text: string): void => {
    parts.literals[parts.literals.length - 1] += text
  }
  let at = 0
  for (const match of format.matchAll(directive)) {
    literal(format.slice(at, match.index))
    at = match.index + match[0].length
    if (match[0] === '%%') {
      literal('%')
      continue
    }
    const letter = match[2].startsWith('^') ? match[2] : match[2].charAt(0)
    at -= match[2].length - letter.length
    const inside: string | undefined = match[1]
    // The default time stands in brackets of its own.
    const isBracketed = letter === 't' && inside === undefined
    if (isBracketed) literal('[')
    parts.fields.push(apacheField(letter, inside, match[0]))
    parts.literals.push(isBracketed ? ']' : '')
  }
  literal(format.slice(at))
  return parts
}

function apacheField(letter: string, inside: string | undefined, text: string): LogField {
  if (letter === 'i' && inside !== undefined) {
    return { role: APACHE_REQUEST_FIELDS.get(inside.toLowerCase()), name: inside }
  }
  if (letter === 'o' && inside !== undefined) return { role: undefined, name: `response_${inside}` }
  if (letter === 'a' && inside === 'c') return { role: undefined, name: 'peer' }
  if (letter === 'T' && inside === 'ms') return { role: 'milliseconds', name: 'T' }
  if (letter === 'T' && inside === 'us') return { role: 'microseconds', name: 'T' }
  if (letter === 't' && inside !== undefined) {
    // Parts of a second stand in fields of their own beside the time.
    const isFraction = /^(?:begin:|end:)?(?:msec_frac|usec_frac)$/.test(inside)
    return { role: isFraction ? 'ignored' : 'time', name: inside }
  }
  const role = APACHE_ROLES.get(letter)
  return { role, name: inside ?? text }
}

/** Field texts that mean that there is none. */
export const NO_VALUE = '-'

function compile(name: string, { literals, fields }: Parts): LogFormat {
  if (fields.length === 0) throw new LogFormatError(`the format "${name}" has no fields`)
  const glued = fields.findIndex((_, index) => index + 1 < fields.length && literals[index + 1] === '')
  if (glued >= 0) {
    throw new LogFormatError(
      `the format "${name}" has nothing between ${fields[glued].name} and ${fields[glued + 1].name}: where the one ends cannot be told`,
    )
  }
  const isQuoted = fields.map((_, index) => literals[index].endsWith('"') && literals[index + 1].startsWith('"'))
  const texts = fields.map(() => '')
  const count = fields.length
  const keepsRest = NAMED.has(name)
  if (keepsRest) {
    fields.push({ role: undefined, name: 'extra' })
    texts.push('')
  }
  return {
    name,
    fields,
    split(line) {
      if (!line.startsWith(literals[0])) return undefined
      let at = literals[0].length
      for (let index = 0; index < count; index++) {
        const literal = literals[index + 1]
        const end = literal === '' ? line.length : findEnd(line, literal, at, isQuoted[index])
        if (end < 0) return undefined
        texts[index] = line.slice(at, end)
        at = end + literal.length
      }
      if (keepsRest) texts[count] = line.slice(at).trim()
      return texts
    },
  }
}

function findEnd(line: string, literal: string, from: number, isQuoted: boolean): number {
  let end = line.indexOf(literal, from)
  if (!isQuoted) return end
  while (end > 0 && line.charCodeAt(end - 1) === 0x5c) {
    let slashes = 1
    while (line.charCodeAt(end - 1 - slashes) === 0x5c) slashes++
    if (slashes % 2 === 0) break
    end = line.indexOf(literal, end + 1)
  }
  return end
}

/** What servers escape inside of quotes: `\"`, `\\`, `\x0a`, `\n` and the like. */
export function unescapeLogText(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(
    /\\(?:x([0-9A-Fa-f]{2})|(["\\])|([nrtvb]))/g,
    (_, hex?: string, plain?: string, letter?: string) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16))
      return plain ?? { n: '\n', r: '\r', t: '\t', v: '\v', b: '\b' }[letter ?? ''] ?? ''
    },
  )
}

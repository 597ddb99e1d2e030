/**
 * Where one request ends and the next begins, as the grammar of RFC 9112 has it: the most that anyone may take for a
 * request. Written with regular expressions, and without any part of our parsers, which tests compare with it.
 */

export interface RequestReading {
  readonly requests: readonly ReadRequest[]
  /** What stands behind the last whole request. */
  readonly rest: string
}

export interface ReadRequest {
  readonly method: string
  /** As it stands in the request line. */
  readonly target: string
  /** The body without framing; one character per octet. */
  readonly body: string
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const TEXT = String.raw`[\t\x20-\x7e\x80-\xff]`
const FIELDS = `(?:${TOKEN}:${TEXT}*\\r\\n)*`
const HEAD = new RegExp(`(?:\\r\\n)?(${TOKEN}) ([\\x21-\\x7e]+) HTTP/1\\.([0-9])\\r\\n(${FIELDS})\\r\\n`, 'y')
const QUOTED = String.raw`"(?:\\${TEXT}|[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff])*"`
const EXTENSION = String.raw`;(?:[\t\x20\x21\x23-\x7e\x80-\xff]|${QUOTED})*`
const CHUNK_LINE = new RegExp(`([0-9A-Fa-f]{1,16})(?:${EXTENSION})?\\r\\n`, 'y')
const TRAILERS = new RegExp(`${FIELDS}\\r\\n`, 'y')

/** Reads to the first thing that is no request, or not a whole one. One character per octet. */
export function readRequestsOf(octets: string): RequestReading {
  const requests: ReadRequest[] = []
  let at = 0
  for (;;) {
    const head = matchAt(HEAD, octets, at)
    if (head === undefined) return { requests, rest: octets.slice(at) }
    const [whole, method, target, minor, fields] = head
    const body = readBody(octets, at + whole.length, fields, minor)
    if (body === undefined) return { requests, rest: octets.slice(at) }
    requests.push({ method, target, body: body.data })
    at = body.end
  }
}

interface ReadBody {
  readonly data: string
  readonly end: number
}

function readBody(octets: string, start: number, fields: string, minor: string): ReadBody | undefined {
  const lengths = valuesOf(fields, 'content-length')
  const codings = valuesOf(fields, 'transfer-encoding')
  if (lengths.length + codings.length > 1) return undefined
  if (codings.length === 1) {
    return codings[0].toLowerCase() === 'chunked' && minor !== '0' ? readChunks(octets, start) : undefined
  }
  if (lengths.length === 0) return { data: '', end: start }
  if (!/^[0-9]+$/.test(lengths[0])) return undefined
  const end = start + Number(lengths[0])
  return end <= octets.length ? { data: octets.slice(start, end), end } : undefined
}

function readChunks(octets: string, start: number): ReadBody | undefined {
  let data = ''
  let at = start
  for (;;) {
    const line = matchAt(CHUNK_LINE, octets, at)
    if (line === undefined) return undefined
    at += line[0].length
    const size = Number.parseInt(line[1], 16)
    if (size === 0) break
    if (octets.slice(at + size, at + size + 2) !== '\r\n') return undefined
    data += octets.slice(at, at + size)
    at += size + 2
  }
  const trailers = matchAt(TRAILERS, octets, at)
  return trailers === undefined ? undefined : { data, end: at + trailers[0].length }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at
  return pattern.exec(text) ?? undefined
}

/** The values of all lines of that name, without white space around them. */
function valuesOf(fields: string, lowerName: string): string[] {
  return fields
    .split('\r\n')
    .filter((line) => line.slice(0, line.indexOf(':')).toLowerCase() === lowerName)
    .map((line) => line.slice(line.indexOf(':') + 1).replace(/^[ \t]+|[ \t]+$/g, ''))
}

import type { SeenRequest } from './recorder.ts'

/**
 * Requests that two readers may cut in two ways: each carries, where a lax reader would find it, a request for
 * `/inner/…`, and a request for `/probe/…` follows it on the same connection.
 */
export interface SmugglingPayload {
  readonly name: string
  /** `id` makes the targets unique. One character per octet. */
  raw(id: number): string
  /** What all must see of it, the probe left out; undefined: it must be refused and nothing whole may arrive. */
  sees?(id: number): readonly SeenRequest[]
  /** The message says that it is the last one, so that not even the probe may be served. */
  readonly last?: true
  /** Origins that read the first request as everyone and do not want it; the status they refuse it with. */
  readonly unwantedBy?: Readonly<Record<string, number | undefined>>
}

const HOST = 'Host: origin.test\r\n'
const TE = 'Transfer-Encoding: chunked\r\n'
const END = '0\r\n\r\n'

const inner = (id: number): string => `GET /inner/${id} HTTP/1.1\r\n${HOST}\r\n`
const post = (id: number, fields: string, body: string, method = 'POST'): string =>
  `${method} /p/${id} HTTP/1.1\r\n${HOST}${fields}\r\n${body}`
const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`
const length = (body: string): string => `Content-Length: ${body.length}\r\n`
const seen = (id: number, body: string, method = 'POST'): SeenRequest => ({ method, target: `/p/${id}`, body })
const seenInner = (id: number): SeenRequest => ({ method: 'GET', target: `/inner/${id}`, body: '' })

/** A length that covers everything, beside a coding that ends the body before the inner request. */
function lengthAndCoding(what: string, lines: string, version = '1.1'): SmugglingPayload {
  return {
    name: `a length beside ${what}`,
    raw: (id) => {
      const body = END + inner(id)
      return `POST /p/${id} HTTP/${version}\r\n${HOST}${length(body)}${lines}\r\n${body}`
    },
  }
}

/** No length: who does not know the coding finds the inner request directly behind the head. */
function codingAlone(what: string, lines: string): SmugglingPayload {
  return { name: `the coding ${what}`, raw: (id) => post(id, lines, chunk(inner(id)) + END) }
}

/** A line that looks like framing and is none: the body is what the length says. */
function lengthWith(what: string, lines: string): SmugglingPayload {
  return {
    name: `a length beside ${what}, which is none`,
    raw: (id) => post(id, length(END + inner(id)) + lines, END + inner(id)),
    sees: (id) => [seen(id, END + inner(id))],
  }
}

/** Lengths that are no length, or more than one. */
function lengths(what: string, lines: (short: string, whole: number) => string): SmugglingPayload {
  return {
    name: `lengths: ${what}`,
    raw: (id) => post(id, lines('2', 2 + inner(id).length), `ab${inner(id)}`),
  }
}

/** A chunked body that must be refused. */
function chunks(what: string, body: (inside: string) => string): SmugglingPayload {
  return { name: `chunks: ${what}`, raw: (id) => post(id, TE, body(inner(id))) }
}

/** A chunked body that is well-formed, however odd; its data is `ab` and the inner request. */
function oddChunks(what: string, body: (inside: string, size: string) => string, fields = TE): SmugglingPayload {
  return {
    name: `odd chunks: ${what}`,
    raw: (id) => post(id, fields, body(`ab${inner(id)}`, (inner(id).length + 2).toString(16))),
    sees: (id) => [seen(id, `ab${inner(id)}`)],
  }
}

function bodyOf(method: string, framing: 'length' | 'chunked'): SmugglingPayload {
  return {
    name: `a ${method} with a body, ${framing}`,
    raw: (id) =>
      framing === 'length'
        ? post(id, length(inner(id)), inner(id), method)
        : post(id, TE, chunk(inner(id)) + END, method),
    sees: (id) => [seen(id, inner(id), method)],
    ...(method === 'GET' ? { unwantedBy: { lighttpd: 400 } } : {}),
  }
}

export const SMUGGLING_PAYLOADS: readonly SmugglingPayload[] = [
  // Both framings.
  lengthAndCoding('the coding', TE),
  lengthAndCoding('the coding in another case', 'tRANSFER-eNCODING: cHUNKED\r\n'),
  lengthAndCoding('the coding after a tab', 'Transfer-Encoding:\tchunked\r\n'),
  lengthAndCoding('the coding before a tab', 'Transfer-Encoding: chunked\t\r\n'),
  lengthAndCoding('the coding without white space', 'Transfer-Encoding:chunked\r\n'),
  lengthAndCoding('the coding after a vertical tab', 'Transfer-Encoding: \x0bchunked\r\n'),
  lengthAndCoding('the coding after a form feed', 'Transfer-Encoding: \x0cchunked\r\n'),
  lengthAndCoding('the coding after a no-break space', 'Transfer-Encoding: \xa0chunked\r\n'),
  lengthAndCoding('the coding before a NUL', 'Transfer-Encoding: chunked\0\r\n'),
  lengthAndCoding('the coding in double quotes', 'Transfer-Encoding: "chunked"\r\n'),
  lengthAndCoding('the coding in single quotes', "Transfer-Encoding: 'chunked'\r\n"),
  lengthAndCoding('a coding that begins with its name', 'Transfer-Encoding: chunkedness\r\n'),
  lengthAndCoding('a coding that ends with its name', 'Transfer-Encoding: xchunked\r\n'),
  lengthAndCoding('the coding with a parameter', 'Transfer-Encoding: chunked;q=1\r\n'),
  lengthAndCoding('no coding', 'Transfer-Encoding:\r\n'),
  lengthAndCoding('the coding and identity', 'Transfer-Encoding: chunked, identity\r\n'),
  lengthAndCoding('identity and the coding', 'Transfer-Encoding: identity, chunked\r\n'),
  lengthAndCoding('the coding twice', 'Transfer-Encoding: chunked, chunked\r\n'),
  lengthAndCoding('an empty element and the coding', 'Transfer-Encoding: ,chunked\r\n'),
  lengthAndCoding('two lines, the second unknown', `${TE}Transfer-Encoding: cow\r\n`),
  lengthAndCoding('two lines, the first unknown', `Transfer-Encoding: cow\r\n${TE}`),
  lengthAndCoding('a space before its colon', 'Transfer-Encoding : chunked\r\n'),
  lengthAndCoding('a tab before its colon', 'Transfer-Encoding\t: chunked\r\n'),
  lengthAndCoding('a space before its name', ' Transfer-Encoding: chunked\r\n'),
  lengthAndCoding('a NUL in its name', 'Transfer-Encoding\0: chunked\r\n'),
  lengthAndCoding('a LF in its name', 'Transfer-Encoding\n: chunked\r\n'),
  lengthAndCoding('a CR LF in its name', 'Transfer-Encoding\r\n: chunked\r\n'),
  lengthAndCoding('the coding on a line of its own', 'Transfer-Encoding:\r\n chunked\r\n'),
  lengthAndCoding('the coding behind a LF', 'Transfer-Encoding:\n chunked\r\n'),
  lengthAndCoding('a line that a LF hides', 'X: y\nTransfer-Encoding: chunked\r\n'),
  lengthAndCoding('a line that a CR hides', 'X: y\rTransfer-Encoding: chunked\r\n'),
  lengthAndCoding('a line that folds into the one before', 'X: y\r\n Transfer-Encoding: chunked\r\n'),
  lengthAndCoding('the coding in HTTP/1.0', TE, '1.0'),
  lengthAndCoding('a length that Connection names', `Connection: content-length\r\n${TE}`),
  {
    name: 'the coding before a length that cuts it',
    raw: (id) => post(id, `${TE}Content-Length: 4\r\n`, chunk(inner(id)) + END),
  },
  codingAlone('gzip, chunked', 'Transfer-Encoding: gzip, chunked\r\n'),
  codingAlone('gzip', 'Transfer-Encoding: gzip\r\n'),
  codingAlone('identity', 'Transfer-Encoding: identity\r\n'),
  codingAlone('chunked, gzip', 'Transfer-Encoding: chunked, gzip\r\n'),
  codingAlone('of two equal lines', TE + TE),
  lengthWith('a name with an underscore', 'Transfer_Encoding: chunked\r\n'),
  lengthWith('a content coding', 'Content-Encoding: chunked\r\n'),
  lengthWith('a name with a dot', 'Transfer.Encoding: chunked\r\n'),
  lengthWith('a name that ends with it', 'X-Transfer-Encoding: chunked\r\n'),
  lengthWith('a TE field', 'TE: chunked\r\n'),
  lengthWith('a length with an underscore', 'Content_Length: 0\r\n'),
  lengthWith('a Connection that names it', 'Connection: content-length\r\n'),
  lengthWith('Keep-Alive that names it', 'Connection: keep-alive, x-none\r\nKeep-Alive: content-length\r\n'),

  // Lengths.
  lengths('two, the second longer', (short, whole) => `Content-Length: ${short}\r\nContent-Length: ${whole}\r\n`),
  lengths('two, the first longer', (short, whole) => `Content-Length: ${whole}\r\nContent-Length: ${short}\r\n`),
  lengths('two that are equal', (_, whole) => `Content-Length: ${whole}\r\nContent-Length: ${whole}\r\n`),
  lengths('a list', (short, whole) => `Content-Length: ${short}, ${whole}\r\n`),
  lengths('a list of equals', (_, whole) => `Content-Length: ${whole}, ${whole}\r\n`),
  lengths('a plus', (short) => `Content-Length: +${short}\r\n`),
  lengths('a minus', () => 'Content-Length: -0\r\n'),
  lengths('hexadecimal', (short) => `Content-Length: 0x${short}\r\n`),
  lengths('a fraction', (short) => `Content-Length: ${short}.0\r\n`),
  lengths('an exponent', (short) => `Content-Length: ${short}e0\r\n`),
  lengths('an underscore', (short, whole) => `Content-Length: ${short}_${whole}\r\n`),
  lengths('a space inside', (short) => `Content-Length: ${short} 0\r\n`),
  lengths('a vertical tab behind', (short) => `Content-Length: ${short}\x0b\r\n`),
  lengths('a NUL behind', (short) => `Content-Length: ${short}\0\r\n`),
  lengths('a superscript digit', () => 'Content-Length: \xb2\r\n'),
  lengths('one that folds on', (short) => `Content-Length: ${short}\r\n 0\r\n`),
  lengths('one that is empty', () => 'Content-Length:\r\n'),
  lengths('one, and one that is empty', (_, whole) => `Content-Length: ${whole}\r\nContent-Length:\r\n`),
  lengths('a space before the colon', (_, whole) => `Content-Length : ${whole}\r\n`),
  lengths('beyond 2^64', (short) => `Content-Length: 1844674407370955161${6 + Number(short)}\r\n`),
  {
    name: 'a length with zeros before it',
    raw: (id) => post(id, 'Content-Length: 0002\r\n', `ab${inner(id)}`),
    sees: (id) => [seen(id, 'ab'), seenInner(id)],
  },
  {
    name: 'a length with white space around it',
    raw: (id) => post(id, 'Content-Length: \t 2 \t\r\n', `ab${inner(id)}`),
    sees: (id) => [seen(id, 'ab'), seenInner(id)],
  },
  {
    name: 'no length where others would expect a body',
    raw: (id) => post(id, '', inner(id)),
    sees: (id) => [seen(id, ''), seenInner(id)],
    unwantedBy: { lighttpd: 411 },
  },
  bodyOf('GET', 'length'),
  bodyOf('GET', 'chunked'),
  bodyOf('DELETE', 'length'),
  bodyOf('OPTIONS', 'length'),
  bodyOf('PUT', 'chunked'),

  // Chunk sizes and what stands around them.
  chunks('a size with a space before', (inside) => ` ${chunk(inside)}${END}`),
  chunks('a size with a space behind', (inside) => chunk(inside).replace('\r\n', ' \r\n') + END),
  chunks('a size with a tab behind', (inside) => chunk(inside).replace('\r\n', '\t\r\n') + END),
  chunks('a size with 0x', (inside) => `0x${chunk(inside)}${END}`),
  chunks('a size with a plus', (inside) => `+${chunk(inside)}${END}`),
  chunks('a negative size', (inside) => `-1\r\n${inside}\r\n${END}`),
  chunks('minus zero', (inside) => `-0\r\n\r\n${inside}`),
  chunks('a size of 2^64 and more', (inside) => `1000000000000000${chunk(inside)}${END}`),
  chunks('a size of 2^32 and more', (inside) =>
    `ffffffff${chunk(inside)}${END}`.replace('ffffffff', '0000000100000000'),
  ),
  chunks('a size in words', (inside) => `g\r\n${inside}\r\n${END}`),
  chunks('no size', (inside) => `\r\n${inside}${END}`),
  chunks('a size with a point', (inside) => `${inside.length}.0\r\n${inside}\r\n${END}`),
  chunks('a size line that a LF ends', (inside) => chunk(inside).replace('\r\n', '\n') + END),
  chunks('a size line that a CR ends', (inside) => chunk(inside).replace('\r\n', '\rX') + END),
  chunks('a last size line that a LF ends', (inside) => `0\n\r\n${inside}`),
  chunks('a last line that a LF ends', (inside) => `0\r\n\n${inside}`),
  chunks('data that ends with LF', (inside) => `1\r\na\n${chunk(inside)}${END}`),
  chunks('data that ends with nothing', (inside) => `1\r\na0\r\n\r\n${inside}`),
  chunks('data that ends with two other octets', (inside) => `1\r\naXX${chunk(inside)}${END}`),
  chunks('data longer than said', (inside) => `1\r\nab\r\n0\r\n\r\n${inside}`),
  chunks('an extension with LF', (inside) => `1;\n;\r\na\r\n0\r\n\r\n${inside}`),
  chunks('an extension with a CR', (inside) => `1;\rx\r\na\r\n${END}${inside}`),
  chunks('an extension with NUL', (inside) => `1;\0\r\na\r\n${END}${inside}`),
  chunks(
    'an extension that hides a line in LF',
    (inside) => `2;\nxx\r\n${inside.length.toString(16)}\r\n${END}${inside}`,
  ),
  chunks('an extension in quotes over a line', (inside) => `1;a="\r\nx\r\n0\r\n\r\n${inside}"\r\n${END}`),
  chunks('a space before an extension', (inside) => `1 ;a=b\r\na\r\n${END}${inside}`),
  chunks('trailers with a length', (inside) => `0\r\nContent-Length: ${inside.length}\r\n\r\n${inside}`),
  chunks('trailers with the coding', (inside) => `0\r\n${TE}\r\n${chunk(inside)}${END}`),
  chunks('trailers with Host', (inside) => `0\r\nHost: other.test\r\n\r\n${inside}`),
  chunks('trailers with a bare LF', (inside) => `0\r\nX: y\n\r\n${inside}`),
  chunks('trailers that fold', (inside) => `0\r\nX: y\r\n ${inside}`),
  chunks('a request line for a trailer', (inside) => `0\r\n${inside}`),
  oddChunks('upper case and zeros', (inside, size) => `000${size.toUpperCase()}\r\n${inside}\r\n000\r\n\r\n`),
  oddChunks('an extension', (inside, size) => `${size};name=value\r\n${inside}\r\n0;last\r\n\r\n`),
  oddChunks('an extension in quotes', (inside, size) => `${size};name="a;b 0"\r\n${inside}\r\n${END}`),
  oddChunks('semicolons alone', (inside, size) => `${size};;;\r\n${inside}\r\n0;\r\n\r\n`),
  oddChunks('single octets', (inside) => [...inside].map(chunk).join('') + END),
  oddChunks('trailers', (inside, size) => `${size}\r\n${inside}\r\n0\r\nX-Sum: 0\r\nX-Sum: 1\r\n\r\n`),
  oddChunks(
    'a coding that Connection names',
    (inside) => chunk(inside) + END,
    `${TE}Connection: transfer-encoding\r\n`,
  ),
  oddChunks('the coding in capitals', (inside) => chunk(inside) + END, 'TRANSFER-ENCODING: CHUNKED\r\n'),
  {
    name: 'chunks that end where a request begins',
    raw: (id) => post(id, TE, END + inner(id)),
    sees: (id) => [seen(id, ''), seenInner(id)],
  },

  // Where a message begins and ends otherwise.
  {
    name: 'an empty line between requests',
    raw: (id) => `${post(id, 'Content-Length: 2\r\n', 'ab')}\r\n${inner(id)}`,
    sees: (id) => [seen(id, 'ab'), seenInner(id)],
  },
  { name: 'a head that ends with LF LF', raw: (id) => `POST /p/${id} HTTP/1.1\r\n${HOST}X: y\n\n${inner(id)}` },
  { name: 'a head that ends with CR CR LF', raw: (id) => `POST /p/${id} HTTP/1.1\r\n${HOST}\r\r\n${inner(id)}` },
  { name: 'two requests in one line', raw: (id) => `POST /p/${id} HTTP/1.1 ${inner(id)}` },
  { name: 'a target with a line', raw: (id) => `POST /p/${id}\rGET HTTP/1.1\r\n${HOST}\r\n` },
  { name: 'two Hosts', raw: (id) => post(id, 'Host: other.test\r\n', '') },
  { name: 'a version with a space behind', raw: (id) => post(id, '', inner(id)).replace('1.1\r\n', '1.1 \r\n') },
  {
    name: 'a close, and one request more',
    raw: (id) => post(id, 'Connection: close\r\nContent-Length: 2\r\n', `ab${inner(id)}`),
    sees: (id) => [seen(id, 'ab')],
    last: true,
  },
  {
    name: 'an expectation with a body that has begun',
    raw: (id) => post(id, `Expect: 100-continue\r\n${length(inner(id))}`, inner(id)),
    sees: (id) => [seen(id, inner(id))],
  },
  {
    name: 'an expectation nobody knows',
    raw: (id) => post(id, `Expect: 100-continued\r\n${length('ab')}`, `ab${inner(id)}`),
  },
  {
    name: 'an upgrade to HTTP/2 with a body',
    raw: (id) =>
      post(
        id,
        `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n${length(inner(id))}`,
        inner(id),
      ),
    sees: (id) => [seen(id, inner(id))],
  },
]

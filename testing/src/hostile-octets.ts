/** Octets that are nearly a message: rows of a corpus, changed, and texts put together from what messages consist of. */

import fc from 'fast-check'

const PIECES = [
  ...[
    '\r\n',
    '\r',
    '\n',
    '\r\n\r\n',
    ' ',
    '\t',
    '\0',
    ':',
    ',',
    ';',
    '0',
    '5',
    'a',
    '\xe9',
    '\x7f',
    '#',
    '*',
    '/',
    '//',
  ],
  ...[
    'GET ',
    'POST ',
    'HEAD ',
    ' HTTP/1.1\r\n',
    ' HTTP/1.0\r\n',
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n',
  ],
  ...[
    'Host: a\r\n',
    'Content-Length: 5\r\n',
    'Content-Length: 0\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Connection: ',
  ],
  ...[
    'chunked',
    'close\r\n',
    'keep-alive\r\n',
    'Expect: 100-continue\r\n',
    'Upgrade: h2c\r\n',
    '0\r\n\r\n',
    '5\r\nhello\r\n',
  ],
  ...['X: 1\r\n', 'Content-Length', 'Transfer-Encoding', 'http://b/', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
]

interface Mutation {
  readonly at: number
  readonly length: number
  readonly piece: string
}

/** Replaces up to eight octets somewhere by a piece. */
function mutate(raw: string, mutations: readonly Mutation[]): string {
  let text = raw
  for (const { at, length, piece } of mutations) {
    const start = at % (text.length + 1)
    text = text.slice(0, start) + piece + text.slice(start + length)
  }
  return text
}

const mutations: fc.Arbitrary<Mutation[]> = fc.array(
  fc.record({ at: fc.nat(400), length: fc.nat(8), piece: fc.constantFrom('', ...PIECES) }),
  {
    maxLength: 4,
  },
)

/** Corpus rows, changed a little; and text put together from pieces. Long rows only test limits and are left out. */
export function hostile(rows: readonly { readonly raw: string }[]): fc.Arbitrary<string> {
  const short = rows.map(({ raw }) => raw).filter((raw) => raw.length < 500)
  return fc.oneof(
    fc.tuple(fc.constantFrom(...short), mutations).map(([raw, changes]) => mutate(raw, changes)),
    fc.tuple(fc.constantFrom(...short), fc.constantFrom(...short)).map(([first, second]) => first + second),
    fc.array(fc.constantFrom(...PIECES), { maxLength: 30 }).map((pieces) => pieces.join('')),
  )
}

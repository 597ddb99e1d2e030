import type { Asked } from './event-log.ts'

/** Upstream responses, hostile and merely odd, each with all events the parser must give. */
export interface ResponseRow {
  readonly name: string
  readonly raw: string
  readonly asked?: Asked
  readonly expected: readonly string[]
}

const OK = 'HTTP/1.1 200 OK\r\n'

function bad(name: string, raw: string, ...expected: string[]): ResponseRow {
  return { name, raw, expected }
}

const HEAD: Asked = { method: 'HEAD' }

export const RESPONSES: readonly ResponseRow[] = [
  // Ordinary.
  bad(
    'Content-Length body',
    `${OK}Content-Length: 5\r\n\r\nhello`,
    'head 200 1.1 length=5 announced=5 keep ["Content-Length","5"]',
    'data "hello"',
    'end',
    'close',
  ),
  bad(
    'empty body',
    `${OK}Content-Length: 0\r\n\r\n`,
    'head 200 1.1 length=0 announced=0 keep ["Content-Length","0"]',
    'end',
    'close',
  ),
  bad(
    'chunked body with a trailer',
    `${OK}Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\nX: 1\r\n\r\n`,
    'head 200 1.1 chunked keep ["Transfer-Encoding","Chunked"]',
    'data "hello"',
    'end ["X","1"]',
    'close',
  ),
  bad('body until close', `${OK}X: 1\r\n\r\nhello`, 'head 200 1.1 until-close ["X","1"]', 'data "hello"', 'close'),
  bad(
    'HTTP/1.0',
    'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx',
    'head 200 1.0 length=1 announced=1 ["Content-Length","1"]',
    'data "x"',
    'end',
    'close',
  ),
  bad(
    'HTTP/1.0 that keeps alive',
    'HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\nx',
    'head 200 1.0 length=1 announced=1 keep ["Content-Length","1","Connection","Keep-Alive"]',
    'data "x"',
    'end',
    'close',
  ),
  bad(
    'no reason phrase',
    'HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n',
    'head 200 1.1 length=0 announced=0 keep ["Content-Length","0"]',
    'end',
    'close',
  ),
  bad(
    'no space before no phrase',
    'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n',
    'head 200 1.1 length=0 announced=0 keep ["Content-Length","0"]',
    'end',
    'close',
  ),
  bad(
    'reason phrase above US-ASCII',
    'HTTP/1.1 200 \xe9\xff\r\nContent-Length: 0\r\n\r\n',
    'head 200 1.1 length=0 announced=0 keep ["Content-Length","0"]',
    'end',
    'close',
  ),
  bad(
    `reason phrase of 30 KB`,
    `HTTP/1.1 200 ${'x'.repeat(30_000)}\r\nContent-Length: 0\r\n\r\n`,
    'head 200 1.1 length=0 announced=0 keep ["Content-Length","0"]',
    'end',
    'close',
  ),
  bad(
    'HTTP/2.0 in the status line',
    'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n',
    'head 200 1.1 length=0 announced=0 keep ["Content-Length","0"]',
    'end',
    'close',
  ),
  bad(
    'Connection: close',
    `${OK}Content-Length: 0\r\nConnection: close\r\n\r\n`,
    'head 200 1.1 length=0 announced=0 ["Content-Length","0","Connection","close"]',
    'end',
    'close',
  ),
  bad(
    'status 600',
    'HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n',
    'head 600 1.1 length=0 announced=0 keep ["Content-Length","0"]',
    'end',
    'close',
  ),
  bad(
    'status 999',
    'HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n',
    'head 999 1.1 length=0 announced=0 keep ["Content-Length","0"]',
    'end',
    'close',
  ),
  {
    name: 'HEAD with Content-Length',
    raw: `${OK}Content-Length: 5\r\n\r\n`,
    asked: HEAD,
    expected: ['head 200 1.1 none announced=5 keep ["Content-Length","5"]', 'end', 'close'],
  },
  {
    name: 'HEAD with Transfer-Encoding',
    raw: `${OK}Transfer-Encoding: chunked\r\n\r\n`,
    asked: HEAD,
    expected: ['head 200 1.1 none keep ["Transfer-Encoding","chunked"]', 'end', 'close'],
  },
  {
    name: 'HEAD without framing keeps the connection',
    raw: `${OK}\r\n`,
    asked: HEAD,
    expected: ['head 200 1.1 none keep', 'end', 'close'],
  },
  bad('204', 'HTTP/1.1 204 No Content\r\n\r\n', 'head 204 1.1 none keep', 'end', 'close'),
  bad(
    '304 with Content-Length',
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n',
    'head 304 1.1 none announced=5 keep ["Content-Length","5"]',
    'end',
    'close',
  ),
  bad(
    '100 unasked, then 200',
    `HTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 0\r\n\r\n`,
    'interim 100 1.1 none keep',
    'head 200 1.1 length=0 announced=0 keep ["Content-Length","0"]',
    'end',
    'close',
  ),
  bad(
    '103 with fields, then 200',
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}Content-Length: 0\r\n\r\n`,
    'interim 103 1.1 none keep ["Link","</a>"]',
    'head 200 1.1 length=0 announced=0 keep ["Content-Length","0"]',
    'end',
    'close',
  ),
  {
    name: '101 asked for',
    raw: 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x00',
    asked: { upgrade: true },
    expected: ['head 101 1.1 tunnel ["Upgrade","websocket","Connection","Upgrade"]', 'tunnel "\x81\\u0000"'],
  },
  {
    name: 'another answer to a wish to upgrade',
    raw: `${OK}Content-Length: 1\r\n\r\nx`,
    asked: { upgrade: true },
    expected: ['head 200 1.1 length=1 announced=1 keep ["Content-Length","1"]', 'data "x"', 'end', 'close'],
  },
  bad(
    '205 with a body',
    'HTTP/1.1 205 Reset Content\r\nContent-Length: 1\r\n\r\nx',
    'head 205 1.1 length=1 announced=1 keep ["Content-Length","1"]',
    'data "x"',
    'end',
    'close',
  ),

  // Ends early.
  bad('nothing at all', '', 'close 502 no-response @0'),
  bad('half a status line', 'HTTP/1.1 2', 'close 502 truncated @10'),
  bad('half a head', `${OK}X: 1\r\n`, 'close 502 truncated @23'),
  bad(
    'an interim response only',
    'HTTP/1.1 100 Continue\r\n\r\n',
    'interim 100 1.1 none keep',
    'close 502 truncated @0',
  ),
  bad(
    'Content-Length longer than the body',
    `${OK}Content-Length: 5\r\n\r\nhel`,
    'head 200 1.1 length=5 announced=5 keep ["Content-Length","5"]',
    'data "hel"',
    'close 502 truncated @41',
  ),
  bad(
    'chunked without the last chunk',
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
    'head 200 1.1 chunked keep ["Transfer-Encoding","chunked"]',
    'data "hello"',
    'close 502 truncated @57',
  ),
  bad(
    'chunked with half a last chunk',
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n`,
    'head 200 1.1 chunked keep ["Transfer-Encoding","chunked"]',
    'data "hello"',
    'close 502 truncated @60',
  ),
  bad(
    'half a chunk',
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhe`,
    'head 200 1.1 chunked keep ["Transfer-Encoding","chunked"]',
    'data "he"',
    'close 502 truncated @52',
  ),

  // More than asked for.
  bad(
    'a body longer than Content-Length',
    `${OK}Content-Length: 3\r\n\r\nhello`,
    'head 200 1.1 length=3 announced=3 keep ["Content-Length","3"]',
    'data "hel"',
    'end',
    '502 response-unasked @0',
  ),
  bad(
    'a second response',
    `${OK}Content-Length: 1\r\n\r\nx${OK}Content-Length: 4\r\n\r\nevil`,
    'head 200 1.1 length=1 announced=1 keep ["Content-Length","1"]',
    'data "x"',
    'end',
    '502 response-unasked @0',
  ),
  {
    name: 'HEAD with a body',
    raw: `${OK}Content-Length: 5\r\n\r\nhello`,
    asked: HEAD,
    expected: ['head 200 1.1 none announced=5 keep ["Content-Length","5"]', 'end', '502 response-unasked @0'],
  },
  bad(
    '204 with a body',
    'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello',
    'head 204 1.1 none announced=5 keep ["Content-Length","5"]',
    'end',
    '502 response-unasked @0',
  ),
  bad(
    '304 with a body',
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello',
    'head 304 1.1 none announced=5 keep ["Content-Length","5"]',
    'end',
    '502 response-unasked @0',
  ),
  bad(
    'octets behind the last chunk',
    `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nx`,
    'head 200 1.1 chunked keep ["Transfer-Encoding","chunked"]',
    'end',
    '502 response-unasked @0',
  ),

  // Framing.
  bad(
    'Content-Length and Transfer-Encoding',
    `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    '502 content-length-and-transfer-encoding @36',
  ),
  bad(
    'Content-Length twice, different',
    `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
    '502 content-length-repeated @36',
  ),
  bad(
    'Content-Length twice, equal',
    `${OK}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
    '502 content-length-repeated @36',
  ),
  bad('Content-Length list', `${OK}Content-Length: 5, 5\r\n\r\nhello`, '502 content-length @17'),
  bad('Content-Length negative', `${OK}Content-Length: -1\r\n\r\n`, '502 content-length @17'),
  bad('Content-Length empty', `${OK}Content-Length:\r\n\r\n`, '502 content-length @17'),
  bad('Content-Length huge', `${OK}Content-Length: 99999999999999999999\r\n\r\n`, '502 content-length @17'),
  bad('Transfer-Encoding unknown', `${OK}Transfer-Encoding: foo\r\n\r\nx`, '502 transfer-encoding @17'),
  bad('Transfer-Encoding gzip until close', `${OK}Transfer-Encoding: gzip\r\n\r\nx`, '502 transfer-encoding @17'),
  bad(
    'Transfer-Encoding gzip, chunked',
    `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    '502 transfer-encoding-unsupported @17',
  ),
  bad('Transfer-Encoding identity', `${OK}Transfer-Encoding: identity\r\n\r\nx`, '502 transfer-encoding @17'),
  bad(
    'Transfer-Encoding in HTTP/1.0',
    'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    '502 transfer-encoding-version @17',
  ),
  bad(
    'chunk size of no digits',
    `${OK}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`,
    'head 200 1.1 chunked keep ["Transfer-Encoding","chunked"]',
    '502 chunk-size @47',
  ),
  bad(
    'chunk size above 2^53',
    `${OK}Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n`,
    'head 200 1.1 chunked keep ["Transfer-Encoding","chunked"]',
    '502 chunk-size @60',
  ),
  bad(
    'chunk data longer than said',
    `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n`,
    'head 200 1.1 chunked keep ["Transfer-Encoding","chunked"]',
    'data "he"',
    '502 chunk-end @52',
  ),
  bad(
    'trailer Content-Length',
    `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 1\r\n\r\n`,
    'head 200 1.1 chunked keep ["Transfer-Encoding","chunked"]',
    '502 trailer-forbidden @50',
  ),

  // Lines.
  bad('obs-fold', `${OK}X: a\r\n b\r\n\r\n`, '502 obs-fold @23'),
  bad('bare LF', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n', '502 bare-lf @15'),
  bad('bare CR', `${OK}X: a\rb\r\n\r\n`, '502 bare-cr @21'),
  bad('NUL', `${OK}X: a\0b\r\n\r\n`, '502 control-octet @21'),
  bad('space before the colon', `${OK}X : a\r\n\r\n`, '502 space-before-colon @17'),
  bad('empty name', `${OK}: a\r\n\r\n`, '502 field-name @17'),
  bad('no colon', `${OK}X\r\n\r\n`, '502 field-name @17'),
  bad('an empty line first', `\r\n${OK}\r\n`, '502 start-line @0'),

  // Status line.
  bad('no HTTP', 'hello\r\n', '502 start-line @0'),
  bad('HTTP/0.9', '<html>hello</html>', 'close 502 truncated @18'),
  bad('other protocol', 'ICY 200 OK\r\n\r\n', '502 start-line @0'),
  bad('version 3.0', 'HTTP/3.0 200 OK\r\n\r\n', '502 version-major @0'),
  bad('version 2.1', 'HTTP/2.1 200 OK\r\n\r\n', '502 version-major @0'),
  bad('version with a letter', 'HTTP/1.x 200 OK\r\n\r\n', '502 version @0'),
  bad('status 099', 'HTTP/1.1 099 Odd\r\n\r\n', '502 status @0'),
  bad('status 000', 'HTTP/1.1 000 Odd\r\n\r\n', '502 status @0'),
  bad('status of two digits', 'HTTP/1.1 20 OK\r\n\r\n', '502 status @0'),
  bad('status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n', '502 status @0'),
  bad('status of letters', 'HTTP/1.1 abc OK\r\n\r\n', '502 status @0'),
  bad('no status', 'HTTP/1.1 \r\n\r\n', '502 start-line @0'),
  bad('two spaces before the status', 'HTTP/1.1  200 OK\r\n\r\n', '502 status @0'),
  bad('101 unasked', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n', '502 upgrade-unasked @0'),

  // Size.
  bad('a header of 64 KB', `${OK}X: ${'a'.repeat(65_536)}\r\n\r\n`, '502 header-bytes @65536'),
  bad('257 headers', `${OK}${'X: a\r\n'.repeat(257)}\r\n`, '502 header-count @1553'),
  bad(
    '17 interim responses',
    'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(17),
    ...Array.from({ length: 16 }, () => 'interim 103 1.1 none keep'),
    '502 interim-count @0',
  ),
]

/** What hostile clients of HTTP/2 send, one script each. */

import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  type FramePeer,
  frame,
  GOAWAY,
  HEADERS,
  headerBlock,
  hpackInteger,
  PADDED,
  PING,
  PREFACE,
  PRIORITY,
  PUSH_PROMISE,
  request,
  RST_STREAM,
  SETTINGS,
  settings,
  uint32,
  WINDOW_UPDATE,
} from '@prexy/testing/http2-frames'

export interface Script {
  readonly name: string
  /**
   * `closed`: the connection must be closed at once. `refused`: no request of the script may succeed, the connection may
   * live. `bounded`: it may live, and succeed, but must not grow.
   */
  readonly must: 'closed' | 'refused' | 'bounded'
  readonly run: (peer: FramePeer) => Promise<void>
}

const CANCEL = uint32(8)
const GET = headerBlock(request('GET'))
const POST = headerBlock(request('POST'))
const HELLO = [PREFACE, settings()]

const get = (stream: number): Buffer => frame(HEADERS, END_HEADERS | END_STREAM, stream, GET)
const post = (stream: number): Buffer => frame(HEADERS, END_HEADERS, stream, POST)
const streams = (count: number): number[] => Array.from({ length: count }, (_, i) => 2 * i + 1)

/** The same octets again and again, in writes of some size, until the other side closes. */
async function flood(peer: FramePeer, piece: (index: number) => Uint8Array, count: number): Promise<void> {
  for (let from = 0; from < count && !peer.isClosed; from += 500) {
    const pieces: Uint8Array[] = []
    for (let index = from; index < Math.min(from + 500, count); index++) pieces.push(piece(index))
    await peer.send(...pieces)
    await new Promise(setImmediate)
  }
}

const once =
  (...octets: readonly Uint8Array[]) =>
  async (peer: FramePeer): Promise<void> => {
    await peer.send(...HELLO, ...octets)
  }

const fault = (name: string, ...octets: readonly Uint8Array[]): Script => ({
  name,
  must: 'closed',
  run: once(...octets),
})

/** A name and a value of 4,000 octets put into the table, and then named `count` times by one octet each. */
function bomb(count: number): Buffer {
  const long = 'x'.repeat(4_000)
  const literal = [0x40, ...hpackInteger(1, 7, 0), 0x78, ...hpackInteger(long.length, 7, 0), ...Buffer.from(long)]
  return Buffer.concat([GET, Buffer.from(literal), Buffer.alloc(count, 0x80 | 62)])
}

/** `count`: of frames in a flood; in the short run less. */
export function scripts(count: number): readonly Script[] {
  return [
    {
      name: 'CONTINUATION without octets and without end',
      must: 'closed',
      run: async (peer) => {
        await peer.send(...HELLO, frame(HEADERS, END_STREAM, 1, GET))
        await flood(peer, () => frame(CONTINUATION, 0, 1), count)
      },
    },
    {
      name: 'CONTINUATION with fields and without end',
      must: 'closed',
      run: async (peer) => {
        const more = headerBlock(['x', 'y'.repeat(1_000)])
        await peer.send(...HELLO, frame(HEADERS, END_STREAM, 1, GET))
        await flood(peer, () => frame(CONTINUATION, 0, 1, more), count)
      },
    },
    {
      name: 'rapid reset',
      must: 'closed',
      run: async (peer) => {
        await peer.send(...HELLO)
        await flood(peer, (i) => Buffer.concat([get(2 * i + 1), frame(RST_STREAM, 0, 2 * i + 1, CANCEL)]), count)
      },
    },
    {
      name: 'rapid reset of uploads',
      must: 'closed',
      run: async (peer) => {
        await peer.send(...HELLO)
        await flood(peer, (i) => Buffer.concat([post(2 * i + 1), frame(RST_STREAM, 0, 2 * i + 1, CANCEL)]), count)
      },
    },
    {
      name: 'faults that make the server reset: WINDOW_UPDATE of 0',
      must: 'closed',
      run: async (peer) => {
        await peer.send(...HELLO)
        await flood(peer, (i) => Buffer.concat([get(2 * i + 1), frame(WINDOW_UPDATE, 0, 2 * i + 1, uint32(0))]), count)
      },
    },
    {
      name: 'faults that make the server reset: DATA behind the end',
      must: 'closed',
      run: async (peer) => {
        await peer.send(...HELLO)
        await flood(peer, (i) => Buffer.concat([get(2 * i + 1), frame(DATA, 0, 2 * i + 1, Buffer.from('x'))]), count)
      },
    },
    {
      name: 'faults that make the server reset: window overflow of streams',
      must: 'closed',
      run: async (peer) => {
        await peer.send(...HELLO)
        const most = uint32(2 ** 31 - 1)
        await flood(peer, (i) => Buffer.concat([post(2 * i + 1), frame(WINDOW_UPDATE, 0, 2 * i + 1, most)]), count)
      },
    },
    {
      name: 'SETTINGS again and again',
      must: 'closed',
      run: async (peer) => {
        await peer.send(...HELLO)
        await flood(peer, () => settings(4, 65_535), count)
      },
    },
    {
      name: 'PING again and again',
      must: 'closed',
      run: async (peer) => {
        await peer.send(...HELLO)
        await flood(peer, () => frame(PING, 0, 0, Buffer.alloc(8)), count)
      },
    },
    {
      name: 'DATA without octets',
      must: 'bounded',
      run: async (peer) => {
        await peer.send(...HELLO, post(1))
        await flood(peer, () => frame(DATA, 0, 1), count)
      },
    },
    {
      name: 'DATA of one octet each',
      must: 'bounded',
      run: async (peer) => {
        await peer.send(...HELLO, post(1))
        await flood(peer, () => frame(DATA, 0, 1, Buffer.from('x')), count)
      },
    },
    {
      name: 'PRIORITY again and again',
      must: 'bounded',
      run: async (peer) => {
        await peer.send(...HELLO)
        const payload = Buffer.concat([uint32(0), Buffer.from([1])])
        await flood(peer, (i) => frame(PRIORITY, 0, 2 * (i % 1_000) + 1, payload), count)
      },
    },
    {
      name: 'frames of an unknown kind',
      must: 'bounded',
      run: async (peer) => {
        await peer.send(...HELLO)
        await flood(peer, () => frame(0xfa, 0, 0, Buffer.alloc(100)), count)
      },
    },
    {
      name: 'more requests than there may be, none answered',
      must: 'closed',
      run: async (peer) => {
        await peer.send(...HELLO)
        await flood(peer, (i) => post(2 * i + 1), count)
      },
    },
    {
      name: 'windows of 0: responses that nobody takes',
      must: 'bounded',
      run: async (peer) => {
        await peer.send(PREFACE, settings(4, 0), ...streams(100).map(get))
        await peer.until(({ type, stream }) => type === HEADERS && stream === 199, 1_000)
      },
    },
    {
      name: 'windows of 1: an octet at a time',
      must: 'bounded',
      run: async (peer) => {
        await peer.send(PREFACE, settings(4, 1), ...streams(50).map(get))
        await flood(peer, (i) => frame(WINDOW_UPDATE, 0, 2 * (i % 50) + 1, uint32(1)), 2_000)
      },
    },
    { name: 'a bomb of HPACK', must: 'refused', run: once(frame(HEADERS, END_HEADERS | END_STREAM, 1, bomb(10_000))) },
    {
      name: 'a header list of 100 KB',
      must: 'refused',
      run: async (peer) => {
        const block = headerBlock([
          ...request('GET'),
          ...Array.from({ length: 100 }, () => ['x', 'y'.repeat(1_000)]).flat(),
        ])
        const pieces: Uint8Array[] = [frame(HEADERS, END_STREAM, 1, block.subarray(0, 16_384))]
        for (let at = 16_384; at < block.length; at += 16_384) {
          const flags = at + 16_384 >= block.length ? END_HEADERS : 0
          pieces.push(frame(CONTINUATION, flags, 1, block.subarray(at, at + 16_384)))
        }
        await peer.send(...HELLO, ...pieces)
      },
    },
    {
      name: '5,000 fields',
      must: 'refused',
      run: once(
        frame(HEADERS, END_STREAM, 1, headerBlock(request('GET'))),
        frame(CONTINUATION, 0, 1, Buffer.concat(Array.from({ length: 2_500 }, () => headerBlock(['x', 'y'])))),
        frame(
          CONTINUATION,
          END_HEADERS,
          1,
          Buffer.concat(Array.from({ length: 2_500 }, () => headerBlock(['x', 'y']))),
        ),
      ),
    },
    fault(
      'a table of HPACK larger than allowed',
      frame(HEADERS, END_HEADERS | END_STREAM, 1, Buffer.concat([Buffer.from(hpackInteger(2 ** 30, 5, 0x20)), GET])),
    ),
    fault(
      'an index beyond the tables',
      frame(HEADERS, END_HEADERS | END_STREAM, 1, Buffer.from(hpackInteger(500, 7, 0x80))),
    ),
    fault('an integer of HPACK without end', frame(HEADERS, END_HEADERS, 1, Buffer.alloc(64, 0xff))),
    fault('a literal that is cut off', frame(HEADERS, END_HEADERS, 1, GET.subarray(0, GET.length - 1))),
    fault(
      'a window that overflows',
      frame(WINDOW_UPDATE, 0, 0, uint32(2 ** 31 - 1)),
      frame(WINDOW_UPDATE, 0, 0, uint32(2 ** 31 - 1)),
    ),
    fault('a window that grows by nothing', frame(WINDOW_UPDATE, 0, 0, uint32(0))),
    fault('a frame longer than allowed', frame(DATA, 0, 1, Buffer.alloc(16_385))),
    fault('a frame that says 16 MB', frame(HEADERS, 0, 1, Buffer.alloc(100), 0xffffff)),
    fault('DATA without a stream', frame(DATA, 0, 0, Buffer.from('x'))),
    fault('DATA on a stream that was not begun', frame(DATA, 0, 1, Buffer.from('x'))),
    fault('HEADERS without a stream', frame(HEADERS, END_HEADERS, 0, GET)),
    fault('a stream of the server', frame(HEADERS, END_HEADERS | END_STREAM, 2, GET)),
    fault('RST_STREAM of a stream that was not begun', frame(RST_STREAM, 0, 1, CANCEL)),
    fault('RST_STREAM of a wrong length', post(1), frame(RST_STREAM, 0, 1, Buffer.alloc(3))),
    fault('PUSH_PROMISE', post(1), frame(PUSH_PROMISE, END_HEADERS, 1, Buffer.concat([uint32(2), GET]))),
    fault('SETTINGS of a wrong length', frame(SETTINGS, 0, 0, Buffer.alloc(5))),
    fault('SETTINGS on a stream', frame(SETTINGS, 0, 1)),
    fault('an acknowledgement of SETTINGS with octets', frame(SETTINGS, ACK, 0, Buffer.alloc(6))),
    fault('a window size beyond 2^31', settings(4, 2 ** 31)),
    fault('a frame size below the least', settings(5, 100)),
    fault('ENABLE_PUSH of 2', settings(2, 2)),
    fault(
      '10,000 settings in one',
      ...Array.from({ length: 4 }, () => settings(...Array.from({ length: 2_500 }, () => [4, 65_535]).flat())),
    ),
    fault('PING of a wrong length', frame(PING, 0, 0, Buffer.alloc(7))),
    fault('GOAWAY on a stream', frame(GOAWAY, 0, 1, Buffer.alloc(8))),
    fault('CONTINUATION without HEADERS', frame(CONTINUATION, END_HEADERS, 1, GET)),
    fault(
      'another frame before the end of a header block',
      frame(HEADERS, 0, 1, GET),
      frame(PING, 0, 0, Buffer.alloc(8)),
    ),
    fault('more padding than octets', post(1), frame(DATA, PADDED, 1, Buffer.from([200, 1]))),
    fault('SETTINGS that are missing', frame(PING, 0, 0, Buffer.alloc(8))),
    {
      name: 'a preface that ends otherwise',
      must: 'closed',
      run: async (peer) => {
        await peer.send(Buffer.from('PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n'), settings(), get(1))
      },
    },
    {
      name: 'more DATA than the window has room for',
      must: 'closed',
      run: async (peer) => {
        await peer.send(...HELLO, post(1))
        await flood(peer, () => frame(DATA, 0, 1, Buffer.alloc(16_384)), 200)
      },
    },
  ]
}

const withField = (...field: readonly string[]): readonly string[] => [...request('GET'), ...field]
function withPseudo(name: string, value: string): readonly string[] {
  const fields = request('GET')
  fields[fields.indexOf(name) + 1] = value
  return fields
}

/** Header blocks that would be something else in HTTP/1.1, or that HTTP/2 does not allow. */
export const DOWNGRADES: readonly (readonly [string, readonly string[]])[] = [
  ['CR LF in a value', withField('x', 'a\r\ntransfer-encoding: chunked\r\n\r\n')],
  ['LF in a value', withField('x', 'a\nhost: b.test')],
  ['CR in a value', withField('x', 'a\rb')],
  ['NUL in a value', withField('x', 'a\0b')],
  ['CR LF in a name', withField('x: y\r\nz', 'a')],
  ['a colon in a name', withField('host:x', 'a')],
  ['a space in a name', withField('x y', 'a')],
  ['a space at the end of a name', withField('transfer-encoding ', 'chunked')],
  ['a tab at the end of a name', withField('content-length\t', '5')],
  ['NUL in a name', withField('x\0', 'a')],
  ['an empty name', withField('', 'a')],
  ['capitals in a name', withField('Transfer-Encoding', 'chunked')],
  ['CR LF in the path', withPseudo(':path', '/ HTTP/1.1\r\nhost: b.test\r\n\r\nGET /secret')],
  ['a space in the path', withPseudo(':path', '/secret HTTP/1.1')],
  ['LF in the path', withPseudo(':path', '/a\n')],
  ['NUL in the path', withPseudo(':path', '/a\0')],
  ['a path without slash', withPseudo(':path', 'secret')],
  ['an absolute path', withPseudo(':path', 'http://b.test/secret')],
  ['an empty path', withPseudo(':path', '')],
  ['a fragment', withPseudo(':path', '/a#b')],
  ['CR LF in the method', withPseudo(':method', 'GET /secret HTTP/1.1\r\nx: y')],
  ['a space in the method', withPseudo(':method', 'GET /secret')],
  ['a colon in the method', withPseudo(':method', 'GET:')],
  ['CONNECT', withPseudo(':method', 'CONNECT')],
  ['CR LF in the authority', withPseudo(':authority', 'proxy.test\r\nx: y')],
  ['a space in the authority', withPseudo(':authority', 'proxy.test x')],
  ['user information', withPseudo(':authority', 'u:p@proxy.test')],
  ['a path in the authority', withPseudo(':authority', 'proxy.test/x')],
  ['an empty authority', withPseudo(':authority', '')],
  ['CR LF in the scheme', withPseudo(':scheme', 'http\r\n')],
  ['Host that differs', withField('host', 'b.test')],
  ['two Hosts', withField('host', 'proxy.test', 'host', 'b.test')],
  ['Transfer-Encoding', withField('transfer-encoding', 'chunked')],
  ['Connection', withField('connection', 'x-forwarded-for')],
  ['Upgrade', withField('upgrade', 'websocket')],
  ['TE', withField('te', 'chunked')],
  ['a length and no body', withField('content-length', '5')],
  ['two lengths', withField('content-length', '0', 'content-length', '5')],
  ['a length that is no number', withField('content-length', '0x5')],
  ['a pseudo-header field behind others', ['x', 'y', ...request('GET')]],
  ['a repeated path', withField(':path', '/secret')],
  ['a pseudo-header field of responses', withField(':status', '200')],
  ['an extended CONNECT', [':method', 'CONNECT', ':protocol', 'websocket', ...request('GET').slice(2)]],
]

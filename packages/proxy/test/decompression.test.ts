/**
 * Coded bodies that lie, on their way through a rewriting proxy: cut off, corrupt, labelled as what they are not, followed
 * by junk, made of several parts. A client must get the right text, or an error, or a body that is visibly broken.
 */
import * as zlib from 'node:zlib'
import { CONTENT_CODINGS, type ContentCoding } from '@prexy/net/content-decoder'
import { encodeWhole } from '@prexy/net/whole-body'
import { plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it } from 'vitest'
import { type Setup, setUp } from './harness.ts'

const long = process.env['PREXY_LONG'] === '1'
/** Of each kind, over all codings; `npm test` makes a fifth. */
const SHARE = long ? 1 : 5
const TRUNCATED = 50
const CORRUPT = 200
const CLIENTS = 8

const TEXT = Array.from({ length: 400 }, (_, i) => `<p>needle ${(i * 2_654_435_761) % 65_536} in the hay</p>\n`).join(
  '',
)
const EXPECTED = TEXT.replaceAll('needle', 'pin')
const rules = [{ text: 'needle', with: 'pin' }]

interface Form {
  readonly name: string
  readonly label: ContentCoding
  readonly body: Buffer
  /** Decodes as another program would; throws where it does not decode. */
  decode(body: Uint8Array): Buffer
}

const forms: readonly Form[] = [
  { name: 'gzip', label: 'gzip', body: zlib.gzipSync(TEXT), decode: (body) => zlib.gunzipSync(body) },
  { name: 'deflate', label: 'deflate', body: zlib.deflateSync(TEXT), decode: (body) => zlib.inflateSync(body) },
  {
    name: 'raw deflate',
    label: 'deflate',
    body: zlib.deflateRawSync(TEXT),
    decode: (body) => zlib.inflateRawSync(body),
  },
  { name: 'br', label: 'br', body: zlib.brotliCompressSync(TEXT), decode: (body) => zlib.brotliDecompressSync(body) },
]

interface Case {
  readonly name: string
  readonly label: string
  readonly body: Uint8Array
  /** The body goes out in two packets, so that it is not decoded in one call. */
  readonly split: boolean
}

/** What the client sees: `refused`, `broken`, or the text. */
type View = { readonly kind: 'refused' | 'broken' } | { readonly kind: 'text'; readonly text: string }

/** Serves each case once and gives what its client saw, in order. */
async function viewsOf(cases: readonly Case[], use: (setup: Setup) => Promise<void> = async () => {}): Promise<View[]> {
  await using setup = await setUp({
    rules,
    script: async (connection) => {
      for (let request = await connection.readRequest(); request; request = await connection.readRequest()) {
        const { label, body, split } = cases[Number(request.target.slice(1))]
        const response = plainResponse(body, 'Content-Type: text/html', `Content-Encoding: ${label}`)
        const cut = split ? response.length - Math.ceil(body.length / 2) : response.length
        await connection.send(response.subarray(0, cut))
        // Until the proxy has read it: else both would come in one read.
        if (split) for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
        await connection.send(response.subarray(cut))
      }
    },
  })
  const views: View[] = []
  const queue = cases.keys()
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (const n of queue) {
        const client = await setup.connect()
        await client.send(`GET /${n} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity\r\n\r\n`)
        views[n] = await client.readResponse().then(
          ({ status, complete, body }) =>
            status === 502
              ? { kind: 'refused' }
              : complete
                ? { kind: 'text', text: body.toString('latin1') }
                : { kind: 'broken' },
          () => ({ kind: 'broken' }),
        )
        client.destroy()
      }
    }),
  )
  await use(setup)
  return views
}

describe.each(forms)('a $name body', ({ label, body, decode }) => {
  it('that is cut off at any place is never clean', async () => {
    const count = Math.ceil(TRUNCATED / SHARE)
    const cases = Array.from({ length: count }, (_, i) => {
      const length = 1 + Math.floor((i * (body.length - 1)) / count)
      return { name: `${length} octets`, label, body: body.subarray(0, length), split: i % 2 === 1 }
    })
    const views = await viewsOf(cases)
    expect(cases.filter((_, i) => views[i].kind === 'text').map(({ name }) => name)).toEqual([])
  })

  it('with an octet changed is broken, or is what every decoder makes of it', async () => {
    const count = Math.ceil(CORRUPT / SHARE)
    const cases = Array.from({ length: count }, (_, i) => {
      const at = Math.floor((i * body.length) / count)
      const corrupt = Buffer.from(body)
      corrupt[at] ^= 1 << ((i * 5) % 8)
      return { name: `at ${at}`, label, body: corrupt, split: i % 2 === 1 }
    })
    const views = await viewsOf(cases)
    const wrong = cases.filter((one, i) => {
      const view = views[i]
      if (view.kind !== 'text' || view.text === EXPECTED) return false
      return view.text !== decodedBy(decode, one.body)
    })
    expect(wrong.map(({ name }) => name)).toEqual([])
    // Checksums tell; brotli and raw deflate have none.
    if (label === 'gzip') {
      const clean = views.filter((view) => view.kind === 'text')
      expect(clean.filter(({ text }) => text !== EXPECTED).length).toBe(0)
    }
  })

  it.each(['<!-- served by a cache -->', '\0'.repeat(600), '\n', '\x1f\x8b'.repeat(2)])(
    'with junk behind it (%j) is the text without the junk',
    async (junk) => {
      const coded = Buffer.concat([body, Buffer.from(junk, 'latin1')])
      const cases = [false, true].map((split) => ({ name: junk, label, body: coded, split }))
      const views = await viewsOf(cases, async (setup) => {
        const details = new Set(setup.events.map(({ detail }) => detail))
        expect([...details]).toEqual([`${junk.length} octets of junk followed the coded body`])
      })
      expect(views).toEqual(cases.map(() => ({ kind: 'text', text: EXPECTED })))
    },
  )
})

/** The text that another decoder makes of it, rewritten. */
function decodedBy(decode: Form['decode'], body: Uint8Array): string | undefined {
  try {
    return decode(body).toString('latin1').replaceAll('needle', 'pin')
  } catch {
    return undefined
  }
}

const [gzip, deflate, raw, br] = forms.map(({ body }) => body)
const half = TEXT.length >> 1
const parts = [TEXT.slice(0, half), TEXT.slice(half)]

it.each<readonly [string, string, Uint8Array, View['kind']]>([
  ['text as gzip', 'gzip', Buffer.from(TEXT), 'refused'],
  ['text as deflate', 'deflate', Buffer.from(TEXT), 'refused'],
  ['text as br', 'br', Buffer.from(TEXT), 'refused'],
  ['deflate as gzip', 'gzip', deflate, 'refused'],
  ['br as gzip', 'gzip', br, 'refused'],
  ['raw deflate as gzip', 'gzip', raw, 'refused'],
  ['gzip as deflate', 'deflate', gzip, 'refused'],
  ['br as deflate', 'deflate', br, 'refused'],
  ['gzip as br', 'br', gzip, 'refused'],
  ['deflate as br', 'br', deflate, 'refused'],
  ['raw deflate as deflate', 'deflate', raw, 'text'],
  ['gzip as x-gzip', 'x-gzip', gzip, 'text'],
  ['gzip as GZIP', 'GZIP', gzip, 'text'],
  ['text as identity', 'identity', Buffer.from(TEXT), 'text'],
  ['text as none', 'none', Buffer.from(TEXT), 'text'],
  ['gzip of two members', 'gzip', Buffer.concat(parts.map((part) => zlib.gzipSync(part))), 'text'],
  ['gzip of 400 members', 'gzip', Buffer.concat(TEXT.match(/.*\n/g)?.map((line) => zlib.gzipSync(line)) ?? []), 'text'],
  ['gzip with empty members', 'gzip', Buffer.concat([zlib.gzipSync(''), gzip, zlib.gzipSync('')]), 'text'],
])('a body of %s', async (name, label, body, kind) => {
  const cases = [false, true].map((split) => ({ name, label, body, split }))
  for (const view of await viewsOf(cases)) {
    if (kind === 'text') expect([name, view]).toEqual([name, { kind: 'text', text: EXPECTED }])
    // Once decoded octets have gone out, breaking off is what is left.
    else expect([name, ['refused', 'broken']]).toEqual([name, expect.arrayContaining([view.kind])])
  }
})

it('zstd, where the runtime has it, is treated alike', async (context) => {
  if (!CONTENT_CODINGS.includes('zstd')) return context.skip('this runtime has no zstd')
  const body = Buffer.from(encodeWhole('zstd', Buffer.from(TEXT)))
  const cases = Array.from({ length: TRUNCATED / SHARE }, (_, i) => {
    const length = 1 + Math.floor((i * (body.length - 1)) / (TRUNCATED / SHARE))
    return { name: `${length} octets`, label: 'zstd', body: body.subarray(0, length), split: i % 2 === 1 }
  })
  const views = await viewsOf(cases)
  expect(cases.filter((_, i) => views[i].kind === 'text').map(({ name }) => name)).toEqual([])
  const twice = Buffer.concat(parts.map((part) => encodeWhole('zstd', Buffer.from(part))))
  for (const [coded, detail] of [
    [twice, undefined],
    [Buffer.concat([body, Buffer.from('junk')]), '4 octets of junk followed the coded body'],
  ] as const) {
    const both = [false, true].map((split) => ({ name: 'zstd', label: 'zstd', body: coded, split }))
    const got = await viewsOf(both, async (setup) => {
      expect(setup.events.map((event) => event.detail)).toEqual([detail, detail])
    })
    expect(got).toEqual(both.map(() => ({ kind: 'text', text: EXPECTED })))
  }
})

it('the runs are counted', () => {
  const share = `1 of ${SHARE}`
  console.log(
    `coded bodies: ${TRUNCATED} cut off and ${CORRUPT} corrupt of each of ${forms.length} codings, ${share} run`,
  )
})

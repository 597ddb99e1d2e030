/** Looks at the demo through prexy and at its origin, and compares: what a person would see, as a proof. */
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { once } from 'node:events'
import { gunzipSync } from 'node:zlib'
import type { Styles } from '../terminal.ts'
import type { DemoOrigin } from './origin.ts'

/** What the rules of the demo make of a body, by other means: one pass of the runtime's own RegExp. */
function expectedOf(body: string, type: string): string {
  const needles =
    /Kestrel Coffee|(?<![\w-])((?:[\w-]+\.)*)kestrel\.example(?![\w-]|\.[\w-])|EUR (\d+)\.(\d\d)\b|UA-\d+-\d+|#b4532a|<\/head>/g
  let headSeen = false
  return body.replace(needles, (match: string, below: string | undefined, whole: string, cents: string) => {
    if (match === 'Kestrel Coffee') return 'Finch Coffee'
    if (match.startsWith('EUR')) return `${whole},${cents} \u20ac`
    if (match.startsWith('UA-')) return 'UA-99-1'
    if (match === '#b4532a') return type === 'text/css' || type === 'image/svg+xml' ? '#2f6f4f' : match
    if (match !== '</head>') return `${below ?? ''}finch.example`
    if (type !== 'text/html' || headSeen) return match
    headSeen = true
    return '<meta name="description" content="the demo, through prexy"></head>'
  })
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** When each piece of the body came, in milliseconds after the request. */
  readonly arrivals: readonly number[]
}

type Proof = (origin: DemoOrigin, port: number) => Promise<string>

/** What is proved, in the order in which it is printed. A proof throws when it fails, and says what it saw. */
const PROOFS: readonly (readonly [what: string, proof: Proof])[] = [
  ['the page has the new name, host, prices and snippet', sameAsExpected('/')],
  ['the compressed page is rewritten and leaves compressed', compressedPage],
  ['style sheet: another colour', sameAsExpected('/style.css')],
  ['drawing (SVG): another colour', sameAsExpected('/logo.svg')],
  ['script: host names with \\/ and %2F', sameAsExpected('/app.js')],
  ['JSON: host names with \\/', sameAsExpected('/api/products.json')],
  ['the error page is rewritten, too', sameAsExpected('/nowhere', 404)],
  ['the picture is byte for byte the same, with its length', untouchedPicture],
  ['the slow page comes in pieces, as the origin sends it', slowPage],
  ['each live event comes at once', liveEvents],
  ['HEAD has the head and no body', headOnly],
  ['an unchanged page is not sent again (304)', notModified],
  ['ten requests in a row keep one client connection', keptConnection],
]

/** Runs all proofs; false when any failed. */
export async function checkDemo(
  origin: DemoOrigin,
  port: number,
  print: (line: string) => void,
  style: Styles,
): Promise<boolean> {
  let failed = 0
  for (const [what, proof] of PROOFS) {
    try {
      const seen = await proof(origin, port)
      print(`${style.green('proved')}  ${what} ${style.dim(`(${seen})`)}`)
    } catch (error) {
      failed++
      print(`${style.red('FAILED')}  ${what}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const verdict =
    failed === 0 ? style.green('the demo does what it says') : style.red(`${failed} of ${PROOFS.length} failed`)
  print(`\n${verdict}: ${PROOFS.length - failed} of ${PROOFS.length} proved`)
  return failed === 0
}

function sameAsExpected(path: string, status = 200): Proof {
  return async (origin, port) => {
    const plain = await fetchFrom(origin.port, path)
    const rewritten = await fetchFrom(port, path)
    const type = String(plain.headers['content-type']).split(';')[0]
    const expected = expectedOf(plain.body.toString(), type)
    expectEqual('status', rewritten.status, status)
    expectEqual('body', rewritten.body.toString(), expected)
    if (expected === plain.body.toString()) throw new Error('the rules had nothing to do')
    return `${path}, ${plain.body.length} bytes became ${rewritten.body.length}`
  }
}

async function compressedPage(origin: DemoOrigin, port: number): Promise<string> {
  const plain = await fetchFrom(origin.port, '/about', { 'accept-encoding': 'gzip' })
  const rewritten = await fetchFrom(port, '/about', { 'accept-encoding': 'gzip' })
  expectEqual('Content-Encoding', rewritten.headers['content-encoding'], 'gzip')
  const expected = expectedOf(gunzipSync(plain.body).toString(), 'text/html')
  expectEqual('body', gunzipSync(rewritten.body).toString(), expected)
  if (!expected.includes('notkestrel.example are')) throw new Error('the neighbours lost their name')
  const identity = await fetchFrom(port, '/about', { 'accept-encoding': 'identity' })
  expectEqual('body without compression', identity.body.toString(), expected)
  return `gzip, ${plain.body.length} bytes became ${rewritten.body.length}`
}

async function untouchedPicture(origin: DemoOrigin, port: number): Promise<string> {
  const plain = await fetchFrom(origin.port, '/photo.png')
  const passed = await fetchFrom(port, '/photo.png')
  if (!plain.body.includes('Kestrel Coffee')) throw new Error('the picture has nothing that a rule could match')
  expectEqual('Content-Length', passed.headers['content-length'], String(plain.body.length))
  expectEqual('ETag', passed.headers.etag, plain.headers.etag)
  if (!passed.body.equals(plain.body)) throw new Error('the bytes differ')
  return `${plain.body.length} bytes that name Kestrel Coffee`
}

async function slowPage(origin: DemoOrigin, port: number): Promise<string> {
  const plain = await fetchFrom(origin.port, '/catalogue')
  const rewritten = await fetchFrom(port, '/catalogue')
  expectEqual('body', rewritten.body.toString(), expectedOf(plain.body.toString(), 'text/html'))
  const first = rewritten.arrivals[0]
  const last = rewritten.arrivals[rewritten.arrivals.length - 1]
  if (last - first < 200) throw new Error(`all came within ${Math.round(last - first)} ms`)
  return `${rewritten.arrivals.length} pieces over ${Math.round(last - first)} ms`
}

async function liveEvents(_origin: DemoOrigin, port: number): Promise<string> {
  const start = performance.now()
  const response = await open(port, '/events', {})
  const arrivals: number[] = []
  let text = ''
  for await (const chunk of response as AsyncIterable<Buffer>) {
    text += chunk.toString()
    arrivals.push(performance.now() - start)
    if (text.split('\n\n').length > 2) break
  }
  response.destroy()
  if (!text.includes('"Finch Coffee"') || text.includes('Kestrel'))
    throw new Error(`the events say ${JSON.stringify(text)}`)
  // The origin sends the second one and a half seconds after the first: an event held until the next comes with it.
  const gap = Math.round(arrivals[arrivals.length - 1] - arrivals[0])
  if (gap < 300) throw new Error(`the first two events came within ${gap} ms`)
  return `the first after ${Math.round(arrivals[0])} ms, the next ${gap} ms later`
}

async function headOnly(_origin: DemoOrigin, port: number): Promise<string> {
  const full = await fetchFrom(port, '/')
  const head = await fetchFrom(port, '/', {}, 'HEAD')
  expectEqual('status', head.status, 200)
  expectEqual('body length', head.body.length, 0)
  expectEqual('Content-Type', head.headers['content-type'], full.headers['content-type'])
  expectEqual('ETag', head.headers.etag, full.headers.etag)
  return 'the same fields as GET'
}

async function notModified(origin: DemoOrigin, port: number): Promise<string> {
  const plain = await fetchFrom(origin.port, '/')
  const first = await fetchFrom(port, '/')
  const etag = first.headers.etag
  if (etag === undefined || etag === plain.headers.etag)
    throw new Error(`the rewritten page has the ETag ${String(etag)}`)
  const again = await fetchFrom(port, '/', { 'if-none-match': etag })
  expectEqual('status', again.status, 304)
  expectEqual('body length', again.body.length, 0)
  return `ETag ${etag}`
}

async function keptConnection(_origin: DemoOrigin, port: number): Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ports = new Set<number | undefined>()
  try {
    for (let number = 0; number < 10; number++) {
      const sent = request({ host: '127.0.0.1', port, path: '/style.css', agent })
      const response = await responseTo(sent)
      ports.add(response.socket.localPort)
      response.resume()
      await once(response, 'end')
    }
  } finally {
    agent.destroy()
  }
  expectEqual('connections', ports.size, 1)
  return '10 requests, 1 connection'
}

async function open(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET',
): Promise<IncomingMessage> {
  const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
  return await responseTo(sent)
}

function responseTo(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.once('response', resolve)
    sent.once('error', reject)
    sent.end()
  })
}

async function fetchFrom(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<Answer> {
  const start = performance.now()
  const response = await open(port, path, headers, method)
  const chunks: Buffer[] = []
  const arrivals: number[] = []
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    arrivals.push(performance.now() - start)
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks), arrivals }
}

function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (actual === expected) return
  if (typeof actual === 'string' && typeof expected === 'string') {
    let at = 0
    while (actual[at] === expected[at]) at++
    const excerpt = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 20), at + 40))
    throw new Error(`${what} differs at character ${at}: got ${excerpt(actual)}, expected ${excerpt(expected)}`)
  }
  throw new Error(`${what} is ${String(actual)}, expected ${String(expected)}`)
}

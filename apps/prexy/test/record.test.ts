import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BIN, collect, runPrexy, startPrexy, waitFor } from './run-prexy.ts'

let directory: string
let origin: Server
let originPort: number
/** What the origin was asked, newest last. */
const asked: {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}[] = []

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'prexy-record-'))
  origin = createServer((incoming, outgoing) => void answer(incoming, outgoing))
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const address = origin.address()
  if (typeof address === 'object' && address !== null) originPort = address.port
})

afterAll(async () => {
  origin.close()
  origin.closeAllConnections()
  await rm(directory, { recursive: true, force: true })
})

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const body = await text(incoming)
  const { method = '', url = '', headers } = incoming
  asked.push({ method, url, headers, body })
  const reply = REPLIES[url.split('?', 1)[0]] ?? { type: 'text/html', body: '<p>hello</p>' }
  outgoing.setHeader('Content-Type', reply.type)
  for (const [name, value] of reply.fields ?? []) outgoing.appendHeader(name, value)
  outgoing.end(reply.body)
}

interface Reply {
  readonly type: string
  readonly body: string | Uint8Array
  readonly fields?: readonly (readonly [string, string])[]
}

async function text(stream: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) if (chunk instanceof Uint8Array) chunks.push(chunk)
  return Buffer.concat(chunks).toString('latin1')
}

/** Each secret has a number, so that a failure says which got out. */
const secret = (number: number): string => `canary${String(number).padStart(2, '0')}Zq7`
const JWT = `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(`{"sub":"${secret(31)}"}`).toString('base64url')}.${secret(32)}AAAA`
const CANARIES = [...Array.from({ length: 62 }, (_, at) => secret(at + 1)), JWT.split('.')[1]]

const REPLIES: Readonly<Record<string, Reply>> = {
  '/login': {
    type: 'application/json',
    body: `{"hello":1,"password":"${secret(20)}","nested":{"accessToken":"${secret(21)}","client_secret":"${secret(22)}"}}`,
    fields: [
      ['Set-Cookie', `sid=${secret(23)}; Path=/; HttpOnly`],
      ['Set-Cookie', `remember=${secret(24)}`],
      ['X-Auth-Token', secret(25)],
      ['Location', `https://user:${secret(26)}@x.example/?code=${secret(27)}`],
      ['Authentication-Info', `nextnonce="${secret(28)}"`],
      ['X-CSRF-Token', secret(29)],
    ],
  },
  '/page': {
    type: 'text/html',
    body:
      `<p>hello</p><input name="csrf_token" value="${secret(30)}"><script>var t="${JWT}", apiKey="${secret(33)}"</script>` +
      `<a href="ftp://u:${secret(34)}@h/">x</a>-----BEGIN PRIVATE KEY-----\n${secret(35)}\n-----END PRIVATE KEY-----`,
  },
  '/more': {
    type: 'text/html',
    body:
      `<textarea name="token">${secret(43)}</textarea><script>localStorage.setItem("access_token", "${secret(44)}");` +
      `headers["x-api-key"] = "${secret(45)}"; config = [{"name": "DB_PASSWORD", "value": "${secret(46)}"}]</script>hello`,
    fields: [
      ['Location', `/cb?next=%252Fx%253Ftoken%253D${secret(47)}#id_token=${secret(48)}`],
      ['Refresh', `5; url=//u:${secret(49)}@h/?key=${secret(50)}`],
    ],
  },
  '/xml': { type: 'application/xml', body: `<hello><Password>${secret(36)}</Password></hello>` },
  '/coded': {
    type: 'application/json',
    body: gzipSync(`{"password":"${secret(37)}"}`),
    fields: [['Content-Encoding', 'gzip']],
  },
  '/binary': { type: 'application/octet-stream', body: `hello password=${secret(38)}` },
}

interface Proxy extends AsyncDisposable {
  readonly port: number
  readonly child: ChildProcess
  readonly recordings: string
  /** Standard error so far. */
  readonly told: () => string
  stop(signal?: NodeJS.Signals): Promise<void>
}

interface ProxyInit {
  readonly name: string
  readonly record?: string
  /** Shell commands before the proxy takes the shell's place. */
  readonly before?: string
}

async function startProxy({ name, record = '  bodies: {}', before }: ProxyInit): Promise<Proxy> {
  const recordings = join(directory, name)
  const config = join(directory, `${name}.yaml`)
  await writeFile(
    config,
    `listen: 127.0.0.1:0\nupstream: http://127.0.0.1:${originPort}\nrules:\n  - text: hello\n    with: bonjour\nlog: text\nrecord:\n  directory: ${recordings}\n${record}\n`,
  )
  const child =
    before === undefined
      ? startPrexy(['serve', config])
      : spawn('sh', ['-c', `${before}; exec "$@"`, 'sh', process.execPath, BIN, 'serve', config])
  let told = ''
  child.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()))
  const [, port] = await waitFor(child.stderr, /listening on http:\/\/127\.0\.0\.1:(\d+)/)
  const closed = once(child, 'close')
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    child.kill(signal)
    await closed
  }
  return { port: Number(port), child, recordings, told: () => told, stop, [Symbol.asyncDispose]: () => stop('SIGKILL') }
}

interface Ask {
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

async function ask(
  port: number,
  { path, method = 'GET', headers = {}, body }: Ask,
): Promise<{ status: number; body: string }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, resolve)
    outgoing.on('error', reject)
    outgoing.end(body)
  })
  return { status: response.statusCode ?? 0, body: await text(response) }
}

/** All files of a directory in one. */
async function contents(path: string): Promise<string> {
  const files = await Promise.all((await readdir(path)).map((name) => readFile(join(path, name))))
  return Buffer.concat(files).toString('latin1')
}

function found(where: string): string[] {
  return CANARIES.filter((canary) => where.includes(canary))
}

const FORM = 'application/x-www-form-urlencoded'
const ASKS: readonly Ask[] = [
  {
    path: `/login?token=${secret(1)}&key=${secret(2)}&sig=${secret(3)}&code=${secret(4)}&p%61ssword=${secret(5)}`,
    method: 'POST',
    headers: {
      Authorization: `Bearer ${secret(6)}`,
      'Proxy-Authorization': `Basic ${secret(7)}`,
      Cookie: `sid=${secret(8)}; theme=${secret(9)}`,
      'X-Api-Key': secret(10),
      'X-Amz-Security-Token': secret(11),
      'X-Forwarded-Client-Cert': `Cert="${secret(12)}"`,
      Referer: `https://u:${secret(13)}@shop.example/?access_token=${secret(14)}`,
      'Content-Type': 'application/json',
    },
    body: `{"user":"jo","password":"${secret(15)}","credentials":{"pin":"${secret(16)}"}}`,
  },
  { path: '/page', method: 'POST', headers: { 'Content-Type': FORM }, body: `user=jo&password=${secret(17)}&a=${JWT}` },
  {
    path: '/xml',
    method: 'POST',
    headers: { 'Content-Type': 'multipart/form-data; boundary=b' },
    body: `--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n${secret(18)}\r\n--b--\r\n`,
  },
  { path: '/coded', headers: { Cookie: secret(19) } },
  { path: '/binary', headers: { 'X-Hub-Signature-256': `sha256=${secret(39)}`, 'X-Session-Id': secret(40) } },
  {
    path: `/more?q=%7B%22password%22%3A%22${secret(51)}%22%7D&to=https%3A%2F%2Fu%3A${secret(52)}%40h%2F`,
    method: 'POST',
    headers: {
      'Sec-WebSocket-Protocol': `base64url.bearer.authorization.k8s.io.${secret(53)}, access_token, ${secret(54)}`,
      Referer: `https://h/?p%61ssword=${secret(55)}`,
      baggage: `sessionToken=${secret(56)}`,
      tracestate: `session=${secret(57)}`,
      'X-Request-Id': JWT,
      'Content-Type': 'application/json',
    },
    body: `{"query":"mutation($p:String!){login(password:$p,otp:\\"${secret(58)}\\"){id}}","variables":{"p":"${secret(59)}"}}`,
  },
  { path: `/reset/token/${secret(60)}${secret(61)}`, headers: { 'X-Functions-Key': secret(62) } },
  { path: `http://user:${secret(41)}@shop.example/x;jsessionid=${secret(42)}` },
]

describe('secrets', () => {
  test('reach no file, no log and nothing that is made of a recording', async () => {
    await using proxy = await startProxy({ name: 'secrets' })
    for (const one of ASKS) expect((await ask(proxy.port, one)).status).toBeGreaterThan(0)
    // The secrets were there.
    expect(asked.slice(-ASKS.length).some(({ body }) => body.includes(secret(15)))).toBe(true)
    await proxy.stop()
    const disk = await contents(proxy.recordings)
    expect(disk).toContain('[redacted]')
    expect(disk).toContain('bonjour')
    expect(found(disk)).toEqual([])
    expect(found(proxy.told())).toEqual([])
    const names = (await runPrexy(['record', 'show', proxy.recordings])).stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0])
    expect(names.length).toBeGreaterThanOrEqual(ASKS.length)
    const outputs = await Promise.all([
      runPrexy(['record', 'ls', proxy.recordings, '--json']),
      runPrexy(['record', 'show', proxy.recordings]),
      runPrexy(['record', 'show', proxy.recordings, '--json']),
      runPrexy(['record', 'show', proxy.recordings, names[0], '--curl']),
      runPrexy(['record', 'show', proxy.recordings, names[1]]),
      runPrexy(['record', 'export', proxy.recordings, '--format', 'har', '--secrets']),
    ])
    for (const { code, stdout, stderr } of outputs) {
      expect([code, stderr]).toEqual([0, ''])
      expect(found(stdout)).toEqual([])
    }
  })

  test('that were recorded on purpose are shown on purpose only', async () => {
    await using proxy = await startProxy({ name: 'open', record: '  bodies: {}\n  redact: false' })
    await ask(proxy.port, ASKS[0])
    await proxy.stop()
    expect(proxy.told()).toContain('record.redact is false')
    expect(found(await contents(proxy.recordings)).length).toBeGreaterThan(20)
    for (const format of ['har', 'jsonl']) {
      const args = ['record', 'export', proxy.recordings, '--format', format]
      expect(found((await runPrexy(args)).stdout)).toEqual([])
      expect(found((await runPrexy([...args, '--secrets'])).stdout).length).toBeGreaterThan(20)
    }
  })
})

describe('a recording', () => {
  test('is listed, annotated, exported, imported, compacted and sent again', async () => {
    await using proxy = await startProxy({ name: 'all', record: '  session: shop\n  tags: [checkout]\n  bodies: {}' })
    for (let count = 0; count < 3; count++) {
      await ask(proxy.port, {
        path: '/x?a=1',
        method: 'POST',
        headers: { 'Content-Type': 'text/plain' },
        body: 'hello',
      })
    }
    await proxy.stop()
    const { recordings } = proxy
    expect((await runPrexy(['record', 'note', recordings, 'shop', '--tag', 'slow', '--note', 'new server'])).code).toBe(
      0,
    )
    const [row] = (await runPrexy(['record', 'ls', recordings, '--json'])).stdout.trim().split('\n')
    expect(JSON.parse(row)).toMatchObject({ name: 'shop', tags: ['checkout', 'slow'], segments: 1, events: 3, open: 0 })
    const events = (await runPrexy(['record', 'export', recordings, '--session', 'slow'])).stdout.trim().split('\n')
    expect(events.map((line) => JSON.parse(line))).toMatchObject(
      [1, 2, 3].map((sequence) => ({
        sequence,
        status: 200,
        bodies: {
          request: { text: 'hello' },
          response: { text: '<p>hello</p>' },
          responseSent: { text: '<p>bonjour</p>' },
        },
      })),
    )
    const name = (await runPrexy(['record', 'show', recordings, '--limit', '1'])).stdout.split(' ')[0]
    const to = ['--to', `http://127.0.0.1:${originPort}`]
    asked.length = 0
    const replay = await runPrexy(['record', 'replay', recordings, name, ...to, '--json'])
    expect(JSON.parse(replay.stdout)).toMatchObject({ recorded: { status: 200 }, replayed: { status: 200, bytes: 12 } })
    expect(asked).toMatchObject([{ method: 'POST', url: '/x?a=1', body: 'hello' }])
    // Through a real shell, with the real curl, where there is one.
    const { stdout: command } = await runPrexy(['record', 'show', recordings, name, '--curl'])
    const shell = spawn('sh', ['-c', command.replaceAll(`:${proxy.port}/`, `:${originPort}/`)])
    await collect(shell)
    if (asked.length === 1) process.stdout.write('no curl: the command was not run\n')
    else expect(asked[1]).toMatchObject({ method: 'POST', url: '/x?a=1', body: 'hello' })
    const har = join(directory, 'all.har')
    expect((await runPrexy(['record', 'export', recordings, '--format', 'har', '-o', har])).code).toBe(0)
    const exporting = ['record', 'export', recordings, '--format', 'har', '-o', har]
    expect((await runPrexy(exporting)).stderr).toContain('it exists already; --force overwrites it')
    expect((await runPrexy([...exporting, '--force'])).code).toBe(0)
    const imported = join(directory, 'imported')
    expect((await runPrexy(['record', 'import', har, '--directory', imported])).code).toBe(0)
    const again = (await runPrexy(['record', 'show', imported, '--json'])).stdout.trim().split('\n')
    expect(again.map((line) => JSON.parse(line))).toMatchObject(
      [1, 2, 3].map((sequence) => ({ sequence, method: 'POST' })),
    )
    expect((await runPrexy(['record', 'compact', recordings, '--remove'])).code).toBe(0)
    const files = await readdir(recordings)
    expect(files.filter((file) => file.endsWith('.parquet'))).toHaveLength(1)
    expect(files.filter((file) => file.endsWith('.prexyrec'))).toEqual([])
  })

  test('survives kill -9 but for what was not written yet', async () => {
    await using proxy = await startProxy({ name: 'killed', record: '  flushMs: 1' })
    const done: number[] = []
    let isKilled = false
    const load = async (): Promise<void> => {
      while (!isKilled) {
        try {
          await ask(proxy.port, { path: '/x' })
          done.push(performance.now())
        } catch {
          return
        }
      }
    }
    const clients = Promise.all([load(), load(), load()])
    while (done.length < 200) await Promise.race([clients, new Promise((resolve) => setImmediate(resolve))])
    const before = performance.now() - 200
    await proxy.stop('SIGKILL')
    isKilled = true
    await clients
    const { stdout, stderr } = await runPrexy(['record', 'export', proxy.recordings])
    const sequences = stdout
      .trim()
      .split('\n')
      .map((line): number => JSON.parse(line).sequence)
    expect(sequences).toEqual(sequences.map((_, at) => at + 1))
    expect(sequences.length).toBeGreaterThanOrEqual(done.filter((at) => at < before).length)
    expect(stderr.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(1)
    // The session was not ended, and says so.
    expect((await runPrexy(['record', 'ls', proxy.recordings])).stdout).toContain('going on or killed')
  })

  test('stops when no more can be written, says so, and proxying goes on', async () => {
    // A limit on the size of files, with the signal ignored, is a full disk: EFBIG instead of ENOSPC.
    await using proxy = await startProxy({
      name: 'full',
      record: '  flushMs: 1\n  maxSegmentBytes: 1000000',
      before: `trap '' XFSZ; ulimit -f 40`,
    })
    for (let count = 0; count < 100 && !proxy.told().includes('has stopped'); count++) {
      expect((await ask(proxy.port, { path: '/x' })).body).toBe('<p>bonjour</p>')
    }
    await expect
      .poll(() => proxy.told())
      .toContain(`recording to ${proxy.recordings} has stopped: the file may not grow`)
    for (let count = 0; count < 5; count++) expect((await ask(proxy.port, { path: '/x' })).body).toBe('<p>bonjour</p>')
    await proxy.stop()
    const { code, stdout, stderr } = await runPrexy(['record', 'export', proxy.recordings])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.trim().split('\n').length).toBeGreaterThan(5)
    expect(proxy.told()).toMatch(/\d+ events were not recorded/)
  })

  test('that cannot be begun stops nothing else', async () => {
    const path = join(directory, 'locked')
    await writeFile(path, 'a file')
    await chmod(path, 0o400)
    await using proxy = await startProxy({ name: 'locked', record: '  flushMs: 1' })
    expect((await ask(proxy.port, { path: '/x' })).body).toBe('<p>bonjour</p>')
    await expect.poll(() => proxy.told()).toContain('has stopped')
    expect((await ask(proxy.port, { path: '/x' })).body).toBe('<p>bonjour</p>')
  })
})

test('what is wrong is said', async () => {
  const table: readonly (readonly [args: readonly string[], reason: string])[] = [
    [['ls', '/nonexistent'], 'prexy: /nonexistent: there is no such file'],
    [['show', BIN], 'is no recording of prexy'],
    [['show', '.', 'nonsense'], 'is no name of an event'],
    [['show', '.', '00000000-1'], 'has no event 00000000-1'],
    [['show', '.', '--from', 'yesterday'], 'is no time'],
    [['prune', '.', '--max-age', '7'], 'write it like 90s'],
    [['prune', '.', '--max-bytes', 'much'], 'is no size'],
    [['show', '.', '--status', 'bad'], 'is no status'],
    [['replay', '.', '00000000-1', '--to', 'ftp://x'], 'is no upstream'],
    [['import', BIN, '--directory', join(directory, 'none')], 'is no JSON'],
  ]
  for (const [args, reason] of table) {
    const { code, stderr } = await runPrexy(['record', ...args])
    expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining(reason)])
  }
})

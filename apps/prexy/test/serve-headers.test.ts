/** Header rules and request bodies of a configuration file, through the command line and into the log. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { collect, startPrexy, waitFor } from './run-prexy.ts'

test('a file says what becomes of fields and bodies, and the log tells', async () => {
  const seen: unknown[] = []
  const origin = createServer((message, response) => {
    let body = ''
    message.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    message.on('end', () => {
      const { host, origin: from, cookie, 'x-via': via, 'content-length': length } = message.headers
      seen.push({ host, from, cookie, via, length, body })
      response.writeHead(303, {
        Location: 'http://www.a.example/done',
        Server: 'secret/1.0',
        'Set-Cookie': 's=1; Domain=a.example',
      })
      response.end()
    })
  })
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const address = origin.address()
  if (address === null || typeof address === 'string') throw new Error('the origin has no port')
  const folder = mkdtempSync(join(tmpdir(), 'prexy-headers-'))
  const file = join(folder, 'prexy.yaml')
  writeFileSync(
    file,
    `listen: 127.0.0.1:0
upstream: http://127.0.0.1:${address.port}
log: json
requestBodies: true
rules: [{domain: a.example, to: b.test, subdomains: keep}]
headers:
  request: [{set: X-Via, value: 'prexy for \${host}'}]
  response: [{remove: Server}, {replace: Location, regex: '^http:', with: 'https:', status: 3xx}]
`,
  )
  const child = startPrexy(['serve', file])
  const outcome = collect(child)
  try {
    const [, port] = await waitFor(child.stderr, /listening on http:\/\/\S+:(\d+)/)
    const body = 'next=http%3A%2F%2Fwww.b.test%2F'
    const posting = request({
      host: '127.0.0.1',
      port: Number(port),
      method: 'POST',
      path: '/login',
      headers: {
        Host: 'www.b.test',
        Origin: 'http://www.b.test',
        Cookie: 'home=b.test',
        'Content-Type': 'application/x-www-form-urlencoded',
        'Content-Length': body.length,
      },
    })
    posting.end(body)
    const [response] = await once(posting, 'response')
    response.resume()
    await once(response, 'end')
    const { location, server, 'set-cookie': cookies } = response.headers
    expect({ location, server, cookies }).toEqual({
      location: 'https://www.b.test/done',
      server: undefined,
      cookies: ['s=1; Domain=b.test'],
    })
  } finally {
    child.kill('SIGTERM')
    origin.closeAllConnections()
    origin.close()
  }
  const { stderr } = await outcome
  rmSync(folder, { recursive: true })
  const mapped = 'next=http%3A%2F%2Fwww.a.example%2F'
  expect(seen).toEqual([
    {
      host: 'www.a.example',
      from: 'http://www.a.example',
      cookie: 'home=a.example',
      via: 'prexy for www.b.test',
      length: String(mapped.length),
      body: mapped,
    },
  ])
  const line = stderr.split('\n').find((one) => one.startsWith('{')) ?? '{}'
  expect(JSON.parse(line)).toMatchObject({
    requestFields: ['host', 'origin', 'cookie', 'x-via'],
    responseFields: ['location', 'set-cookie', 'server'],
    requestBody: { kind: 'mapped', hits: 1, inBytes: 31, outBytes: 34 },
  })
  expect(stderr).not.toContain('secret')
})

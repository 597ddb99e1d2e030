/** Runs the examples of docs/library.md as they stand there. */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const page = readFileSync(join(import.meta.dirname, '../../../docs/library.md'), 'utf8')
// Inside the clone, so that the examples find the packages as a user's code would.
const build = join(import.meta.dirname, '../../../.build')
mkdirSync(build, { recursive: true })
const folder = mkdtempSync(join(build, 'examples-'))
const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true })
})

/** The functions that the example below `heading` exports. */
async function example(heading: string): Promise<Readonly<Record<string, (...args: unknown[]) => unknown>>> {
  const section = page.slice(page.indexOf(`## ${heading}\n`))
  const code = /```js\n([\s\S]*?)```/.exec(section)
  const file = join(folder, `${heading.replaceAll(' ', '-')}.mjs`)
  writeFileSync(file, code?.[1] ?? '')
  return (await import(pathToFileURL(file).href)) as Readonly<Record<string, (...args: unknown[]) => unknown>>
}

async function serve(handler: RequestListener): Promise<string> {
  const server = createServer(handler)
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return typeof address === 'object' && address ? `http://127.0.0.1:${address.port}` : ''
}

test('the fetch handler', async () => {
  const origin = await serve((request, response) => {
    response.setHeader('Content-Type', request.url === '/data' ? 'application/octet-stream' : 'text/html')
    response.setHeader('ETag', '"1"')
    response.end('Acme Corp, https://www.acme.example/')
  })
  const { handle } = await example('A fetch handler')
  const answer = (await handle(new Request('http://zenith.example/page'), origin)) as Response
  expect(await answer.text()).toBe('Zenith Ltd, https://www.zenith.example/')
  expect([answer.headers.get('etag'), answer.headers.get('content-length')]).toEqual([null, null])
  const data = (await handle(new Request('http://zenith.example/data'), origin)) as Response
  expect(await data.text()).toBe('Acme Corp, https://www.acme.example/')
})

test('the Express-style handler', async () => {
  const file = join(folder, 'page.html')
  writeFileSync(file, 'a'.repeat(100_000) + 'UA-12-3')
  const { sendRewritten } = await example('An Express-style handler')
  const handler = sendRewritten(file, 'text/html') as (request: unknown, response: unknown, next: () => void) => void
  const origin = await serve((request, response) => handler(request, response, () => response.destroy()))
  const answer = await fetch(origin)
  expect(answer.headers.get('content-type')).toBe('text/html')
  expect((await answer.text()).slice(100_000)).toBe('UA-12-1')
})

test('without streams', async () => {
  const { rewriteText } = await example('Without streams')
  expect(rewriteText('jörg@example.org, ann@example.org')).toBe('jörg@example.com, ann@example.com')
})

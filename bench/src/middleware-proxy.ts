/**
 * A peer: http-proxy-middleware with its response interceptor, as its documentation shows it:
 * `middleware-proxy.js PEERS ORIGIN-PORT PORT RULES`. The interceptor collects a whole body and hands it over.
 */
import { Agent, createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { BenchRule } from './definition.ts'
import { literal } from './proxy-setup.ts'

type Next = (error?: unknown) => void
type Middleware = (request: IncomingMessage, response: ServerResponse, next: Next) => void
type Interceptor = (body: Buffer, upstream: IncomingMessage) => Promise<Buffer | string>

interface Package {
  createProxyMiddleware(options: object): Middleware
  responseInterceptor(interceptor: Interceptor): unknown
}

const [peers, originPort, port, text] = process.argv.slice(2)
const rules: readonly BenchRule[] = JSON.parse(text)
const { createProxyMiddleware, responseInterceptor }: Package = createRequire(join(peers, 'package.json'))(
  'http-proxy-middleware',
)

const middleware = createProxyMiddleware({
  target: `http://127.0.0.1:${originPort}`,
  agent: new Agent({ keepAlive: true }),
  selfHandleResponse: true,
  on: {
    proxyRes: responseInterceptor(async (body, upstream) => {
      if (upstream.headers['content-type']?.startsWith('text/html') !== true) return body
      let page = body.toString('latin1')
      for (const rule of rules) page = page.replaceAll(literal(rule), rule.with)
      return Buffer.from(page, 'latin1')
    }),
  },
})

createServer((request, response) => {
  middleware(request, response, (error) => {
    response.statusCode = 502
    response.end(String(error))
  })
}).listen(Number(port), '127.0.0.1')

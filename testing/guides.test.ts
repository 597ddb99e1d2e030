/**
 * What docs/guides says is run as it stands there. In a guide
 *
 * - a block of `yaml NAME` or `nginx NAME` is a file,
 * - a block of another language with a path is a page of the origin (`http`: with its head),
 * - a block of `console` is a session: lines after a command are all that it prints.
 *
 * Only addresses are others: of the origin, and of the port that prexy listens on, which it does from the first curl on.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type PrexyServer, startPrexyServer } from '@prexy/testing/prexy-server'
import { missingPrograms } from '@prexy/testing/programs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const GUIDES = fileURLToPath(new URL('../docs/guides/', import.meta.url))
const PREXY = fileURLToPath(new URL('../apps/prexy/bin/prexy.mjs', import.meta.url))

interface Block {
  readonly language: string
  readonly name: string
  readonly text: string
}

function blocksOf(text: string): readonly Block[] {
  return [...text.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm)].map(([, language, name = '', content]) => ({
    language,
    name,
    text: content,
  }))
}

interface Step {
  readonly command: string
  readonly printed: string
}

function stepsOf(session: string): readonly Step[] {
  return session
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const end = step.indexOf('\n')
      return { command: step.slice(0, end), printed: step.slice(end + 1) }
    })
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  json: 'application/json',
  css: 'text/css',
}

function originOf(pages: readonly Block[]): RequestListener {
  return (request, response) => {
    const path = (request.url ?? '').split('?')[0]
    const page = pages.find(({ name }) => name === path || (path.endsWith('/') && name === `${path}index.html`))
    if (page === undefined) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('no such page')
      return
    }
    if (page.language !== 'http') {
      response.writeHead(200, { 'content-type': TYPES[page.language] ?? 'text/plain' }).end(page.text)
      return
    }
    const [first, ...fields] = page.text.trimEnd().split('\n')
    response.writeHead(
      Number(first.split(' ')[1]),
      Object.fromEntries(fields.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)])),
    )
    response.end()
  }
}

const missing = missingPrograms('curl', 'bash')

if (missing !== undefined) {
  it('guides', (context) => context.skip(missing))
} else {
  const names = readdirSync(GUIDES).filter((name) => name !== 'README.md')

  it('the list has every guide', () => {
    const list = readFileSync(join(GUIDES, 'README.md'), 'utf8')
    expect([...list.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, name]) => name)).toEqual(expect.arrayContaining(names))
  })

  describe.each(names)('%s', (name) => {
    const blocks = blocksOf(readFileSync(join(GUIDES, name), 'utf8'))
    const folder = mkdtempSync(join(tmpdir(), 'prexy-guide-'))
    const origin = createServer(originOf(blocks.filter((block) => block.name.startsWith('/'))))
    let upstream = ''
    let server: PrexyServer | undefined

    /** The guide's own upstream is somewhere else, or nowhere. */
    function localized(text: string): string {
      return text
        .replaceAll(/(upstream:|url:|proxy_pass) https?:\/\/(?!app\b)[^\s;/]+/g, `$1 http://${upstream}`)
        .replaceAll(/^(\s*server )127\.0\.0\.1:9000\b/gm, `$1${upstream}`)
        .replaceAll(/(server )127\.0\.0\.1:9000/g, `$1${upstream}`)
    }

    beforeAll(async () => {
      origin.listen(0, '127.0.0.1')
      await once(origin, 'listening')
      const address = origin.address()
      upstream = typeof address === 'object' && address !== null ? `127.0.0.1:${address.port}` : ''
      writeFileSync(join(folder, 'prexy'), `#!/bin/sh\nexec '${process.execPath}' '${PREXY}' "$@"\n`)
      chmodSync(join(folder, 'prexy'), 0o755)
      for (const block of blocks) {
        if (block.name !== '' && !block.name.startsWith('/'))
          writeFileSync(join(folder, block.name), localized(block.text))
      }
    })
    afterAll(async () => {
      await server?.stop()
      origin.closeAllConnections()
      origin.close()
      rmSync(folder, { recursive: true })
    })

    async function run(command: string): Promise<string> {
      if (command.includes('curl ')) {
        server ??= await startPrexyServer([
          'serve',
          join(folder, 'prexy.yaml'),
          '--listen',
          '127.0.0.1:0',
          '--log',
          'off',
        ])
      }
      const { NO_COLOR: _no, FORCE_COLOR: _force, ...env } = process.env
      const line = command.replaceAll('127.0.0.1:8080', `127.0.0.1:${server?.port ?? 0}`)
      const child = spawn('bash', ['-c', `exec 2>&1; ${line}`], {
        cwd: folder,
        env: { ...env, PATH: `${folder}${delimiter}${env.PATH ?? ''}` },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const chunks: Buffer[] = []
      child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
      await once(child, 'close')
      const printed = Buffer.concat(chunks).toString().replaceAll('\r', '')
      // A session shows what a command prints on lines of its own.
      return printed === '' || printed.endsWith('\n') ? printed : `${printed}\n`
    }

    it('prints what it says', { timeout: 60_000 }, async () => {
      const steps = blocks.filter(({ language }) => language === 'console').flatMap(({ text }) => stepsOf(text))
      expect(steps.length).toBeGreaterThan(1)
      for (const { command, printed } of steps)
        expect(`$ ${command}\n${await run(command)}`).toBe(`$ ${command}\n${printed}`)
    })
  })
}

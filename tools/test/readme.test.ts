/**
 * Every command that the README shows is run. `console` blocks are dialogues: a line after `$ ` is typed, the lines below it
 * are what must come out. A command that listens is started, waited for, and ended with its block; the usual ports in the
 * text are swapped for free ones. `sh` blocks may only name commands that other tests run.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSocketServer, type Server } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

/** What the origin on port 9000 in the README answers. */
const PAGE =
  '<title>Example</title>\n<a href="https://www.example.org/start">www.example.org</a>\n<script>track("UA-12345-7")</script>\n'

/** Run elsewhere: `npm start` by its `--check`, `npm test` by whoever reads this. */
const KNOWN = [/^git clone /, /^cd /, /^npm start( -- --check)?$/, /^npm test$/, /^npm run (check|test:long|bench)\b/]

test('commands in sh blocks are among those that are tested elsewhere', () => {
  const commands = blocks('sh').flatMap((block) => block.split('\n'))
  expect(commands.length).toBeGreaterThan(0)
  expect(commands.filter((command) => !KNOWN.some((known) => known.test(command)))).toEqual([])
})

const dialogues = blocks('console')

test.each(dialogues.map((block) => [block.split('\n', 1)[0], block]))(
  '%s',
  { timeout: 60_000 },
  async (_title, block) => {
    const ports = new Map([
      ['9000', await serveExample()],
      ['8080', await freePort()],
    ])
    for (const { command, output } of steps(block)) {
      const line = command.replace(/\b(?:9000|8080)\b/g, (port) => String(ports.get(port)))
      if (/ --listen /.test(line)) await startListening(line)
      else expect(await run(line)).toBe(output)
    }
  },
)

function blocks(language: string): string[] {
  return [...README.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\`$`, 'gm'))].map((match) => match[1])
}

function steps(block: string): { command: string; output: string }[] {
  const result: { command: string; output: string }[] = []
  for (const line of block.split('\n')) {
    const last = result.at(-1)
    if (line.startsWith('$ ')) result.push({ command: line.slice(2), output: '' })
    else if (last === undefined) throw new Error(`a dialogue begins with a command, not with: ${line}`)
    else if (last.command.endsWith('\\')) last.command = `${last.command.slice(0, -1)}${line.trimStart()}`
    else last.output += `${line}\n`
  }
  return result
}

function run(command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-o', 'pipefail', '-c', command], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve(output)
      else reject(new Error(`ended with status ${code}: ${command}`))
    })
  })
}

async function startListening(command: string): Promise<void> {
  const child = spawn('bash', ['-c', command], { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
  onTestFinished(() => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
  })
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (said.includes('listening on')) resolve()
    })
    child.once('close', () => reject(new Error(`ended instead of listening: ${command}\n${said}`)))
  })
}

function serveExample(): Promise<number> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE)
  })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return listen(server)
}

async function freePort(): Promise<number> {
  const server = createSocketServer()
  const port = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      if (address === null || typeof address === 'string') reject(new Error('the server has no port'))
      else resolve(address.port)
    })
  })
}

// A current ClickHouse, in a process, behind as much of its HTTP interface as prexy uses: statements in the body of a POST,
// or in `query` with rows in the body. Says where it listens in the first line of its output; ends when its input does.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// Not of this repository's workspaces, so not imported as their dependencies are.
const { Session } = createRequire(import.meta.url)('chdb')

const folder = mkdtempSync(join(tmpdir(), 'prexy-chdb-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const session = new Session(join(folder, 'data'))
session.query('SET max_threads = 2, max_memory_usage = 2000000000')
let files = 0

async function run(statement, body) {
  if (body === undefined) {
    const format = /\nFORMAT (\w+)$/.exec(statement)
    const result = await session.queryAsync(format === null ? statement : statement.slice(0, format.index), {
      format: format?.[1] ?? 'TSV',
    })
    return result.bytes()
  }
  const [, head, format] = /^(INSERT INTO .*) FORMAT (\w+)$/s.exec(statement) ?? []
  const file = join(folder, `${files++}.rows`)
  writeFileSync(file, body)
  await session.queryAsync(`${head} SELECT * FROM file('${file}', '${format}')`)
  rmSync(file)
  return new Uint8Array()
}

// One statement after the other: a session is one connection.
let last = Promise.resolve()
const server = createServer((request, response) => {
  const pieces = []
  request.on('data', (piece) => pieces.push(piece))
  request.on('end', () => {
    const body = Buffer.concat(pieces)
    const query = new URL(request.url ?? '/', 'http://localhost').searchParams.get('query')
    last = last.then(async () => {
      try {
        response.end(await (query === null ? run(body.toString(), undefined) : run(query, body)))
      } catch (error) {
        response.statusCode = 500
        response.end(error instanceof Error ? error.message : String(error))
      }
    })
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(
    `${JSON.stringify({ port: server.address().port, version: session.query('SELECT version()', 'TSV').trim() })}\n`,
  )
})
process.stdin.resume().once('end', () => process.exit(0))

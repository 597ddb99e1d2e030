/** Query engines as processes of their own, in temporary folders: a cluster of Debian's ClickHouse, a current one in chdb. */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const PASSWORD = 'pa:ss wörd/?#'
const USER = 'hunter'
const MAX_ATTEMPTS = 5
const MAX_START_MS = 120_000

const ORACLES = fileURLToPath(new URL('../../../testing/oracles/', import.meta.url))

/** Why engines of a kind cannot be had here; undefined: they can. */
export function missingClickHouse(): string | undefined {
  return clickHouseProgram() === undefined
    ? 'clickhouse-server is not installed; on Debian: apt-get install clickhouse-server'
    : undefined
}

export function missingOracle(name: 'chdb' | '@duckdb/node-api'): string | undefined {
  const isThere = existsSync(join(ORACLES, 'node_modules', name))
  return isThere ? undefined : `${name} is not installed; npm install --no-save --prefix testing/oracles`
}

/** DuckDB's module, as `require` has it. */
export const ORACLE_REQUIRE_FROM: string = join(ORACLES, 'package.json')

function clickHouseProgram(): string | undefined {
  // Debian puts it where only root's PATH looks.
  for (const folder of [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin']) {
    try {
      accessSync(join(folder, 'clickhouse-server'), constants.X_OK)
      return join(folder, 'clickhouse-server')
    } catch {
      // Not here.
    }
  }
  return undefined
}

export interface RunningEngine {
  /** Of each server, without user and password. */
  readonly hosts: readonly string[]
  address(host: string, parameters: string): string
  stop(): Promise<void>
}

/** Two shards, cluster `two`, both of which know it. */
export async function startClickHouseCluster(): Promise<RunningEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'prexy-clickhouse-'))
  for (let attempt = 1; ; attempt++) {
    const ports = await freePorts(4)
    const servers = [0, 1].map((shard) => startShard(join(folder, `${attempt}-${shard}`), ports, shard))
    const stop = async (): Promise<void> => {
      await Promise.all(servers.map(endOf))
      rmSync(folder, { recursive: true, force: true })
    }
    const hosts = ports.slice(0, 2).map((port) => `127.0.0.1:${port}`)
    const isUp = await Promise.all(hosts.map((host, shard) => answers(host, servers[shard])))
    if (isUp.every(Boolean)) return { hosts, stop, address: addressWithPassword }
    await Promise.all(servers.map(endOf))
    if (attempt === MAX_ATTEMPTS) throw new Error('clickhouse-server did not start')
  }
}

function addressWithPassword(host: string, parameters: string): string {
  return `clickhouse://${USER}:${encodeURIComponent(PASSWORD)}@${host}/default?${parameters}`
}

function startShard(folder: string, ports: readonly number[], shard: number): ChildProcess {
  mkdirSync(folder, { recursive: true })
  const xml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const shards = ports.slice(2).map((port) => {
    const replica = `<host>127.0.0.1</host><port>${port}</port><user>${USER}</user><password>${xml(PASSWORD)}</password>`
    return `<shard><replica>${replica}</replica></shard>`
  })
  writeFileSync(
    join(folder, 'config.xml'),
    `<yandex><logger><level>error</level><console>1</console></logger>
<listen_host>127.0.0.1</listen_host><http_port>${ports[shard]}</http_port><tcp_port>${ports[shard + 2]}</tcp_port>
<path>${folder}/data/</path><tmp_path>${folder}/tmp/</tmp_path><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>5368709</mark_cache_size><max_concurrent_queries>20</max_concurrent_queries>
<remote_servers><two>${shards.join('')}</two></remote_servers></yandex>`,
  )
  writeFileSync(
    join(folder, 'users.xml'),
    `<yandex><profiles><default><max_memory_usage>1000000000</max_memory_usage><max_threads>2</max_threads></default></profiles>
<users><${USER}><password>${xml(PASSWORD)}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
<quota>default</quota></${USER}></users><quotas><default/></quotas></yandex>`,
  )
  const program = clickHouseProgram() ?? 'clickhouse-server'
  return watched(spawn(program, ['--config-file=config.xml'], { cwd: folder, stdio: 'ignore' }))
}

/** Ends with this process in any case. */
function watched(child: ChildProcess): ChildProcess {
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return child
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

/** Whether it comes to answer; false when it ends before. */
async function answers(host: string, child: ChildProcess): Promise<boolean> {
  for (const end = Date.now() + MAX_START_MS; Date.now() < end; ) {
    if (child.exitCode !== null || child.signalCode !== null) return false
    try {
      if ((await fetch(`http://${host}/`, { headers: { connection: 'close' } })).ok) return true
    } catch {
      // It does not listen yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return false
}

/** Ports that were free together a moment ago: whoever starts on them tries again with others when they are taken. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  await Promise.all(
    servers.map((server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))),
  )
  const ports = servers.map((server) => {
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  })
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/** A current ClickHouse. It takes anyone. */
export async function startChdb(): Promise<RunningEngine> {
  const child = watched(
    spawn(process.execPath, [join(ORACLES, 'chdb-server.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] }),
  )
  const line = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      if (text.includes('\n')) resolve(text)
    })
    child.once('exit', () => reject(new Error('chdb did not start')))
    child.once('error', reject)
  })
  const { port }: { port: number } = JSON.parse(line)
  return {
    hosts: [`127.0.0.1:${port}`],
    address: (host, parameters) => `clickhouse://${host}/default?${parameters}`,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.stdin?.end()
      await ended
    },
  }
}

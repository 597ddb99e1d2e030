/**
 * Small requests beside large bodies: two workers of each proxy, the same clients. Small requests come at a rate that no
 * proxy can slow down, and each counts from when it was due, so that a stall counts for all that it delays.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { rulesOf } from './bench-rules.ts'
import type { BesideDefinition, BesideGoal } from './definition.ts'
import { type Runtime, stop } from './programs.ts'
import { freePort, listening, literal, nginxConfig, type Setup, startOrigin } from './proxy-setup.ts'
import { currentLoad, type Result } from './record.ts'

const WARM_UP_SECONDS = 3
const WORKERS = 2

interface Server {
  readonly name: 'prexy' | 'nginx-sub-filter'
  readonly runtime: string
  readonly command: string
  readonly args: readonly string[]
  readonly port: number
}

interface Sample {
  readonly p99Ms: number
  readonly pulledBytes: number
}

export function besideRatioName({ subject, against }: BesideGoal): string {
  return `${subject} / ${against} p99`
}

export async function runBesideBench(
  root: string,
  definition: BesideDefinition,
  runtimes: readonly Runtime[],
): Promise<Result[]> {
  const bodies = [definition.small, definition.large]
  const pages = { ...definition, bodies, type: 'text/html', coding: 'identity', transport: 'http' } as const
  const setup = await startOrigin(pages, [])
  if (setup === undefined) return []
  const results: Result[] = []
  try {
    const servers = await serversOf(root, setup, definition, runtimes)
    for (let round = 1; round <= definition.samples; round++) {
      process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
      results.push(...(await roundOf(definition, servers)))
    }
  } finally {
    await setup.close()
  }
  return results
}

async function serversOf(
  root: string,
  { folder, originPort }: Setup,
  definition: BesideDefinition,
  runtimes: readonly Runtime[],
): Promise<readonly Server[]> {
  const rules = rulesOf(definition.rules).map((rule) => ({ text: literal(rule), with: rule.with }))
  const nginxPort = await freePort()
  const filters = rules.map((rule) => `sub_filter '${rule.text}' '${rule.with}';`).join(' ')
  const server = `
    upstream origin { server 127.0.0.1:${originPort}; keepalive 128; keepalive_requests 100000000; }
    server {
      listen 127.0.0.1:${nginxPort} backlog=4096;
      location / {
        proxy_pass http://origin;
        proxy_http_version 1.1;
        proxy_set_header Connection '';
        ${filters}
        sub_filter_once off;
      }
    }`
  const config = nginxConfig('beside', server).replace('worker_processes 1', `worker_processes ${WORKERS}`)
  writeFileSync(join(folder, 'beside.conf'), config)
  const servers: Server[] = [
    {
      name: 'nginx-sub-filter',
      runtime: 'C',
      command: 'nginx',
      args: ['-p', folder, '-c', 'beside.conf', '-e', 'stderr'],
      port: nginxPort,
    },
  ]
  for (const { name, version, command } of runtimes) {
    const port = await freePort()
    const file = join(folder, `${name}.yaml`)
    const upstream = `http://127.0.0.1:${originPort}`
    writeFileSync(file, JSON.stringify({ listen: `127.0.0.1:${port}`, upstream, rules, log: 'off', workers: WORKERS }))
    const args = [join(root, 'apps/prexy/bin/prexy.mjs'), 'serve', file]
    servers.push({ name: 'prexy', runtime: `${name} ${version}`, command, args, port })
  }
  return servers
}

/** Each server by itself, and the ratios of those that ran within the same minute. */
async function roundOf(definition: BesideDefinition, servers: readonly Server[]): Promise<Result[]> {
  const measured: { readonly server: Server; readonly load: number; readonly sample: Sample }[] = []
  for (const server of servers) {
    const load = currentLoad()
    const child: ChildProcess = spawn(server.command, server.args, { stdio: 'ignore' })
    try {
      await listening(server.port)
      await sampleOf(definition, server.port, WARM_UP_SECONDS)
      measured.push({ server, load, sample: await sampleOf(definition, server.port, definition.secondsPerSample) })
    } finally {
      await stop(child)
    }
  }
  const results = measured.flatMap(({ server: { name, runtime }, load, sample }): Result[] => [
    { subject: `${name} p99`, runtime, value: sample.p99Ms, unit: 'ms', load },
    { subject: `${name} pulled`, runtime, value: sample.pulledBytes / 1e6, unit: 'MB/s', load },
  ])
  for (const goal of definition.goals) {
    const against = measured.find(({ server }) => server.name === goal.against)
    if (against === undefined) continue
    for (const { server, load, sample } of measured) {
      if (server.name !== goal.subject) continue
      const value = sample.p99Ms / against.sample.p99Ms
      results.push({ subject: besideRatioName(goal), runtime: server.runtime, value, unit: 'x', load })
    }
  }
  return results
}

async function sampleOf(definition: BesideDefinition, port: number, seconds: number): Promise<Sample> {
  const base = `http://127.0.0.1:${port}`
  const until = performance.now() + seconds * 1_000
  let pulled = 0
  const pullers = Array.from({ length: definition.pullers }, async () => {
    while (performance.now() < until) {
      const response = await asked(`${base}/${definition.large}.html`, undefined)
      response.on('data', (chunk: Buffer) => {
        pulled += chunk.length
        if (performance.now() >= until) response.destroy()
      })
      await new Promise((resolve) => response.once('close', resolve))
    }
  })
  const agent = new Agent({ keepAlive: true, maxSockets: definition.connections })
  const took: number[] = []
  const small = async (due: number): Promise<void> => {
    const response = await asked(`${base}/${definition.small}.html`, agent)
    response.resume()
    await once(response, 'end')
    took.push(performance.now() - due)
  }
  const pending: Promise<void>[] = []
  const everyMs = 1_000 / definition.requestsPerSecond
  for (let due = performance.now(); due < until; due += everyMs) {
    while (performance.now() < due) await new Promise((resolve) => setTimeout(resolve, due - performance.now()))
    pending.push(small(due))
  }
  await Promise.all([...pending, ...pullers])
  agent.destroy()
  took.sort((a, b) => a - b)
  return { p99Ms: took[Math.ceil(took.length * 0.99) - 1], pulledBytes: pulled / seconds }
}

async function asked(url: string, agent: Agent | undefined): Promise<IncomingMessage> {
  return await new Promise((resolve, reject) => {
    get(url, { agent: agent ?? false }, (response) => {
      response.on('error', () => {})
      if (response.statusCode === 200) resolve(response)
      else reject(new Error(`status ${response.statusCode}`))
    }).on('error', reject)
  })
}

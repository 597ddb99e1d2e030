/** A fleet of sites, a file each: how long a start takes, what it holds, and what the first request to a site waits for. */
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SitesDefinition } from './definition.ts'
import { type Runtime, startPinned, stop } from './programs.ts'
import { cpuSeconds, residentBytes } from './proxy-setup.ts'
import { currentLoad, type Result } from './record.ts'

const PAGE = '<!doctype html><title>Acme 1</title><a href="https://origin0-7.example/">UA-123-2</a>\n'.repeat(12)

export async function runSitesBench(
  root: string,
  definition: SitesDefinition,
  runtimes: readonly Runtime[],
): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'prexy-sites-bench-'))
  const origin = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html')
    response.end(PAGE)
  })
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const results: Result[] = []
  try {
    writeFleet(folder, definition, portOf(origin))
    for (let round = 1; round <= definition.samples; round++) {
      process.stdout.write(`bench: round ${round} of ${definition.samples}\n`)
      for (const runtime of runtimes) results.push(...(await sample(root, folder, definition, runtime)))
    }
  } finally {
    origin.close()
    origin.closeAllConnections()
    rmSync(folder, { recursive: true })
  }
  return results
}

function writeFleet(folder: string, { sites, rulesPerSite }: SitesDefinition, originPort: number): void {
  mkdirSync(join(folder, 'sites'))
  writeFileSync(
    join(folder, 'prexy.yaml'),
    `listen: 127.0.0.1:0\ninclude: sites/*.yaml\nupstream: http://127.0.0.1:${originPort}\nlog: off\n`,
  )
  for (let site = 0; site < sites; site++) {
    const rules = Array.from({ length: rulesPerSite }, (_, rule) => ruleText(site, rule)).join('')
    const text = `host: [site${site}.example, '*.site${site}.example']\nrules:\n${rules}`
    writeFileSync(join(folder, 'sites', `${String(site).padStart(6, '0')}.yaml`), text)
  }
}

/** Host names, texts and patterns in turn; no two sites have the same. */
function ruleText(site: number, rule: number): string {
  switch (rule % 3) {
    case 0:
      return `  - domain: origin${rule}-${site}.example\n    to: site${site}.example\n`
    case 1:
      return `  - text: Acme ${rule}\n    with: Zenith ${site}\n`
    default:
      return `  - regex: 'UA-([0-9]{1,12})-${rule}'\n    with: 'UA-$1-${site}'\n    paths: /**\n`
  }
}

async function sample(root: string, folder: string, definition: SitesDefinition, runtime: Runtime): Promise<Result[]> {
  const load = currentLoad()
  const begun = performance.now()
  const server = startPinned(0, runtime.command, [
    join(root, 'apps/prexy/bin/prexy.mjs'),
    'serve',
    join(folder, 'prexy.yaml'),
    '--workers',
    '1',
  ])
  try {
    const port = await new Promise<number>((resolve, reject) => {
      let said = ''
      server.stderr?.on('data', (text: string) => {
        said += text
        const match = /listening on http:\/\/\S+:(\d+)/.exec(said)
        if (match !== null) resolve(Number(match[1]))
      })
      server.once('close', () => reject(new Error(`prexy ended by itself: ${said}`)))
    })
    const startMs = performance.now() - begun
    const { pid } = server
    if (pid === undefined) throw new Error('the server has no process')
    const startCpuMs = cpuSeconds(pid) * 1_000
    const startBytes = residentBytes(pid)
    const { sites, asked } = definition
    const hosts = Array.from({ length: asked }, (_, n) => `site${Math.floor((n * sites) / asked)}.example`)
    // Code that runs for the first time is not what is asked for.
    await latencyMs(port, `site${sites - 1}.example`)
    const first: number[] = []
    for (const host of hosts) first.push(await latencyMs(port, host))
    const again: number[] = []
    for (const host of hosts.slice(-100)) again.push(await latencyMs(port, host))
    const base = { runtime: `${runtime.name} ${runtime.version}`, load }
    return [
      { ...base, subject: 'start', value: startMs, unit: 'ms' },
      { ...base, subject: 'start, CPU', value: startCpuMs, unit: 'ms' },
      { ...base, subject: 'memory after the start', value: startBytes / 1e6, unit: 'MB' },
      { ...base, subject: 'first request to a site, median', value: quantile(first, 0.5), unit: 'ms' },
      { ...base, subject: 'first request to a site, 99th', value: quantile(first, 0.99), unit: 'ms' },
      { ...base, subject: 'next request to a site, median', value: quantile(again, 0.5), unit: 'ms' },
      { ...base, subject: `memory after ${asked} sites`, value: residentBytes(pid) / 1e6, unit: 'MB' },
    ]
  } finally {
    await stop(server)
  }
}

async function latencyMs(port: number, host: string): Promise<number> {
  const begun = performance.now()
  const asking = request({ host: '127.0.0.1', port, path: '/', headers: { Host: host }, agent: false })
  asking.end()
  const [response] = (await once(asking, 'response')) as [NodeJS.ReadableStream & { readonly statusCode?: number }]
  if (response.statusCode !== 200) throw new Error(`${host} was answered ${response.statusCode}`)
  response.resume()
  await once(response, 'end')
  return performance.now() - begun
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the origin has no port')
  return address.port
}

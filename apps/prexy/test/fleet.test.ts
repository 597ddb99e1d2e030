/** Replicas that read their rules from a bucket of a real cluster, three servers of Debian's nats-server. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type NatsCluster, startNatsCluster } from '@prexy/testing/nats-cluster'
import { missingPrograms } from '@prexy/testing/programs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openOrigin } from './open-origin.ts'
import { runPrexy, startPrexy, waitFor } from './run-prexy.ts'

/** Under load; each step takes a second or two. */
const PATIENCE_MS = 300_000
/** How often a command is repeated that got no answer in time, or none while a leader is chosen. */
const MAX_TRIES = 20
const NO_ANSWER =
  /timeout|timed out|cannot be (?:asked|reached)|no (?:responders|suitable peers)|unavailable|offline|leader/i

const missing = missingPrograms('nats-server')
if (missing !== undefined) test('a fleet', (context) => context.skip(missing))
else {
  describe('a fleet', { timeout: PATIENCE_MS }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'prexy-fleet-'))
    const file = (name: string): string => join(folder, name)
    const children: ChildProcessWithoutNullStreams[] = []
    let cluster: NatsCluster
    let origin = ''

    const rules = (word: string): string => {
      writeFileSync(file('fleet.yaml'), `upstream: http://${origin}\nrules: [{text: Acme, with: ${word}}]\n`)
      return file('fleet.yaml')
    }
    const answered = async (args: readonly string[]): Promise<Awaited<ReturnType<typeof runPrexy>>> => {
      for (let tries = 1; ; tries++) {
        const result = await runPrexy(args)
        if (result.code === 0 || tries === MAX_TRIES || !NO_ANSWER.test(result.stderr)) return result
      }
    }
    const push = (word: string, ...flags: readonly string[]) =>
      answered(['config', 'push', file('replica.yaml'), rules(word), ...flags])
    /** Writes it, also where the answer to a write that was done was lost. */
    const write = async (word: string, ...flags: readonly string[]): Promise<void> => {
      const { code, stderr } = await push(word, ...flags)
      if (code === 0) return
      const there = await answered(['config', 'pull', file('replica.yaml')])
      expect([there.stdout, stderr]).toEqual([expect.stringContaining(`with: ${word}}`), expect.any(String)])
    }
    interface Replica {
      readonly child: ChildProcessWithoutNullStreams
      readonly site: string
      told(): string
    }
    const replica = async (name: string, tries = 1): Promise<Replica> => {
      const child = startPrexy(['serve', file(name)])
      children.push(child)
      let text = ''
      child.stderr.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      try {
        const [, site] = await waitFor(child.stderr, /listening on (\S+)/)
        return { child, site, told: () => text }
      } catch (error) {
        if (tries === MAX_TRIES || !NO_ANSWER.test(text)) throw error
        return await replica(name, tries + 1)
      }
    }
    const page = async (site: string): Promise<string> => await (await fetch(site)).text()

    beforeAll(async () => {
      process.env.FLEET_PASSWORD = 'p4ss'
      const server = createServer((_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' })
        response.end('Acme')
      })
      origin = await openOrigin(server)
      cluster = await startNatsCluster(folder, { more: 'authorization { user: fleet, password: p4ss }' })
      const source = `{servers: [${cluster.urls.map((url) => `'${url}'`).join(', ')}], bucket: prexy, user: fleet, password: '\${env:FLEET_PASSWORD}'`
      writeFileSync(file('replica.yaml'), `listen: 127.0.0.1:0\nlog: off\nsource: ${source}}\n`)
      writeFileSync(file('cached.yaml'), `listen: 127.0.0.1:0\nlog: off\nsource: ${source}, cacheFile: cache.yaml}\n`)
    }, PATIENCE_MS)
    afterAll(async () => {
      delete process.env.FLEET_PASSWORD
      for (const child of children) child.kill('SIGKILL')
      await cluster?.stop()
      rmSync(folder, { recursive: true })
    })

    test('a first revision, and no start without one', async () => {
      expect((await runPrexy(['serve', file('replica.yaml')])).stderr).toContain('nats://prexy/config')
      expect((await push('One')).stderr).toContain('--create makes it')
      // JetStream chooses its leader some time after its servers are ready.
      await write('One', '--create', '3')
      expect(await answered(['config', 'pull', file('replica.yaml')])).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('with: One'),
        stderr: expect.stringContaining('revision 1 of '),
      })
      expect(await answered(['check', file('replica.yaml')])).toMatchObject({ code: 0 })
      expect((await answered(['config', 'show', file('replica.yaml')])).stdout).toContain('nats://prexy/config:2')
    })

    test('a stale write and a faulty one are refused', async () => {
      expect(await push('Two')).toMatchObject({ code: 2, stderr: expect.stringContaining('push with --revision 1') })
      await write('Two', '--revision', '1')
      expect(await push('Late', '--revision', '1')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(
          'stale, nothing was written: revision 1 was to be replaced, and revision 2 is there',
        ),
      })
      writeFileSync(file('bad.yaml'), 'upstream: http://127.0.0.1:1\nrules: [{regex: "(", with: x}]\n')
      expect(
        await runPrexy(['config', 'push', file('replica.yaml'), file('bad.yaml'), '--revision', '2']),
      ).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('nothing was written\nnats://prexy/config:2:'),
      })
    })

    test('replicas follow, with a server killed, and keep what they have without a cluster', async () => {
      const [one, two] = [await replica('replica.yaml'), await replica('cached.yaml')]
      expect([await page(one.site), await page(two.site)]).toEqual(['Two', 'Two'])

      const followed = Promise.all(
        [one, two].map(({ child }) => waitFor(child.stderr, /revision 3 of \S+: the new configuration is served/)),
      )
      await write('Three', '--revision', '2')
      await followed
      expect([await page(one.site), await page(two.site)]).toEqual(['Three', 'Three'])

      await cluster.kill(0)
      const again = Promise.all(
        [one, two].map(({ child }) => waitFor(child.stderr, /revision 4 of \S+: the new configuration is served/)),
      )
      await write('Four', '--revision', '3')
      await again
      expect([await page(one.site), await page(two.site)]).toEqual(['Four', 'Four'])

      const lost = Promise.all(
        [one, two].map(({ child }) => waitFor(child.stderr, /the cluster is lost .*; revision 4 is served on/)),
      )
      await Promise.all([cluster.kill(1), cluster.kill(2)])
      await lost
      expect([await page(one.site), await page(two.site)]).toEqual(['Four', 'Four'])

      // One that starts now has the copy, another has nothing.
      expect(readFileSync(file('cache.yaml'), 'utf8')).toContain('# prexy: revision 4')
      const late = await replica('cached.yaml')
      expect(await page(late.site)).toBe('Four')
      expect(late.told()).toContain('revision 4 of ')
      expect(await runPrexy(['serve', file('replica.yaml')])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('the cluster cannot be asked'),
      })

      const found = Promise.all(
        [one, two, late].map(({ child }) => waitFor(child.stderr, /it is there again, with revision 4/)),
      )
      await Promise.all([0, 1, 2].map((server) => cluster.start(server)))
      await found
      const last = Promise.all(
        [one, two, late].map(({ child }) =>
          waitFor(child.stderr, /revision 5 of \S+: the new configuration is served/),
        ),
      )
      await write('Five', '--revision', '4')
      await last
      expect([await page(one.site), await page(two.site), await page(late.site)]).toEqual(['Five', 'Five', 'Five'])
    })
  })
}

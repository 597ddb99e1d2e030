import { createServer } from 'node:net'
import { once } from 'node:events'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { connectRawClient } from '@prexy/testing/raw-client'
import type { OriginConnection } from '@prexy/testing/raw-origin'
import { expect, test } from 'vitest'
import type { ProxyConfig } from '../src/proxy-config.ts'
import { setUp } from './harness.ts'

const LOOPBACK = { host: '127.0.0.1', port: 0 }

/** A configuration that calls `Acme` by another name, in front of the origin at `port`. */
function calling(name: string, port: number, init: Partial<ProxyConfig> = {}): ProxyConfig {
  const rules = compileRuleSet([{ text: 'Acme', with: name }])
  return {
    listen: [LOOPBACK],
    routes: [{ name: 'all', upstream: { servers: [{ host: '127.0.0.1', port }] }, rules }],
    ...init,
  }
}

async function answerAll(connection: OriginConnection): Promise<void> {
  while ((await connection.readRequest()) !== undefined) {
    await connection.send('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nAcme')
  }
}

test('requests that begin after a swap get the new configuration, on old connections too', async () => {
  await using it = await setUp({ script: answerAll })
  const client = await it.connect()
  const ask = async (): Promise<string> => (await client.get('/')).body.toString()
  expect(await ask()).toBe('Acme')
  const { address } = it.proxy
  const prepared = await it.proxy.prepare(calling('Zenith', it.origin.port))
  expect(await ask()).toBe('Acme')
  prepared.commit()
  expect(it.proxy.address).toEqual(address)
  expect([await ask(), await ask()]).toEqual(['Zenith', 'Zenith'])
})

test('what is under way finishes with the configuration that it began with', async () => {
  let goOn = (): void => {}
  const wait = new Promise<void>((resolve) => {
    goOn = resolve
  })
  await using it = await setUp({
    script: async (connection) => {
      await connection.readRequest()
      await connection.send('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\nAcme')
      await wait
      await connection.send('Acme')
      await connection.ended
    },
  })
  const first = await it.proxy.prepare(calling('First', it.origin.port))
  first.commit()
  const client = await it.connect()
  await client.send('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')
  await client.reader.until('First')
  const second = await it.proxy.prepare(calling('Second', it.origin.port))
  second.commit()
  goOn()
  expect((await client.reader.until('First'))?.toString()).toMatch(/First$/)
})

test('an abandoned configuration leaves no trace, and one that cannot be had changes nothing', async () => {
  await using it = await setUp({ script: answerAll })
  const { addresses } = it.proxy
  const prepared = await it.proxy.prepare(calling('Zenith', it.origin.port, { listen: [LOOPBACK, LOOPBACK] }))
  prepared.abandon()
  expect(it.proxy.addresses).toEqual(addresses)
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const other = taken.address()
  if (other === null || typeof other === 'string') throw new Error('no address')
  const listen = [LOOPBACK, LOOPBACK, { host: '127.0.0.1', port: other.port }]
  await expect(it.proxy.prepare(calling('Zenith', it.origin.port, { listen }))).rejects.toThrow('EADDRINUSE')
  await expect(it.proxy.prepare(calling('Zenith', it.origin.port, { trustedProxies: ['x'] }))).rejects.toThrow('"x"')
  taken.close()
  expect(it.proxy.addresses).toEqual(addresses)
  const client = await it.connect()
  expect((await client.get('/')).body.toString()).toBe('Acme')
})

test('addresses come and go, and connections outlive theirs', async () => {
  await using it = await setUp({ script: answerAll })
  const [first] = it.proxy.addresses
  const two = await it.proxy.prepare(calling('Two', it.origin.port, { listen: [LOOPBACK, LOOPBACK] }))
  two.commit()
  expect(it.proxy.addresses[0]).toEqual(first)
  const second = it.proxy.addresses[1]
  const client = await connectRawClient(second.port)
  expect((await client.get('/')).body.toString()).toBe('Two')
  const one = await it.proxy.prepare(calling('One', it.origin.port))
  one.commit()
  expect(it.proxy.addresses).toEqual([first])
  await expect(connectRawClient(second.port)).rejects.toThrow('ECONNREFUSED')
  expect((await client.get('/')).body.toString()).toBe('One')
  client.destroy()
})

test('limits of connections change with the configuration', async () => {
  const limits = { maxConnectionsPerAddress: 100 }
  await using it = await setUp({ script: answerAll, config: { limits } })
  const held = await it.connect()
  await held.get('/')
  for (const narrower of [{ maxConnections: 1 }, { maxConnectionsPerAddress: 1 }]) {
    const narrow = await it.proxy.prepare(calling('One', it.origin.port, { limits: { ...limits, ...narrower } }))
    narrow.commit()
    const refused = await it.connect()
    expect(await refused.ended).toBeDefined()
    const wide = await it.proxy.prepare(calling('Wide', it.origin.port, { limits }))
    wide.commit()
    const served = await it.connect()
    expect((await served.get('/')).body.toString()).toBe('Wide')
    served.destroy()
  }
})

test('a hundred swaps between requests lose none, and old upstream connections are closed', async () => {
  await using it = await setUp({ script: answerAll })
  const client = await it.connect()
  for (let turn = 0; turn < 100; turn++) {
    const asked = client.get('/')
    const prepared = await it.proxy.prepare(calling(`Name${turn}`, it.origin.port))
    prepared.commit()
    expect((await asked).status).toBe(200)
  }
  expect((await client.get('/')).body.toString()).toBe('Name99')
})

test('sets that are compiled when they are needed outlive a reload', async () => {
  await using it = await setUp({ script: answerAll })
  const compiled: string[] = []
  const deferring = (name: string): ProxyConfig => {
    const config = calling('Zenith', it.origin.port)
    const rules = {
      key: 'the same',
      rules: [],
      compile() {
        compiled.push(name)
        return compileRuleSet([{ text: 'Acme', with: name }])
      },
    }
    return { ...config, routes: config.routes.map((route) => ({ ...route, rules })) }
  }
  const client = await it.connect()
  for (const name of ['First', 'Second', 'Third']) {
    const prepared = await it.proxy.prepare(deferring(name))
    prepared.commit()
    expect((await client.get('/')).body.toString()).toBe('First')
  }
  expect(compiled).toEqual(['First'])
})

import * as zlib from 'node:zlib'
import { answering, chunkedResponse, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it, test } from 'vitest'
import { chooseMode, isChosen } from '../src/rollout.ts'
import { setUp } from './harness.ts'

const TEXT = 'Content-Type: text/plain'
const rules = [{ text: 'Acme', with: 'Emca' }]
const clients = Array.from({ length: 10_000 }, (_, number) => `10.0.${number >> 8}.${number & 255}`)

describe('who is chosen', () => {
  test.each([0, 1, 10, 50, 99.5, 100])('%d percent of clients', (percent) => {
    const chosen = clients.filter((client) => isChosen(client, percent)).length
    expect(Math.abs(chosen / 100 - percent)).toBeLessThan(1.5)
    if (percent === 0 || percent === 100) expect(chosen).toBe(percent * 100)
  })

  it('is chosen at more percent, too', () => {
    const few = clients.filter((client) => isChosen(client, 10))
    expect(few.every((client) => isChosen(client, 30))).toBe(true)
  })

  it('stays the same from version to version', () => {
    expect(clients.slice(0, 12).map((client) => isChosen(client, 50))).toMatchInlineSnapshot(`
      [
        false,
        true,
        false,
        true,
        true,
        true,
        false,
        false,
        false,
        false,
        true,
        false,
      ]
    `)
  })

  it('by address: the /64 of IPv6, and nobody without one', () => {
    const half = { kind: 'percent', percent: 50, cookie: undefined } as const
    const modes = ['2001:db8::1', '2001:db8::2:3', '2001:0db8:0:0:ffff::'].map((one) => chooseMode(half, [], one))
    expect(new Set(modes).size).toBe(1)
    expect(chooseMode({ ...half, percent: 100 }, [], '2001:db8::1')).toBe('on')
    expect(chooseMode({ ...half, percent: 100 }, [], undefined)).toBe('off')
  })

  it('by cookie: whatever the address, and nobody without it', () => {
    const all = { kind: 'percent', percent: 100, cookie: 'uid' } as const
    expect(chooseMode(all, ['Cookie', 'a=b; uid=7; c=d'], undefined)).toBe('on')
    expect(chooseMode(all, ['Cookie', 'Uid=7; xuid=7'], '10.0.0.1')).toBe('off')
    const half = { ...all, percent: 50 }
    const modes = clients.map((value) => chooseMode(half, ['Cookie', `uid=${value}`], '10.0.0.1'))
    expect(Math.abs(modes.filter((mode) => mode === 'on').length - 5_000)).toBeLessThan(150)
  })
})

describe('off', () => {
  it('leaves bodies, validators and the names of hosts as they are', async () => {
    const script = answering(() => plainResponse('Acme', TEXT, 'ETag: "a"'))
    await using setup = await setUp({ rules, script, route: { rollout: { kind: 'off' } } })
    const response = await (await setup.connect()).get('/')
    expect([response.body.toString(), response.value('etag'), response.value('vary')]).toEqual([
      'Acme',
      '"a"',
      undefined,
    ])
    const { treatment, shadow } = await setup.event(1)
    expect([treatment, shadow]).toEqual([{ kind: 'passed', reason: 'no-rules' }, undefined])
  })
})

describe('percent', () => {
  it('serves some clients rewritten bodies and the others what the origin sent, and tells caches why', async () => {
    const script = answering(() => plainResponse('Acme', TEXT))
    const rollout = { kind: 'percent', percent: 50, cookie: 'uid' } as const
    await using setup = await setUp({ rules, script, route: { rollout } })
    const client = await setup.connect()
    for (let uid = 0; uid < 20; uid++) {
      const response = await client.get('/', `Cookie: uid=${uid}`)
      expect(response.body.toString()).toBe(isChosen(String(uid), 50) ? 'Emca' : 'Acme')
      expect(response.value('vary')?.toLowerCase()).toContain('cookie')
    }
  })
})

describe('shadow', () => {
  const long = `${'Acme and more. '.repeat(20_000)}\n`
  const coded = zlib.gzipSync(long, { level: 0 })

  it.each([
    ['of one read', () => plainResponse('Acme, Acme', TEXT, 'ETag: "a"'), 'Acme, Acme', [2]],
    ['cut within what is searched', () => chunkedResponse(['Ac', 'me A', 'cme'], TEXT), 'Acme Acme', [2]],
    ['of many reads', () => plainResponse(long, TEXT), long, [20_000]],
    ['with nothing to find', () => plainResponse('none', TEXT), 'none', [0]],
    ['that is empty', () => plainResponse('', TEXT), '', [0]],
  ])('a body %s passes as it is, and the event tells what would be replaced', async (_name, make, body, hits) => {
    await using setup = await setUp({ rules, script: answering(make), route: { rollout: { kind: 'shadow' } } })
    const response = await (await setup.connect()).get('/')
    expect(response.body.toString() === body).toBe(true)
    const { treatment, shadow, outcome } = await setup.event(1)
    expect(outcome).toBe('completed')
    expect(treatment).toEqual({ kind: 'passed', reason: 'no-rules' })
    expect(shadow).toMatchObject({ kind: 'rewritten', stats: { hits, inBytes: body.length } })
  })

  it('a coded body passes octet for octet, and its text is looked at', async () => {
    const script = answering(() => plainResponse(coded, TEXT, 'Content-Encoding: gzip'))
    await using setup = await setUp({ rules, script, route: { rollout: { kind: 'shadow' } } })
    const response = await (await setup.connect()).get('/', 'Accept-Encoding: gzip')
    expect(response.body.equals(coded)).toBe(true)
    expect((await setup.event(1)).shadow).toMatchObject({
      kind: 'rewritten',
      decode: 'gzip',
      stats: { hits: [20_000] },
    })
  })

  it('a body that does not decode passes as it is, and the event tells why nothing is known', async () => {
    const broken = Buffer.from('no gzip')
    const script = answering(() => plainResponse(broken, TEXT, 'Content-Encoding: gzip'))
    await using setup = await setUp({ rules, script, route: { rollout: { kind: 'shadow' } } })
    const response = await (await setup.connect()).get('/', 'Accept-Encoding: gzip')
    expect(response.body.equals(broken)).toBe(true)
    const { outcome, shadow } = await setup.event(1)
    expect([outcome, shadow?.kind]).toEqual(['completed', 'failed'])
  })

  it('of what the rules are not for, the reason is told', async () => {
    const script = answering(() => plainResponse('Acme', 'Content-Type: image/png'))
    await using setup = await setUp({ rules, script, route: { rollout: { kind: 'shadow' } } })
    expect((await (await setup.connect()).get('/')).body.toString()).toBe('Acme')
    expect((await setup.event(1)).shadow).toEqual({ kind: 'passed', reason: 'content-type' })
  })

  it('rules that do not compile cost the client nothing', async () => {
    const deferred = {
      key: 'broken',
      rules,
      compile() {
        throw new Error('too large')
      },
    }
    const script = answering(() => plainResponse('Acme', TEXT))
    await using setup = await setUp({
      script,
      route: { rules: deferred, rollout: { kind: 'shadow' } },
      config: { onError: () => {} },
    })
    expect((await (await setup.connect()).get('/')).body.toString()).toBe('Acme')
    expect((await setup.event(1)).shadow).toEqual({ kind: 'failed', detail: 'the rules of all do not compile' })
  })

  it('a limit of the rules costs the client nothing', async () => {
    const long = [{ regex: 'A[^z]*z', with: 'x' }]
    const script = answering(() => plainResponse(`A${'b'.repeat(1_000)}z`, TEXT))
    const ruleOptions = { maxHeldBytes: 16, overflow: 'abort' } as const
    await using setup = await setUp({
      rules: long,
      ruleOptions,
      script,
      route: { rollout: { kind: 'shadow' } },
    })
    const response = await (await setup.connect()).get('/')
    expect(response.body.length).toBe(1_002)
    expect((await setup.event(1)).shadow).toMatchObject({ kind: 'failed', detail: 'maxHeldBytes was met' })
  })
})

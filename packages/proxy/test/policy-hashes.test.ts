import { answering, plainResponse } from '@prexy/testing/raw-origin'
import { describe, expect, it, test } from 'vitest'
import { allowInline } from '../src/policy-hashes.ts'
import { setUp } from './harness.ts'

const HASH = "'sha256-abc+/=='"

describe('a policy that allows inline scripts by hashes', () => {
  test.each([
    ['allows all', `script-src 'self' ${HASH}`, "script-src 'self' 'unsafe-inline'"],
    [
      'for each directive',
      `style-src ${HASH}; img-src *;script-src-elem ${HASH} x.test`,
      "style-src 'unsafe-inline'; img-src *;script-src-elem x.test 'unsafe-inline'",
    ],
    ['where none is for scripts or styles', `default-src ${HASH}`, "default-src 'unsafe-inline'"],
    ['in any letter case', "SCRIPT-SRC 'SHA512-abc'", "SCRIPT-SRC 'unsafe-inline'"],
    ['once', `script-src 'unsafe-inline' ${HASH} 'sha384-x'`, "script-src 'unsafe-inline'"],
    [
      "without 'strict-dynamic', beside which it does not count",
      `script-src 'strict-dynamic' https: ${HASH}`,
      "script-src https: 'unsafe-inline'",
    ],
    [
      'of each policy of a value',
      `script-src ${HASH}, style-src ${HASH}`,
      "script-src 'unsafe-inline', style-src 'unsafe-inline'",
    ],
    ['but not beside a nonce', `script-src 'nonce-x' ${HASH}`, `script-src 'nonce-x' ${HASH}`],
    ['but not without a hash', "script-src 'self'  'sha-1'", "script-src 'self'  'sha-1'"],
    [
      'but not elsewhere',
      `img-src ${HASH}; require-trusted-types-for 'script'`,
      `img-src ${HASH}; require-trusted-types-for 'script'`,
    ],
    ['but not of no directive', ' ;; ', ' ;; '],
  ])('%s', (_, policy, expected) => {
    const fields = ['X', '1', 'content-security-policy', policy, 'Content-Security-Policy-Report-Only', policy]
    const names = allowInline(fields)
    expect(fields).toEqual([
      'X',
      '1',
      'content-security-policy',
      expected,
      'Content-Security-Policy-Report-Only',
      expected,
    ])
    expect(names).toEqual(policy === expected ? [] : ['content-security-policy', 'content-security-policy-report-only'])
  })
})

describe('policyHashes', () => {
  const rules = [{ text: 'a', with: 'b', types: ['text/html'] }] as const
  const script = answering(({ target, value }) => {
    const policy = `Content-Security-Policy: script-src ${HASH}`
    if (value('if-none-match') !== undefined) return `HTTP/1.1 304 Not Modified\r\n${policy}\r\n\r\n`
    return plainResponse('a', policy, `Content-Type: ${target === '/page' ? 'text/html' : 'text/plain'}`, 'ETag: "1"')
  })

  it.each([
    ['keep', '/page', `script-src ${HASH}`],
    ['unsafe-inline', '/page', "script-src 'unsafe-inline'"],
    ['unsafe-inline', '/text', `script-src ${HASH}`],
  ] as const)('%s: %s is sent %s', async (policyHashes, target, expected) => {
    await using setup = await setUp({ rules, script, route: { policyHashes } })
    const client = await setup.connect()
    const response = await client.get(target)
    expect(response.value('content-security-policy')).toBe(expected)
    const { fieldEdits, treatment } = await setup.event(1)
    const isChanged = expected.includes('unsafe')
    expect(fieldEdits).toEqual(isChanged ? { request: [], response: ['content-security-policy'] } : undefined)
    const notes = treatment?.kind === 'rewritten' ? treatment.notes : undefined
    expect(notes?.hashedPolicy).toBe(policyHashes === 'keep' ? true : undefined)
    await client.send(`HEAD ${target} HTTP/1.1\r\nHost: proxy.test\r\n\r\n`)
    expect((await client.readResponse('HEAD')).value('content-security-policy')).toBe(expected)
    // What a 304 says takes the place of what is cached, so it must say the same.
    const tag = response.value('etag') ?? ''
    const revalidated = await client.get(target, `If-None-Match: ${tag}`)
    expect(revalidated.value('content-security-policy')).toBe(expected)
  })
})

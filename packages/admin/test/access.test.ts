import { describe, expect, test } from 'vitest'
import { Access, type AccessRequest, MAX_BROWSER_SESSIONS, newToken, type Refusal, SESSION_MS } from '../src/access.ts'

const TOKEN = 'a-token-of-this-test'
const NOW = 1_700_000_000_000

function request(changes: Partial<AccessRequest>): AccessRequest {
  return {
    method: 'GET',
    host: '127.0.0.1:9901',
    origin: undefined,
    authorization: undefined,
    cookie: undefined,
    isAction: false,
    ...changes,
  }
}

function statusOf(refusal: Refusal | undefined): number {
  return refusal?.status ?? 200
}

describe('the sender', () => {
  test.each<[string, Partial<AccessRequest>, number]>([
    ['an address', {}, 200],
    ['an IPv6 address', { host: '[::1]:9901' }, 200],
    ['localhost', { host: 'LocalHost:9901' }, 200],
    ['a name of ours', { host: 'admin.example:9901' }, 200],
    ['no host', { host: undefined }, 421],
    ['a name that was bound anew to our address', { host: 'evil.example:9901' }, 421],
    ['a name that only ends like ours', { host: 'evil-admin.example:9901' }, 421],
    ['a name below ours', { host: 'x.admin.example' }, 421],
    ['a host with something behind it', { host: 'localhost:9901/x' }, 421],
    ['a host with a name before it', { host: 'evil@localhost' }, 421],
    ['a look from another page', { origin: 'https://evil.example' }, 200],
    ['an action from another page', { origin: 'https://evil.example', method: 'POST' }, 403],
    ['a WebSocket from another page', { origin: 'https://evil.example', isAction: true }, 403],
    ['an action from another port', { origin: 'http://127.0.0.1:80', method: 'POST' }, 403],
    ['an action from nowhere', { origin: 'null', method: 'POST' }, 403],
    ['an action of our own page', { origin: 'http://127.0.0.1:9901', method: 'POST' }, 200],
    ['an action behind a TLS proxy', { host: 'admin.example', origin: 'https://admin.example', method: 'POST' }, 200],
  ])('%s', (_, changes, status) => {
    const access = new Access({ token: TOKEN, hosts: ['admin.example'] })
    expect(statusOf(access.checkSender(request(changes)))).toBe(status)
  })
})

describe('the token', () => {
  test.each<[string, string | undefined, number]>([
    ['right', `Bearer ${TOKEN}`, 200],
    ['right, in another case of the scheme', `bearer  ${TOKEN}`, 200],
    ['wrong', 'Bearer another-token-here', 401],
    ['cut', `Bearer ${TOKEN.slice(0, -1)}`, 401],
    ['with more behind it', `Bearer ${TOKEN} x`, 401],
    ['of another scheme', `Basic ${TOKEN}`, 401],
    ['missing', undefined, 401],
  ])('%s', (_, authorization, status) => {
    const access = new Access({ token: TOKEN, hosts: [] })
    expect(statusOf(access.checkToken(request({ authorization }), NOW))).toBe(status)
  })

  test('nobody guesses', () => {
    expect(newToken()).toMatch(/^[\w-]{32}$/)
    expect(newToken()).not.toBe(newToken())
  })
})

describe('a browser that is signed in', () => {
  function signedIn(): { access: Access; cookie: string } {
    const access = new Access({ token: TOKEN, hosts: [] })
    const [cookie] = access.signIn(9901, NOW).split(';')
    return { access, cookie }
  }

  test.each<[string, Partial<AccessRequest>, number]>([
    ['looks', {}, 200],
    ['acts from our page', { method: 'POST', origin: 'http://127.0.0.1:9901' }, 200],
    ['acts without saying from where', { method: 'POST' }, 403],
    ['opens a WebSocket without saying from where', { isAction: true }, 403],
    ['opens a WebSocket', { isAction: true, origin: 'http://127.0.0.1:9901' }, 200],
  ])('%s', (_, changes, status) => {
    const { access, cookie } = signedIn()
    expect(statusOf(access.checkToken(request({ cookie: `a=b; ${cookie}; c=d`, ...changes }), NOW))).toBe(status)
  })

  test('has a cookie that scripts do not see and other sites do not send', () => {
    const { access } = signedIn()
    expect(access.signIn(9901, NOW)).toMatch(
      /^prexy-admin-9901=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/,
    )
  })

  test('is signed out by itself, and by time', () => {
    const { access, cookie } = signedIn()
    expect(statusOf(access.checkToken(request({ cookie }), NOW + SESSION_MS))).toBe(401)
    access.signOut(cookie, 9901)
    expect(statusOf(access.checkToken(request({ cookie }), NOW))).toBe(401)
  })

  test('gives way when there are too many', () => {
    const { access, cookie } = signedIn()
    for (let i = 0; i < MAX_BROWSER_SESSIONS; i++) access.signIn(9901, NOW + 1)
    expect(statusOf(access.checkToken(request({ cookie }), NOW + 1))).toBe(401)
  })
})

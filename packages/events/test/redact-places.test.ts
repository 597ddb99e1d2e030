/** Places in which secrets were found to be left, each with what must be gone and what must stay. */
import { Redactor } from '@prexy/events/redact'
import { REDACTED } from '@prexy/events/redact-text'
import { describe, expect, test } from 'vitest'

const redactor = new Redactor()
const S = 'zAnzibar7'
const LONG = `${S}kilimanjaro8`

test.each([
  ['Sec-WebSocket-Protocol', `base64url.bearer.authorization.k8s.io.${S}, v4.channel.k8s.io`],
  ['Sec-WebSocket-Protocol', `access_token, ${S}`],
  ['Sec-WebSocket-Protocol', `graphql-ws, auth-${S}`],
  ['Sec-WebSocket-Protocol', `v1, Bearer, ${S}`],
  ['Sec-WebSocket-Protocol', `v1, ${LONG}`],
  ['tracestate', `vendor=1,session=${S}`],
  ['baggage', `userId=5,sessionToken=${S}`],
  ['Referer', `https://h/x?a=1&p%61ssword=${S}`],
  ['Referer', `https://u:${S}@h/x#access_token=${S}`],
  ['Location', `/cb?next=%2Fx%3Ftoken%3D${S}`],
  ['Location', `/cb?next=%252Fx%253Ftoken%253D${S}`],
  ['Location', `//u:${S}@h/`],
  ['Location', `https://h/reset-password/${LONG}?x=1`],
  ['Refresh', `5; url=https://h/?key=${S}`],
  ['Refresh', `5; url=//u:${S}@h/`],
  ['X-Original-URL', `/x?token=${S}`],
  ['X-Ms-Client-Principal', S],
  ['Ocp-Apim-Subscription-Key', S],
  ['X-Functions-Key', S],
  ['DPoP', S],
])('a header field: %s: %s', (name, value) => {
  expect(redactor.value(name, value)).not.toContain('zAnzibar')
  expect(redactor.value(name, value)).toContain(REDACTED)
})

test.each([
  ['Sec-WebSocket-Protocol', 'graphql-transport-ws, graphql-ws'],
  ['Sec-WebSocket-Protocol', 'v5.channel.k8s.io,v4.base64.channel.k8s.io'],
  ['Idempotency-Key', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['Surrogate-Key', 'page-1 page-2'],
  ['Location', '/orders/8e03978e40d543ddbc936894a57f9324/items'],
  ['Location', '/reset/instructions-were-sent'],
  ['Referer', 'https://h/?q=50%25+off&lang=de'],
])('a header field that stays: %s: %s', (name, value) => {
  expect(redactor.value(name, value)).toBe(value)
})

test.each([
  `/x?q=%7B%22password%22%3A%22${S}%22%7D`,
  `/x?to=https%3A%2F%2Fu%3A${S}%40h%2F`,
  `/graphql?query=mutation%7Blogin(password%3A%22${S}%22)%7D`,
  `/graphql?variables=%7B%22pwd%22%3A%22${S}%22%7D`,
  `/x?next=%252Fcb%253Fuser_pin%253D${S}`,
  `/x?passwort=${S}`,
  `u:${S}@h:443`,
  `//u:${S}@h/x`,
  `/reset/token/${LONG}`,
  `/api/key/${LONG}/x?y`,
])('a target: %s', (target) => {
  expect(redactor.target(target)).not.toContain('zAnzibar')
})

describe('a body', () => {
  test.each<[string, string]>([
    ['application/json', `{"query":"mutation($p:String!){login(password:$p)}","variables":{"p":"${S}","user":"jo"}}`],
    ['application/graphql', `mutation { login(password: """a "${S}" b""") { id } }`],
    ['application/json', `{"name":"password","value":"${S}"}`],
    ['application/json', `{ "key": "DB_PASSWORD", "type": "x", "value": "${S}" }`],
    ['application/json', `{"value":"${S}","name":"api_token"}`],
    ['application/json', `{"headers":[["authorization","${S}"],["x-api-key", "${S}"]]}`],
    ['application/json', `{"k":"-----BEGIN PGP PRIVATE KEY BLOCK-----\\n${S}"}`],
    ['multipart/form-data; boundary=b', `--b\nContent-Disposition: form-data; name="password"\n\n${S}\n--b--`],
    ['application/x-www-form-urlencoded', `j=%7B%22password%22%3A%22${S}%22%7D`],
    ['text/xml', `<param><name>password</name><value>${S}</value></param>`],
    ['text/xml', `<dict><key>token</key><string>${S}</string></dict>`],
    ['text/html', `<textarea name="token" rows="2">${S}</textarea>`],
    ['text/html', `<script>localStorage.setItem("access_token", "${S}")</script>`],
    ['text/javascript', `setToken('${S}')`],
    ['text/javascript', `headers["x-api-key"] = "${S}"`],
    ['application/yaml', `password: |\n  ${S}\n  ${S}\nuser: jo\n`],
    ['application/yaml', `- name: DB_PASSWORD\n  value: ${S}\n- name: USER\n  value: jo\n`],
  ])('%s: %s', (type, text) => {
    const octets = redactor.body(new TextEncoder().encode(text), type)
    const shown = new TextDecoder().decode(octets)
    expect(shown).not.toContain('zAnzibar')
    if (text.includes('jo')) expect(shown).toContain('jo')
    expect(redactor.body(new TextEncoder().encode(shown), type)).toEqual(octets)
  })

  test.each<[string, string]>([
    ['application/json', '{"required":["username","password","otp"]}'],
    ['application/json', '{"name":"color","value":"red"}'],
    ['text/javascript', 'getToken("a"); f("user", "jo")'],
    ['application/json', '{"query":"query($id:ID!){user(id:$id){name}}","variables":{"id":"5"}}'],
    ['application/yaml', 'text: |\n  stays\n'],
  ])('that stays: %s: %s', (type, text) => {
    const octets = new TextEncoder().encode(text)
    expect(redactor.body(octets, type)).toBe(octets)
  })
})

test('words that clients choose: methods and identifiers', () => {
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ6YW56aWJhcjcifQ.c2lnbmF0dXJl'
  expect(redactor.token(jwt)).toBe(REDACTED)
  expect(redactor.token('GET')).toBe('GET')
  expect(redactor.token('8e03978e-40d5-43dd-bc93-6894a57f9324')).toBe('8e03978e-40d5-43dd-bc93-6894a57f9324')
})

/** Steps grow with the text and not with its square: twice the text takes no more than some four times as long. */
test.each([
  ['variables', (n: number) => 'password:$a a:$b b:$c c:$d d:$a '.repeat(n)],
  ['names beside values', (n: number) => '"name":"password",'.repeat(n)],
  ['arguments', (n: number) => '("password","x'.repeat(n)],
  ['encoded names', (n: number) => '&p%61ssword%3D'.repeat(n)],
  ['encoded users', (n: number) => '%3A%2F%2F'.repeat(n)],
  ['segments', (n: number) => '/token/aaaaaaaaaaaaaaa1'.repeat(n)],
  ['one long segment', (n: number) => `/token/${'a'.repeat(20 * n)}`],
  ['block scalars', (n: number) => 'token: |\n  a\n'.repeat(n)],
  ['textareas', (n: number) => '<textarea name="token"'.repeat(n)],
])('hostile %s take linear time', (_what, make) => {
  const time = (text: string): number => {
    let least = Infinity
    for (let run = 0; run < 3; run++) {
      const from = process.cpuUsage()
      redactor.text(text)
      redactor.target(text)
      const { user, system } = process.cpuUsage(from)
      least = Math.min(least, user + system)
    }
    return least
  }
  time(make(200))
  const short = time(make(400))
  // A quadratic one takes 64 times as long.
  expect(time(make(3_200))).toBeLessThan(24 * short + 50_000)
})

import { decodeLatin1, encodeLatin1 } from '@prexy/bytes/latin1'
import { Redactor } from '@prexy/events/redact'
import { REDACTED } from '@prexy/events/redact-text'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const redactor = new Redactor()
/** Looks like nothing, so that only its place gives it away. */
const S = 'zanzibar7'
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ6YW56aWJhcjcifQ.c2lnbmF0dXJlemFuemliYXI3'

describe('header fields', () => {
  test.each([
    ['Authorization', `Bearer ${S}`, `Bearer ${REDACTED}`],
    ['Authorization', S, REDACTED],
    ['authorization', `Basic ${S}`, `Basic ${REDACTED}`],
    ['Authorization', `Digest username="a", response="${S}"`, `Digest ${REDACTED}`],
    ['Authorization', `${S} second`, REDACTED],
    ['Proxy-Authorization', `Basic ${S}`, `Basic ${REDACTED}`],
    ['Cookie', `a=${S}; b="${S}"`, `a=${REDACTED}; b=${REDACTED}`],
    ['Cookie', S, REDACTED],
    ['Cookie', `a=${S}=${S}; ${S}`, `a=${REDACTED}; ${REDACTED}`],
    ['Set-Cookie', `sid=${S}; Path=/; HttpOnly`, `sid=${REDACTED}; Path=/; HttpOnly`],
    ['Set-Cookie', `${S}; Path=/`, `${REDACTED}; Path=/`],
    ['X-Api-Key', S, REDACTED],
    ['X-Auth-Token', S, REDACTED],
    ['X-CSRF-Token', S, REDACTED],
    ['X-Amz-Security-Token', S, REDACTED],
    ['X-Session-Id', S, REDACTED],
    ['X-Hub-Signature-256', `sha256=${S}`, REDACTED],
    ['X-Forwarded-Client-Cert', `Hash=${S}`, REDACTED],
    ['X-SSL-Client-Cert', S, REDACTED],
    ['Authentication-Info', `nextnonce="${S}"`, REDACTED],
    ['Location', `https://a:${S}@x.example/?token=${S}&a=1`, `https://${REDACTED}@x.example/?token=${REDACTED}&a=1`],
    ['Referer', `https://x.example/?a=1&code=${S}`, `https://x.example/?a=1&code=${REDACTED}`],
    ['X-Whatever', JWT, REDACTED],
    ['X-Note', `sent Bearer ${S}${S}`, `sent Bearer ${REDACTED}`],
    ['Link', `</x?sig=${S}>; rel=next`, `</x?sig=${REDACTED}>; rel=next`],
  ])('%s: %s', (name, value, expected) => {
    expect(redactor.fields(['Host', 'x', name, value])).toEqual(['Host', 'x', name, expected])
  })

  test.each([
    ['Host', 'tokens.example'],
    ['Content-Type', 'multipart/form-data; boundary=----WebKitFormBoundaryePkpFF7tjBAqx29L'],
    ['Cache-Control', 'max-age=3600, must-revalidate'],
    ['ETag', '"33a64df551425fcc55e4d42a148795d9f25f89d4"'],
    ['User-Agent', 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0 Safari/537.36'],
    ['Accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'],
    ['Access-Control-Allow-Credentials', 'true'],
    ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
    ['WWW-Authenticate', 'Basic realm="shop"'],
    ['Content-Security-Policy', "default-src 'self'; script-src 'sha256-abc='"],
    ['If-Modified-Since', 'Wed, 21 Oct 2026 07:28:00 GMT'],
    ['Strict-Transport-Security', 'max-age=31536000; includeSubDomains'],
    ['Authorization', ''],
  ])('that hold no secret stay: %s', (name, value) => {
    const fields = [name, value]
    expect(redactor.fields(fields)).toBe(fields)
  })
})

describe('targets', () => {
  test.each([
    [`/a?token=${S}&x=1`, `/a?token=${REDACTED}&x=1`],
    [`/a?key=${S}`, `/a?key=${REDACTED}`],
    [`/a?sig=${S};x=2`, `/a?sig=${REDACTED};x=2`],
    [`/a?code=${S}`, `/a?code=${REDACTED}`],
    [`/a?access_token=${S}`, `/a?access_token=${REDACTED}`],
    [`/a?X-Amz-Signature=${S}&X-Amz-Date=1`, `/a?X-Amz-Signature=${REDACTED}&X-Amz-Date=1`],
    [`/a?p%61ssword=${S}`, `/a?p%61ssword=${REDACTED}`],
    [`/a?user%5Bpassword%5D=${S}`, `/a?user%5Bpassword%5D=${REDACTED}`],
    [`/a?user[pin]=${S}`, `/a?user[pin]=${REDACTED}`],
    [`/a?next=https%3A%2F%2Fx%2F%3Ftoken%3D${S}%26a%3D1`, `/a?next=https%3A%2F%2Fx%2F%3Ftoken%3D${REDACTED}%26a%3D1`],
    [`/a;jsessionid=${S}?b=1`, `/a;jsessionid=${REDACTED}?b=1`],
    [`/reset/${JWT}`, `/reset/${REDACTED}`],
    [`http://u:${S}@x/`, `http://${REDACTED}@x/`],
    ['/shop?page=2&keyword=shoes&author=jo', '/shop?page=2&keyword=shoes&author=jo'],
    ['/monkey?donkey=1&postcode=10115', '/monkey?donkey=1&postcode=10115'],
    ['/a?token=&b', '/a?token=&b'],
    ['*', '*'],
  ])('%s', (target, expected) => {
    expect(redactor.target(target)).toBe(expected)
  })
})

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

function body(text: string, type: string): string | undefined {
  const redacted = redactor.body(encodeLatin1(text), type)
  return redacted === undefined ? undefined : decodeLatin1(redacted)
}

const BODIES: readonly (readonly [type: string, text: string, expected: string])[] = [
  [JSON_TYPE, `{"password":"${S}","user":"jo"}`, `{"password":"${REDACTED}","user":"jo"}`],
  [JSON_TYPE, `{ "Password" : "a\\"${S}" , "n":1}`, `{ "Password" : "${REDACTED}" , "n":1}`],
  [JSON_TYPE, `{"accessToken": "${S}", "expires_in": 3600}`, `{"accessToken": "${REDACTED}", "expires_in": 3600}`],
  [JSON_TYPE, '{"pin":1234,"a":1}', '{"pin":0,"a":1}'],
  [JSON_TYPE, `{"credentials":{"a":"${S}","b":["${S}"]},"c":1}`, `{"credentials":"${REDACTED}","c":1}`],
  [JSON_TYPE, '{"token":null,"secret":true}', '{"token":null,"secret":true}'],
  [JSON_TYPE, `{"a":"{\\"password\\":\\"${S}\\",\\"b\\":1}"}`, `{"a":"{\\"password\\":\\"${REDACTED}\\",\\"b\\":1}"}`],
  [JSON_TYPE, `{"a":"${JWT}"}`, `{"a":"${REDACTED}"}`],
  [JSON_TYPE, `{"max_tokens":5,"author":"x","keyboard":"qwertz"}`, `{"max_tokens":5,"author":"x","keyboard":"qwertz"}`],
  [FORM_TYPE, `user=jo&password=${S}&x=1`, `user=jo&password=${REDACTED}&x=1`],
  [FORM_TYPE, `p%61ss%77ord=${S}`, `p%61ss%77ord=${REDACTED}`],
  ['text/html', `<input name="csrf_token" value="${S}">`, `<input name="csrf_token" value="${REDACTED}">`],
  ['text/html', `<input value='${S}' type=password>`, `<input value='${REDACTED}' type=password>`],
  ['text/html', `<meta name="csrf-token" content="${S}"/>`, `<meta name="csrf-token" content="${REDACTED}"/>`],
  ['text/html', `<a href="http://u:${S}@h/">x</a>`, `<a href="http://${REDACTED}@h/">x</a>`],
  ['text/html', '<h1>Password</h1><p>Choose a token.</p>', '<h1>Password</h1><p>Choose a token.</p>'],
  ['text/xml', `<a><password>${S}</password></a>`, `<a><password>${REDACTED}</password></a>`],
  ['text/xml', `<s:Password Type="t">${S}</s:Password>`, `<s:Password Type="t">${REDACTED}</s:Password>`],
  ['text/javascript', `const apiKey = '${S}'; f()`, `const apiKey = '${REDACTED}'; f()`],
  ['text/plain', `password: ${S}\nok`, `password: ${REDACTED}\nok`],
  ['text/plain', `Authorization: Basic ${S}\nok`, `Authorization: Basic ${REDACTED}\nok`],
  ['text/plain', `Cookie: a=${S}; b=${S}\nok`, `Cookie: ${REDACTED}\nok`],
  [
    'text/plain',
    `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n${S}\n-----END RSA PRIVATE KEY-----`,
    `-----BEGIN RSA PRIVATE KEY-----${REDACTED}-----END RSA PRIVATE KEY-----`,
  ],
  ['text/plain', 'AKIAIOSFODNN7EXAMPLE ghp_16C7e42F292c6912E7710c838347Ae178B4a', `${REDACTED} ${REDACTED}`],
  [
    'multipart/form-data; boundary=b',
    `--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n${S}\r\n--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n--b--`,
    `--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n${REDACTED}\r\n--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n--b--`,
  ],
]

describe('bodies', () => {
  test.each(BODIES)('%s: %s', (type, text, expected) => {
    expect(body(text, type)).toBe(expected)
  })

  test.each(BODIES)('redacted twice are as redacted once: %s: %s', (type, text) => {
    const once = body(text, type) ?? ''
    expect(body(once, type)).toBe(once)
  })

  test.each(BODIES)('cut off anywhere give nothing away: %s: %s', (type, text) => {
    for (let length = 0; length <= text.length; length++) {
      const left = body(text.slice(0, length), type) ?? ''
      if (!text.startsWith('<input value')) expect(left).not.toContain(S)
      // The begin of a token is too short to be known by its looks, and a value before the name not known to be its own.
      const isKnownLater = text.includes(JWT) || text.startsWith('<input value')
      if (!isKnownLater) expect(left).not.toContain(S.slice(0, 4))
    }
  })

  test.each([
    ['application/octet-stream', 'x'],
    ['application/zip', 'x'],
    [undefined, 'x'],
    ['text/plain; charset=utf-16', 'p\0a\0s\0s\0'],
    ['text/plain', '\xff\xfep\0'],
  ])('that cannot be looked through are not kept: %s', (type, text) => {
    expect(redactor.body(encodeLatin1(text), type)).toBeUndefined()
  })

  test('of pictures stay as they are', () => {
    const octets = encodeLatin1('\x89PNG token=abc')
    expect(redactor.body(octets, 'image/png')).toBe(octets)
  })
})

test('names of one own are secrets, too', () => {
  const own = new Redactor({ names: ['customer-number', 'x-shop-*'] })
  expect(own.fields(['X-Shop-Anything', S, 'Customer-Number', S])).toEqual([
    'X-Shop-Anything',
    REDACTED,
    'Customer-Number',
    REDACTED,
  ])
  expect(own.text(`{"customerNumber":"${S}"}`)).toBe(`{"customerNumber":"${REDACTED}"}`)
  expect(own.target(`/?customer_number=${S}`)).toBe(`/?customer_number=${REDACTED}`)
})

test('any text is redacted without a throw, once and for all', () => {
  const part = fc.constantFrom(
    'password',
    '=',
    '":"',
    '"',
    "'",
    '<',
    '>',
    '\\',
    ' ',
    '{',
    '[',
    ']',
    'token',
    '%3D',
    '&',
    S,
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(part, fc.string({ maxLength: 4 })), { maxLength: 30 }), (parts) => {
      const text = parts.join('')
      const once = redactor.text(text)
      expect(redactor.text(once)).toBe(once)
    }),
    { numRuns: 2_000 },
  )
})

describe('takes time in proportion to the text', () => {
  const MANY = 65_536
  test.each([
    'eyJ',
    'eyJaaaaaaaaaaaa',
    'token ',
    'name="token" ',
    'name="token"\r\n\r\n',
    '<password',
    '"password":"\\',
    'password:[',
    'password:{"',
    '://a',
    'password=\\\\\\',
    '-----BEGIN PRIVATE KEY-----',
    'Bearer ',
    'sk_live_',
    'passwordpassword',
    '<ns:password ',
    'cookie:',
    'a'.repeat(64),
    '"',
  ])('%j', (unit) => {
    const text = unit.repeat(MANY / unit.length)
    const begun = process.cpuUsage()
    redactor.text(text)
    const { user } = process.cpuUsage(begun)
    // 64 KB; quadratic ones take seconds.
    expect(user).toBeLessThan(250_000)
  })
})

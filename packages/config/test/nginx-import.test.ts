/** What the import makes of files of nginx, and what it tells of the rest; how the result serves is tested beside nginx. */
import { describe, expect, test } from 'vitest'
import { configSchema } from '../src/config-schema.ts'
import { readNginx } from '../src/nginx-include.ts'
import { importNginx } from '../src/nginx-import.ts'
import type { RuleRefusal } from '../src/nginx-rules.ts'
import { formatNote } from '../src/nginx-yaml.ts'
import { formatImport } from '../src/nginx-yaml.ts'
import { millisecondsOf } from '../src/nginx-upstream.ts'
import { readYaml } from '../src/yaml-source.ts'

interface Result {
  readonly value: Readonly<Record<string, unknown>>
  readonly missing: readonly string[]
  readonly differs: readonly string[]
}

function convert(text: string, site?: string, refusalOf: RuleRefusal = () => undefined): Result {
  const tree = readNginx({ file: 'f', text }, () => 'no includes')
  expect(tree.problems).toEqual([])
  const imported = importNginx(tree, {
    refusalOf,
    headerRefusalOf: () => undefined,
    ...(site === undefined ? {} : { site }),
  })
  if ('message' in imported) throw new Error(imported.message)
  const { value } = readYaml(formatImport(imported, 'f'), 'out')
  const parsed = configSchema.safeParse(value)
  expect(parsed.error?.issues ?? []).toEqual([])
  const told = (kind: string): string[] => imported.notes.filter((note) => note.kind === kind).map(formatNote)
  return { value: Object(value), missing: told('missing'), differs: told('differs') }
}

test.each([
  ['60', 60_000],
  ['90s', 90_000],
  ['1m', 60_000],
  ['500ms', 500],
  ['1h30m', 5_400_000],
  ['x', undefined],
])('the time %s', (text, wanted) => {
  expect(millisecondsOf(text)).toBe(wanted)
})

describe('servers', () => {
  test('one, in a file without http', () => {
    const { value } = convert('server { listen 8080; location / { proxy_pass http://127.0.0.1:9000; } }')
    expect(value).toMatchObject({ listen: '0.0.0.0:8080', forwarded: 'none', upstream: 'http://127.0.0.1:9000' })
  })

  test('names become sites, and the default takes the rest', () => {
    const { value, missing } = convert(`http { proxy_redirect off;
      server { server_name a.test *.b.test .c.test; location / { proxy_pass http://10.0.0.1; } }
      server { listen 80 default_server; server_name _; location / { proxy_pass http://10.0.0.2; } } }`)
    expect(value.sites).toEqual([{ host: ['a.test', '*.b.test', 'c.test', '*.c.test'], upstream: 'http://10.0.0.1' }])
    expect(value.upstream).toBe('http://10.0.0.2')
    expect(missing).toEqual([])
  })

  test('names that are no hosts of sites stand as patterns before the default', () => {
    const { value, missing } = convert(`proxy_redirect off; server { location / { proxy_pass http://10.0.0.1; } }
      server { server_name ~^www\\d; location / { proxy_pass http://10.0.0.2; } }
      server { server_name a.* ""; location / { proxy_pass http://10.0.0.3; } }`)
    expect(missing).toEqual([])
    expect(value.routes).toEqual([
      { hostRegex: '^$', upstream: 'http://10.0.0.3' },
      { hostRegex: '^a\\..', upstream: 'http://10.0.0.3' },
      { hostRegex: { regex: '^www\\d', flags: 'i' }, upstream: 'http://10.0.0.2' },
    ])
  })

  test('--site takes those of that name, wildcards included', () => {
    const file = `server { server_name a.test; location / { proxy_pass http://10.0.0.1; } }
      server { server_name *.b.test; location / { proxy_pass http://10.0.0.2; } }`
    const { sites, upstream, routes } = convert(file, 'x.b.test').value
    expect(sites).toEqual([{ host: '*.b.test', upstream: 'http://10.0.0.2' }])
    expect([upstream, routes]).toEqual([undefined, undefined])
    expect(() => convert(file, 'c.test')).toThrow('no server has the name c.test; there are a.test, *.b.test')
  })

  test('of two for one name, each has its address', () => {
    const { value, missing } = convert(`server { listen 80; server_name a.test; return 301 https://a.test$request_uri; }
server { listen 8443; server_name a.test; location / { proxy_pass http://10.0.0.1; } }`)
    expect(missing).toEqual([])
    expect(value.listen).toEqual([
      { address: '0.0.0.0:80', name: '0.0.0.0:80' },
      { address: '0.0.0.0:8443', name: '0.0.0.0:8443' },
    ])
    expect(value.routes).toEqual([
      { listener: '0.0.0.0:80', redirect: { to: 'https://a.test${path}', status: 301 } },
      { listener: '0.0.0.0:8443', upstream: 'http://10.0.0.1' },
    ])
  })

  test('a server that listens where prexy cannot is left out, not opened', () => {
    expect(() => convert('server { listen unix:/run/x; location / { proxy_pass http://10.0.0.1; } }')).toThrow(
      'no server in it listens on an address that prexy can have',
    )
  })
})

describe('upstreams', () => {
  test('a group with weights, a backup and kept connections', () => {
    const { value, missing } = convert(`upstream app_1 { least_conn; keepalive 8; server 10.0.0.1:81 weight=2;
      server 10.0.0.2 backup; server unix:/run/app.sock; server 10.0.0.9 down; }
      server { location / { proxy_pass http://app_1; } }`)
    expect(missing).toEqual([])
    expect(value.upstreams).toEqual({
      app_1: {
        servers: [
          { url: 'http://10.0.0.1:81', weight: 2 },
          { url: 'http://10.0.0.2', backup: true },
          'unix:/run/app.sock',
        ],
        balance: 'least-connections',
        hostHeader: 'app_1',
        maxIdleConnections: 8,
      },
    })
    expect(value.upstream).toBe('app_1')
  })

  test('https, with what is checked', () => {
    const { value, differs } = convert(`server { location / { proxy_pass https://10.0.0.1; proxy_redirect off;
      proxy_ssl_name origin.test; proxy_ssl_trusted_certificate /etc/ca.pem; } }`)
    expect(value.upstream).toEqual({
      url: 'https://10.0.0.1',
      tls: { serverName: 'origin.test', caFile: '/etc/ca.pem' },
    })
    expect(differs).toEqual([
      'f:1: proxy_pass: the certificate of the upstream must be valid; nginx takes any without proxy_ssl_verify',
    ])
  })

  test('a socket', () => {
    const { value } = convert('server { location / { proxy_pass http://unix:/run/app.sock; proxy_redirect off; } }')
    expect(value.upstream).toEqual({ url: 'unix:/run/app.sock', hostHeader: 'localhost' })
  })
})

describe('TLS', () => {
  const CERTIFICATE = 'ssl_certificate /a.pem; ssl_certificate_key /a.key;'
  test('certificates of all servers of an address, that of the default first', () => {
    const { value, missing } = convert(`
      server { listen 443 ssl http2; server_name b.test; ssl_certificate /b.pem; ssl_certificate_key /b.key;
        location / { proxy_pass http://10.0.0.1; } }
      server { listen 443 ssl default_server; ssl_protocols TLSv1.3; ${CERTIFICATE} location / { proxy_pass http://10.0.0.2; } }`)
    expect(missing).toEqual([])
    expect(value.listen).toEqual({
      address: '0.0.0.0:443',
      tls: {
        certificates: [
          { certFile: '/a.pem', keyFile: '/a.key' },
          { certFile: '/b.pem', keyFile: '/b.key' },
        ],
      },
    })
  })

  test('a port that only sends to https', () => {
    const { value, missing, differs } =
      convert(`server { listen 80; server_name a.test; return 301 https://$host$request_uri; }
      server { listen 8443 ssl; server_name a.test; ${CERTIFICATE} proxy_redirect off; location / { proxy_pass http://10.0.0.1; } }`)
    expect(missing).toEqual([])
    expect(differs).toEqual(['f:1: return: the redirect is 308, to the name that the client asked for'])
    expect(value.listen).toEqual([
      { address: '0.0.0.0:80', redirectPort: 8443 },
      {
        address: '0.0.0.0:8443',
        tls: { certificates: [{ certFile: '/a.pem', keyFile: '/a.key' }] },
        http2: false,
      },
    ])
    expect(value.upstream).toBe('http://10.0.0.1')
  })
})

describe('what nginx keeps closed stays closed', () => {
  const closed = { respond: { status: 403 } }
  test.each([
    ['auth_basic Staff;', closed],
    ['auth_request /auth;', closed],
    ['deny all;', closed],
    ['allow 10.0.0.1; satisfy any; auth_basic off;', closed],
    ['allow unix:; deny all;', closed],
    ['allow 10.0.0.1; deny 10.0.0.0/8; deny all;', closed],
    ['internal;', { respond: { status: 404 } }],
  ])('%s', (directives, wanted) => {
    const { value } = convert(`server { server_name a.test; location / { proxy_pass http://10.0.0.1; }
      location /adm { ${directives} proxy_pass http://10.0.0.1; } }`)
    expect(value.routes).toEqual([{ path: '/adm**', ...wanted }])
  })

  test('a pattern that cannot be matched in linear time closes more rather than less', () => {
    const { value, missing } = convert(
      `server { location / { proxy_redirect off; proxy_pass http://10.0.0.1; }
      location ~ /\\.(?!well-known) { deny all; }
      location ~ ^/x(?=y) { proxy_redirect off; proxy_pass http://10.0.0.2; } }`,
      undefined,
      (rule) => ('regex' in rule && rule.regex.includes('(?') ? 'no' : undefined),
    )
    expect(value.routes).toEqual([{ pathRegex: '/\\.', ...closed }])
    const reason = 'location: its pattern has something that cannot be matched in linear time'
    expect(missing).toEqual([
      `f:2: ${reason}; it is closed, and with it all of /\\.`,
      `f:3: ${reason}; its requests go where the next location takes them`,
    ])
  })

  test('a password for the whole server, but for one place', () => {
    const { value } = convert(`server { auth_basic Staff; location / { proxy_pass http://10.0.0.1; }
      location /pub { auth_basic off; proxy_pass http://10.0.0.1; } }`)
    expect(value.routes).toEqual([{ path: '/pub**', upstream: 'http://10.0.0.1' }, closed])
  })

  test('files, and places that nothing is said of', () => {
    const { value, missing } = convert(`server { root /srv; location /a { proxy_pass http://10.0.0.1; }
      location /files { alias /srv/files; } }`)
    expect(value.routes).toEqual([
      { path: '/files**', respond: { status: 404 } },
      { path: '/a**', upstream: 'http://10.0.0.1' },
      { respond: { status: 404 } },
    ])
    expect(missing).toEqual(['f:2: location: prexy serves no files; answered 404 until the route has an upstream'])
  })
})

describe('what is told', () => {
  const MISSING: readonly (readonly [directives: string, reason: string])[] = [
    ['proxy_cache zone;', 'proxy_cache: prexy has no cache'],
    ['limit_rate 5k;', 'limit_rate: prexy does not slow responses down'],
    ['some_module on;', 'some_module: prexy has nothing for it'],
    ['proxy_set_header X-Ssl $ssl_protocol;', 'proxy_set_header: prexy has no variable for $ssl_protocol'],
    ["sub_filter a '$nonce';", 'sub_filter: prexy has no variable for $nonce'],
    ["sub_filter '$host' a;", 'sub_filter: the text to look for has a variable, and texts of rules have none'],
    ['rewrite ^/a/(.*)$ /b/$1 break;', 'rewrite: paths do not change on their way up; what it matches is answered 502'],
    [
      'if ($arg_x) { return 403; }',
      'if: its condition is about what routes do not see; it always holds here, and closes',
    ],
    ['if ($arg_x) { return 301 /y; }', 'if: its condition is about what routes do not see; it never holds here'],
  ]
  test.each(MISSING)('%s', (directives, reason) => {
    const { missing } = convert(`server { location / {\n${directives}\nproxy_pass http://10.0.0.1; } }`)
    expect(missing).toEqual([`f:2: ${reason}`])
  })

  test('subs_filter rules that nginx applies to one another', () => {
    const { differs } = convert(`server { location / { proxy_set_header Accept-Encoding ""; proxy_pass http://10.0.0.1;
subs_filter foo bar;
subs_filter bar x;
subs_filter unrelated y;
} }`)
    expect(differs).toEqual([
      'f:3: subs_filter: nginx applies it to what that of line 2 made of the text; prexy replaces nothing twice',
    ])
  })

  test('compressed responses, where they are not asked not to be', () => {
    const { differs } = convert('server { location / { sub_filter a b; proxy_pass http://10.0.0.1; } }')
    expect(differs).toEqual([
      'f:1: sub_filter: compressed responses are rewritten, too, which nginx leaves as they are',
    ])
  })

  test('what is about the process is not', () => {
    const { missing, differs } = convert(`user www; worker_processes 4; events { worker_connections 9; }
      http { sendfile on; map $http_upgrade $connection_upgrade { default upgrade; }
        server { access_log off; location / { proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade;
          proxy_set_header Connection $connection_upgrade; proxy_pass http://10.0.0.1; } } }`)
    expect([missing, differs]).toEqual([[], []])
  })
})

test('what most routes say stands at the top, and the others say what they do not have', () => {
  const { value } = convert(`server { sub_filter a b; proxy_redirect off; proxy_set_header Accept-Encoding "";
    location / { proxy_pass http://10.0.0.1; } location /x { proxy_pass http://10.0.0.2; }
    location /y { proxy_pass http://10.0.0.3; sub_filter_types '*'; sub_filter c d; } location /z { proxy_pass http://10.0.0.4; replace_filter q w; } }`)
  expect(value.rules).toEqual([{ text: 'a', with: 'b', flags: 'i', types: 'text/html', once: true }])
  const routes = Object(value).routes
  expect(routes).toHaveLength(3)
  expect(value.upstream).toBe('http://10.0.0.1')
  expect(routes.map((route: Record<string, unknown>) => [route.path, 'rules' in route])).toEqual([
    ['/x**', false],
    ['/y**', true],
    ['/z**', true],
  ])
})

/** Whatever nginx's files say, what is imported from them is a valid configuration. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadConfig, textAsFile } from '../src/load.ts'
import { formatProblem } from '../src/problem.ts'
import { readNginx } from '../src/nginx-include.ts'
import { importNginx } from '../src/nginx-import.ts'
import { formatImport } from '../src/nginx-yaml.ts'

const word = fc.constantFrom(
  'a',
  'b.test',
  '*.c.test',
  '.d.test',
  '~^x$',
  '_',
  '/',
  '/a/',
  '/a',
  '=',
  '~',
  '~*',
  '^~',
  '\\.php$',
  '^/x/(a|b)/',
  '@n',
  'off',
  'on',
  '*',
  'all',
  '127.0.0.1',
  '10.0.0.0/8',
  '::1',
  'unix:/s',
  '8080',
  '[::]:443',
  'ssl',
  'default_server',
  '443',
  'http2',
  '$host',
  '$x',
  '${x}y',
  '$1',
  '301',
  '200',
  '444',
  '99',
  '403',
  'https://h$request_uri',
  'http://127.0.0.1:9000',
  'http://up',
  'https://up/x/',
  'http://127.0.0.1/a/',
  'http://$x',
  "''",
  '"q \\" u"',
  "'{}'",
  'text/css',
  'application/json',
  '8k',
  '0',
  '60s',
  '1h1m',
  'weight=2',
  'backup',
  'gir',
  'g',
  'i',
  'X-A',
  'Host',
  'é',
  "'a: b # c'",
  "'- x'",
  "'\\n'",
  '/c.pem',
  'TLSv1.3',
  'always',
  '__proto__',
  'constructor',
)
const name = fc.constantFrom(
  'listen',
  'server_name',
  'proxy_pass',
  'proxy_set_header',
  'add_header',
  'proxy_hide_header',
  'return',
  'rewrite',
  'set',
  'allow',
  'deny',
  'satisfy',
  'proxy_redirect',
  'proxy_cookie_domain',
  'proxy_cookie_path',
  'client_max_body_size',
  'proxy_read_timeout',
  'keepalive_timeout',
  'gzip',
  'gzip_types',
  'ssl_certificate',
  'ssl_certificate_key',
  'ssl_protocols',
  'ssl_ciphers',
  'auth_basic',
  'sub_filter',
  'sub_filter_once',
  'sub_filter_types',
  'sub_filter_last_modified',
  'subs_filter',
  'subs_filter_types',
  'subs_filter_bypass',
  'replace_filter',
  'replace_filter_types',
  'replace_filter_skip',
  'replace_filter_max_buffered_size',
  'replace_filter_last_modified',
  'root',
  'internal',
  'default_type',
  'unknown_thing',
  '__proto__',
)
const directive = fc
  .tuple(name, fc.array(word, { maxLength: 3 }))
  .map(([first, words]) => `${[first, ...words].join(' ')};`)
const location = fc
  .tuple(fc.array(word, { minLength: 1, maxLength: 2 }), fc.array(directive, { maxLength: 5 }), fc.boolean())
  .map(
    ([words, inside, passes]) =>
      `location ${words.join(' ')} { ${inside.join(' ')} ${passes ? 'proxy_pass http://up;' : ''} }`,
  )
const server = fc
  .tuple(fc.array(directive, { maxLength: 5 }), fc.array(location, { maxLength: 4 }))
  .map(([directives, locations]) => `server { ${directives.join(' ')} ${locations.join(' ')} }`)
const file = fc
  .tuple(
    fc.array(directive, { maxLength: 3 }),
    fc.array(server, { minLength: 1, maxLength: 3 }),
    fc.array(word, { maxLength: 2 }),
  )
  .map(([directives, servers, peers]) => {
    const up = peers.map((peer) => `server ${peer};`).join(' ')
    return `http { upstream up { server 10.0.0.1; ${up} } ${directives.join(' ')} ${servers.join(' ')} }`
  })

test('valid, and never thrown', () => {
  fc.assert(
    fc.property(file, (text) => {
      const tree = readNginx({ file: 'f', text }, () => 'none')
      if (tree.problems.length > 0) return
      const imported = importNginx(tree, { refusalOf: () => undefined, headerRefusalOf: () => undefined })
      if ('message' in imported) {
        expect(imported.message).toContain('listens on')
        return
      }
      const { problems } = loadConfig('out.yaml', textAsFile(formatImport(imported, 'f'), 'out.yaml'))
      expect(problems.filter(({ severity }) => severity === 'error').map(formatProblem)).toEqual([])
    }),
    {
      numRuns: 400,
      seed: 20_261_201,
      // Found by other seeds.
      examples: [['http { server { proxy_set_header constructor; location /a { proxy_pass http://10.0.0.1; } } }']],
    },
  )
})

/** Random configurations of nginx about who may have what, and requests that look for a way round them. */
import type { World, WorldRequest } from './nginx-worlds.ts'

/** Numbers from a seed (mulberry32): the same for the same seed. */
export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  number(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(count: number): number {
    return Math.floor(this.number() * count)
  }

  /** Whether something happens that does so `percent` times of a hundred. */
  happens(percent: number): boolean {
    return this.number() * 100 < percent
  }

  of<T>(all: readonly [T, ...(readonly T[])]): T {
    return all[this.below(all.length)] ?? all[0]
  }
}

const SEGMENTS = ['a', 'b', 'ab', 'A', 'adm', '.git', 'a.php', 'x.PHP', 'é', 'a b', '*', '(x)', ''] as const
const PATTERNS = [
  '\\.php$',
  '\\.PHP$',
  '^/a/',
  '^/a',
  '/\\.git',
  '(a|b)$',
  '^/(a|b)/',
  'b',
  '^/ab?$',
  '^/a|b$',
  'adm|git',
  '^/[a-z]+$',
  '^/a(?=/)',
  '/\\.(?!git)',
  '^/(?P<n>a)/',
  '^/a++b',
  '^(?!/adm)/a',
  '.*',
  '^/.+/b',
  'é',
] as const
const HOSTS = ['a.test', 'b.test', 'x.a.test', 'www.c.net'] as const
const NAMES = ['a.test', 'b.test', '*.a.test', '.b.test', 'www.c.*', '~^(x|y)\\.', '~^(?!a)b', '_', '""'] as const
const ACCESS = [
  'deny all;',
  'deny 127.0.0.1;',
  'deny 127.0.0.3; allow all;',
  'allow 127.0.0.3; deny all;',
  'allow 127.0.0.1; deny 127.0.0.0/8;',
  'deny 127.0.0.1; allow 127.0.0.0/8; deny all;',
  'allow all;',
  'satisfy any; allow 127.0.0.3; deny all;',
  'auth_basic "x"; auth_basic_user_file USERS;',
  'auth_basic off;',
  'internal;',
  'limit_except GET { deny all; }',
  'limit_except GET POST { deny 127.0.0.1; }',
  'limit_except POST { allow 127.0.0.3; deny all; }',
] as const
const CONDITIONS = [
  '$request_method = POST',
  '$request_method != GET',
  '$request_method !~ ^(GET|HEAD)$',
  '$request_method ~ "P|D"',
  '$http_user_agent ~* "bad|evil"',
  '$http_user_agent ~ ^curl$',
  '$http_x_key != secret',
  '$http_x_key = ""',
  '$http_x_key',
  '$uri ~ "^/a"',
  '$uri !~* "^/(A|B)"',
  '$uri = /a',
  '$request_uri ~ "\\.\\."',
  '$host = a.test',
  '$host != a.test',
  '$args ~ "q="',
  '$remote_addr = 127.0.0.1',
] as const
const STATUSES = ['403', '404', '444', '405', '200 open', '301 /b'] as const

/** `server` blocks on two addresses. */
export function randomWorld(chance: Chance): World {
  let places = 0
  const forward = (): string =>
    `proxy_pass http://ORIGIN; proxy_set_header X-Place p${places++};${chance.happens(15) ? ' proxy_set_header Accept-Encoding "";' : ''}`
  const guard = (): string => {
    if (chance.happens(75)) return `if (${chance.of(CONDITIONS)}) { return ${chance.of(STATUSES)}; }`
    const flag = chance.of(['last', 'break', 'permanent', 'redirect', ''])
    return `rewrite ${chance.of(['^/a/(.*)$', '^/b', '^/ab?$', '^(/adm)'])} ${chance.of(['/adm/$1', '/b/$1', '/$1', '/a'])} ${flag};`
  }
  const body = (): string => {
    const parts: string[] = []
    if (chance.happens(12)) parts.push(guard())
    if (chance.happens(30)) parts.push(chance.of(ACCESS))
    if (chance.happens(12)) parts.push(`return ${chance.of(STATUSES)};`)
    if (chance.happens(85)) parts.push(forward())
    return parts.join(' ')
  }
  const locations = (outer: string | undefined, isPattern: boolean, depth: number): string => {
    // The root stands by itself.
    const taken = new Set(['/'])
    const made: string[] = []
    for (let count = chance.below(depth === 0 ? 7 : 3); count > 0; count--) {
      const modifier = isPattern ? chance.of(['~', '~*']) : chance.of(['', '', '', '^~', '=', '~', '~*'])
      const isRegex = modifier.startsWith('~')
      const below = `${chance.of(SEGMENTS)}${chance.happens(40) ? '/' : chance.happens(40) ? `/${chance.of(SEGMENTS)}` : ''}`
      const text = isRegex ? chance.of(PATTERNS) : outer === undefined ? `/${below}` : `${outer}${below}`
      const key = `${modifier === '=' ? '=' : isRegex ? modifier : ''}${text}`
      if (taken.has(key) && !isRegex) continue
      taken.add(key)
      const nests = depth < 2 && modifier !== '=' && chance.happens(35)
      const inner = nests ? locations(isRegex ? undefined : text, isPattern || isRegex, depth + 1) : ''
      made.push(`location ${modifier} "${text.replaceAll('\\', '\\\\')}" { ${body()} ${inner} }`)
    }
    return made.join('\n    ')
  }
  const servers: string[] = []
  const defaults = new Set<string>()
  for (let count = 1 + chance.below(4); count > 0; count--) {
    const listens = (['PUBLIC', 'PRIVATE'] as const).filter(() => chance.happens(65))
    const lines = (listens.length === 0 ? (['PUBLIC'] as const) : listens).map((one) => {
      const isDefault = !defaults.has(one) && chance.happens(25)
      if (isDefault) defaults.add(one)
      return `listen ${one}${isDefault ? ' default_server' : ''};`
    })
    const names = chance.happens(80)
      ? `server_name ${chance.of(NAMES)} ${chance.happens(30) ? chance.of(NAMES) : ''};`
      : ''
    const own = [
      chance.happens(10) ? `return ${chance.of(STATUSES)};` : '',
      chance.happens(12) ? guard() : '',
      chance.happens(12) ? chance.of(ACCESS.slice(0, 9) as [string, ...string[]]) : '',
    ].join(' ')
    const inRoot = chance.happens(25) ? locations('/', false, 1) : ''
    const root = chance.happens(75) ? `location ${chance.happens(10) ? '^~' : ''} / { ${body()} ${inRoot} }` : ''
    servers.push(`server {
    ${lines.join(' ')} ${names}
    ${own}
    ${root}
    ${locations(undefined, false, 0)}
  }`)
  }
  return servers.join('\n  ')
}

export function randomRequest(chance: Chance): WorldRequest {
  const fields: Record<string, string> = {}
  if (chance.happens(20)) fields['user-agent'] = chance.of(['curl', 'a BAD bot', 'curl/7', ''])
  if (chance.happens(20)) fields['x-key'] = chance.of(['secret', 'SECRET', '0', '1', ''])
  const host = chance.of(HOSTS)
  return {
    at: chance.happens(70) ? 'PUBLIC' : 'PRIVATE',
    host: chance.happens(85) ? host : chance.of([host.toUpperCase(), `${host}.`, `${host}:99`, '_', 'y.test']),
    method: chance.happens(75) ? 'GET' : chance.of(['HEAD', 'POST', 'DELETE', 'PURGE']),
    path: randomPath(chance),
    fields,
    from: chance.happens(75) ? '127.0.0.1' : '127.0.0.3',
  }
}

function randomPath(chance: Chance): string {
  let path = ''
  for (let count = 1 + chance.below(3); count > 0; count--) path += `/${encodeURIComponent(chance.of(SEGMENTS))}`
  if (chance.happens(25)) path += '/'
  for (let count = chance.below(3); count > 0; count--) {
    const at = chance.below(path.length + 1)
    const insert = chance.of([
      '/',
      '//',
      '/./',
      '/../',
      '/x/../',
      '/%2e%2E/',
      '%2f',
      '%2F..',
      '%0a',
      '%00',
      '%3f',
      '?',
      ';v=1',
      '%zz',
      '.',
    ])
    const change = chance.below(4)
    if (change < 2) path = `${path.slice(0, at)}${insert}${path.slice(at)}`
    else if (change === 3) path = path.toUpperCase()
    else if (at < path.length && path[at] !== '%') {
      path = `${path.slice(0, at)}%${path.charCodeAt(at).toString(16).padStart(2, '0')}${path.slice(at + 1)}`
    }
  }
  return `/${path.replace(/^\/+/, chance.happens(90) ? '' : '/')}${chance.happens(15) ? '?q=1' : ''}`
}

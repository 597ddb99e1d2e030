/** What nginx refuses, prexy refuses with what was imported from it: a table of ways round, and random ones. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startWorlds, type World, type WorldAnswer, type WorldRequest, type Worlds } from '@prexy/testing/nginx-worlds'
import { missingPrograms } from '@prexy/testing/programs'
import { Chance, randomRequest, randomWorld } from '@prexy/testing/random-worlds'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** `PREXY_SEED`, `PREXY_WORLDS` and `PREXY_REQUESTS` look further. */
const SEED = Number(process.env.PREXY_SEED ?? 20_261_201)
const RANDOM_WORLDS = Number(process.env.PREXY_WORLDS ?? 8)
const REQUESTS_EACH = Number(process.env.PREXY_REQUESTS ?? 60)
const AT_ONCE = 8

const PASS = 'proxy_pass http://ORIGIN; proxy_set_header X-Place open;'
const OPEN = `location / { ${PASS} }`

interface Row {
  readonly world: World
  /** Of each: `PRIVATE ` in front for the other address, a host behind `@`, a method behind a space. */
  readonly refused: readonly string[]
  /** What must be served, so that the row does not hold because everything is closed. */
  readonly open?: readonly string[]
}

const ROWS: Readonly<Record<string, Row>> = {
  'a default server that closes beside servers whose names are patterns': {
    world: `server { listen PUBLIC; server_name ~^www\\.; ${OPEN} }
      server { listen PUBLIC default_server; return 444; }
      server { listen PUBLIC; server_name mail.*; ${OPEN} }`,
    refused: ['/@other.test', '/@xwww.test', '/@10.0.0.1'],
    open: ['/@www.test', '/@mail.test'],
  },
  'a pattern inside a prefix looks at the whole path': {
    world: `server { listen PUBLIC; ${OPEN} location /app/ { ${PASS} location ~ \\.php$ { deny all; } location ~ ^/app/adm { return 403; } } }`,
    refused: ['/app/x.php', '/app/adm', '/app/adm/x', '/app//adm', '/x/../app/adm'],
    open: ['/x.php', '/app/x', '/app/x.PHP'],
  },
  'a nested pattern that begins with a slash': {
    world: `server { listen PUBLIC; location / { ${PASS} location ~ /\\.git { deny all; } } location /app/ { ${PASS} location ~ /\\.git { deny all; } } }`,
    refused: [
      '/.git/config',
      '/app/.git/config',
      '/app/x/.git',
      '/app/%2egit/x',
      '/app//.git',
      '/app%2f.git',
      '//.git',
    ],
    open: ['/app/git', '/app/x.git'],
  },
  'a pattern inside a pattern': {
    world: `server { listen PUBLIC; ${OPEN} location ~ ^/a/ { ${PASS} location ~ \\.php$ { return 404; } location ~* secret { deny all; } } }`,
    refused: ['/a/x.php', '/a/SeCret', '/a/x/secret.txt'],
    open: ['/x.php', '/secret', '/a/x'],
  },
  'alternatives outside of brackets': {
    world: `server { listen PUBLIC; ${OPEN} location ~ ^/(a|b)/x|/private|\\.bak$ { deny all; } location ~ (x|y)|^/z { return 403; } }`,
    refused: ['/a/x', '/c/private/1', '/q.bak', '/1/y', '/z1', '/%70rivate'],
    open: ['/c', '/priv', '/a/1'],
  },
  'letters of either case': {
    world: `server { listen PUBLIC; ${OPEN} location ~* \\.(git|env)$ { return 403; } }`,
    refused: ['/.Git', '/.gIT', '/.ENV', '/x/.eNv'],
    open: ['/git'],
  },
  'a server for one address only': {
    world: `server { listen PUBLIC; server_name a.test; location / { ${PASS} } location /status { deny all; } }
      server { listen PRIVATE; server_name a.test; ${OPEN} }
      server { listen PRIVATE; server_name inner.test; ${OPEN} }
      server { listen PUBLIC default_server; return 403; }`,
    refused: ['/status@a.test', '/@inner.test', '/status@inner.test', '/@x.test'],
    open: ['/@a.test', 'PRIVATE /status@a.test', 'PRIVATE /@inner.test', 'PRIVATE /@x.test'],
  },
  'paths that are written in another way': {
    world: `server { listen PUBLIC; ${OPEN} location /adm/ { deny all; ${PASS} } location = /one { return 404; } location "/a b" { deny all; } location /é { deny all; } }`,
    refused: [
      '/adm/',
      '//adm/x',
      '/adm%2fx',
      '/%61dm/x',
      '/x/../adm/x',
      '/x%2f../adm/x',
      '/x/..%2fadm/x',
      '/./adm/x',
      '/x//../../adm/',
      '/adm/%0a',
      '/a%20b/c',
      '/%c3%a9',
      '/%C3%A9/x',
      '/one?x',
      '/o%6ee',
      '/%zz',
      '/../x',
    ],
    open: ['/x', '/admin', '/one/x', '/ad'],
  },
  'the slash that nginx adds': {
    world: `server { listen PUBLIC; ${OPEN} location /adm/ { internal; ${PASS} } location /in/ { ${PASS} } }`,
    refused: ['/adm', '/adm/'],
    open: ['/in/', '/x'],
  },
  'methods and conditions': {
    world: `server { listen PUBLIC; if ($request_method !~ ^(GET|POST|PUT)$) { return 405; } if ($http_user_agent ~* "bad") { return 403; }
      ${OPEN} location /ro { limit_except GET { deny all; } ${PASS} } location /q { if ($arg_x) { return 403; } ${PASS} }
      location /move { rewrite ^/move/(.*)$ /ro/$1 last; ${PASS} } }`,
    refused: ['/ DELETE', '/ HEAD', '/ro/x POST', '/ro PUT', '/q?x=1', '/move/x POST'],
    open: ['/', '/ POST', '/ro/x'],
  },
  'who may come in': {
    world: `server { listen PUBLIC; ${OPEN} location /auth { auth_basic x; auth_basic_user_file USERS; ${PASS} location /auth/in { ${PASS} } location /auth/off { auth_basic off; ${PASS} } }
      location /deny { deny 127.0.0.1; ${PASS} } location /in { internal; location ~ x { ${PASS} } } }`,
    refused: ['/auth', '/auth/in', '/deny', '/in', '/inx'],
    open: ['/auth/off'],
  },
}

function requestOf(text: string): WorldRequest {
  const [, address, path = '/', host = 'a.test', method = 'GET'] =
    /^(PRIVATE )?(\/[^@ ]*)(?:@(\S+))?(?: (\S+))?$/.exec(text) ?? []
  return { at: address === undefined ? 'PUBLIC' : 'PRIVATE', host, method, path, fields: {}, from: '127.0.0.1' }
}

function isRefused({ status }: WorldAnswer): boolean {
  return status === 0 || status >= 400
}

const missing = missingPrograms('nginx')
if (missing !== undefined) it('what nginx refuses', (context) => context.skip(missing))
else {
  describe('what nginx refuses', { timeout: 240_000 }, () => {
    const rows = Object.entries(ROWS)
    const folder = mkdtempSync(join(tmpdir(), 'prexy-closed-'))
    let running: Worlds | undefined
    beforeAll(async () => {
      running = await startWorlds(
        folder,
        rows.map(([, { world }]) => world),
      )
      // Three starts of a program, on a machine that does other things, too.
    }, 240_000)
    afterAll(async () => {
      await running?.stop()
      rmSync(folder, { recursive: true })
    })

    it.each(rows.map(([name, row], index) => [name, row, index] as const))('%s', async (_, row, index) => {
      const answers = async (texts: readonly string[]) =>
        Promise.all(
          texts.map(async (text) =>
            [text, ...((await running?.ask(index, requestOf(text))) ?? [])].map(describeAnswer),
          ),
        )
      expect(await answers(row.refused)).toEqual(row.refused.map((text) => [text, 'refused', 'refused']))
      const open = row.open ?? []
      expect(await answers(open)).toEqual(open.map((text) => [text, 'open', 'open']))
    })
  })

  it(`random servers and requests (seed ${SEED})`, { timeout: 600_000 }, async () => {
    const chance = new Chance(SEED)
    const worlds = Array.from({ length: RANDOM_WORLDS }, () => randomWorld(chance))
    const asked = worlds.flatMap((_, world) =>
      Array.from({ length: REQUESTS_EACH }, () => ({ world, request: randomRequest(chance) })),
    )
    const folder = mkdtempSync(join(tmpdir(), 'prexy-closed-'))
    let running: Worlds | undefined
    const counts = { refused: 0, same: 0, closedHereOnly: 0, other: 0 }
    try {
      running = await startWorlds(folder, worlds)
      for (let at = 0; at < asked.length; at += AT_ONCE) {
        const some = asked.slice(at, at + AT_ONCE)
        const answered = await Promise.all(
          some.map(async (one) => ({ ...one, answers: await running?.ask(one.world, one.request) })),
        )
        for (const { world, request, answers } of answered) {
          if (answers === undefined) continue
          const verdict = verdictOf(worlds[world], ...answers)
          if (!(verdict in counts)) {
            throw new Error(`${verdict}: ${JSON.stringify({ seed: SEED, world, request, answers })}\n${worlds[world]}`)
          }
          counts[verdict as keyof typeof counts]++
        }
      }
    } finally {
      await running?.stop()
      rmSync(folder, { recursive: true })
    }
    console.log(`seed ${SEED}: ${JSON.stringify(counts)}`)
    expect(Math.min(counts.refused, counts.same)).toBeGreaterThan(0)
  })
}

function describeAnswer(one: string | WorldAnswer): string {
  if (typeof one === 'string') return one
  return isRefused(one) ? 'refused' : 'open'
}

function verdictOf(world: World, wanted: WorldAnswer, got: WorldAnswer): string {
  if (isRefused(wanted)) return isRefused(got) ? 'refused' : 'nginx refuses, prexy does not'
  if (isRefused(got)) return 'closedHereOnly'
  if (wanted.place === got.place && wanted.status === got.status) return 'same'
  // Patterns that cannot be matched are left out where nothing is closed by them.
  const isLeftOut = /\(\?|\+\+/.test(world) || wanted.status !== 200 || got.status !== 200
  return isLeftOut ? 'other' : 'prexy takes another location'
}

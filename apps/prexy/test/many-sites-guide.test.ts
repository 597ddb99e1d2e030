/** What docs/many-sites.md shows is a configuration that can be served. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hashPassword } from '@prexy/proxy/password-check'
import { serveFiles } from './serve-files.ts'

const guide = readFileSync(join(import.meta.dirname, '../../../docs/many-sites.md'), 'utf8')

/** By name; a block of YAML begins with the file that it is. */
function filesOf(text: string): Readonly<Record<string, string>> {
  const blocks = text.matchAll(/```yaml\n# \/etc\/prexy\/(\S+)\n([\s\S]*?)```/g)
  return Object.fromEntries([...blocks].map(([, name, content]) => [name, content]))
}

test('the guide', async () => {
  const files = filesOf(guide)
  expect(Object.keys(files)).toEqual(['prexy.yaml', 'sites/acme.yaml', 'staging.yaml', 'paths.yaml'])
  const main = files['prexy.yaml']
    .replace('http://127.0.0.1:9000', '$ORIGIN')
    .replace('sites/*.yaml', "['sites/*.yaml', staging.yaml, paths.yaml]")
  const environment = { STAGING_ANN: await hashPassword('x') }
  await using served = await serveFiles(
    { ...files, 'prexy.yaml': main },
    {
      environment,
      origin: (_message, response) => {
        response.setHeader('Content-Type', 'text/html')
        response.end('<head></head>acme.org UA-12-3')
      },
    },
  )
  expect((await served.ask('www.acme.example/')).body).toBe(
    '<head><meta name="generator" content="mirror"></head>acme.example UA-12-1',
  )
  const old = await served.ask('acme.example/old/a?b=c')
  expect([old.status, old.headers.location]).toEqual([302, 'https://acme.example/new/old/a?b=c'])
  expect((await served.ask('acme.example/robots.txt')).body).toBe('User-agent: *\nDisallow: /\n')
  expect((await served.ask('other.example/')).body).toContain('acme.org UA-12-1')
  expect((await served.ask('staging.acme.example/')).status).toBe(403)
})

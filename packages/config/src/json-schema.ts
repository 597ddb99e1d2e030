/** The schema as JSON Schema (draft 2020-12), for editors: completion, descriptions, and errors while typing. */
import { z } from 'zod'
import { configSchema, siteSchema } from './config-schema.ts'

/** One schema for every file of a configuration: the one that says `host` at its top is a site. */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  const { $schema, $defs, anyOf } = z.toJSONSchema(z.union([siteSchema, configSchema]), {
    target: 'draft-2020-12',
    io: 'input',
    unrepresentable: 'any',
    reused: 'ref',
  })
  // Of a choice without a condition editors would show the faults of both.
  const [site, configuration] = anyOf ?? []
  return {
    $schema,
    title: 'Configuration of prexy',
    type: 'object',
    if: { required: ['host'] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema, in an object that nobody awaits
    then: site,
    else: configuration,
    $defs,
  }
}

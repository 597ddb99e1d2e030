/** The schema as text for people: every field with its type, bounds and meaning, in the order of the schema. */
import { z } from 'zod'
import { accessSchema, basicAuthSchema, rateLimitSchema } from './access-schema.ts'
import { maintenanceSchema, mountSchema, redirectSchema, respondSchema } from './action-schema.ts'
import { compareWithSchema } from './compare-schema.ts'
import { compressLevelsSchema, compressSchema } from './compress-schema.ts'
import { configSchema, rewriteOptionsSchema, siteSchema } from './config-schema.ts'
import { unwrapped } from './explain.ts'
import { requestHeaderRuleSchema, responseHeaderRuleSchema } from './header-schema.ts'
import { certificateSchema, listenSchema, listenTlsSchema } from './listen-schema.ts'
import { RULE_KINDS } from './rule-schema.ts'
import { UPSTREAM_PARTS } from './upstream-schema.ts'

export interface FieldReference {
  readonly name: string
  /** From the top of the file: `timeouts.drainMs`, `routes[].host`, `rules[].text`. */
  readonly path: string
  /** ``whole number, 1 to 65535``, ``text or a list of them``. */
  readonly type: string
  readonly required: boolean
  /** What the schema itself says; undefined where another package knows the default. */
  readonly default: unknown
  readonly description: string
}

export interface SectionReference {
  readonly title: string
  readonly description: string
  readonly fields: readonly FieldReference[]
}

/** All mappings that a configuration file may hold, each once. */
export function configurationSections(): readonly SectionReference[] {
  const top = sectionOf('The file', '', configSchema)
  const rules = Object.entries(RULE_KINDS).map(([kind, schema]) => sectionOf(`Rules: ${kind}`, 'rules[]', schema))
  const [first, ...others] = rules
  const headerRules = sectionOf('Header rules: requests', 'headers.request[]', requestHeaderRuleSchema)
  const ofResponses = sectionOf('Header rules: responses, besides', 'headers.response[]', responseHeaderRuleSchema)
  const common = first.fields.filter((field) =>
    others.every((rule) => rule.fields.some((one) => one.name === field.name)),
  )
  const routes = sectionOf('Routes', 'routes[]', mappingIn(schemaAtPath('routes')))
  return [
    top,
    sectionOf('Listening', 'listen', mappingIn(listenSchema)),
    sectionOf('Listening: TLS', 'listen.tls', listenTlsSchema),
    sectionOf('Listening: certificates', 'listen.tls.certificates[]', certificateSchema),
    sectionOf('Upstreams', 'upstream', mappingIn(schemaAtPath('upstream'))),
    sectionOf('Upstreams: servers', 'upstream.servers[]', mappingIn(UPSTREAM_PARTS['servers[]'])),
    sectionOf('Upstreams: ejection', 'upstream.ejection', UPSTREAM_PARTS.ejection),
    sectionOf('Upstreams: health checks', 'upstream.healthCheck', UPSTREAM_PARTS.healthCheck),
    sectionOf('Upstreams: TLS', 'upstream.tls', UPSTREAM_PARTS.tls),
    besides(sectionOf('Sites', 'sites[]', siteSchema), routes),
    routes,
    sectionOf('Redirects', 'redirect', mappingIn(redirectSchema)),
    sectionOf('Answers of prexy itself', 'respond', respondSchema),
    sectionOf('Access', 'access', accessSchema),
    sectionOf('Access: passwords', 'access.basicAuth', basicAuthSchema),
    sectionOf('Access: rates', 'access.rateLimit', rateLimitSchema),
    sectionOf('Comparing', 'compareWith', mappingIn(compareWithSchema)),
    sectionOf('Compressing', 'compress', mappingIn(compressSchema)),
    sectionOf('Compressing: levels', 'compress.levels', compressLevelsSchema),
    sectionOf('Mounting', 'mount', mappingIn(mountSchema)),
    sectionOf('Maintenance', 'maintenance', mappingIn(maintenanceSchema)),
    ...rules.map((rule) => ({
      ...rule,
      fields: rule.fields.filter((field) => !common.some((one) => one.name === field.name)),
    })),
    {
      title: 'Rules: when and how often',
      description: 'Every rule may say these. They are decided once per response; a rule without them always applies.',
      fields: common,
    },
    sectionOf('How rules are applied', 'rewrite', rewriteOptionsSchema),
    sectionOf('Header rules', 'headers', schemaAtPath('headers')),
    headerRules,
    {
      ...ofResponses,
      fields: ofResponses.fields.filter((field) => !headerRules.fields.some((one) => one.name === field.name)),
    },
    sectionOf('Timeouts', 'timeouts', schemaAtPath('timeouts')),
    sectionOf('Limits', 'limits', schemaAtPath('limits')),
    sectionOf('Limits on requests', 'limits.request', schemaAtPath('limits', 'request')),
    sectionOf('Limits on responses', 'limits.response', schemaAtPath('limits', 'response')),
    sectionOf('Admin listener', 'admin', schemaAtPath('admin')),
    sectionOf('Admin listener: events of applications', 'admin.ingest', schemaAtPath('admin', 'ingest')),
    sectionOf('Recordings', 'record', schemaAtPath('record')),
    sectionOf('Recordings: bodies', 'record.bodies', schemaAtPath('record', 'bodies')),
  ]
}

/** The fields of a section that another does not have in the same words. */
function besides(section: SectionReference, other: SectionReference): SectionReference {
  const said = new Set(other.fields.map(({ name, description }) => `${name}: ${description}`))
  const fields = section.fields.filter(({ name, description }) => !said.has(`${name}: ${description}`))
  return {
    ...section,
    description: `${section.description} It has the fields of a route, too, but for \`path\`, \`method\` and \`header\`.`,
    fields,
  }
}

type Schema = z.core.$ZodType

function sectionOf(title: string, path: string, schema: Schema): SectionReference {
  const mapping = unwrapped(schema)
  if (!(mapping instanceof z.ZodObject)) throw new Error(`${title} is no mapping`)
  const shape: Readonly<Record<string, Schema>> = mapping.shape
  const fields = Object.entries(shape).map(([name, field]) => ({
    name,
    path: path === '' ? name : `${path}.${name}`,
    type: typeText(field),
    required: !(field instanceof z.ZodExactOptional || field instanceof z.ZodDefault),
    default: field instanceof z.ZodDefault ? field.def.defaultValue : undefined,
    description: descriptionOf(field),
  }))
  return { title, description: descriptionOf(schema), fields }
}

function descriptionOf(schema: Schema): string {
  for (let inner = schema; ; ) {
    const description = z.globalRegistry.get(inner)?.description
    if (description !== undefined) return description
    const next =
      inner instanceof z.ZodDefault || inner instanceof z.ZodExactOptional || inner instanceof z.ZodReadonly
        ? inner.def.innerType
        : inner
    if (next === inner) throw new Error('a field of the configuration has no description')
    inner = next
  }
}

function schemaAtPath(...path: readonly string[]): Schema {
  let schema: Schema = configSchema
  for (const step of path) {
    const mapping = unwrapped(schema)
    if (!(mapping instanceof z.ZodObject)) throw new Error(`${path.join('.')} leads nowhere`)
    const shape: Readonly<Record<string, Schema>> = mapping.shape
    schema = shape[step]
  }
  return schema
}

/** The mapping among the members of a union, or that a list holds. */
function mappingIn(schema: Schema): Schema {
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodArray) return mappingIn(inner.element)
  const found =
    inner instanceof z.ZodUnion ? inner.options.map(unwrapped).find((one) => one instanceof z.ZodObject) : inner
  if (found === undefined) throw new Error('there is no mapping')
  return found
}

function typeText(schema: Schema): string {
  const inner = unwrapped(schema)
  if (inner instanceof z.ZodEnum) return oneOf(Object.values(inner.enum).map(String))
  if (inner instanceof z.ZodLiteral) return oneOf([...inner.values].map(String))
  if (inner instanceof z.ZodString) return 'text'
  if (inner instanceof z.ZodBoolean) return '`true` or `false`'
  if (inner instanceof z.ZodNumber) return numberText(inner)
  if (inner instanceof z.ZodArray) return unwrapped(inner.element) instanceof z.ZodObject ? 'list of mappings' : 'list'
  if (inner instanceof z.ZodUnion) {
    const [first, ...others] = inner.options
    const list = others.find((one) => unwrapped(one) instanceof z.ZodArray)
    if (list !== undefined && others.length === 1) return `${typeText(first)}, or a list of them`
    return inner.options.map(typeText).join(' or ')
  }
  return 'mapping'
}

function oneOf(values: readonly string[]): string {
  return values
    .map((value) => `\`${value}\``)
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' or ')
}

function numberText(schema: z.ZodNumber): string {
  const { minValue, maxValue } = schema
  const most = maxValue === null || maxValue >= Number.MAX_SAFE_INTEGER ? undefined : maxValue
  if (minValue === null || minValue <= Number.MIN_SAFE_INTEGER) return 'whole number'
  return most === undefined ? `whole number from ${minValue}` : `whole number, ${minValue} to ${most}`
}

/** What a route does, and what it says when it cannot; the descriptions are the reference documentation. */
import { z } from 'zod'
import { addressRange } from './access-schema.ts'
import { fieldName, type OneOrMore, oneOrMore } from './rule-schema.ts'

export interface RawRedirect {
  readonly to: string
  readonly status?: number
  readonly keepQuery?: boolean
}

export interface RawPage {
  readonly file?: string
  readonly body?: string
  readonly type?: string
}

export interface RawRespond extends RawPage {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
}

export interface RawMaintenance {
  readonly page?: string | RawPage
  readonly retryAfterSeconds?: number
  readonly allow?: OneOrMore<string>
}

export interface RawMount {
  readonly at: string
  readonly to?: string
}

export const REDIRECT_STATUSES: readonly number[] = [301, 302, 303, 307, 308]

const target = z
  .string()
  .regex(/^(https?:\/\/\S+|\/\S*|\$\{\S+)$/, 'is no target; write it like https://www.example.org${path} or /new')

export const redirectSchema: z.ZodType<string | RawRedirect> = z.union([
  target,
  z
    .strictObject({
      to: target.describe(
        'Where to: `https://www.example.org${path}`. `${host}`, `${path}`, `${scheme}`, `${method}`, `${header:NAME}` and ' +
          '`${cookie:NAME}` stand for what the client sent, `$$` for a dollar sign.',
      ),
      status: z
        .int()
        .refine((status) => REDIRECT_STATUSES.includes(status), 'is no redirect; there are 301, 302, 303, 307 and 308')
        .exactOptional()
        .describe('301 and 308 for good, 302, 303 and 307 for now; with 307 and 308 a form is sent again.'),
      keepQuery: z
        .boolean()
        .exactOptional()
        .describe('`false` leaves the query of the request out. Without it: it is put behind that of `to`.'),
    })
    .describe('A redirect.'),
])

const filePath = z.string().min(1).max(4096)
const pageFields = {
  file: filePath
    .exactOptional()
    .describe('A file with the body, from the folder of the file that says it; read when the configuration is.'),
  body: z.string().max(1_048_576).exactOptional().describe('The body itself.'),
  type: z
    .string()
    .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(;[ -~]*)?$/, 'is no media type; write it like text/html')
    .exactOptional()
    .describe(
      'Its Content-Type. Without it: by the ending of the file, else HTML where it begins with `<`, else text.',
    ),
} as const

const fieldValue = z.string().regex(/^[\t -~\u00a0-\u00ff]*$/, 'is no value of a header field; it is one line of text')

function oneBody(page: RawPage): boolean {
  return page.file === undefined || page.body === undefined
}

const bothBodies = { error: 'says both file and body; keep one of the two', path: ['body'] }

export const pageSchema: z.ZodType<string | RawPage> = z.union([
  filePath,
  z.strictObject(pageFields).refine(oneBody, bothBodies).describe('A page.'),
])

export const respondSchema: z.ZodType<RawRespond> = z
  .strictObject({
    status: z.int().min(200).max(599).exactOptional().describe('The status of the answer.'),
    headers: z
      .record(fieldName, fieldValue)
      .exactOptional()
      .describe('Header fields of the answer, by name, as they are; no variables stand for anything.'),
    ...pageFields,
  })
  .refine(oneBody, bothBodies)
  .describe('An answer of prexy itself.')

export const errorPagesSchema: z.ZodType<Readonly<Record<string, string | RawPage>>> = z
  .record(z.string().regex(/^[45](\d\d|xx)$/, 'is no status of an error; write it like 502 or 5xx'), pageSchema)
  .describe(
    'What clients see of errors that prexy itself answers (429, 502, 503, 504 and so on), by status or class: a file, or ' +
      'a mapping with `body`. `${status}`, `${reason}` and `${exchange}` in it stand for what they say.',
  )

export const maintenanceSchema: z.ZodType<boolean | RawMaintenance> = z.union([
  z.boolean(),
  z
    .strictObject({
      page: pageSchema.exactOptional().describe('What clients see: a file, or a mapping with `body`.'),
      retryAfterSeconds: z
        .int()
        .min(1)
        .max(31_536_000)
        .exactOptional()
        .describe('After how long they are told to come back.'),
      allow: oneOrMore(addressRange)
        .exactOptional()
        .describe('Addresses and ranges of clients that see the site all the same.'),
    })
    .describe('A site that is closed for a while.'),
])

const mountPath = z
  .string()
  .regex(/^\/([\w.~!$&'()+,;=:@/-]|%[0-9A-Fa-f]{2})*$/, 'is no path to mount at; write it like /shop')
  .refine((path) => !/\/\.\.?(\/|$)/.test(path), 'has a dot segment; write the path that it leads to')

export const mountSchema: z.ZodType<string | RawMount> = z.union([
  mountPath,
  z
    .strictObject({
      at: mountPath.describe('Where clients see it.'),
      to: mountPath.exactOptional().describe('Where the upstream has it.'),
    })
    .describe(
      'Where clients see what the upstream has elsewhere. Paths of requests are mapped, and in responses Location, ' +
        'Content-Location and the Path of cookies; for links in pages there are rules. Upstreams are told in ' +
        'X-Forwarded-Prefix.',
    ),
])

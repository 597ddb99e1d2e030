/** The part of the configuration that opens the admin listener. */
import { z } from 'zod'
import { listenAddressSchema } from './listen-schema.ts'
import { type OneOrMore, oneOrMore } from './rule-schema.ts'

export interface RawAdmin {
  readonly listen?: number | string
  readonly token?: string
  readonly hosts?: OneOrMore<string>
  readonly openMetrics?: boolean
}

/** Where the admin listener is unless the configuration says otherwise: this machine only. */
export const DEFAULT_ADMIN_LISTEN = '127.0.0.1:9901'

export const MIN_TOKEN_LENGTH = 16

export const adminSchema: z.ZodType<RawAdmin> = z
  .strictObject({
    listen: listenAddressSchema
      .exactOptional()
      .describe(
        `Where the inspector, the API, \`/metrics\`, \`/healthz\` and \`/readyz\` are; a port alone is one of this machine ` +
          `only. Without it: \`${DEFAULT_ADMIN_LISTEN}\`. It speaks plain HTTP: whoever can read the line reads the token.`,
      ),
    token: z
      .string()
      .min(1)
      .max(1_000)
      .regex(/^[\x21-\x7e]+$/, 'has characters that a header field cannot carry')
      .exactOptional()
      .describe(
        `What has to be known to use it, of ${MIN_TOKEN_LENGTH} characters at least: \`Authorization: Bearer TOKEN\`. Best as ` +
          '`${env:NAME}`. Without it: a new one at each ' +
          'start, which is told on standard error.',
      ),
    hosts: oneOrMore(z.string().min(1).max(253))
      .exactOptional()
      .describe('Host names that it may be called by, beside addresses and `localhost`.'),
    openMetrics: z
      .boolean()
      .exactOptional()
      .describe('`true` answers `/metrics` without the token. Without it: `false`.'),
  })
  .describe('The admin listener. Without it: none.')

/** The part of the configuration that opens the admin listener. */
import { z } from 'zod'
import { listenAddressSchema } from './listen-schema.ts'
import { type OneOrMore, oneOrMore } from './rule-schema.ts'

export interface RawAdmin {
  readonly listen?: number | string
  readonly token?: string
  readonly hosts?: OneOrMore<string>
  readonly openMetrics?: boolean
  readonly ingest?: RawIngest
}

export interface RawIngest {
  readonly token?: string
  readonly origins?: OneOrMore<string>
  readonly maxBatchBytes?: number
  readonly maxBatchEvents?: number
  readonly maxEventCharacters?: number
  readonly maxEventsPerSecond?: number
  readonly maxBytesPerSecond?: number
}

/** Where the admin listener is unless the configuration says otherwise: this machine only. */
export const DEFAULT_ADMIN_LISTEN = '127.0.0.1:9901'

export const MIN_TOKEN_LENGTH = 16

const tokenText: z.ZodType<string> = z
  .string()
  .min(1)
  .max(1_000)
  .regex(/^[\x21-\x7e]+$/, 'has characters that a header field cannot carry')

const ingestSchema: z.ZodType<RawIngest> = z
  .strictObject({
    token: tokenText
      .exactOptional()
      .describe(
        `A token that may send events and nothing else, of ${MIN_TOKEN_LENGTH} characters at least. Without it: only \`admin.token\` ` +
          'may. What pages send with it is known to whoever opens them.',
      ),
    origins: oneOrMore(
      z
        .string()
        .regex(
          /^https?:\/\/[^\s/?#@*]+$/i,
          'is no origin; write it like https://shop.example or http://localhost:3000',
        ),
    )
      .exactOptional()
      .describe('Origins of the pages that may send events, such as `https://shop.example`. Without it: no page may.'),
    maxBatchBytes: z
      .int()
      .min(1_024)
      .max(16_777_216)
      .exactOptional()
      .describe('Bytes of one batch. Without it: 262,144.'),
    maxBatchEvents: z.int().min(1).max(100_000).exactOptional().describe('Events of one batch. Without it: 1,000.'),
    maxEventCharacters: z
      .int()
      .min(256)
      .max(1_048_576)
      .exactOptional()
      .describe('Characters of all texts of one event. Without it: 16,384.'),
    maxEventsPerSecond: z
      .int()
      .min(1)
      .max(1_000_000)
      .exactOptional()
      .describe('Events a second, of all applications together; more are put off. Without it: 1,000.'),
    maxBytesPerSecond: z
      .int()
      .min(1_024)
      .max(1_073_741_824)
      .exactOptional()
      .describe('Bytes of batches a second; more are put off. Without it: 1,048,576.'),
  })
  .describe('Takes events that applications add to recordings. Without it: none are taken.')

export const adminSchema: z.ZodType<RawAdmin> = z
  .strictObject({
    listen: listenAddressSchema
      .exactOptional()
      .describe(
        `Where the inspector, the API, \`/metrics\`, \`/healthz\` and \`/readyz\` are; a port alone is one of this machine ` +
          `only. Without it: \`${DEFAULT_ADMIN_LISTEN}\`. It speaks plain HTTP: whoever can read the line reads the token.`,
      ),
    token: tokenText
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
    ingest: ingestSchema.exactOptional(),
  })
  .describe('The admin listener. Without it: none.')

/** Who may ask, and how often; the descriptions are the reference documentation. */
import { z } from 'zod'
import { type OneOrMore, oneOrMore } from './rule-schema.ts'

export interface RawBasicAuth {
  readonly realm?: string
  /** By name, each a hash or `${env:NAME}`. */
  readonly users: Readonly<Record<string, string>>
}

export interface RawRateLimit {
  readonly requests: number
  readonly seconds?: number
  readonly burst?: number
}

export interface RawAccess {
  readonly allow?: OneOrMore<string>
  readonly deny?: OneOrMore<string>
  readonly basicAuth?: RawBasicAuth | 'off'
  readonly rateLimit?: RawRateLimit | 'off'
}

export const addressRange: z.ZodType<string> = z.string().superRefine((text, context) => {
  const kinds = [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]
  if (kinds.some((kind) => kind.safeParse(text).success)) return
  const message = `${JSON.stringify(text)} is no address and no range; write it like 192.0.2.7, 10.0.0.0/8 or fd00::/8`
  context.addIssue({ code: 'custom', message })
})

/** As `prexy password` prints it: `$scrypt$ln=15,r=8,p=1$SALT$HASH`, both in base64 without padding. */
export const PASSWORD_HASH: RegExp =
  /^\$scrypt\$ln=(1[0-7]),r=(8|16),p=([1-4])\$([A-Za-z0-9+/]{16,86})\$([A-Za-z0-9+/]{43,86})$/

const userName = z.string().regex(/^[^:\p{Cc}]{1,100}$/u, 'is no user name; it has no colon and no control characters')

/** The value itself is checked when variables of the environment were put in. */
const passwordHash = z.string().min(1)

export const basicAuthSchema: z.ZodType<RawBasicAuth> = z
  .strictObject({
    realm: z
      .string()
      .regex(/^[ !#-[\]-~]{1,100}$/, 'is no realm; it is ASCII without quotes and backslashes')
      .exactOptional()
      .describe('What browsers call the place when they ask for the password.'),
    users: z
      .record(userName, passwordHash)
      .describe(
        'Passwords by user name, hashed: a line that `prexy password` printed, or `${env:NAME}` for one that stands in ' +
          'a variable of the environment.',
      ),
  })
  .describe('Names and passwords (RFC 7617), which browsers ask for.')

export const rateLimitSchema: z.ZodType<RawRateLimit> = z
  .strictObject({
    requests: z.int().min(1).max(1_000_000).describe('How many requests of one address pass in that time.'),
    seconds: z.int().min(1).max(86_400).exactOptional().describe('That time.'),
    burst: z
      .int()
      .min(1)
      .max(1_000_000)
      .exactOptional()
      .describe('How many may come at once after a rest. Without it: as many as `requests`.'),
  })
  .describe(
    'How often one address (of IPv6, one /64) may ask: a bucket for each, that fills evenly. What is over is answered ' +
      '429 with Retry-After and does not reach the upstream.',
  )

export const accessSchema: z.ZodType<RawAccess> = z
  .strictObject({
    allow: oneOrMore(addressRange)
      .exactOptional()
      .describe('Addresses and ranges of clients; others are answered 403. Without it: every address.'),
    deny: oneOrMore(addressRange)
      .exactOptional()
      .describe('Addresses and ranges of clients that are answered 403, also where `allow` has them.'),
    basicAuth: z
      .union([basicAuthSchema, z.literal('off')])
      .exactOptional()
      .describe(
        'Names and passwords, one of which a client must give; `off` asks for none where the level above does.',
      ),
    rateLimit: z
      .union([rateLimitSchema, z.literal('off')])
      .exactOptional()
      .describe('How often one address may ask; `off` lets it, where the level above does not.'),
  })
  .describe(
    'Who may ask, and how often. What is not said here is taken from the level above. The address is that of the client ' +
      'as `trustedProxies` have it.',
  )

/** Comparing with another proxy; the descriptions are the reference documentation. */
import { z } from 'zod'
import { fieldName, type OneOrMore, oneOrMore } from './rule-schema.ts'
import { upstreamText } from './upstream-schema.ts'

export interface RawCompareWith {
  readonly url: string
  readonly percent?: number
  readonly headers?: OneOrMore<string>
  readonly ignore?: OneOrMore<string>
  readonly maxConcurrent?: number
  readonly maxBodyBytes?: number
  readonly timeoutMs?: number
}

const compareMapping: z.ZodType<RawCompareWith> = z
  .strictObject({
    url: upstreamText.describe(
      'The other proxy: scheme, host and port, a socket, or the name of an entry of `upstreams`. It is asked with the Host ' +
        'and the path that the client named.',
    ),
    percent: z
      .number()
      .min(0)
      .max(100)
      .exactOptional()
      .describe('Of a hundred GET and HEAD requests, how many it is asked, too.'),
    headers: oneOrMore(fieldName)
      .exactOptional()
      .describe('Response fields that are compared beside status and body. Without it: content-type and location.'),
    ignore: oneOrMore(z.string().min(1).max(4_096))
      .exactOptional()
      .describe(
        'Patterns of what may differ, such as times and tokens: what matches is taken out of both bodies before they are ' +
          'compared. They match bytes, as with `mode: octet`.',
      ),
    maxConcurrent: z
      .int()
      .min(1)
      .max(1_000)
      .exactOptional()
      .describe('Comparisons under way at one time, in each process; of more it is told that they were left out.'),
    maxBodyBytes: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .exactOptional()
      .describe('How much of each body is compared, without content coding.'),
    timeoutMs: z
      .int()
      .min(1)
      .max(600_000)
      .exactOptional()
      .describe('How long the other proxy may take once our response has ended. The client does not wait for it.'),
  })
  .describe('Another proxy to compare responses with.')

export const compareWithSchema: z.ZodType<string | RawCompareWith> = z.union([
  upstreamText,
  compareMapping,
  z.literal('off'),
])

/**
 * The configuration file: the one place that says which fields there are, what they mean and what they default to.
 * `docs/configuration.md` is generated from it.
 */
import { z } from 'zod'
import { type OneOrMore, oneOrMore, pathGlob, type RawRule, ruleListSchema } from './rule-schema.ts'

export interface RewriteOptions {
  readonly priority?: 'first' | 'longest'
  readonly mode?: 'text' | 'octet'
  readonly maxHeldBytes?: number
  readonly overflow?: 'skip' | 'passthrough' | 'abort'
  readonly compat?: 'nginx'
}

export interface RawRoute {
  readonly host?: OneOrMore<string>
  readonly path?: OneOrMore<string>
  readonly upstream: string
  readonly rules?: readonly RawRule[]
  readonly rewrite?: RewriteOptions
}

/** The file as it stands, defaults filled in. */
export interface RawConfig {
  readonly listen: OneOrMore<number | string>
  readonly upstream?: string
  readonly rules: readonly RawRule[]
  readonly rewrite: RewriteOptions
  readonly routes: readonly RawRoute[]
  readonly log: 'text' | 'json' | 'off'
}

const listenAddress = z.union([
  z.int().min(0).max(65_535),
  z
    .string()
    .regex(
      /^(\[[0-9A-Fa-f:.]+\]|[^\s:/[\]]*):\d{1,5}$/,
      'is no address; write it like 8080, 127.0.0.1:8080 or [::1]:8080',
    ),
])

const upstreamUrl = z
  .string()
  .regex(/^http:\/\/[^\s/?#@]+\/?$/, 'is no address of an upstream; write it like http://127.0.0.1:9000')
  .describe('Where requests go: scheme, host and port of the origin server, `http://127.0.0.1:9000`.')

/** How a rule set is run, for the whole file or one route. */
export const rewriteOptionsSchema: z.ZodType<RewriteOptions> = z
  .strictObject({
    priority: z
      .enum(['first', 'longest'])
      .exactOptional()
      .describe(
        'Which of several matches at one place wins: `first`, that of the earliest rule, as Perl would choose it, or ' +
          '`longest`, the one that takes most text. Without it: `first`.',
      ),
    mode: z
      .enum(['text', 'octet'])
      .exactOptional()
      .describe(
        '`text`: patterns match characters of UTF-8. `octet`: patterns match single bytes; a rule stands for the bytes ' +
          'of its UTF-8 form. Without it: `text`.',
      ),
    maxHeldBytes: z
      .int()
      .min(4)
      .max(1_073_741_824)
      .exactOptional()
      .describe('How many bytes of one response may wait for the end of a possible match. Without it: 65536.'),
    overflow: z
      .enum(['skip', 'passthrough', 'abort'])
      .exactOptional()
      .describe(
        'What happens at that limit: `skip` lets the waiting text go as it is and searches on behind it, `passthrough` ' +
          'lets the rest of the response go unchanged, `abort` breaks the response off. Without it: `skip`.',
      ),
    compat: z
      .literal('nginx')
      .exactOptional()
      .describe("`nginx` follows OpenResty's replace_filter where it differs; see docs/rules.md."),
  })
  .describe('How rules are applied.')

const hostPattern = z
  .string()
  .regex(/^(\*\.)?[^\s/:*?#@]+$/, 'is no host; write it like www.example.org or *.example.org, without scheme and port')

export const routeSchema: z.ZodType<RawRoute> = z
  .strictObject({
    host: oneOrMore(hostPattern)
      .exactOptional()
      .describe('Host names that the route serves, exact or `*.example.org` for every name below. Without it: any.'),
    path: oneOrMore(pathGlob)
      .exactOptional()
      .describe(
        'Paths that the route serves: `*` stands for any characters within a segment, `**` across segments, `?` for ' +
          'one character. Without it: every path.',
      ),
    upstream: upstreamUrl,
    rules: ruleListSchema.exactOptional().describe('The rules of this route. Without it: those of the file.'),
    rewrite: rewriteOptionsSchema
      .exactOptional()
      .describe('How the rules of this route are applied; what is not said here is taken from the file.'),
  })
  .describe('Which requests go where, and what is rewritten in their responses.')

export const configSchema: z.ZodType<RawConfig> = z
  .strictObject({
    listen: oneOrMore(listenAddress)
      .default('127.0.0.1:8080')
      .describe(
        'Where prexy listens: a port (on every address of the machine), `host:port`, or a list of them. Port 0 takes ' +
          'a free one.',
      ),
    upstream: upstreamUrl
      .exactOptional()
      .describe('Where every request goes that no entry of `routes` takes: `http://127.0.0.1:9000`.'),
    rules: ruleListSchema
      .default([])
      .describe('What is searched and replaced in responses, for every route without rules of its own.'),
    rewrite: rewriteOptionsSchema.default({}),
    routes: z
      .array(routeSchema)
      .default([])
      .describe('Which requests go where. The first entry whose host and path fit takes the request.'),
    log: z
      .enum(['text', 'json', 'off'])
      .default('text')
      .describe('One line per request on standard error: `text` for people, `json` for programs, or `off`.'),
  })
  .describe('The configuration of prexy.')

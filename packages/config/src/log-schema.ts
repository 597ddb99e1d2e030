/** The part of the configuration that says where lines of requests go, and what stands in them. */
import { z } from 'zod'
import { nearMiss } from './near-miss.ts'

export interface RawAccessLog {
  readonly file?: string
  readonly format?: string
}

/** What `format` is without it. */
export const DEFAULT_ACCESS_LOG_FORMAT = 'combined'

/** Formats that have a name; `json` is no list of variables. */
export const NAMED_LOG_FORMATS: Readonly<Record<'common' | 'combined', string>> = {
  common: '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent',
  combined:
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"',
}

/** Variables of formats beside `$http_NAME`. Those that nginx has, too, mean what they mean there. */
export const LOG_VARIABLES = [
  'remote_addr',
  'realip_remote_addr',
  'remote_user',
  'time_local',
  'time_iso8601',
  'msec',
  'request',
  'request_method',
  'request_uri',
  'uri',
  'args',
  'server_protocol',
  'scheme',
  'host',
  'status',
  'bytes_sent',
  'body_bytes_sent',
  'request_length',
  'request_time',
  'request_id',
  'connection',
  'connection_requests',
  'upstream_addr',
  'upstream_connect_time',
  'upstream_header_time',
  'pid',
  'exchange',
  'route',
  'upstream',
  'outcome',
  'detail',
  'treatment',
  'replaced',
  'traceparent',
  'trace_id',
] as const

export type LogVariable = (typeof LOG_VARIABLES)[number]

/** Text, a variable, or a field of the request by its lower-case name. */
export type LogPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: LogVariable }
  | { readonly kind: 'field'; readonly lowerName: string }

const isVariable = (name: string): name is LogVariable => LOG_VARIABLES.some((known) => known === name)

/** The parts of a format, `$name` or `${name}` in a text; or what is wrong with it. */
export function parseLogFormat(format: string): readonly LogPart[] | string {
  const parts: LogPart[] = []
  let end = 0
  for (const { 0: whole, 1: inBraces, 2: bare, index } of format.matchAll(/\$(?:\{([^}]*)\}|([a-z0-9_]*))/g)) {
    if (index > end) parts.push({ kind: 'text', text: format.slice(end, index) })
    end = index + whole.length
    const name = inBraces ?? bare
    if (name.startsWith('http_') && name.length > 5) {
      parts.push({ kind: 'field', lowerName: name.slice(5).replaceAll('_', '-') })
    } else if (isVariable(name)) {
      parts.push({ kind: 'variable', name })
    } else {
      const near = nearMiss(name, LOG_VARIABLES)
      return `there is no variable ${whole}${near === undefined ? '' : `; did you mean $${near}?`}`
    }
  }
  if (end < format.length) parts.push({ kind: 'text', text: format.slice(end) })
  return parts
}

const formatSchema = z.string().superRefine((format, context) => {
  if (format === 'json' || format in NAMED_LOG_FORMATS) return
  const parts = parseLogFormat(format)
  const message =
    typeof parts === 'string'
      ? parts
      : /[\r\n]/.test(format)
        ? 'a format is one line'
        : parts.some(({ kind }) => kind !== 'text')
          ? undefined
          : `${JSON.stringify(format)} names no variable; write common, combined, json, or a text with variables like $status`
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

export const accessLogSchema: z.ZodType<RawAccessLog> = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .max(4096)
      .exactOptional()
      .describe(
        'The file that lines are added to, from the folder of this one; it is made where there is none, and opened again ' +
          'on SIGUSR1. Without it: standard error.',
      ),
    format: formatSchema
      .max(2000)
      .exactOptional()
      .describe(
        '`common`, `combined`, `json`, or a text with variables that are those of nginx: ' +
          "`'$remote_addr $status $request_time'`; docs/operating.md lists them. Without it: " +
          `\`${DEFAULT_ACCESS_LOG_FORMAT}\`.`,
      ),
  })
  .describe(
    'Where a line for each request goes, for other programs to read. With it, `log` tells of failed requests only. ' +
      'Without it: there is only what `log` says.',
  )

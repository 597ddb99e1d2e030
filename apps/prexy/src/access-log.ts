/** One line per exchange, for people or for programs, and what is to be known of upstreams and connections. */
import type { Config } from '@prexy/config/config'
import type { ExchangeEvent, ShadowTreatment } from '@prexy/events/exchange'
import { Redactor } from '@prexy/events/redact'
import type { RefusalEvent } from '@prexy/events/refusal'
import type { UpstreamChange, UpstreamEvent } from '@prexy/events/upstream'
import type { SeenRequest } from '@prexy/proxy/proxy-config'
import type { LogFiles } from './log-file.ts'
import { logLine } from './log-line.ts'
import type { LogFormat } from './program.ts'
import { printable, type Styles, stylesFor } from './terminal.ts'

export interface AccessLog {
  /** Absent where nothing is logged: then events need not be made. */
  readonly exchange?: (event: ExchangeEvent, seen: SeenRequest) => void
  /** A server of an upstream was left out, came back, or moved. Absent where nothing is logged. */
  readonly upstream?: (event: UpstreamEvent) => void
  /** Connections were closed at once. Absent where nothing is logged. */
  readonly refused?: (event: RefusalEvent) => void
  /** Writes what is still in memory. */
  flush(): void
}

/** Log lines that a blocked standard error may leave in memory, in bytes; beyond it lines are dropped. */
const MAX_PENDING_LOG_BYTES = 4 * 1024 * 1024

/**
 * `worker` is told in lines for programs. Where there is an `accessLog`, standard error gets failures only. Throws an
 * error for the user if its file cannot be opened.
 */
export async function createAccessLog(
  { log, accessLog }: Pick<Config, 'log' | 'accessLog'>,
  files: LogFiles,
  worker?: number,
): Promise<AccessLog> {
  const onStandardError = await standardErrorLog(log, worker)
  if (accessLog === undefined) return onStandardError
  const line = logLine(accessLog.format, exchangeFields)
  const file = accessLog.file === undefined ? undefined : files.at(accessLog.file)
  const { exchange: tellFailure } = onStandardError
  return {
    ...onStandardError,
    exchange(event, seen) {
      const text = line(event, seen)
      if (file !== undefined) file.write(text)
      else if (process.stderr.writableLength <= MAX_PENDING_LOG_BYTES) process.stderr.write(`${text}\n`)
      if (isFailure(event)) tellFailure?.(event, seen)
    },
    flush() {
      file?.flush()
      onStandardError.flush()
    },
  }
}

/** Neither what clients do wrong nor what they give up. */
function isFailure({ outcome, status }: ExchangeEvent): boolean {
  if (outcome === 'client-aborted' || outcome === 'client-timeout') return false
  return outcome === 'answered' ? status !== undefined && status >= 500 : outcome !== 'completed'
}

async function standardErrorLog(format: LogFormat, worker: number | undefined): Promise<AccessLog> {
  switch (format) {
    case 'off':
      return { flush() {} }
    case 'json':
      return await jsonLog(worker === undefined ? {} : { worker })
    case 'text': {
      const style = stylesFor(process.stderr, process.env)
      return {
        exchange(event) {
          if (process.stderr.writableLength > MAX_PENDING_LOG_BYTES) return
          process.stderr.write(`${formatExchange(event, style)}\n`)
        },
        upstream(event) {
          process.stderr.write(`${formatUpstream(event, style)}\n`)
        },
        refused(event) {
          process.stderr.write(`${formatRefusal(event, style)}\n`)
        },
        flush() {},
      }
    }
  }
}

async function jsonLog(base: { readonly worker?: number }): Promise<AccessLog> {
  const { openJsonLog } = await import('./json-log.ts')
  const log = openJsonLog(base, MAX_PENDING_LOG_BYTES)
  return {
    exchange: (event) => log.info(exchangeFields(event), 'exchange'),
    upstream: ({ atMs: _atMs, ...fields }) => log.warn(fields, 'upstream'),
    refused: ({ atMs: _atMs, ...fields }) => log.warn(fields, 'refused'),
    flush: () => log.flush(),
  }
}

function exchangeFields(event: ExchangeEvent): Readonly<Record<string, unknown>> {
  const { treatment } = event
  return {
    exchange: event.exchangeId,
    method: event.method,
    host: event.host,
    path: pathOf(event.target),
    status: event.status,
    route: event.route,
    upstream: event.upstream,
    upstreamAddress: event.upstreamAddress,
    upstreamAttempts: event.upstreamAttempts,
    requestId: event.requestId,
    traceparent: event.traceparent,
    outcome: event.outcome,
    detail: event.detail,
    treatment: treatment?.kind,
    reason: treatment === undefined || treatment.kind === 'rewritten' ? undefined : treatment.reason,
    hits: treatment?.kind === 'rewritten' ? treatment.stats.hits : undefined,
    compressed: treatment?.kind === 'passed' ? treatment.encode : undefined,
    notes: treatment?.kind === 'rewritten' ? treatment.notes : undefined,
    overflows: treatment?.kind === 'rewritten' ? treatment.stats.overflows : undefined,
    shadow: event.shadow?.kind,
    shadowReason: shadowReason(event.shadow),
    shadowHits: event.shadow?.kind === 'rewritten' ? event.shadow.stats.hits : undefined,
    comparison: event.comparison,
    requestFields: event.fieldEdits?.request,
    responseFields: event.fieldEdits?.response,
    requestBody: event.requestTreatment,
    bytesIn: event.upstreamInBytes,
    bytesOut: event.clientOutBytes,
    firstByteMs: event.timings.responseHeadUs === undefined ? undefined : event.timings.responseHeadUs / 1_000,
    totalMs: event.timings.endUs / 1_000,
  }
}

/** `12:01:07 200 GET /shop 12.3 ms, 3 replaced`; never more than one line. */
export function formatExchange(event: ExchangeEvent, style: Styles): string {
  const time = new Date(event.startedAtMs).toISOString().slice(11, 19)
  const status = event.status === undefined ? '---' : String(event.status)
  const paint =
    event.status === undefined || event.status >= 500 ? style.red : event.status >= 400 ? style.yellow : style.green
  const request = printable(`${event.method} ${event.host ?? ''}${pathOf(event.target)}`)
  const duration = `${(event.timings.endUs / 1_000).toFixed(1)} ms`
  const id = isFailure(event) && event.requestId !== undefined ? `, request ${printable(event.requestId)}` : ''
  return `${style.dim(time)} ${paint(status)} ${request} ${style.dim(`${duration}, ${describeTreatment(event)}${describeComparison(event)}${id}`)}`
}

/** `12:01:07 upstream app: 10.0.0.1:9000 is left out for 1 s: connect ECONNREFUSED 10.0.0.1:9000`. */
export function formatUpstream(event: UpstreamEvent, style: Styles): string {
  const time = new Date(event.atMs).toISOString().slice(11, 19)
  const of = event.upstream === event.server ? '' : ` ${printable(event.upstream)}:`
  return `${style.dim(time)} ${style.yellow('upstream')}${of} ${printable(`${event.server} ${describeChange(event)}`)}`
}

/** One line for a person: `12:00:00 refused 3 connections, the last from 192.0.2.1: maxConnectionsPerAddress was met`. */
export function formatRefusal({ atMs, reason, connections, address }: RefusalEvent, style: Styles): string {
  const time = new Date(atMs).toISOString().slice(11, 19)
  const one = connections === 1 ? 'a connection' : `${connections} connections, the last`
  const from = address === undefined ? '' : ` from ${address}`
  return `${style.dim(time)} ${style.yellow('refused')} ${one}${from}: ${reason} was met`
}

function describeChange(change: UpstreamChange): string {
  switch (change.kind) {
    case 'ejected':
      return `is left out for ${change.forMs / 1_000} s: ${change.reason}`
    case 'returned':
      return 'is tried again'
    case 'not-ejected':
      return `fails, and stays because it is the last one: ${change.reason}`
    case 'check-failed':
      return `fails its health checks: ${change.reason}`
    case 'check-passed':
      return 'passes its health checks again'
    case 'none-up':
      return 'was the last one up; requests go to all of them'
    case 'addresses-changed':
      return `is now at ${change.addresses.join(', ')}`
    case 'lookup-failed':
      return `cannot be looked up, its addresses stay: ${change.reason}`
  }
}

function describeTreatment(event: ExchangeEvent): string {
  if (event.outcome !== 'completed') {
    return event.detail === undefined ? event.outcome : `${event.outcome}: ${printable(event.detail)}`
  }
  const { treatment } = event
  if (treatment === undefined) return 'no response'
  if (event.shadow !== undefined) return describeShadow(event.shadow)
  if (treatment.kind === 'passed') {
    return `unchanged: ${treatment.reason}${treatment.encode === undefined ? '' : `, compressed: ${treatment.encode}`}`
  }
  if (treatment.kind === 'head-only') return `no body: ${treatment.reason}`
  const replaced = treatment.stats.hits.reduce((sum, hits) => sum + hits, 0)
  const overflows = treatment.stats.overflows > 0 ? `, ${treatment.stats.overflows} overflows` : ''
  return `${replaced} replaced${overflows}`
}

/** What is the same goes without saying. */
function describeComparison({ comparison }: ExchangeEvent): string {
  switch (comparison?.kind) {
    case 'different': {
      const at = comparison.bodyAt === undefined ? '' : ` at byte ${comparison.bodyAt}`
      return `, differs from compareWith: ${printable(comparison.parts.join(', '))}${at}`
    }
    case 'failed':
      return `, not compared: ${printable(comparison.detail)}`
    case 'skipped':
      return `, not compared: ${comparison.reason}`
    default:
      return ''
  }
}

function describeShadow(shadow: ShadowTreatment): string {
  if (shadow.kind !== 'rewritten') return `shadow: ${printable(shadowReason(shadow) ?? '')}`
  return `shadow: ${shadow.stats.hits.reduce((sum, hits) => sum + hits, 0)} would be replaced`
}

function shadowReason(shadow: ShadowTreatment | undefined): string | undefined {
  if (shadow === undefined || shadow.kind === 'rewritten') return undefined
  return shadow.kind === 'failed' ? shadow.detail : shadow.reason
}

/** The query stays out of the log: it may hold secrets. So may the path, as that of a link to reset a password does. */
function pathOf(target: string): string {
  const cut = target.indexOf('?')
  return cut < 0 ? redactor.target(target) : `${redactor.target(target.slice(0, cut))}?...`
}

const redactor = new Redactor()

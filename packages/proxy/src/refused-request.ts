import { EXCHANGE_EVENT_VERSION, type ExchangeEvent } from '@prexy/events/exchange'
import type { ProxyError } from './proxy-error.ts'
import type { ProxyRuntime } from './runtime.ts'

export interface RefusedRequest {
  readonly exchangeId: number
  readonly connectionId: number
  readonly requestNumber: number
  /** Monotonic, milliseconds. */
  readonly startedAt: number
  readonly clientInBytes: number
  readonly clientOutBytes: number
}

/** The event of a request whose head could not be read, so that there was no exchange. */
export function reportRefusal(runtime: ProxyRuntime, error: ProxyError, refused: RefusedRequest): void {
  const { exchangeId, connectionId, requestNumber, startedAt, clientInBytes, clientOutBytes } = refused
  const elapsedMs = performance.now() - startedAt
  const event: ExchangeEvent = {
    version: EXCHANGE_EVENT_VERSION,
    exchangeId,
    connectionId,
    requestNumber,
    startedAtMs: Math.round(Date.now() - elapsedMs),
    timings: {
      requestHeadUs: undefined,
      upstreamConnectedUs: undefined,
      responseHeadUs: undefined,
      endUs: Math.round(elapsedMs * 1_000),
    },
    method: '',
    host: undefined,
    target: '',
    status: error.status,
    route: undefined,
    upstream: undefined,
    requestId: undefined,
    clientInBytes,
    clientOutBytes,
    upstreamOutBytes: 0,
    upstreamInBytes: 0,
    outcome: error.code === 'E_CLIENT_TIMEOUT' ? 'client-timeout' : 'answered',
    detail: error.detail,
    treatment: undefined,
  }
  try {
    runtime.onExchange?.(event, { bodyBytes: 0 })
    runtime.recorder?.refused(event)
  } catch (cause) {
    runtime.onError(cause instanceof Error ? cause : new Error(String(cause)))
  }
}

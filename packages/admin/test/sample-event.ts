import { EXCHANGE_EVENT_VERSION, type ExchangeEvent } from '@prexy/events/exchange'

/** An exchange whose body two rules rewrote. */
export function sampleEvent(changes: Partial<ExchangeEvent> = {}): ExchangeEvent {
  return {
    version: EXCHANGE_EVENT_VERSION,
    exchangeId: 1,
    connectionId: 1,
    requestNumber: 1,
    startedAtMs: 1_700_000_000_000,
    timings: { requestHeadUs: 10, upstreamConnectedUs: 500, responseHeadUs: 2_400, endUs: 6_000 },
    method: 'GET',
    host: 'shop.example',
    target: '/',
    status: 200,
    route: 'shop',
    upstream: '127.0.0.1:9000',
    clientInBytes: 100,
    clientOutBytes: 2_000,
    upstreamOutBytes: 0,
    upstreamInBytes: 1_800,
    outcome: 'completed',
    detail: undefined,
    treatment: {
      kind: 'rewritten',
      decode: 'identity',
      encode: 'identity',
      stats: { hits: [2, 0], overflows: 1, peakHeldBytes: 40, inBytes: 1_800, outBytes: 1_790 },
    },
    ...changes,
  }
}

import { readProxyHeader } from '@prexy/http/proxy-protocol'
import { Http2Acceptor } from '@prexy/net/http2-session'
import type { Service } from '@prexy/net/listener'
import { isTrusted } from './entrance.ts'
import type { ListenAddress } from './proxy-config.ts'
import type { ProxyRuntime } from './runtime.ts'

/** Lines of a header block beyond `maxHeaderCount` that are read, to answer 431 instead of resetting the stream. */
const HTTP2_SPARE_LINES = 64
/** What RFC 9113 §6.5.2 counts for a line beside its octets. */
const HTTP2_LINE_BYTES = 32
/** Octets of one request that may come before its upstream took any. That of RFC 9113 §6.9.2. */
const HTTP2_STREAM_WINDOW_BYTES = 65_535

/** Of connections without a good PROXY header one is told of in this time, since anybody can make them. */
const FAULT_REPORT_MS = 1_000

/** What is spoken on an address. */
export function serviceOf({ unix, tls, http2, proxyProtocol }: ListenAddress, runtime: ProxyRuntime): Service {
  const { life, limits, requestLimits, timeouts, onError } = runtime
  const { wheel, ticketKeys } = life
  let toldAt = Number.NEGATIVE_INFINITY
  const lines = requestLimits.maxHeaderCount + HTTP2_SPARE_LINES
  return {
    ...(http2 === false
      ? {}
      : {
          http2: new Http2Acceptor(
            {
              maxConcurrentStreams: limits.maxHttp2Streams,
              maxHeaderListBytes:
                requestLimits.maxHeaderBytes + requestLimits.maxTargetBytes + HTTP2_LINE_BYTES * lines,
              maxHeaderPairs: lines,
              streamWindowBytes: HTTP2_STREAM_WINDOW_BYTES,
              sessionWindowBytes: limits.maxHttp2WindowBytes,
            },
            onError,
          ),
        }),
    ...(proxyProtocol === true
      ? {
          preamble: {
            accepts: (address) => (unix === undefined ? isTrusted(address, runtime) : runtime.trustsUnixSockets),
            read: readProxyHeader,
            timeoutMs: timeouts.clientHandshakeMs,
            wheel,
            onFault(address, reason) {
              const now = performance.now()
              if (now - toldAt < FAULT_REPORT_MS) return
              toldAt = now
              onError(new Error(`a connection of ${address ?? 'an unknown address'} was closed: ${reason}`))
            },
          },
        }
      : {}),
    ...(tls === undefined ? {} : { tls: { ticketKeys, ...tls, handshakeMs: timeouts.clientHandshakeMs, wheel } }),
  }
}

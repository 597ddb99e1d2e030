/** TLS towards a server: what is shared by all connections to it. */

import { type IpcSocketConnectOpts, isIP, type TcpSocketConnectOpts } from 'node:net'
import {
  checkServerIdentity,
  connect,
  type ConnectionOptions,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
} from 'node:tls'

export interface ClientTlsInit {
  /** The name that the server's certificate must be for, which it is told as well (SNI) unless it is an address. */
  readonly serverName: string
  /** PEM: who may sign certificates. Absent: the authorities that the runtime knows. */
  readonly ca?: string
  /** PEM: our certificate, with those between it and its authority behind it, and its key. Both or none. */
  readonly cert?: string
  readonly key?: string
  /** True takes any certificate from anybody: the connection is encrypted, but nobody knows towards whom. */
  readonly insecureAcceptAnyCertificate?: boolean
}

export class ClientTls {
  readonly #serverName: string
  readonly #context: SecureContext
  readonly #verifies: boolean
  /** Of the last handshake: the next one is shorter by it (RFC 8446 §2.2). */
  #session: Buffer | undefined = undefined

  /** Throws where a certificate or key does not parse, or the two do not belong together. */
  constructor(init: ClientTlsInit) {
    const { ca, cert, key } = init
    this.#serverName = init.serverName
    this.#verifies = init.insecureAcceptAnyCertificate !== true
    this.#context = createSecureContext({
      minVersion: 'TLSv1.2',
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    })
  }

  /** @internal A socket that connects; `secureConnect` tells that the server proved who it is. */
  connect(where: TcpSocketConnectOpts | IpcSocketConnectOpts, protocols: readonly string[]): TLSSocket {
    // Half-open like a plain connection; the declarations of node:tls leave the field out.
    const options: ConnectionOptions & { readonly allowHalfOpen: boolean } = {
      ...where,
      allowHalfOpen: true,
      secureContext: this.#context,
      // RFC 6066 §3: an address is not told; certificates are checked against it all the same.
      servername: isIP(this.#serverName) === 0 ? this.#serverName : '',
      checkServerIdentity: (_host, certificate) => checkServerIdentity(this.#serverName, certificate),
      ...(this.#session === undefined ? {} : { session: this.#session }),
      ALPNProtocols: [...protocols],
      rejectUnauthorized: this.#verifies,
    }
    const socket = connect(options)
    socket.on('session', (session) => {
      this.#session = session
    })
    return socket
  }
}

/** Which check of a handshake failed, by the codes of Node and OpenSSL, in words. */
const TLS_FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed; name its authority with caFile',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an authority that is not trusted; name it with caFile',
  UNABLE_TO_GET_ISSUER_CERT: 'the authority of its certificate is not known; name it with caFile',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the authority of its certificate is not known; name it with caFile',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'the authority of its certificate is not known, or it does not send the certificates in between',
  CERT_UNTRUSTED: 'its certificate is not trusted',
  CERT_REVOKED: 'its certificate was revoked',
  CERT_SIGNATURE_FAILURE: 'the signature of its certificate is wrong',
  CERT_CHAIN_TOO_LONG: 'its chain of certificates is too long',
  INVALID_CA: 'its certificate was signed by one that may not sign',
  INVALID_PURPOSE: 'its certificate is not one for servers',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS on this port',
  ERR_SSL_HTTP_REQUEST: 'it does not speak TLS on this port',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'it speaks no TLS version from 1.2 on',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'it speaks no TLS version from 1.2 on',
  ERR_SSL_NO_PROTOCOLS_AVAILABLE: 'it speaks no TLS version from 1.2 on',
  ERR_SSL_TLSV1_ALERT_CERTIFICATE_REQUIRED: 'it asks for a certificate of ours; name it with certFile and keyFile',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'it asks for a certificate of ours; name it with certFile and keyFile',
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: 'it refused the handshake; it may want a certificate of ours (certFile)',

  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: 'it does not know the authority of our certificate',
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: 'it refused our certificate',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: 'it refused our certificate',
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: 'our certificate has expired',
  ERR_SSL_TLSV1_UNRECOGNIZED_NAME: 'it does not know the name that it was told (SNI)',
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'it speaks none of the versions of HTTP that it was offered',
}

/** Whether an error is one of TLS, rather than of the way to the server. */
export function isTlsFault(error: Error | undefined): boolean {
  const code = error !== undefined && 'code' in error && typeof error.code === 'string' ? error.code : ''
  return Object.hasOwn(TLS_FAULTS, code) || code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')
}

/** What went wrong with a connection, in one clause; `undefined` if nothing is known. Names codes, never secrets. */
export function describeConnectFault(error: Error | undefined): string | undefined {
  if (error === undefined) return undefined
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const known = code === undefined ? undefined : TLS_FAULTS[code]
  if (known !== undefined) return `TLS: ${known}${altNames(error)} (${code})`
  // Several addresses were tried: the error of each.
  if (error instanceof AggregateError) {
    const each = error.errors.flatMap((one: unknown) => (one instanceof Error ? [one.message] : []))
    if (each.length > 0) return [...new Set(each)].join('; ')
  }
  return error.message === '' ? code : error.message
}

/** The names that a certificate is for, where they are what is wrong. */
function altNames(error: Error): string {
  if (!('code' in error) || error.code !== 'ERR_TLS_CERT_ALTNAME_INVALID') return ''
  const reason = 'reason' in error && typeof error.reason === 'string' ? error.reason : ''
  return reason === '' ? '' : `: ${reason.replace(/\.$/, '')}`
}

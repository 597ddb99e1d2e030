/** Where clients come in: addresses, and what is spoken there. */
import { z } from 'zod'

export interface RawCertificate {
  readonly certFile: string
  readonly keyFile: string
}

export interface RawListenTls {
  readonly certificates: readonly RawCertificate[]
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3'
  readonly ciphers?: string
}

export interface RawListen {
  readonly address: number | string
  readonly mode?: string
  readonly owner?: string
  readonly name?: string
  readonly tls?: RawListenTls
  readonly http2?: boolean
  readonly redirectPort?: number
  readonly proxyProtocol?: boolean
}

const ADDRESS = /^(\[[0-9A-Fa-f:.]+\]|[^\s:/[\]]*):\d{1,5}$/
const NO_ADDRESS = 'is no address; write it like 8080, 127.0.0.1:8080 or [::1]:8080'

export const listenAddressSchema: z.ZodType<number | string> = z.union([
  z.int().min(0).max(65_535),
  z.string().regex(ADDRESS, NO_ADDRESS),
])

/** Longest path of a socket, in octets: Linux takes 107, and the name under which it is opened has four more. */
export const MAX_SOCKET_PATH_BYTES = 103

function socketFault(text: string): string | undefined {
  if (!text.startsWith('unix:') || ADDRESS.test(text)) return undefined
  if (!/^unix:\/[^\0]*[^/\0]$/.test(text)) {
    return `${JSON.stringify(text)} is no socket; write its whole path, like unix:/run/prexy/prexy.sock`
  }
  const bytes = new TextEncoder().encode(text).length - 'unix:'.length
  return bytes > MAX_SOCKET_PATH_BYTES ? `the path of a socket has at most ${MAX_SOCKET_PATH_BYTES} bytes` : undefined
}

const anyAddress: z.ZodType<number | string> = z.union([
  z.int().min(0).max(65_535),
  z
    .string()
    .regex(new RegExp(`^unix:|${ADDRESS.source}`), NO_ADDRESS)
    .superRefine((text, context) => {
      const message = socketFault(text)
      if (message !== undefined) context.addIssue({ code: 'custom', message })
    }),
])

const fileName = z.string().min(1).max(4_096)

export const certificateSchema: z.ZodType<RawCertificate> = z
  .strictObject({
    certFile: fileName.describe(
      'A PEM file with the certificate, and behind it those between it and its authority. Relative to this file.',
    ),
    keyFile: fileName.describe('A PEM file with its key, without a password, readable to prexy only.'),
  })
  .describe('A certificate and its key.')

export const listenTlsSchema: z.ZodType<RawListenTls> = z
  .strictObject({
    certificates: z
      .array(certificateSchema)
      .min(1)
      .max(10_000)
      .readonly()
      .describe(
        'Each is shown to clients that ask for one of its names, exact or by wildcard; the first also to those that ' +
          'ask for none, or for one that no certificate is for.',
      ),
    minVersion: z
      .enum(['TLSv1.2', 'TLSv1.3'])
      .exactOptional()
      .describe('The oldest version of TLS that is spoken. Without it: `TLSv1.2`.'),
    ciphers: z
      .string()
      .min(1)
      .max(4_096)
      .exactOptional()
      .describe(
        'Cipher suites in the format of OpenSSL. Without it: those of TLS 1.3, and those of TLS 1.2 with forward secrecy ' +
          'and authenticated encryption.',
      ),
  })
  .describe('Speaks TLS. Without it: cleartext.')

export const listenerName: z.ZodType<string> = z
  .string()
  .regex(/^[\w.:[\]-]{1,100}$/, 'is no name of a listener; it has letters, digits and . : - _ [ ]')

/** One entry of `listen`. */
export const listenSchema: z.ZodType<number | string | RawListen> = z.union([
  anyAddress,
  z
    .strictObject({
      address: anyAddress.describe(
        'A port, on every address of the machine, `host:port`, or a socket of this machine, `unix:/run/prexy/prexy.sock`. ' +
          'Port 0 takes a free one.',
      ),
      mode: z
        .string()
        .regex(/^0?[0-7]{3}$/, 'is no mode; write it in quotes, like "0660"')
        .exactOptional()
        .describe(
          'Of a socket: who may connect, as `chmod` takes it, in quotes. Without it: `"0600"`, the user of prexy.',
        ),
      owner: z
        .string()
        .regex(
          /^(?=.)[A-Za-z0-9_.-]{0,32}(:[A-Za-z0-9_.-]{1,32})?$/,
          'is no owner; write it like www-data, :www-data or 33:33',
        )
        .exactOptional()
        .describe('Of a socket: user and group, as `chown` takes them. Without it: those of prexy.'),
      name: listenerName
        .exactOptional()
        .describe(
          'What `listener` of sites and routes calls the address. Several addresses may have one name. Without it: only ' +
            'sites and routes without `listener` are served here.',
        ),
      tls: listenTlsSchema.exactOptional(),
      http2: z
        .boolean()
        .exactOptional()
        .describe('`false` speaks HTTP/1.1 only. Without it: clients may choose HTTP/2, over TLS and in cleartext.'),
      redirectPort: z
        .int()
        .min(1)
        .max(65_535)
        .exactOptional()
        .describe('Answers every request with a redirect (308) to the same host by https on this port, mostly 443.'),
      proxyProtocol: z
        .boolean()
        .exactOptional()
        .describe(
          '`true` takes connections of `trustedProxies` only, and each must begin with a header of the PROXY protocol, ' +
            'version 1 or 2, which says who the client is; see docs/upstreams.md.',
        ),
    })
    .describe('An address and what is spoken there.'),
])

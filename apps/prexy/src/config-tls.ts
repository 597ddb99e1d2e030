/** Certificates of a configuration: judged where they stand, and made ready to be served. */
import type { CertificateFiles, ListenAddress } from '@prexy/config/config'
import { type ConfigProblem, formatPath } from '@prexy/config/problem'
import {
  type Certificate,
  CertificateError,
  CertificateStore,
  cipherFault,
  readCertificate,
} from '@prexy/net/certificates'
import type { ListenAddress as ProxyListen, ListenTlsConfig } from '@prexy/proxy/proxy-config'

/** A warning from this long before a certificate ends. */
const ENDS_SOON_MS = 7 * 86_400_000

/** What is wrong with certificates and their keys, each told of once. */
export function certificateProblems(listen: readonly ListenAddress[], nowMs: number): readonly ConfigProblem[] {
  return listen.flatMap(({ tls }) => {
    if (tls === undefined) return []
    const problems = tls.certificates.flatMap((files) => problemsOf(files, nowMs))
    const first = tls.certificates.at(0)
    const fault = tls.ciphers === undefined ? undefined : cipherFault(tls.ciphers)
    if (first === undefined || fault === undefined) return problems
    const { source, path } = first.place
    const place = [...path.slice(0, -2), 'ciphers']
    const hint = 'write it like ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256, or leave it out'
    return [
      ...problems,
      { severity: 'error', position: source.positionOf(place), path: formatPath(place), message: fault, hint },
    ]
  })
}

function problemsOf(files: CertificateFiles, nowMs: number): ConfigProblem[] {
  const problem = (
    severity: ConfigProblem['severity'],
    field: 'certFile' | 'keyFile',
    message: string,
    hint: string | undefined,
  ): ConfigProblem => {
    const { source, path } = files.place
    const place = [...path, field]
    return { severity, position: source.positionOf(place), path: formatPath(place), message, hint }
  }
  let certificate: Certificate
  try {
    certificate = readCertificate(files.cert, files.key)
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error
    return [problem('error', error.part === 'key' ? 'keyFile' : 'certFile', error.message, undefined)]
  }
  const { validFromMs, validToMs } = certificate
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
  if (validToMs < nowMs) return [problem('warning', 'certFile', `expired on ${day(validToMs)}`, RENEW)]
  if (validFromMs > nowMs) {
    return [problem('warning', 'certFile', `is not valid before ${day(validFromMs)}`, 'clients refuse it until then')]
  }
  if (validToMs - nowMs < ENDS_SOON_MS) return [problem('warning', 'certFile', `expires on ${day(validToMs)}`, RENEW)]
  return []
}

const RENEW = 'renew it; clients refuse it from then on'

/** An address as a proxy takes it, without its host. Its certificates have no problems that are errors. */
export function listenOf({
  port,
  name,
  tls,
  http2,
  redirectPort,
  proxyProtocol,
}: ListenAddress): Omit<ProxyListen, 'host'> {
  return {
    port,
    ...(name === undefined ? {} : { name }),
    ...(http2 === undefined ? {} : { http2 }),
    ...(redirectPort === undefined ? {} : { redirectPort }),
    ...(proxyProtocol === undefined ? {} : { proxyProtocol }),
    ...(tls === undefined ? {} : { tls: tlsOf(tls) }),
  }
}

function tlsOf({ certificates, minVersion, ciphers }: NonNullable<ListenAddress['tls']>): ListenTlsConfig {
  const [first, ...others] = certificates.map(({ cert, key }) => readCertificate(cert, key))
  if (first === undefined) throw new Error('the schema asks for at least one certificate')
  return {
    certificates: new CertificateStore([first, ...others]),
    ...(minVersion === undefined ? {} : { minVersion }),
    ...(ciphers === undefined ? {} : { ciphers }),
  }
}

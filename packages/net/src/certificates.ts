/** Certificates of a server: read, judged, and picked by the name that a client asks for. */

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'

/** Which of the two files is at fault. */
export type CertificatePart = 'certificate' | 'key'

export class CertificateError extends Error {
  readonly part: CertificatePart

  constructor(part: CertificatePart, message: string) {
    super(message)
    this.name = 'CertificateError'
    this.part = part
  }
}

/** A certificate with its key, ready to be served. */
export interface Certificate {
  /** Subject alternative names of kind DNS, in lower case; `*.example.org` stands for one label. Without any: the CN. */
  readonly names: readonly string[]
  /** Those of kind IP address, as node:crypto writes them. */
  readonly addresses: readonly string[]
  /** Milliseconds since the epoch. */
  readonly validFromMs: number
  readonly validToMs: number
  /** Of its key, as node:crypto calls it: `ec`, `rsa`. */
  readonly keyKind: string
  /** SHA-256, by which a change is seen. */
  readonly fingerprint: string
  /** @internal */
  readonly cert: string
  /** @internal */
  readonly key: string
  /** @internal Not of the listener's options, which SNI does not change. */
  readonly context: SecureContext
}

/**
 * Reads a chain (PEM, the server's certificate first) and its key (PEM). Throws a CertificateError that says which of
 * the two is wrong, and never what a key holds.
 */
export function readCertificate(cert: string, key: string): Certificate {
  const leaf = readLeaf(cert)
  const privateKey = readKey(key)
  if (!leaf.checkPrivateKey(privateKey)) {
    throw new CertificateError('key', 'the key is not that of the first certificate')
  }
  let context: SecureContext
  try {
    context = createSecureContext({ cert, key })
  } catch (error) {
    throw new CertificateError('certificate', `the certificate cannot be served: ${messageOf(error)}`)
  }
  const alternatives = alternativeNames(leaf.subjectAltName)
  const common = /(?:^|\n)CN=([^\n]+)/.exec(leaf.subject)?.[1]
  const names = alternatives.names.length > 0 || common === undefined ? alternatives.names : [common.toLowerCase()]
  return {
    names,
    addresses: alternatives.addresses,
    validFromMs: Date.parse(leaf.validFrom),
    validToMs: Date.parse(leaf.validTo),
    keyKind: privateKey.asymmetricKeyType ?? '',
    fingerprint: leaf.fingerprint256,
    cert,
    key,
    context,
  }
}

/** Why OpenSSL does not take a list of ciphers. */
export function cipherFault(ciphers: string): string | undefined {
  try {
    createSecureContext({ ciphers })
    return undefined
  } catch (error) {
    return `is no list of ciphers that is known: ${messageOf(error)}`
  }
}

function readLeaf(cert: string): X509Certificate {
  // Every certificate of the chain is read, so that a broken one behind the first is told of here.
  const blocks = cert.match(/-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]+-----END (?:TRUSTED )?CERTIFICATE-----/g)
  if (blocks === null) {
    throw new CertificateError('certificate', 'there is no certificate in PEM form (-----BEGIN CERTIFICATE-----)')
  }
  const chain = blocks.map((block, index) => {
    try {
      return new X509Certificate(block)
    } catch (error) {
      throw new CertificateError('certificate', `certificate ${index + 1} does not parse: ${messageOf(error)}`)
    }
  })
  return chain[0]
}

function readKey(key: string): KeyObject {
  if (!key.includes('PRIVATE KEY-----')) {
    throw new CertificateError('key', 'there is no key in PEM form (-----BEGIN PRIVATE KEY-----)')
  }
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type:.*ENCRYPTED/m.test(key)) {
    throw new CertificateError(
      'key',
      'the key is encrypted; store it without a passphrase and keep it readable to prexy only',
    )
  }
  try {
    return createPrivateKey(key)
  } catch (error) {
    throw new CertificateError('key', `the key does not parse: ${messageOf(error)}`)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** `DNS:a.example, DNS:"odd, name", IP Address:192.0.2.7` as node:crypto writes it. */
function alternativeNames(text: string | undefined): { names: string[]; addresses: string[] } {
  const names: string[] = []
  const addresses: string[] = []
  for (const [, kind, quoted, plain] of (text ?? '').matchAll(/(DNS|IP Address):(?:"((?:[^"\\]|\\.)*)"|([^,]*))/g)) {
    const value = quoted ?? plain
    if (kind === 'DNS') names.push(value.toLowerCase())
    else addresses.push(value.toLowerCase())
  }
  return { names, addresses }
}

/** Whether a certificate is for the host: a name in lower case, or an address without brackets (RFC 6125 §6.4.3). */
export function covers({ names, addresses }: Certificate, host: string): boolean {
  if (names.includes(host)) return true
  const dot = host.indexOf('.')
  if (dot > 0 && names.includes(`*${host.slice(dot)}`)) return true
  return addresses.includes(host)
}

/**
 * The certificates of a listener. The first is served to clients that name no host, or one that none is for. They may be
 * replaced at any time: a handshake sees the old ones or the new ones, and connections live on.
 */
export class CertificateStore {
  #certificates: readonly [Certificate, ...Certificate[]]
  #exact: ReadonlyMap<string, Certificate>
  #wild: ReadonlyMap<string, Certificate>
  readonly #watchers = new Set<() => void>()

  constructor(certificates: readonly [Certificate, ...Certificate[]]) {
    this.#certificates = certificates
    this.#exact = byName(certificates, (name) => !name.startsWith('*.'))
    this.#wild = byName(certificates, (name) => name.startsWith('*.'))
  }

  get certificates(): readonly Certificate[] {
    return this.#certificates
  }

  get default(): Certificate {
    return this.#certificates[0]
  }

  replace(certificates: readonly [Certificate, ...Certificate[]]): void {
    this.#certificates = certificates
    this.#exact = byName(certificates, (name) => !name.startsWith('*.'))
    this.#wild = byName(certificates, (name) => name.startsWith('*.'))
    for (const changed of this.#watchers) changed()
  }

  /** The certificate for a name: exact, else by wildcard, else undefined. In any case of letters. */
  find(name: string): Certificate | undefined {
    const host = name.toLowerCase()
    const dot = host.indexOf('.')
    return this.#exact.get(host) ?? (dot > 0 ? this.#wild.get(`*${host.slice(dot)}`) : undefined)
  }

  /** What is served to a client that asked for this name, if it asked. */
  pick(name: string | undefined): Certificate {
    return (name === undefined ? undefined : this.find(name)) ?? this.default
  }

  /** @internal Calls `changed` after each replacement. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed)
    return () => {
      this.#watchers.delete(changed)
    }
  }
}

/** Of two certificates for one name, the earlier. */
function byName(
  certificates: readonly Certificate[],
  isKind: (name: string) => boolean,
): ReadonlyMap<string, Certificate> {
  const map = new Map<string, Certificate>()
  for (const certificate of certificates) {
    for (const name of certificate.names) if (isKind(name) && !map.has(name)) map.set(name, certificate)
  }
  return map
}

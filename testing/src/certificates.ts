/** Certificates for tests, made by the `openssl` of the system. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TestCertificate {
  readonly cert: string
  readonly key: string
}

export interface CertificateOptions {
  /** Of the names. Default `DNS`. */
  readonly kind?: 'DNS' | 'IP'
  /** From now; negative for one that has expired. Default 30. */
  readonly days?: number
  readonly algorithm?: 'ec' | 'rsa'
}

/** Self-signed, for these names; the first is the subject. */
export function makeCertificate(names: readonly string[], options: CertificateOptions = {}): TestCertificate {
  const { kind = 'DNS', days = 30, algorithm = 'ec' } = options
  const folder = mkdtempSync(join(tmpdir(), 'prexy-cert-'))
  const cert = join(folder, 'cert.pem')
  const key = join(folder, 'key.pem')
  const keyType = algorithm === 'ec' ? ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'] : ['rsa:2048']
  const alternatives = names.map((name) => `${kind}:${name}`).join(',')
  const subject = ['-subj', `/CN=${names[0]}`, '-addext', `subjectAltName=${alternatives}`]
  const files = ['-keyout', key, '-out', cert]
  try {
    const made = [
      'req',
      '-x509',
      '-newkey',
      ...keyType,
      '-nodes',
      ...files,
      '-days',
      String(Math.max(days, 1)),
      ...subject,
    ]
    execFileSync('openssl', made, { stdio: 'ignore' })
    if (days < 0) {
      // `openssl req` of OpenSSL 3.0 makes none that has ended; a second signature with times of its own does.
      const request = join(folder, 'request.pem')
      execFileSync('openssl', ['x509', '-x509toreq', '-in', cert, '-signkey', key, '-out', request], {
        stdio: 'ignore',
      })
      const times = ['-days', String(days)]
      execFileSync('openssl', ['x509', '-req', '-in', request, '-signkey', key, '-out', cert, ...times], {
        stdio: 'ignore',
      })
    }
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

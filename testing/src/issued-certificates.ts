/** Certificates that one authority signs, with dates of one's own, made by the `openssl` of the system. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface IssuedCertificate {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

export interface IssueInit {
  /** As openssl writes them: `DNS:origin.test,IP:127.0.0.1`. */
  readonly names: string
  /** Absent: signed by itself. */
  readonly authority?: IssuedCertificate
  /** `YYYYMMDDHHMMSSZ`, both or none. Absent: from yesterday for a month. */
  readonly from?: string
  readonly to?: string
  /** True: it may sign others. */
  readonly signs?: boolean
}

/** A certificate with a new key on P-256. */
export function issueCertificate({ names, authority, from, to, signs }: IssueInit): IssuedCertificate {
  const folder = mkdtempSync(join(tmpdir(), 'prexy-certificate-'))
  const at = (file: string): string => join(folder, file)
  const openssl = (...args: readonly string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  }
  try {
    writeFileSync(
      at('conf'),
      `[ca]\ndefault_ca = me\n[me]\nnew_certs_dir = .\ndatabase = index\nserial = serial\npolicy = any\ndefault_md = sha256\n` +
        `[any]\ncommonName = supplied\n[ext]\nsubjectAltName = ${names}\n` +
        `basicConstraints = critical,CA:${signs === true ? 'TRUE' : 'FALSE'}\n`,
    )
    writeFileSync(at('index'), '')
    writeFileSync(at('serial'), `${Date.now().toString(16).padStart(16, '0')}\n`)
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    openssl('req', '-new', ...curve, '-keyout', 'key', '-out', 'request', '-subj', '/CN=prexy test')
    writeFileSync(at('ca.cert'), authority?.cert ?? '')
    writeFileSync(at('ca.key'), authority?.key ?? '')
    const signer =
      authority === undefined ? ['-selfsign', '-keyfile', 'key'] : ['-cert', 'ca.cert', '-keyfile', 'ca.key']
    const dates = from === undefined || to === undefined ? ['-days', '30'] : ['-startdate', from, '-enddate', to]
    const common = ['-config', 'conf', '-extensions', 'ext', '-batch', '-notext', '-in', 'request', '-out', 'cert']
    openssl('ca', ...signer, ...dates, ...common)
    return { cert: readFileSync(at('cert'), 'utf8'), key: readFileSync(at('key'), 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

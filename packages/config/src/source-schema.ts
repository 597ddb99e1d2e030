/** A configuration that is kept in a bucket of a NATS cluster, for a fleet of replicas. */
import { z } from 'zod'
import { besideFile, type ConfigFiles, decodeText } from './files.ts'
import { type ConfigProblem, formatProblem } from './problem.ts'
import { type Environment, expandSecrets } from './secrets.ts'
import { readYaml } from './yaml-source.ts'

export interface RawSource {
  readonly servers: string | readonly string[]
  readonly bucket: string
  readonly key?: string
  readonly user?: string
  readonly password?: string
  readonly token?: string
  readonly credentialsFile?: string
  readonly tls?: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string }
  readonly cacheFile?: string
}

/** `key` where a source says none. */
export const DEFAULT_SOURCE_KEY = 'config'

const server = z
  .string()
  .regex(
    /^(nats|tls):\/\/(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:\d{1,5})?$/,
    'is no server of NATS; write it like nats://10.0.0.1:4222, or tls:// where it speaks TLS',
  )
const bucketName = z.string().regex(/^[A-Za-z0-9_-]{1,100}$/, 'is no name of a bucket; it has letters, digits, _ and -')
const keyName = z
  .string()
  .regex(/^[A-Za-z0-9_=-][A-Za-z0-9_=.-]{0,199}$/, 'is no key; it has letters, digits and _ = . -')
const filePath = z.string().min(1).max(4096)

/** `nats://HOST:PORT/BUCKET/KEY`, several servers with commas between them. */
const SHORT = /^((?:nats|tls):\/\/)([^/]+)\/([^/]+)(?:\/([^/]+))?$/

const sourceFields: z.ZodType<RawSource> = z
  .strictObject({
    servers: z
      .union([server, z.array(server).min(1).readonly()])
      .describe(
        'Servers of the cluster, `nats://10.0.0.1:4222`; one is enough to find the others. `tls://` speaks TLS.',
      ),
    bucket: bucketName.describe('The bucket (JetStream key-value store).'),
    key: keyName.exactOptional().describe('The key whose value is the configuration, as YAML.'),
    user: z.string().min(1).exactOptional().describe('A user name; may be `${env:NAME}`.'),
    password: z.string().min(1).exactOptional().describe('Its password, as `${env:NAME}`.'),
    token: z.string().min(1).exactOptional().describe('A token, as `${env:NAME}`.'),
    credentialsFile: filePath.exactOptional().describe('A file of credentials (`.creds`), as nsc makes them.'),
    tls: z
      .strictObject({
        caFile: filePath.exactOptional().describe('PEM: who may sign the certificates of the servers.'),
        certFile: filePath.exactOptional().describe('PEM: our certificate, where the servers ask for one.'),
        keyFile: filePath.exactOptional().describe('PEM: its key.'),
      })
      .exactOptional()
      .describe('Speaks TLS with every server. Without it: with those that are written `tls://` or ask for it.'),
    cacheFile: filePath
      .exactOptional()
      .describe(
        'A file that keeps a copy of what is served, for a start while the cluster cannot be reached. Without it: such a ' +
          'start fails.',
      ),
  })
  .describe('A bucket.')

export const sourceSchema: z.ZodType<string | RawSource> = z
  .union([
    z.string().superRefine((text, context) => {
      if (sourceFields.safeParse(fromShort(text)).success) return
      const message = `${JSON.stringify(text)} is no source; write it like nats://10.0.0.1:4222/prexy/config`
      context.addIssue({ code: 'custom', message })
    }),
    sourceFields,
  ])
  .describe(
    'Where the rest of the configuration is kept for a fleet of replicas: `nats://HOST:4222/BUCKET/KEY`, or a mapping. What ' +
      'stands there is read as if it were included here, and anew whenever it changes; see docs/fleet.md. It stands in the ' +
      'file that prexy is started with.',
  )

function fromShort(text: string): RawSource | undefined {
  const match = SHORT.exec(text)
  if (match === null) return undefined
  const [, scheme, hosts, bucket, key] = match
  return { servers: hosts.split(',').map((host) => `${scheme}${host}`), bucket, ...(key === undefined ? {} : { key }) }
}

/** Where a configuration is kept, ready to be asked for. */
export interface SourceSettings extends Omit<RawSource, 'servers' | 'key'> {
  readonly servers: readonly string[]
  readonly key: string
  /** What messages and positions call it. */
  readonly name: string
}

/** What the document is called that a file says to be elsewhere; undefined if it says none that is well-formed. */
export function sourceName(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('source' in value)) return undefined
  const raw = typeof value.source === 'string' ? fromShort(value.source) : value.source
  const parsed = sourceFields.safeParse(raw)
  return parsed.success ? nameOf(parsed.data) : undefined
}

function nameOf({ bucket, key = DEFAULT_SOURCE_KEY }: RawSource): string {
  return `nats://${bucket}/${key}`
}

/** Whether a path is one of those names. */
export function isSourceName(path: string): boolean {
  return path.startsWith('nats://')
}

/** `nats://HOST:4222/BUCKET/KEY`; undefined for other texts. */
export function sourceFromUrl(url: string): SourceSettings | undefined {
  const parsed = sourceFields.safeParse(fromShort(url))
  return parsed.success ? settingsOf(parsed.data) : undefined
}

/**
 * The source that the file of a configuration says; undefined if it says none. Faults of the file itself are left to
 * those who read all of it; `problems` has those of secrets.
 */
export function readSource(
  file: string,
  files: ConfigFiles,
  environment: Environment,
): { readonly settings: SourceSettings | undefined; readonly problems: readonly string[] } {
  const nothing = { settings: undefined, problems: [] }
  const content = files.read(file)
  const decoded = 'bytes' in content ? decodeText(content.bytes) : content
  // A file of ten thousand sites is not parsed twice for a word that it has not.
  if (!('text' in decoded) || !/^(?:source|["']source["'])\s*:/m.test(decoded.text)) return nothing
  const document = readYaml(decoded.text, file)
  const { value } = document
  if (typeof value !== 'object' || value === null || !('source' in value)) return nothing
  const parsed = sourceFields.safeParse(typeof value.source === 'string' ? fromShort(value.source) : value.source)
  if (!parsed.success) return nothing
  const problems: ConfigProblem[] = []
  const secret = (field: 'user' | 'password' | 'token'): Partial<RawSource> => {
    const text = parsed.data[field]
    if (text === undefined) return {}
    const expanded = expandSecrets(text, environment)
    for (const { message, hint } of expanded.faults) {
      const position = document.positionOf(['source', field])
      problems.push({ severity: 'error', position, path: `source.${field}`, message, hint })
    }
    return { [field]: expanded.text }
  }
  const beside = (path: string): string => besideFile(file, path)
  const { credentialsFile, cacheFile, tls } = parsed.data
  const settings = settingsOf({
    ...parsed.data,
    ...secret('user'),
    ...secret('password'),
    ...secret('token'),
    ...(credentialsFile === undefined ? {} : { credentialsFile: beside(credentialsFile) }),
    ...(cacheFile === undefined ? {} : { cacheFile: beside(cacheFile) }),
    ...(tls === undefined
      ? {}
      : { tls: Object.fromEntries(Object.entries(tls).map(([name, path]) => [name, beside(path)])) }),
  })
  return { settings, problems: problems.map(formatProblem) }
}

function settingsOf(raw: RawSource): SourceSettings {
  const servers = typeof raw.servers === 'string' ? [raw.servers] : raw.servers
  return { ...raw, servers, key: raw.key ?? DEFAULT_SOURCE_KEY, name: nameOf(raw) }
}

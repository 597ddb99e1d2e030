/** curl as a client that nobody here wrote. */
import { execFileSync, spawn } from 'node:child_process'

/** One transfer of a run: what curl's `--write-out` tells of it. */
export interface CurlTransfer {
  /** 0 when no response came. */
  readonly status: number
  /** Connections opened for it; 0: an earlier one was used again. */
  readonly newConnections: number
  /** Octets of the body as they came, before decoding. */
  readonly wireBytes: number
  /** Of the last response, by name in lower case: the values of its lines in order. */
  readonly fields: Readonly<Record<string, readonly string[] | undefined>>
  /** The first value. */
  value(lowerName: string): string | undefined
}

export interface CurlResult {
  /** curl's exit status: 0 is a whole response, 18 a short one, 56 a connection that broke. */
  readonly exit: number | null
  /** In the order in which they ended. */
  readonly transfers: readonly CurlTransfer[]
  /** The only one, or the last. */
  readonly last: CurlTransfer
  /** What curl wrote to standard output, decoded if it was told to. */
  readonly body: Buffer
  /** Everything else that it said: with `-v`, what went on. */
  readonly told: string
}

export interface CurlInit {
  /** What `-T -` and `--data-binary @-` read. */
  readonly input?: Uint8Array
  /** Takes the body piece by piece, which `result` then lacks. */
  readonly onBody?: (chunk: Uint8Array) => void
}

const MARK = '\n@@ transfer @@\n'
const FIELDS_MARK = '\n@@ fields @@\n'
const END_MARK = '\n@@ end @@\n'

/** Runs curl to its end, without a configuration file and without proxies of the environment. */
export async function curl(args: readonly string[], init: CurlInit = {}): Promise<CurlResult> {
  const writeOut = `%{stderr}${MARK}%{json}${FIELDS_MARK}%{header_json}${END_MARK}`
  const child = spawn('curl', ['-q', '-s', '--noproxy', '*', '--max-time', '60', '-w', writeOut, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // curl need not read it all: it may have its answer already.
  child.stdin.on('error', () => {})
  child.stdin.end(init.input)
  const parts: Buffer[] = []
  let told = ''
  child.stdout.on('data', (chunk: Buffer) => {
    if (init.onBody === undefined) parts.push(chunk)
    else init.onBody(chunk)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text
  })
  const exit = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const transfers = told.split(MARK).slice(1).map(parseTransfer)
  return { exit, transfers, last: transfers.at(-1) ?? NO_TRANSFER, body: Buffer.concat(parts), told }
}

/** Whether `curl --version` names the feature: `brotli`, `zstd`, `libz`. */
export function curlHas(feature: string): boolean {
  const text = execFileSync('curl', ['-q', '--version'], { encoding: 'utf8' })
  return new RegExp(`^Features:.* ${feature}( |$)`, 'm').test(text)
}

const NO_TRANSFER: CurlTransfer = { status: 0, newConnections: 0, wireBytes: 0, fields: {}, value: () => undefined }

function parseTransfer(text: string): CurlTransfer {
  // Whatever else curl says comes before the first mark and behind the last.
  const [told, fieldsText] = text.split(END_MARK)[0].split(FIELDS_MARK)
  const { http_code: status, num_connects: newConnections, size_download: wireBytes } = JSON.parse(told)
  const fields: CurlTransfer['fields'] = JSON.parse(fieldsText)
  return { status, newConnections, wireBytes, fields, value: (lowerName) => fields[lowerName]?.at(0) }
}

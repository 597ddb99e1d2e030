/** Runs the built command line as a person would: its own process, real pipes. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export const BIN = fileURLToPath(new URL('../bin/prexy.mjs', import.meta.url))

export interface Outcome {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

export function startPrexy(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcessWithoutNullStreams {
  const { NO_COLOR: _no, FORCE_COLOR: _force, ...inherited } = process.env
  return spawn(process.execPath, [BIN, ...args], { env: { ...inherited, ...env } })
}

/** Runs to the end. */
export async function runPrexy(
  args: readonly string[],
  input: string | Uint8Array = '',
  env: NodeJS.ProcessEnv = {},
): Promise<Outcome> {
  const child = startPrexy(args, env)
  const output = collect(child)
  // A command that fails early does not read its input.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  return await output
}

/** What the process prints until it ends. */
export async function collect(child: ChildProcessWithoutNullStreams): Promise<Outcome> {
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
  const closed: unknown[] = await once(child, 'close')
  const [code, signal] = closed
  return {
    code: typeof code === 'number' ? code : null,
    signal: typeof signal === 'string' ? signal : null,
    stdout: Buffer.concat(out).toString(),
    stderr: Buffer.concat(err).toString(),
  }
}

/** Resolves with the first match of `pattern` in what the stream prints. */
export function waitFor(stream: NodeJS.ReadableStream, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let text = ''
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const match = pattern.exec(text)
      if (match !== null) resolve(match)
    })
    stream.once('end', () => reject(new Error(`ended without ${String(pattern)}: ${text}`)))
  })
}

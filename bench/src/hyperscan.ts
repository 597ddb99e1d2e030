/** A peer: Hyperscan behind a C program of ours (`bench/native`), compiled on first use and kept in `.build`. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { BenchRule } from './definition.ts'

const HOW_TO_GET = 'it needs a C compiler and the library: apt install gcc libhyperscan-dev'

/** Path of the program; undefined, with a line that says why and how to get it, where it cannot be compiled. */
export function buildHyperscan(root: string): string | undefined {
  const source = join(root, 'bench/native/hyperscan-scan.c')
  const program = join(root, '.build/hyperscan-scan')
  if (existsSync(program) && statSync(program).mtimeMs > statSync(source).mtimeMs) return program
  mkdirSync(join(root, '.build'), { recursive: true })
  const { status, stderr, error } = spawnSync('cc', ['-O2', '-o', program, source, '-lhs'], { encoding: 'utf8' })
  if (status === 0) return program
  process.stdout.write(`bench: Hyperscan is left out: ${HOW_TO_GET}\n${error?.message ?? stderr}\n`)
  return undefined
}

export interface HyperscanScanner {
  readonly version: string
  /** Matches that it reports in the page: every end of every match, so more than there are replacements. */
  readonly matches: number
  readonly compileMs: number
  /** Scans whole pages until so much CPU time has gone; CPU milliseconds per page. */
  scan(milliseconds: number): Promise<number>
  close(): void
}

/** Starts the program over one page. Throws what it says when it does not take the rules. */
export async function startHyperscan(
  program: string,
  rules: readonly BenchRule[],
  page: Uint8Array,
  chunkBytes: number,
): Promise<HyperscanScanner> {
  const folder = mkdtempSync(join(tmpdir(), 'prexy-hyperscan-'))
  try {
    const patterns = join(folder, 'patterns')
    const file = join(folder, 'page')
    writeFileSync(
      patterns,
      rules.map((rule) => `${rule.flags === 'i' ? 1 : 0} ${expression(rule)}\n`).join(''),
      'latin1',
    )
    writeFileSync(file, page)
    const child = spawn(program, [patterns, file, String(chunkBytes)], { stdio: ['pipe', 'pipe', 'pipe'] })
    const nextLine = linesOf(child)
    const [version, matches, compileNs] = (await nextLine()).split(' ')
    return {
      version,
      matches: Number(matches),
      compileMs: Number(compileNs) / 1e6,
      async scan(milliseconds) {
        child.stdin.write(`${milliseconds}\n`)
        const [pages, ns] = (await nextLine()).split(' ')
        return Number(ns) / 1e6 / Number(pages)
      },
      close: () => child.stdin.end(),
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function expression(rule: BenchRule): string {
  return 'regex' in rule ? rule.regex : rule.text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

function linesOf(child: ChildProcess): () => Promise<string> {
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new Error('the scanner did not start')
  let said = ''
  stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  return async () => {
    const { done, value } = await lines.next()
    if (done === true) throw new Error(`hyperscan-scan ended\n${said}`)
    return value
  }
}

/** The man page and the completions, in the programs that they are for. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, test } from 'vitest'
import { allCommands, outlineOf } from '../src/command-outline.ts'
import { completionScript, type Shell } from '../src/completion-scripts.ts'
import { manPage } from '../src/man-page.ts'
import { buildProgram } from '../src/program.ts'
import { runPrexy } from './run-prexy.ts'

const outline = outlineOf(buildProgram({ code: 0, complain() {} }))
const folder = mkdtempSync(join(tmpdir(), 'prexy-completion-'))
afterAll(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, 'prexy.yaml'), '')

function isThere(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined
}

function run(program: string, args: readonly string[], input = ''): string {
  const { stdout, stderr, status } = spawnSync(program, args, {
    input,
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, HOME: folder, TERM: 'dumb' },
  })
  if (status !== 0 && stderr !== '') throw new Error(stderr)
  return stdout
}

/** Completes the last of the words, with the script for the shell; the answers, sorted. */
const COMPLETE: Readonly<Record<Shell, (script: string, words: readonly string[]) => readonly string[]>> = {
  bash(script, words) {
    const list = words.map((word) => `'${word}'`).join(' ')
    const call = `COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _prexy; printf '%s\\n' "\${COMPREPLY[@]}"`
    return lines(run('bash', ['--norc'], `${script}\n${call}\n`))
  },
  zsh(script, words) {
    // The completion system needs a terminal; what it would be told is printed instead.
    const list = words.map((word) => `'${word}'`).join(' ')
    const stubs = `compdef() { : }
_describe() { local -a all; [[ $1 == -o ]] && { shift; all=("\${(@P)2}") } || all=("\${(@P)2}"); for one in "\${all[@]}"; do [[ "\${one%%:*}" == "\${words[CURRENT]}"* ]] && print -r -- "\${one%%:*}"; done; true }
_files() { print -rl -- \${words[CURRENT]}*(N) }
_message() { : }
compadd() { shift; for one in "$@"; do [[ "$one" == "\${words[CURRENT]}"* ]] && print -r -- "$one"; done; true }
`
    return lines(run('zsh', ['-f'], `${stubs}${script}\nwords=(${list}); CURRENT=${words.length}; _prexy\n`))
  },
  fish(script, words) {
    const call = `complete -C ${JSON.stringify(words.join(' '))}`
    const file = join(tmpdir(), `prexy-completion-${process.pid}.fish`)
    writeFileSync(file, `${script}\n${call}\n`)
    try {
      return lines(run('fish', ['--no-config', file])).map((line) => line.split('\t')[0])
    } finally {
      rmSync(file)
    }
  },
}

function lines(output: string): readonly string[] {
  return output.split('\n').filter((line) => line !== '')
}

const QUESTIONS: readonly (readonly [words: readonly string[], wanted: readonly string[]])[] = [
  [['prexy', 'ser'], ['serve']],
  [['prexy', 'serve', '--lo'], ['--log']],
  [
    ['prexy', 'serve', '--log', ''],
    ['json', 'off', 'text'],
  ],
  [['prexy', 'serve', '--log', 'json', 'pre'], ['prexy.yaml']],
  [['prexy', 'import', ''], ['nginx']],
  [['prexy', 'import', 'nginx', '--si'], ['--site']],
  [['prexy', 'import', 'nginx', '--output', 'pre'], ['prexy.yaml']],
  // A value is no command.
  [['prexy', 'try', '--with', 'serve', '--max-c'], ['--max-changes']],
  [['prexy', 'completion', '--he'], ['--help']],
  [['prexy', 'nothing', '--max-b'], []],
]

describe.each(['bash', 'zsh', 'fish'] as const)('%s', (shell) => {
  if (!isThere(shell)) {
    it('completes', (context) => context.skip(`there is no ${shell}; on Debian: apt-get install ${shell}`))
    return
  }
  const script = completionScript(shell, outline)
  test.each(QUESTIONS)('%j', (words, wanted) => {
    expect(COMPLETE[shell](script, words).toSorted()).toEqual(wanted)
  })

  it('offers every command', () => {
    for (const command of allCommands(outline)) {
      const below = command.commands.map(({ name }) => name).toSorted()
      if (below.length === 0) continue
      const found = COMPLETE[shell](script, [...command.path.split(' '), ''])
      for (const name of below) expect([command.path, ...found]).toContain(name)
    }
  })
})

test('the command prints the script, and knows the shells', async () => {
  const { code, stdout } = await runPrexy(['completion', 'bash'])
  expect([code, stdout]).toEqual([0, completionScript('bash', outline)])
  const other = await runPrexy(['completion', 'tcsh'])
  expect([other.code, other.stderr]).toEqual([
    2,
    "prexy: command-argument value 'tcsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish.\n",
  ])
})

describe('the man page', () => {
  const page = manPage(outline, '0.0.0')

  it('has every command and every option', () => {
    for (const { path, options, commands } of allCommands(outline)) {
      if (commands.length === 0) expect(page).toContain(`.SS "${path}"`)
      for (const { names } of options) expect(page).toContain((names.at(-1) ?? '').replaceAll('-', '\\-'))
    }
  })

  if (spawnSync('mandoc', ['-h']).error === undefined) {
    it('has nothing that mandoc warns of', () => {
      const { stdout, stderr } = spawnSync('mandoc', ['-T', 'lint', '-W', 'warning'], { input: page, encoding: 'utf8' })
      expect([stdout, stderr]).toEqual(['', ''])
    })
    it('is read as it was meant', () => {
      const shown = run('mandoc', ['-T', 'ascii', '-O', 'width=200'], page).replaceAll(/.\u0008/g, '')
      expect(shown).toContain('prexy import nginx [options] <file>')
      expect(shown).toContain("$1 is the first group ('' deletes)")
      expect(shown).toContain('FORCE_COLOR')
    })
  } else {
    it('mandoc', (context) => context.skip('there is no mandoc; on Debian: apt-get install mandoc'))
  }

  it('is printed by help --man', async () => {
    const { code, stdout } = await runPrexy(['help', '--man'])
    expect([code, stdout.split('\n')[4]]).toEqual([0, page.split('\n')[4]])
  })
})

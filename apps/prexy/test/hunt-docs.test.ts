/** The console examples of docs/hunt.md, run as they stand there. UPDATE_GOLDEN=1 writes what they print. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { BIN } from './run-prexy.ts'

const docs = join(import.meta.dirname, '../../../docs')
const path = join(docs, 'hunt.md')
const page = readFileSync(path, 'utf8')
const PROMPT = '$ npx --no prexy '

/** Words of a command line; single quotes keep what is inside. */
function words(line: string): readonly string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2])
}

function run(block: string): string {
  const [command] = block.split('\n', 1)
  const { stdout, stderr } = spawnSync(process.execPath, [BIN, ...words(command.slice(PROMPT.length))], {
    cwd: join(docs, 'examples'),
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  return `${command}\n${stdout}${stderr}`.replaceAll(/[ \t]+$/gm, '')
}

test('console examples print what the page says', () => {
  const blocks = [...page.matchAll(/```console\n(\$ npx --no prexy [\s\S]*?)```/g)].map((match) => match[1])
  expect(blocks.length).toBeGreaterThan(3)
  const printed = blocks.map(run)
  if (process.env['UPDATE_GOLDEN'] === '1') {
    writeFileSync(
      path,
      blocks.reduce((text, block, index) => text.replace(block, () => printed[index]), page),
    )
    return
  }
  expect(printed).toEqual(blocks)
})

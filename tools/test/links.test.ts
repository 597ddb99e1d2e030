import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test('every relative link in a Markdown file leads to a file', () => {
  const files = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: ROOT, encoding: 'utf8' }).split('\0')
  const broken = files.filter(Boolean).flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
      .map((match) => match[1])
      .filter((link) => !existsSync(resolve(ROOT, dirname(file), link)))
      .map((link) => `${file}: ${link}`),
  )
  expect(broken).toEqual([])
})

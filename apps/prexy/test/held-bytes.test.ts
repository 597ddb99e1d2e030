/** The bounds of `maxHeldBytes`, which the configuration repeats because it knows nothing of the engine. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { MAX_HELD_BYTES, MIN_HELD_BYTES } from '@prexy/config/config-schema'
import { MAX_MAX_HELD_BYTES, MIN_MAX_HELD_BYTES } from '@prexy/rewrite/rules'
import { answerRewrite } from '../src/debug-rewrite.ts'
import { runCommandLine } from '../src/command-line.ts'
import { runPrexy } from './run-prexy.ts'

const folder = mkdtempSync(join(tmpdir(), 'prexy-held-'))
afterAll(() => rmSync(folder, { recursive: true }))

function configFile(name: string, rewrite: string): string {
  const path = join(folder, name)
  writeFileSync(path, `upstream: http://a\nrules: [{regex: 'a(', with: b}]\nrewrite: ${rewrite}\n`)
  return path
}

test('the configuration has those of the engine', () => {
  expect([MIN_HELD_BYTES, MAX_HELD_BYTES]).toEqual([MIN_MAX_HELD_BYTES, MAX_MAX_HELD_BYTES])
})

test('beyond them, check says the bound, checks the rules all the same, and goes on with the next file', async () => {
  const files = [
    configFile('low.yaml', '{maxHeldBytes: 3}'),
    configFile('high.yaml', `{maxHeldBytes: ${MAX_HELD_BYTES + 1}}`),
    configFile('next.yaml', '{}'),
  ]
  const { code, stdout, stderr } = await runPrexy(['check', ...files])
  expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
  expect(stdout.replaceAll(`${folder}/`, '').replace(/(regex: ).*/g, '$1')).toBe(`low.yaml:2:19: rules[0].regex: 
low.yaml:3:25: rewrite.maxHeldBytes: 3 is too small; the least is 4
low.yaml: not valid: 2 errors
high.yaml:2:19: rules[0].regex: 
high.yaml:3:25: rewrite.maxHeldBytes: 16777217 is too large, the most is 16777216
high.yaml: not valid: 2 errors
next.yaml:2:19: rules[0].regex: 
next.yaml: not valid: 1 error
`)
})

test('serve refuses, too', async () => {
  const { code, stderr } = await runPrexy(['serve', configFile('low.yaml', '{maxHeldBytes: 3}')])
  expect(code).toBe(2)
  expect(stderr).toContain('low.yaml:3:25: rewrite.maxHeldBytes: 3 is too small; the least is 4\n')
})

test('so does the command line', async () => {
  let complaint = ''
  const args = ['replace', '--text', 'a', '--with', 'b', '--max-held-bytes', String(MAX_HELD_BYTES + 1)]
  const code = await runCommandLine(args, (text) => {
    complaint += text
  })
  expect({ code, complaint }).toEqual({
    code: 2,
    complaint: 'prexy: --max-held-bytes 16777217 is too much, the most is 16777216\n',
  })
})

test('so does the driver', () => {
  const question = { rules: [], options: { maxHeldBytes: MAX_HELD_BYTES + 1 }, chunks: [] }
  expect(() => answerRewrite(question)).toThrow('maxHeldBytes is 16777217, not a whole number from 4 to 16777216')
})

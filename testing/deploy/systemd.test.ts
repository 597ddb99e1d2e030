/** The unit for systemd: that systemd understands all of it, and how exposed it finds the service. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { missingPrograms } from '../src/programs.ts'

const UNIT = fileURLToPath(new URL('../../deploy/systemd/prexy.service', import.meta.url))
/** Of 10; systemd calls what is below 2 "OK". */
const MAX_EXPOSURE = 2

const missing = missingPrograms('systemd-analyze')
if (missing !== undefined) process.stderr.write(`skipped: the unit for systemd: ${missing}\n`)

describe.skipIf(missing !== undefined)('the unit for systemd', () => {
  const work = mkdtempSync(join(tmpdir(), 'prexy-unit-'))
  const unit = join(work, 'prexy.service')
  // Systemd wants the program to be there.
  writeFileSync(unit, readFileSync(UNIT, 'utf8').replace('/usr/bin/prexy', process.execPath))
  afterAll(() => rmSync(work, { recursive: true, force: true }))

  test('is understood without a complaint', () => {
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' })
    expect(stderr.split('\n').filter((line) => line.includes('prexy.service'))).toEqual([])
    expect(status).toBe(0)
  })

  test('leaves the service little to do harm with', () => {
    const report = execFileSync('systemd-analyze', ['security', '--offline=true', '--no-pager', unit], {
      encoding: 'utf8',
    })
    const exposure = /exposure level for prexy\.service: ([0-9.]+)/.exec(report)?.[1]
    process.stderr.write(`the unit for systemd: exposure ${exposure} of 10\n`)
    expect(Number(exposure)).toBeLessThanOrEqual(MAX_EXPOSURE)
  })
})

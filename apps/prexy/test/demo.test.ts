import { expect, test } from 'vitest'
import { collect, runPrexy, startPrexy, waitFor } from './run-prexy.ts'

test('the demo proves what it says', async () => {
  const { code, stdout, stderr } = await runPrexy(['demo', '--check'])
  const failed = stdout.split('\n').filter((line) => line.startsWith('FAILED'))
  expect({ code, stderr, failed }).toEqual({ code: 0, stderr: '', failed: [] })
  expect(stdout).toMatch(/the demo does what it says: 13 of 13 proved\n$/)
})

test('two demos beside each other take ports of their own, say where, and end with a signal', async () => {
  const demos = [startPrexy(['demo']), startPrexy(['demo'])]
  const outcomes = demos.map(collect)
  const addresses = await Promise.all(demos.map((demo) => waitFor(demo.stdout, /Through prexy +(http:\S+)/)))
  expect(new Set(addresses.map(([, url]) => url)).size).toBe(2)
  for (const [, url] of addresses) expect(await (await fetch(url)).text()).toContain('Finch Coffee')
  for (const demo of demos) demo.kill('SIGINT')
  expect((await Promise.all(outcomes)).map(({ code }) => code)).toEqual([0, 0])
})

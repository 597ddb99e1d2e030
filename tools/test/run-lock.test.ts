import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { withRunLock } from '../run-lock.mjs'
import { makeTree } from './tree.ts'

test.runIf(process.platform === 'linux')('two runs take turns', async () => {
  const root = makeTree({})
  const events: string[] = []
  const { promise: firstMayEnd, resolve: endFirst } = deferred()
  const first = withRunLock(root, 'first', async () => {
    events.push('first begins')
    await firstMayEnd
    events.push('first ends')
  })
  const second = withRunLock(root, 'second', async () => {
    events.push('second runs')
  })
  setImmediate(endFirst)
  await Promise.all([first, second])
  expect(events).toEqual(['first begins', 'first ends', 'second runs'])
})

test.runIf(process.platform === 'linux')('the lock of a killed run is free', async () => {
  const root = makeTree({})
  const script = `import { withRunLock } from ${JSON.stringify(new URL('../run-lock.mjs', import.meta.url).href)}
    await withRunLock(${JSON.stringify(root)}, 'killed', async () => { console.log('held'); await new Promise((r) => setTimeout(r, 60_000)) })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  const waiting = withRunLock(root, 'waiting', async () => 'ran')
  child.kill('SIGKILL')
  expect(await waiting).toBe('ran')
})

test('a failing run gives the lock back', async () => {
  const root = makeTree({})
  await expect(withRunLock(root, 'a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await withRunLock(root, 'b', async () => 'ran')).toBe('ran')
})

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

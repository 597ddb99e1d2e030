import { describe, expect, test } from 'vitest'
import { createProgress, progressLine } from '../src/progress.ts'
import { formatBytes, printable, stylesFor } from '../src/terminal.ts'

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '1.0 kB'],
  [123_456, '123 kB'],
  [2_500_000_000, '2.5 GB'],
])('%d bytes', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})

describe('colours', () => {
  test.each<[what: string, isTTY: boolean, env: NodeJS.ProcessEnv, coloured: boolean]>([
    ['on a terminal', true, {}, true],
    ['not in a pipe', false, {}, false],
    ['not with NO_COLOR', true, { NO_COLOR: '1' }, false],
    ['an empty NO_COLOR says nothing', true, { NO_COLOR: '' }, true],
    ['not on a dumb terminal', true, { TERM: 'dumb' }, false],
    ['anywhere with FORCE_COLOR', false, { FORCE_COLOR: '1' }, true],
    ['FORCE_COLOR=0 forces nothing', false, { FORCE_COLOR: '0' }, false],
  ])('%s', (_what, isTTY, env, coloured) => {
    expect(stylesFor({ isTTY }, env).red('x') !== 'x').toBe(coloured)
  })
})

test('control characters cannot reach a terminal', () => {
  expect(printable('a\u001b[31m\nb\u0085\u2028é')).toBe('a\\u001b[31m\\u000ab\\u0085\\u2028é')
})

describe('progress', () => {
  test('share, speed and time left, within the width of the terminal', () => {
    expect(progressLine(250_000_000, 1_000_000_000, 1_000, 100)).toBe(
      `[${'#'.repeat(10)}${'.'.repeat(30)}]  25%  250 MB of 1.0 GB  250 MB/s  3s left`,
    )
    for (let columns = 2; columns < 200; columns++) {
      expect(progressLine(1, 3, 1, columns).length).toBeLessThan(columns)
    }
  })

  test('without a known size, only what is done', () => {
    expect(progressLine(5_000_000, undefined, 1_000, 80)).toBe('5.0 MB  5.0 MB/s')
  })

  test('nothing is drawn for short work, then at most ten times a second, and it is taken away', () => {
    const written: string[] = []
    let now = 0
    const progress = createProgress({ columns: 80, write: (text: string) => written.push(text) }, 1_000, () => now)
    for (now = 0; now <= 1_000; now += 10) progress.add(10)
    expect(written).toHaveLength(4)
    progress.clear()
    expect(written.at(-1)).toBe('\r\u001b[K')
  })
})

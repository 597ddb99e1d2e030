import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { constructorsModule, forgetLostOutputs, kernelModule } from '../build.mjs'
import { makeTree } from './tree.ts'

const BUILT = {
  'src/a.ts': '',
  'src/deep/b.ts': '',
  'src/runtime.d.ts': '',
  'dist/a.js': '{}',
  'dist/a.js.map': '{}',
  'dist/a.d.ts': '{}',
  'dist/deep/b.js': '{}',
  'dist/deep/b.js.map': '{}',
  'dist/deep/b.d.ts': '{}',
  'tsconfig.tsbuildinfo': '{}',
}

test('complete outputs are left to tsc', () => {
  const root = makeTree(BUILT)
  forgetLostOutputs(root)
  expect(existsSync(join(root, 'tsconfig.tsbuildinfo'))).toBe(true)
})

test.each(['dist/a.js', 'dist/deep/b.d.ts'])('a deleted %s is built again', (lost) => {
  const root = makeTree(Object.fromEntries(Object.entries(BUILT).filter(([name]) => name !== lost)))
  forgetLostOutputs(root)
  expect(existsSync(join(root, 'tsconfig.tsbuildinfo'))).toBe(false)
})

test.each(['dist/a.js', 'dist/a.js.map', 'dist/deep/b.d.ts'])('%s that was cut to nothing is built again', (empty) => {
  const root = makeTree({ ...BUILT, [empty]: '' })
  forgetLostOutputs(root)
  expect(existsSync(join(root, 'tsconfig.tsbuildinfo'))).toBe(false)
})

test('outputs without a source are deleted, other files are not', () => {
  const root = makeTree({ ...BUILT, 'dist/gone.js': '', 'dist/gone.d.ts': '', 'dist/data.json': '' })
  forgetLostOutputs(root)
  expect(readdirSync(join(root, 'dist')).sort()).toEqual(['a.d.ts', 'a.js', 'a.js.map', 'data.json', 'deep'])
})

test.each([0, 1, 2, 3, 255, 256])('the kernel module decodes to the %d bytes that went in', async (length) => {
  const bytes = Uint8Array.from({ length }, (_, i) => (i * 151) & 255)
  const javascript = kernelModule('// stamp', bytes)
    .replace('(text: string, length: number): Uint8Array<ArrayBuffer>', '(text, length)')
    .replace(': Uint8Array<ArrayBuffer>', '')
  const root = makeTree({ 'kernel.mjs': javascript })
  const module: { KERNEL_WASM: Uint8Array } = await import(pathToFileURL(join(root, 'kernel.mjs')).href)
  expect(module.KERNEL_WASM).toEqual(bytes)
})

test('the constructors are as many as asked for, each with its own code for each field', () => {
  const text = constructorsModule(2, 3)
  expect(text.match(/function Shape\(/g)).toHaveLength(2)
  expect(text.match(/this\[k\d\] = /g)).toHaveLength(6)
})

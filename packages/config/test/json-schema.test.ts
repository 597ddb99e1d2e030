/** The schema for editors, judged by a validator that is not ours. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { configJsonSchema } from '../src/json-schema.ts'

const GOLDENS = join(import.meta.dirname, 'golden')
const EXAMPLE = join(import.meta.dirname, '../../../docs/examples/prexy.yaml')
const validate = new Ajv2020({ strict: false, allErrors: true }).compile(configJsonSchema())

function faults(yaml: string): readonly string[] {
  validate(parse(yaml))
  return (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)
}

function inputOf(golden: string): string {
  const content = readFileSync(join(GOLDENS, golden), 'utf8')
  return content.slice(0, content.indexOf('\n----\n') + 1)
}

test('the example of the reference is valid', () => {
  expect(faults(readFileSync(EXAMPLE, 'utf8'))).toEqual([])
})

const sound = readdirSync(GOLDENS).filter((name) => name.startsWith('ok-'))

test.each(sound)('%s is valid', (name) => {
  expect(faults(inputOf(name))).toEqual([])
})

describe('what the loader refuses by its shape, an editor marks', () => {
  test.each([
    ['an unknown key', 'lisen: 8080\nupstream: http://a\n'],
    ['a wrong choice', 'upstream: http://a\nlog: loud\n'],
    ['a number out of bounds', 'upstream: http://a\ntimeouts: {drainMs: 0}\n'],
    ['a rule without its text', 'upstream: http://a\nrules: [{text: a}]\n'],
    ['a key of no site', 'host: a.example\nlisten: 8080\n'],
    ['a host with a port', 'host: a.example:80\nupstream: http://a\n'],
    ['an unknown key in a route of a site', 'host: a.example\nroutes: [{pth: /, upstream: http://a}]\n'],
  ])('%s', (_what, yaml) => {
    expect(faults(yaml)).not.toEqual([])
  })
})

test('a site on its own, and a configuration of many files, are valid', () => {
  expect(faults('host: [a.example, "*.a.example"]\nupstream: http://a\nrules: [{use: standard}]\n')).toEqual([])
  expect(
    faults('include: sites/*.yaml\nruleSets: {standard: [{text: a, with: b}]}\nrules: [{use: standard}]\n'),
  ).toEqual([])
})

test('every field has a description', () => {
  const text = JSON.stringify(configJsonSchema())
  expect(text).toContain('What is searched and replaced in responses')
  expect(text.length).toBeLessThan(200_000)
})

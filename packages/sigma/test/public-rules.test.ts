/**
 * The public rule set, when a checkout of it is given: PREXY_SIGMA_RULES=folder (SigmaHQ/sigma). Nothing of it is in
 * this repository.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { FieldScalar, FieldValue, SigmaEvent } from '../src/event.ts'
import { Matcher } from '../src/matcher.hot.ts'
import { formatSigmaProblem } from '../src/problem.ts'
import { readRuleFile, type SigmaDocument } from '../src/rule.ts'
import { compileRules } from '../src/rule-set.ts'
import { windowsAliases, windowsSources } from '../src/windows-sources.ts'

const FOLDER = process.env['PREXY_SIGMA_RULES']
if (FOLDER === undefined) process.stdout.write('sigma: public rules not checked: PREXY_SIGMA_RULES is not set\n')

describe.runIf(FOLDER !== undefined)('the public rules', () => {
  const root = FOLDER ?? ''
  const documents: SigmaDocument[] = []
  const problems: string[] = []
  for (const folder of (FOLDER === undefined ? [] : readdirSync(root))
    .filter((name) => name.startsWith('rules'))
    .sort()) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      if (!name.endsWith('.yml')) continue
      const read = readRuleFile(readFileSync(join(root, folder, name), 'utf8'), join(folder, name))
      documents.push(...read.documents)
      problems.push(...read.problems.map(formatSigmaProblem))
    }
  }
  const set = compileRules(documents, { placeholders: new Map() })
  problems.push(...set.problems.map(formatSigmaProblem))

  test('all of them compile, but those whose placeholders have no values here', () => {
    process.stdout.write(`sigma: ${set.rules.length} of ${documents.length} public rules compile\n`)
    expect(documents.length).toBeGreaterThan(3_000)
    expect(problems.filter((text) => !/the placeholder %.*% has no values/.test(text))).toEqual([])
    expect(set.rules.length + problems.length).toBe(documents.length)
  })

  test('nearly all have a witness', () => {
    expect(set.witnesses.filter((witness) => witness === undefined).length / set.detectors.length).toBeLessThan(0.01)
  })

  test('the events that come with rules match them', () => {
    const samples = samplesBelow(join(root, 'regression_data'))
    process.stdout.write(`sigma: ${samples.length} public events\n`)
    const matcher = new Matcher(set)
    const missed: string[] = []
    for (const { file, rule, events } of samples) {
      const found = new Set<string | undefined>()
      for (const event of events) matcher.match(event, (hit) => void found.add(hit.rule.id))
      if (!found.has(rule)) missed.push(file)
    }
    expect(missed).toEqual([])
  })
})

interface Sample {
  readonly file: string
  readonly rule: string
  /** One of them at least is to match. */
  readonly events: readonly SigmaEvent[]
}

type Json = FieldScalar | readonly Json[] | { readonly [key: string]: Json }

function samplesBelow(folder: string): readonly Sample[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .flatMap((name) => {
      const info = readFileSync(join(folder, name, '../info.yml'), 'utf8')
      const rule = /rule_metadata:\s*\n\s*-\s*id:\s*(\S+)/.exec(info)?.[1]
      if (rule === undefined) return []
      const text = readFileSync(join(folder, name), 'utf8').replace(/^\ufeff/, '')
      const parsed = text.split(/\n(?=\{)/).map((part) => JSON.parse(part) as Json)
      return [{ file: name, rule, events: parsed.map(windowsEvent) }]
    })
}

function windowsEvent(json: Json): SigmaEvent {
  const event = at(json, 'Event')
  const system = at(event, 'System')
  const data = at(event, 'EventData') ?? at(event, 'UserData')
  const named = at(system, 'Channel')
  const channel = typeof named === 'string' ? named : ''
  const id = Number(at(at(system, 'EventID'), '#text') ?? at(system, 'EventID'))
  const type = at(data, 'EventType')
  const aliases = windowsAliases(channel, id)
  const read = (name: string): FieldValue | undefined => {
    const value = at(data, name) ?? deep(data, name) ?? at(system, name)
    if (name === 'Provider_Name') return scalar(at(at(at(system, 'Provider'), '#attributes'), 'Name'))
    return name === 'EventID' ? id : scalar(value)
  }
  return {
    sources: windowsSources(channel, id, typeof type === 'string' ? type : undefined),
    time: undefined,
    get: (name) => read(name) ?? read(aliases.get(name) ?? name),
    text: () => JSON.stringify(json),
  }
}

/** Names are compared without their blanks: "strip all spaces", as the specification has it. */
function at(json: Json | undefined, key: string): Json | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined
  const found = Object.entries(json as { readonly [key: string]: Json }).find(
    ([name]) => name.replaceAll(' ', '') === key,
  )
  return found?.[1]
}

/** User data has its fields one level further down. */
function deep(json: Json | undefined, name: string): Json | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  for (const value of Object.values(json)) {
    const found = at(value as Json, name)
    if (found !== undefined) return found
  }
  return undefined
}

function scalar(json: Json | undefined): FieldValue | undefined {
  return json === undefined || (typeof json === 'object' && json !== null) ? undefined : json
}

/** Tries Sigma rules on recorded events, in a thread of its own: whatever rules cost, lists and page go on. */
import { parseRecordedEvent } from '@prexy/events/parse-recorded'
import type { RecordedEvent } from '@prexy/events/recorded-event'
import { applicationEvent, exchangeEvent } from '@prexy/hunt/recorded-event'
import { decode } from '@prexy/msgpack/decode'
import { DecodeError } from '@prexy/msgpack/errors'
import { type FieldValue, type SigmaEvent, textOf, valuesOf } from '@prexy/sigma/event'
import { Matcher } from '@prexy/sigma/matcher.hot'
import type { SigmaProblem } from '@prexy/sigma/problem'
import { type DetectionDocument, readRuleFile, type RuleInfo, type SigmaDocument } from '@prexy/sigma/rule'
import { compileRules } from '@prexy/sigma/rule-set'
import type { SourceEntry, SourceNode } from '@prexy/sigma/source-tree'
import type { ExplainedHit, HuntAnswer, HuntCommand, HuntRequest, HuntRule, MatchedField } from './hunt-protocol.ts'
import { STARTER_RULES } from './starter-rules.ts'

/** UTF-16 units of a value that are shown. */
const MAX_VALUE_UNITS = 400
const NO_PLACEHOLDERS = { placeholders: new Map<string, readonly string[]>() }

let matcher: Matcher | undefined
let numbers: ReadonlyMap<RuleInfo, number> = new Map()
let infos: readonly RuleInfo[] = []
let documents: readonly SigmaDocument[] = []

function tell(answer: HuntAnswer, transfer: Transferable[] = []): void {
  self.postMessage(answer, { transfer })
}

function takeRules({ isStarter, own }: HuntRequest): void {
  const read: SigmaDocument[] = []
  const problems: SigmaProblem[] = []
  for (const { file, text } of [...(isStarter ? STARTER_RULES : []), ...own]) {
    const found = readRuleFile(text, file)
    read.push(...found.documents)
    problems.push(...found.problems)
  }
  const set = compileRules(read, NO_PLACEHOLDERS)
  documents = read
  infos = set.rules
  numbers = new Map(infos.map((info, index) => [info, index]))
  matcher = new Matcher(set)
  tell({ kind: 'ready', rules: infos.map(shownRule), problems: [...problems, ...set.problems] })
}

function shownRule({ title, id, level, tags, description, references, file, line }: RuleInfo): HuntRule {
  return { title, id, level, tags, description, references, file, line }
}

function tryEvents(octets: Uint8Array, offsets: Uint32Array): void {
  const pairs: number[] = []
  for (let index = 0; index + 1 < offsets.length; index++) {
    const event = eventOf(octets.subarray(offsets[index], offsets[index + 1]))
    if (event === undefined) continue
    matcher?.match(event, ({ rule, event: hit }) => {
      const number = numbers.get(rule)
      // The end of a window of time belongs to no event.
      if (number !== undefined && hit !== undefined) pairs.push(index, number)
    })
  }
  const list = Uint32Array.from(pairs)
  tell({ kind: 'tried', pairs: list }, [list.buffer])
}

function eventOf(octets: Uint8Array): SigmaEvent | undefined {
  const event = recordedEvent(octets)
  if (event === undefined || event.kind === 'gap') return undefined
  return event.kind === 'application' ? applicationEvent(event) : exchangeEvent(event)
}

/** Undefined for what is none. */
function recordedEvent(octets: Uint8Array): RecordedEvent | undefined {
  try {
    return parseRecordedEvent(decode(octets, { binary: 'view' }))
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

/** Which conditions of the rules hold: each is compiled as a rule of its own and tried by the same engine. */
function explain(octets: Uint8Array, rules: readonly number[]): ExplainedHit[] {
  const event = eventOf(octets)
  return rules.map((number) => {
    const info = infos[number]
    const document = documents.find((each) => each.info === info)
    const fields = event === undefined || document?.kind !== 'detection' ? [] : matchedFields(document, event)
    return { rule: shownRule(info), fields }
  })
}

function matchedFields(document: DetectionDocument, event: SigmaEvent): MatchedField[] {
  const matched: MatchedField[] = []
  for (const { key: selection, value } of document.detection.entries) {
    if (selection === 'condition' || selection === 'timeframe') continue
    for (const { node, key } of conditionsIn(value)) {
      if (!holds(document, node, event)) continue
      const [name] = (key ?? '').split('|', 1)
      const value = key === undefined ? undefined : event.get(name)
      const same = matched.find((each) => each.selection === selection && each.field === (key ?? 'keywords'))
      if (same === undefined) matched.push({ selection, field: key ?? 'keywords', value: valueText(value) })
    }
  }
  return matched
}

/** The fields of a selection, one by one, however lists are nested; keywords as they are. */
function conditionsIn(node: SourceNode): { readonly node: SourceNode; readonly key: string | undefined }[] {
  if (node.kind === 'list') return node.items.flatMap(conditionsIn)
  if (node.kind !== 'map') return [{ node: { kind: 'list', items: [node], at: node.at }, key: undefined }]
  return node.entries.map((entry) => ({ node: { ...node, entries: [entry] }, key: entry.key }))
}

function holds(document: DetectionDocument, node: SourceNode, event: SigmaEvent): boolean {
  const at = node.at
  const entries: readonly SourceEntry[] = [
    { key: 'selection', keyAt: at, value: node },
    { key: 'condition', keyAt: at, value: { kind: 'text', text: 'selection', at } },
  ]
  const set = compileRules([{ ...document, detection: { kind: 'map', entries, at } }], NO_PLACEHOLDERS)
  let isHit = false
  new Matcher(set).detect(event, () => {
    isHit = true
  })
  return isHit
}

function valueText(value: FieldValue | undefined): string {
  const text = [...new Set(valuesOf(value).map((each) => textOf(each) ?? 'null'))].join(' · ')
  return text.length > MAX_VALUE_UNITS ? `${text.slice(0, MAX_VALUE_UNITS)} …` : text
}

self.addEventListener('message', ({ data }: MessageEvent<HuntCommand>) => {
  if (data.kind === 'rules') takeRules(data.request)
  else if (data.kind === 'events') tryEvents(data.octets, data.offsets)
  else tell({ kind: 'explained', id: data.id, hits: explain(data.octets, data.rules) })
})

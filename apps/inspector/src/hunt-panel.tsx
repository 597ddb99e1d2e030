/** A hunt: which rules, how far it is, what they found and what is wrong with them. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { WorkerClient } from './client.ts'
import { quotedValue } from './filter.ts'
import { countText } from './format.ts'
import type { HuntReport, HuntStatus, RuleText } from './hunt-protocol.ts'
import { LevelBadge } from './level-badge.tsx'

const MAX_SHOWN_PROBLEMS = 200
/** Octets of one rule file. */
const MAX_RULE_FILE_BYTES: number = 4 * 1024 * 1024

export interface HuntInput {
  readonly isStarter: boolean
  readonly pasted: string
  readonly files: readonly RuleText[]
}

export const FIRST_HUNT: HuntInput = { isStarter: true, pasted: '', files: [] }

const EXAMPLE = `title: A backup that was asked for
level: medium
logsource: {category: webserver}
detection:
  selection: {cs-uri-stem|endswith: [.bak, .sql, .old]}
  condition: selection`

export function HuntPanel({
  client,
  status,
  input,
  onInput,
  onStart,
  onFilter,
}: {
  client: WorkerClient
  status: HuntStatus
  input: HuntInput
  onInput: (input: HuntInput) => void
  onStart: () => void
  onFilter: (filter: string) => void
}): JSX.Element {
  const [report, setReport] = useState<HuntReport | undefined>()
  const [note, setNote] = useState('')
  const fileField = useRef<HTMLInputElement>(null)
  const { state, events, hits } = status
  useEffect(() => {
    let isWanted = true
    void client.call('huntReport', undefined).then((found) => {
      if (isWanted) setReport(found)
    })
    return () => {
      isWanted = false
    }
  }, [client, state, hits])
  const isRunning = state === 'compiling' || state === 'running' || state === 'waiting'
  const hasRules = input.isStarter || input.pasted.trim() !== '' || input.files.length > 0
  const start = (): void => {
    const pasted = input.pasted.trim() === '' ? [] : [{ file: 'pasted', text: input.pasted }]
    onStart()
    void client.call('hunt', { isStarter: input.isStarter, own: [...input.files, ...pasted] })
  }
  const addFiles = async (list: readonly File[]): Promise<void> => {
    const tooLarge = list.find(({ size }) => size > MAX_RULE_FILE_BYTES)
    setNote(tooLarge === undefined ? '' : `${tooLarge.name} is longer than ${countText(MAX_RULE_FILE_BYTES)} octets.`)
    const files = list.filter(({ size }) => size <= MAX_RULE_FILE_BYTES)
    const texts = await Promise.all(files.map(async (file) => ({ file: file.name, text: await file.text() })))
    onInput({ ...input, files: [...input.files, ...texts] })
  }
  return (
    <div class="hunt">
      <section class="hunt-rules" aria-label="rules of the hunt">
        <h2>Rules</h2>
        <label class="check">
          <input
            type="checkbox"
            checked={input.isStarter}
            onChange={(event) => onInput({ ...input, isStarter: event.currentTarget.checked })}
          />
          those that come with prexy: attacks on web sites, and secrets in responses
        </label>
        <label>
          Your own, in the Sigma format
          <textarea
            spellcheck={false}
            placeholder={EXAMPLE}
            value={input.pasted}
            onInput={(event) => onInput({ ...input, pasted: event.currentTarget.value })}
          />
        </label>
        <div class="actions">
          <button type="button" onClick={() => fileField.current?.click()}>
            Add rule files
          </button>
          <input
            ref={fileField}
            class="hidden"
            type="file"
            multiple
            accept=".yml,.yaml"
            aria-label="rule files"
            tabIndex={-1}
            onChange={(event) => {
              void addFiles([...(event.currentTarget.files ?? [])])
              event.currentTarget.value = ''
            }}
          />
          {input.files.length > 0 && (
            <button type="button" onClick={() => onInput({ ...input, files: [] })}>
              Without {input.files.length === 1 ? input.files[0].file : `the ${input.files.length} files`}
            </button>
          )}
        </div>
        {note !== '' && <p role="alert">{note}</p>}
        <div class="actions">
          <button type="button" class="primary" disabled={!hasRules} onClick={start}>
            {state === 'none' ? 'Start the hunt' : 'Hunt anew'}
          </button>
          {isRunning && (
            <button type="button" onClick={() => void client.call('stopHunt', undefined)}>
              Stop
            </button>
          )}
          {state !== 'none' && (
            <button type="button" onClick={() => void client.call('hunt', undefined)}>
              Forget the hits
            </button>
          )}
        </div>
        <p class="hint">
          Rules are tried in this page on the {countText(events)} events that it has, and on those that come. Nothing of
          it leaves the browser.
        </p>
      </section>
      <HuntHits status={status} report={report} onFilter={onFilter} />
    </div>
  )
}

function HuntHits({
  status,
  report,
  onFilter,
}: {
  status: HuntStatus
  report: HuntReport | undefined
  onFilter: (filter: string) => void
}): JSX.Element {
  const { state, tried, events, message } = status
  const errors = report?.problems.filter(({ severity }) => severity === 'error').length ?? 0
  return (
    <section class="hunt-hits" aria-label="what the hunt found">
      <h2>Hits</h2>
      <p role="status">{stateText(status)}</p>
      {(state === 'running' || state === 'compiling') && (
        <progress aria-label="progress of the hunt" max={Math.max(1, events)} value={tried} />
      )}
      {message !== undefined && <p role="alert">{message}</p>}
      {state === 'none' && (
        <p class="hint">
          Choose rules and start. Events that a rule hits get a mark in the list; <code>hit:*</code> and{' '}
          <code>level:&gt;=high</code> filter by them.
        </p>
      )}
      {report !== undefined && report.rules.length > 0 && (
        <table class="small">
          <thead>
            <tr>
              <th scope="col">level</th>
              <th scope="col">rule</th>
              <th scope="col" class="number">
                events
              </th>
            </tr>
          </thead>
          <tbody>
            {report.rules.map(({ title, level, hits: count, file, line }) => (
              <tr key={`${file}:${line}`}>
                <td>
                  <LevelBadge level={level} />
                </td>
                <th scope="row">
                  <button type="button" class="link" onClick={() => onFilter(`hit:${quotedValue(title)}`)}>
                    {title}
                  </button>
                </th>
                <td class="number">{countText(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {report !== undefined && report.problems.length > 0 && (
        <details class="rule-problems" open={errors > 0}>
          <summary>
            {errors > 0 && <strong>{countText(errors)} cannot be used</strong>}
            {errors > 0 && report.problems.length > errors && ', '}
            {report.problems.length > errors && `${countText(report.problems.length - errors)} warnings`}
          </summary>
          <ul>
            {report.problems.slice(0, MAX_SHOWN_PROBLEMS).map(({ severity, file, line, rule, message: said, hint }) => (
              <li key={`${file}:${line}:${said}`} class={severity}>
                <code>
                  {file}:{line}
                </code>{' '}
                {rule !== undefined && <strong>{rule}: </strong>}
                {said}
                {hint !== undefined && `; ${hint}`}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  )
}

function stateText({ state, tried, events, hits }: HuntStatus): string {
  const found = `${countText(hits)} of ${countText(tried)} events`
  switch (state) {
    case 'none':
      return 'No hunt yet.'
    case 'compiling':
      return 'Reading the rules …'
    case 'running':
      return `${Math.floor((100 * tried) / Math.max(1, events))} %: hits in ${found}`
    case 'waiting':
      return `Done: hits in ${found}. Events that come are tried, too.`
    case 'stopped':
      return `Stopped: hits in ${found}.`
    case 'failed':
      return 'It did not work.'
  }
}

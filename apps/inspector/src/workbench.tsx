/** Rules beside a body: what they find and what comes out, while they are written. */
import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { ChangeView } from './change-view.tsx'
import { startWorker } from './client.ts'
import type { BenchReply } from './protocol.ts'

/** Longer bodies would make typing slow. Unit: octets. */
const MAX_BENCH_BYTES = 1_048_576
const TYPING_MS = 120

export interface BenchInput {
  readonly rules: string
  readonly body: Uint8Array
  readonly mediaType: string
}

export const FIRST_BENCH: BenchInput = {
  rules: '- text: Acme\n  with: Zenith\n- regex: (\\d+) EUR\n  with: $1 euro\n',
  body: new TextEncoder().encode('<p>Acme sells boxes for 20 EUR.</p>\n'),
  mediaType: 'text/html',
}

export function Workbench({
  input,
  onInput,
}: {
  input: BenchInput
  onInput: (input: BenchInput) => void
}): JSX.Element {
  // One of its own: rules that take long to compile do not keep the list waiting.
  const client = useMemo(startWorker, [])
  const [reply, setReply] = useState<BenchReply | { readonly kind: 'failed'; readonly message: string } | undefined>()
  const [told, tell] = useState('')
  const { rules, body, mediaType } = input
  const text = useMemo(() => new TextDecoder().decode(body), [body])
  useEffect(() => {
    let isWanted = true
    const timer = setTimeout(() => {
      client.call('bench', { rules, body: body.subarray(0, MAX_BENCH_BYTES), mediaType }).then(
        (found) => {
          if (isWanted) setReply(found)
        },
        (error: unknown) => {
          if (isWanted) setReply({ kind: 'failed', message: error instanceof Error ? error.message : String(error) })
        },
      )
    }, TYPING_MS)
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
  }, [client, rules, body, mediaType])
  const exportYaml = async (yaml: string): Promise<void> => {
    try {
      await navigator.clipboard.writeText(yaml)
      tell('copied')
    } catch {
      tell(yaml)
    }
  }
  return (
    <div class="workbench">
      <div class="bench-in">
        <label>
          Rules, as in the configuration
          <textarea
            class="rules"
            spellcheck={false}
            value={rules}
            onInput={(event) => onInput({ ...input, rules: event.currentTarget.value })}
          />
        </label>
        <label>
          Body
          <textarea
            class="bench-body"
            spellcheck={false}
            value={text}
            onInput={(event) => onInput({ ...input, body: new TextEncoder().encode(event.currentTarget.value) })}
          />
        </label>
        <label>
          Media type, by which variables are escaped{' '}
          <input value={mediaType} onInput={(event) => onInput({ ...input, mediaType: event.currentTarget.value })} />
        </label>
        {body.length > MAX_BENCH_BYTES && (
          <p class="hint">The rules are tried on the first {MAX_BENCH_BYTES} octets.</p>
        )}
      </div>
      <div class="bench-out" aria-live="polite">
        {reply?.kind === 'failed' && <p role="alert">{reply.message}</p>}
        {reply?.kind === 'problems' && (
          <ul class="problems" role="alert">
            {reply.problems.map((problem, index) => (
              <li key={index}>
                <strong>
                  {problem.rule === undefined ? '' : `rule ${problem.rule + 1}, `}
                  {problem.field}:
                </strong>{' '}
                {problem.message}
                {problem.hint !== undefined && <pre tabIndex={0}>{problem.hint}</pre>}
              </li>
            ))}
          </ul>
        )}
        {reply?.kind === 'done' && (
          <>
            <p>
              {reply.changes.length} replacements in {reply.milliseconds.toFixed(1)} ms: {reply.input.length} octets in,{' '}
              {reply.output.length} out.{' '}
              {reply.hits.map((hits, rule) => (
                <span key={rule} class={`change-rule rule-${rule % 8}`} title={`rule ${rule + 1}`}>
                  {rule + 1}: {hits}
                </span>
              ))}
            </p>
            {reply.warnings.map((warning) => (
              <p key={warning} class="warning">
                {warning}
              </p>
            ))}
            <ChangeView input={reply.input} changes={reply.changes} isWhole />
            <h3>Output</h3>
            <pre class="output" tabIndex={0} aria-label="output">
              {new TextDecoder().decode(reply.output)}
            </pre>
            <details>
              <summary>What the rules were compiled to</summary>
              <pre tabIndex={0}>{reply.description.join('\n')}</pre>
            </details>
            <button type="button" onClick={() => void exportYaml(reply.yaml)}>
              Copy as YAML
            </button>
            <pre role="status" class={told === '' ? 'hidden' : 'copied'}>
              {told}
            </pre>
          </>
        )}
      </div>
    </div>
  )
}

/** Bodies on the screen. What is in them was chosen by strangers: it is shown, and nothing of it runs or is loaded. */
import type { RecordedBody } from '@prexy/events/recorded-event'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { bytesText } from './format.ts'
import { harmlessHtml } from './harmless-html.ts'

type Way = 'text' | 'json' | 'page' | 'image' | 'hex'

/** Octets that are put on the screen. */
const MAX_SHOWN_BYTES = 262_144
const MAX_HEX_BYTES = 16_384
const IMAGE_TYPES = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
  'image/x-icon',
])

export function BodyView({ body, type, label }: { body: RecordedBody; type: string; label: string }): JSX.Element {
  const octets = body.octets ?? new Uint8Array(0)
  const ways = waysFor(type, octets)
  const [chosen, choose] = useState<Way | undefined>()
  const way = chosen !== undefined && ways.includes(chosen) ? chosen : ways[0]
  return (
    <section class="body" aria-label={label}>
      <div class="body-head">
        <strong>{label}</strong>
        <span>
          {bytesText(body.bytes)}
          {body.omitted === undefined ? '' : ` · ${OMITTED[body.omitted]}`}
        </span>
        {octets.length > 0 &&
          ways.map((name) => (
            <button type="button" key={name} aria-pressed={name === way} onClick={() => choose(name)}>
              {name}
            </button>
          ))}
      </div>
      {octets.length > 0 && <BodyContent way={way} octets={octets} type={type} />}
    </section>
  )
}

const OMITTED: Readonly<Record<NonNullable<RecordedBody['omitted']>, string>> = {
  length: 'the rest was not recorded: it is longer than record.bodies allows',
  type: 'not recorded: its type is not among those that are',
  coded: 'not recorded: it is compressed and no rule looked into it',
  memory: 'not recorded: other bodies took all the memory for it',
}

function BodyContent({ way, octets, type }: { way: Way; octets: Uint8Array; type: string }): JSX.Element {
  const text = useMemo(() => new TextDecoder().decode(octets.subarray(0, MAX_SHOWN_BYTES)), [octets])
  if (way === 'hex') return <pre tabIndex={0}>{hexText(octets)}</pre>
  if (way === 'image') return <ImageView octets={octets} type={type} />
  if (way === 'page')
    return (
      <iframe
        class="page"
        title="the page, without scripts, styles and images"
        sandbox=""
        srcdoc={harmlessHtml(text)}
      />
    )
  if (way === 'json') return <JsonView text={text} />
  return <pre tabIndex={0}>{text}</pre>
}

function waysFor(type: string, octets: Uint8Array): readonly Way[] {
  if (IMAGE_TYPES.has(type)) return ['image', 'hex']
  if (octets.subarray(0, 4_096).includes(0)) return ['hex', 'text']
  if (/\bjson\b/.test(type)) return ['json', 'text', 'hex']
  if (/html/.test(type)) return ['text', 'page', 'hex']
  return ['text', 'hex']
}

function ImageView({ octets, type }: { octets: Uint8Array; type: string }): JSX.Element {
  const [url, setUrl] = useState<string | undefined>()
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([octets.slice()], { type }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [octets, type])
  return url === undefined ? <p>…</p> : <img class="body-image" src={url} alt="the recorded body" />
}

function JsonView({ text }: { text: string }): JSX.Element {
  const value = useMemo(() => {
    try {
      const parsed: unknown = JSON.parse(text)
      return { parsed }
    } catch {
      return undefined
    }
  }, [text])
  if (value === undefined) return <pre tabIndex={0}>{text}</pre>
  return (
    <div class="json">
      <JsonNode name={undefined} value={value.parsed} depth={0} />
    </div>
  )
}

const MAX_JSON_CHILDREN = 500
const MAX_JSON_DEPTH = 60

function JsonNode({ name, value, depth }: { name: string | undefined; value: unknown; depth: number }): JSX.Element {
  const [isOpen, setOpen] = useState(depth < 2)
  const before: ComponentChildren = name === undefined ? undefined : <span class="json-key">{name}: </span>
  if (typeof value !== 'object' || value === null || depth > MAX_JSON_DEPTH) {
    return (
      <div>
        {before}
        <span class={`json-${typeof value}`}>{JSON.stringify(value)}</span>
      </div>
    )
  }
  const entries: (readonly [string, unknown])[] = Object.entries(value)
  const summary = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {before}
        {summary}
      </summary>
      {isOpen &&
        entries
          .slice(0, MAX_JSON_CHILDREN)
          .map(([key, each]) => <JsonNode key={key} name={key} value={each} depth={depth + 1} />)}
      {isOpen && entries.length > MAX_JSON_CHILDREN && <div>… {entries.length - MAX_JSON_CHILDREN} more</div>}
    </details>
  )
}

function hexText(octets: Uint8Array): string {
  const lines: string[] = []
  for (let at = 0; at < Math.min(octets.length, MAX_HEX_BYTES); at += 16) {
    const row = octets.subarray(at, at + 16)
    const hex = Array.from(row, (octet) => octet.toString(16).padStart(2, '0')).join(' ')
    const text = Array.from(row, (octet) => (octet > 0x20 && octet < 0x7f ? String.fromCharCode(octet) : '.')).join('')
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(47)}  ${text}`)
  }
  if (octets.length > MAX_HEX_BYTES) lines.push(`… ${octets.length - MAX_HEX_BYTES} more octets`)
  return lines.join('\n')
}

/** Where filters are written: completes, and says where one is wrong. */
import type { JSX, RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { WorkerClient } from './client.ts'
import { type Completion, completionsAt, FIELDS, type FilterProblem } from './filter.ts'

export function FilterBar({
  client,
  filter,
  problem,
  field,
  onFilter,
}: {
  client: WorkerClient
  filter: string
  problem: FilterProblem | undefined
  field: RefObject<HTMLInputElement | null>
  onFilter: (filter: string) => void
}): JSX.Element {
  const [list, setList] = useState<readonly Completion[]>([])
  const [chosen, setChosen] = useState(-1)
  const [isHelp, setHelp] = useState(false)
  useEffect(() => setChosen(-1), [list])

  const complete = async (text: string, caret: number): Promise<void> => {
    const name = /([a-z]+):[^\s"]*$/i.exec(text.slice(0, caret))?.[1]
    const values = name === undefined ? [] : await client.call('values', name.toLowerCase())
    if (document.activeElement === field.current) setList(completionsAt(text, caret, () => values))
  }
  const take = ({ start, end, text }: Completion): void => {
    onFilter(filter.slice(0, start) + text + filter.slice(end))
    setList([])
  }
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') {
      if (list.length > 0) setList([])
      else if (event.currentTarget instanceof HTMLElement) event.currentTarget.blur()
    } else if (list.length > 0 && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      const step = event.key === 'ArrowDown' ? 1 : -1
      setChosen((at) => (at + step + list.length) % list.length)
    } else if (
      list.length > 0 &&
      (event.key === 'Tab' || event.key === 'Enter') &&
      (chosen >= 0 || event.key === 'Tab')
    ) {
      take(list[Math.max(0, chosen)])
    } else return
    event.preventDefault()
  }
  return (
    <div class="filter">
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-label="filter"
        aria-expanded={list.length > 0}
        aria-controls="completions"
        aria-autocomplete="list"
        aria-invalid={problem !== undefined}
        {...(chosen >= 0 ? { 'aria-activedescendant': `completion-${chosen}` } : {})}
        placeholder='status:>=400 host:shop.* rule:3 -path:/static body:"UA-" dur:>200ms or any text'
        autocomplete="off"
        spellcheck={false}
        value={filter}
        onInput={(event) => {
          const { value, selectionStart } = event.currentTarget
          onFilter(value)
          void complete(value, selectionStart ?? value.length)
        }}
        onKeyDown={onKey}
        onBlur={() => setTimeout(() => setList([]), 150)}
      />
      <button type="button" aria-expanded={isHelp} onClick={() => setHelp(!isHelp)}>
        ?<span class="hidden"> help for filters</span>
      </button>
      <ul id="completions" role="listbox" aria-label="completions" hidden={list.length === 0}>
        {list.map((item, index) => (
          <li
            key={item.text}
            id={`completion-${index}`}
            role="option"
            aria-selected={index === chosen}
            onMouseDown={(event) => {
              event.preventDefault()
              take(item)
            }}
          >
            {item.text} <small>{item.help}</small>
          </li>
        ))}
      </ul>
      {problem !== undefined && (
        <div class="problem" role="alert">
          <code>
            {filter.slice(0, problem.start)}
            <mark>{filter.slice(problem.start, problem.end)}</mark>
            {filter.slice(problem.end)}
          </code>
          <span>
            {problem.message}; {problem.hint}
          </span>
        </div>
      )}
      {isHelp && (
        <dl class="help">
          {FIELDS.map(({ name, help }) => (
            <div key={name}>
              <dt>{name}:</dt>
              <dd>{help}</dd>
            </div>
          ))}
          <div>
            <dt>text</dt>
            <dd>
              anything an event holds, bodies too; quote what has spaces. A minus sign in front turns a term around.
            </dd>
          </div>
          <div>
            <dt>keys</dt>
            <dd>/ filter · j k arrows move · Enter opens · Escape closes · 1 to 4 panels · p pauses · ? this help</dd>
          </div>
        </dl>
      )}
    </div>
  )
}

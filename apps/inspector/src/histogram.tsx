/** Events over time. A range is selected with the pointer, or with arrows and Enter. */
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { timeText } from './format.ts'
import type { Histogram, Range } from './query.ts'

export function HistogramView({
  histogram,
  range,
  onRange,
}: {
  histogram: Histogram
  range: Range | undefined
  onRange: (range: Range | undefined) => void
}): JSX.Element {
  const { counts, failures, fromMs, stepMs } = histogram
  const [drag, setDrag] = useState<readonly [number, number] | undefined>()
  const [cursor, setCursor] = useState<number | undefined>()
  const svg = useRef<SVGSVGElement>(null)
  const most = Math.max(1, ...counts)
  const bars = counts.length
  const barAt = (event: PointerEvent): number => {
    const box = svg.current?.getBoundingClientRect()
    if (box === undefined || box.width === 0) return 0
    return Math.max(0, Math.min(bars - 1, Math.floor(((event.clientX - box.left) / box.width) * bars)))
  }
  const select = (a: number, b: number): void => {
    onRange({ fromMs: fromMs + Math.min(a, b) * stepMs, toMs: fromMs + (Math.max(a, b) + 1) * stepMs })
  }
  const shown =
    drag ?? (range === undefined ? undefined : [(range.fromMs - fromMs) / stepMs, (range.toMs - fromMs) / stepMs - 1])
  const left = shown === undefined ? 0 : Math.max(0, Math.min(...shown))
  const right = shown === undefined ? 0 : Math.min(bars, Math.max(...shown) + 1)
  const onKey = (event: KeyboardEvent): void => {
    const at = cursor ?? 0
    if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
      const next = Math.max(0, Math.min(bars - 1, at + (event.key === 'ArrowLeft' ? -1 : 1)))
      setCursor(next)
      if (event.shiftKey) setDrag([drag?.[0] ?? at, next])
    } else if (event.key === 'Enter') {
      const [a, b] = drag ?? [at, at]
      setDrag(undefined)
      select(a, b)
    } else if (event.key === 'Escape') {
      setDrag(undefined)
      onRange(undefined)
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  if (bars === 0) return <div class="histogram" />
  return (
    <div class="histogram">
      <svg
        ref={svg}
        viewBox={`0 0 ${bars} 40`}
        preserveAspectRatio="none"
        role="group"
        tabindex={0}
        aria-label="Events over time. Arrows move, with Shift they select, Enter shows the selected time, Escape all of it."
        onKeyDown={onKey}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId)
          setDrag([barAt(event), barAt(event)])
        }}
        onPointerMove={(event) => {
          if (drag !== undefined && event.buttons > 0) setDrag([drag[0], barAt(event)])
        }}
        onPointerUp={() => {
          if (drag !== undefined) select(drag[0], drag[1])
          setDrag(undefined)
        }}
      >
        {shown !== undefined && <rect class="range" x={left} y="0" width={Math.max(0, right - left)} height="40" />}
        {counts.map((count, bar) => {
          const height = count === 0 ? 0 : Math.max(1, (38 * count) / most)
          const failed = (height * failures[bar]) / Math.max(1, count)
          return (
            <g key={bar}>
              <rect class="count" x={bar + 0.1} y={40 - height} width="0.8" height={height} />
              {failed > 0 && <rect class="failed" x={bar + 0.1} y={40 - failed} width="0.8" height={failed} />}
            </g>
          )
        })}
        {cursor !== undefined && <rect class="cursor" x={cursor} y="0" width="1" height="40" />}
      </svg>
      <div class="histogram-times">
        <span>{timeText(fromMs)}</span>
        {range !== undefined && (
          <button type="button" onClick={() => onRange(undefined)}>
            {timeText(range.fromMs)} – {timeText(range.toMs)} ×
          </button>
        )}
        <span>{timeText(fromMs + bars * stepMs)}</span>
      </div>
    </div>
  )
}

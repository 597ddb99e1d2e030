/** Bars as SVG, readable on light and on dark pages. */

export interface Panel {
  readonly title: string
  /** `less` or `more` is better. */
  readonly better: 'less' | 'more'
  readonly bars: readonly { readonly label: string; readonly value: number; readonly unit: string }[]
}

const WIDTH = 760
const LABEL_WIDTH = 240
const BAR_WIDTH = 400
const ROW = 22
const HEAD = 40

/** Panels one under the other; labels that begin with `own` stand out. */
export function barChart(panels: readonly Panel[], caption: string, own: string): string {
  let y = 8
  const parts: string[] = []
  for (const { title, better, bars } of panels) {
    y += HEAD
    parts.push(`<text x="8" y="${y - 14}" class="title">${escaped(title)}</text>`)
    parts.push(`<text x="${WIDTH - 8}" y="${y - 14}" class="note" text-anchor="end">${better} is better</text>`)
    const most = Math.max(...bars.map(({ value }) => value))
    for (const { label, value, unit } of bars) {
      const width = Math.max(1, (value / most) * BAR_WIDTH)
      const kind = label.startsWith(own) ? 'own' : 'other'
      parts.push(`<text x="${LABEL_WIDTH - 8}" y="${y + 15}" text-anchor="end">${escaped(label)}</text>`)
      parts.push(`<rect x="${LABEL_WIDTH}" y="${y + 3}" width="${width.toFixed(1)}" height="16" class="${kind}"/>`)
      parts.push(
        `<text x="${(LABEL_WIDTH + width + 6).toFixed(1)}" y="${y + 15}">${value.toFixed(0)} ${escaped(unit)}</text>`,
      )
      y += ROW
    }
  }
  const height = y + 36
  parts.push(`<text x="8" y="${height - 12}" class="note">${escaped(caption)}</text>`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>${escaped(panels.map(({ title }) => title).join('; '))}</title>
<style>
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .note { font-size: 11px; fill: #59636e }
  .own { fill: #1a7f5a }
  .other { fill: #9aa4af }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .note { fill: #9198a1 } .own { fill: #3fb68b } .other { fill: #59636e } }
</style>
${parts.join('\n')}
</svg>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

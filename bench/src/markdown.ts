/** A table in Markdown, its first column to the left and the others to the right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** A page with what stands between `<!-- figures NAME -->` and `<!-- /figures -->` made anew. */
export function replaceFigures(page: string, tables: ReadonlyMap<string, () => string>): string {
  return page.replace(
    /(<!-- figures ([\w-]+) -->\n)[^]*?(<!-- \/figures -->)/g,
    (_, begin: string, name: string, end: string) => {
      const table = tables.get(name)
      if (table === undefined)
        throw new Error(`no figures are called "${name}"; there are ${[...tables.keys()].join(', ')}`)
      return `${begin}\n${table()}\n\n${end}`
    },
  )
}

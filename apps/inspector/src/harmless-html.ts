/**
 * A recorded page as markup that does nothing: elements that only say what text is, without any attribute.
 *
 * SECURITY: nothing of the page gets out but names of elements from the list below and text in which each `<` is escaped,
 * whatever the page holds. It is shown in a frame whose sandbox allows no scripts and no forms, too. No parser of the
 * browser is used for it: already while it reads event handlers they count as attempts to run some.
 */
const KEPT = new Set(
  (
    'a abbr address article aside b blockquote br caption center cite code dd del dfn div dl dt em figcaption figure footer h1 ' +
    'h2 h3 h4 h5 h6 header hr i ins kbd li main mark nav ol p pre q s samp section small span strong sub sup table tbody td ' +
    'tfoot th thead tr u ul var'
  ).split(' '),
)
/** Their content is no text for readers. */
const DROPPED = new Set('script style template noscript svg math iframe object textarea title'.split(' '))
const TAG = /<(\/?)([a-z][a-z0-9]*)/iy

/** Linear in the text: what is not closed is looked for once. */
export function harmlessHtml(text: string): string {
  const lower = text.toLowerCase()
  const unclosed = new Set<string>()
  const find = (wanted: string, from: number): number => {
    if (unclosed.has(wanted)) return -1
    const at = lower.indexOf(wanted, from)
    if (at < 0) unclosed.add(wanted)
    return at
  }
  let markup = ''
  let at = 0
  while (at < text.length) {
    const open = text.indexOf('<', at)
    markup += text.slice(at, open < 0 ? text.length : open)
    if (open < 0) break
    const isComment = text.startsWith('<!--', open)
    TAG.lastIndex = open
    const tag = isComment ? undefined : (TAG.exec(text) ?? undefined)
    const close = isComment ? find('-->', open) : tag === undefined ? -1 : find('>', open)
    if (close < 0) {
      markup += '&lt;'
      at = open + 1
      continue
    }
    at = close + (isComment ? 3 : 1)
    if (tag === undefined) continue
    const name = tag[2].toLowerCase()
    if (KEPT.has(name)) markup += `<${tag[1]}${name}>`
    else if (DROPPED.has(name) && tag[1] === '') {
      const end = find(`</${name}`, at)
      if (end >= 0) at = end
    }
  }
  return `<!doctype html><meta charset="utf-8">${markup}`
}

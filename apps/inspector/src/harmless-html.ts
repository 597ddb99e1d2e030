/**
 * A recorded page as markup that does nothing: no scripts, no styles, nothing that is loaded or sent.
 *
 * SECURITY: it is shown in a frame whose sandbox allows no scripts and no forms, and under the page's policy that loads
 * nothing. This is the third fence, not the first, and it keeps the browser from reporting what the others hold back.
 */
const DROPPED =
  'script,style,link,meta,base,iframe,frame,frameset,object,embed,applet,template,noscript,form,svg,math,audio,video,source,track,portal'
const KEPT_ATTRIBUTES = new Set(['title', 'alt', 'lang', 'dir', 'colspan', 'rowspan', 'align', 'width', 'height'])

export function harmlessHtml(text: string): string {
  const parsed = new DOMParser().parseFromString(text, 'text/html')
  for (const element of parsed.querySelectorAll(DROPPED)) element.remove()
  for (const element of parsed.querySelectorAll('*')) {
    for (const name of element.getAttributeNames()) if (!KEPT_ATTRIBUTES.has(name)) element.removeAttribute(name)
  }
  return `<!doctype html>${parsed.documentElement.outerHTML}`
}

import { decodeLatin1, encodeLatin1 } from '@prexy/bytes/latin1'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { IntegrityRewriter, MAX_TAG_BYTES } from '../src/integrity.ts'
import { compileRuleSet } from '../src/rule-set.ts'

const set = compileRuleSet([{ text: 'www.a.example', with: 'b' }])

/** What comes of a page that is cut after every `size` octets; the sink asks for a pause after every `pause`-th write. */
function filtered(page: string, size: number = page.length, pause: number = 0): { text: string; dropped: number } {
  let text = ''
  let writes = 0
  const inner = set.createRewriter({
    write(chunk) {
      text += decodeLatin1(chunk)
      writes++
      return pause === 0 || writes % pause !== 0
    },
  })
  const rewriter = new IntegrityRewriter(inner, (url) => !url.startsWith('https://cdn.'))
  const body = encodeLatin1(page)
  for (let at = 0; at < body.length; at += Math.max(1, size)) {
    const piece = body.slice(at, at + Math.max(1, size))
    let taken = 0
    do taken += rewriter.write(piece.slice(taken))
    while (taken < piece.length || rewriter.blocked)
  }
  while (!rewriter.end());
  return { text, dropped: rewriter.dropped }
}

const SRI = 'integrity="sha384-abc+/="'

describe('integrity of what rules may change', () => {
  const dropped: readonly (readonly [string, string])[] = [
    [`<script src="/a.js" ${SRI} defer></script>`, '<script src="/a.js" defer></script>'],
    [`<script ${SRI} src=/a.js></script>`, '<script src=/a.js></script>'],
    [`<SCRIPT SRC=/a.js INTEGRITY='sha256-x'></SCRIPT>`, '<SCRIPT SRC=/a.js></SCRIPT>'],
    ['<script src=/a.js integrity=sha256-x></script>', '<script src=/a.js></script>'],
    ['<script src=/a.js integrity = sha256-x async></script>', '<script src=/a.js async></script>'],
    [`<script src="/a.js"${SRI}defer></script>`, '<script src="/a.js"defer></script>'],
    [`<script src=/a.js ${SRI} integrity=x></script>`, '<script src=/a.js></script>'],
    [`<link rel=stylesheet href=a.css ${SRI}>`, '<link rel=stylesheet href=a.css>'],
    [`<link rel=preload href=a.css ${SRI}/>`, '<link rel=preload href=a.css/>'],
    [`<link\n\thref=a.css\n\t${SRI}\n>`, '<link\n\thref=a.css\n>'],
    [`<script src="https://www.a.example/a.js" ${SRI}></script>`, '<script src="https://b/a.js"></script>'],
    [`<!-- x --><link href=a ${SRI}>`, '<!-- x --><link href=a>'],
    [`<!--><link href=a ${SRI}>`, '<!--><link href=a>'],
    [`<!--x--!><link href=a ${SRI}>`, '<!--x--!><link href=a>'],
    [`<!doctype html><link href=a ${SRI}>`, '<!doctype html><link href=a>'],
    [`<script>"<script>"</script ><link href=a ${SRI}>`, '<script>"<script>"</script ><link href=a>'],
    [`1 < 2 <<link href=a ${SRI}>`, '1 < 2 <<link href=a>'],
    [`</ x><link href=a ${SRI}>`, '</ x><link href=a>'],
    [`<style>a</styl></style><link href=a ${SRI}>`, '<style>a</styl></style><link href=a>'],
    [`<p title="a>b"><link href=a ${SRI}>`, '<p title="a>b"><link href=a>'],
    [`\xe9<link href=\xe9 ${SRI}>\xe9`, '\xe9<link href=\xe9>\xe9'],
  ]
  test.each(dropped)('%s', (page, expected) => {
    for (const size of [page.length, 1, 2, 7]) expect(filtered(page, size)).toEqual({ text: expected, dropped: 1 })
  })

  test.each([
    `<script src="https://cdn.example/a.js" ${SRI}></script>`,
    `<script ${SRI}>inline</script>`,
    `<script href=/a.js ${SRI}></script>`,
    `<a href=/a ${SRI}>`,
    `<links href=/a ${SRI}>`,
    `<!-- <script src=/a.js ${SRI}></script> -->`,
    `<script>'<link href=a ${SRI}>'</script>`,
    `<SCRIPT>'<link href=a ${SRI}>'</SCRIPT>`,
    `<script>'</scripts><link href=a ${SRI}>'</script>`,
    `<title><link href=a ${SRI}></title>`,
    `<textarea><link href=a ${SRI}></textarea>`,
    `<a title="<link href=a ${SRI.replaceAll('"', "'")}>">`,
    `<a title='<link href=a ${SRI}>'>`,
    `< script src=/a.js ${SRI}>`,
    `</script src=/a.js ${SRI}>`,
    `<?script src=/a.js ${SRI}>`,
    `<!script src=/a.js ${SRI}>`,
    `<script src=/a.js data-integrity="sha256-x"></script>`,
    `<script src=/a.js title="${SRI.replaceAll('"', "'")}"></script>`,
    `<link href=a ${SRI}`,
    `<script src=/a.js ${SRI} x="`,
    `<link href=a title="${'x'.repeat(MAX_TAG_BYTES)}" ${SRI}>`,
  ])('stays in %.60s', (page) => {
    for (const size of [page.length, 1, 5]) expect(filtered(page, size)).toEqual({ text: page, dropped: 0 })
  })

  test('a tag is held up to its limit only', () => {
    const rewriter = new IntegrityRewriter(set.createRewriter({ write: () => true }), () => true)
    rewriter.write(encodeLatin1(`<link title="${'x'.repeat(MAX_TAG_BYTES - 14)}`))
    expect(rewriter.heldBytes).toBe(MAX_TAG_BYTES - 1)
    rewriter.write(encodeLatin1('x'))
    expect(rewriter.heldBytes).toBe(0)
  })

  test('any page without the attribute comes out as it is, however it is cut and taken', () => {
    const parts = fc.constantFrom(
      '<',
      '>',
      '/',
      '!',
      '-',
      '--',
      '"',
      "'",
      '=',
      ' ',
      'script',
      'link',
      'a',
      'x',
      '\xe9',
      '?',
    )
    fc.assert(
      fc.property(
        fc.array(parts, { maxLength: 40 }),
        fc.integer({ min: 1, max: 9 }),
        fc.nat(2),
        (list, size, pause) => {
          const page = list.join('')
          expect(filtered(page, size, pause)).toEqual({ text: page, dropped: 0 })
        },
      ),
      { numRuns: 500 },
    )
  })

  test('what is taken does not depend on the cuts', () => {
    const parts = fc.constantFrom(
      ...[
        '<script src=a integrity=x>',
        '</script>',
        '<link href=a integrity="x">',
        '<!--',
        '-->',
        '<a b="',
        '"',
        '>',
        'text',
        '<title>',
        '</title>',
      ],
    )
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 20 }), fc.integer({ min: 1, max: 30 }), (list, size) => {
        const page = list.join('')
        expect(filtered(page, size)).toEqual(filtered(page))
      }),
      { numRuns: 300 },
    )
  })
})

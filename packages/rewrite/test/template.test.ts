import { decodeLatin1, encodeLatin1 } from '@prexy/bytes/latin1'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { changeCase, FILTER_NAMES, type FilterName } from '../src/filters.ts'
import { compileRuleSet } from '../src/rule-set.ts'
import { RuleSetError } from '../src/rules.ts'
import { rewriteBytes, rewriteText } from './every-split.ts'

const FILTER_SETS = new Map(
  FILTER_NAMES.map((filter) => [
    filter,
    compileRuleSet([{ regex: '.+', flags: 's', with: `\${&|${filter}}` }], { mode: 'octet' }),
  ]),
)

/** What a filter makes of a body that is not empty, in octet mode. */
function filtered(filter: FilterName, body: Uint8Array, mediaType?: string): Uint8Array {
  const set = FILTER_SETS.get(filter)
  if (set === undefined) throw new Error(filter)
  return rewriteBytes(set, body, mediaType === undefined ? {} : { mediaType })
}

describe('filters of groups', () => {
  test.each([
    ['upper', 'aZ1é', 'AZ1É'],
    ['lower', 'Az1É', 'az1é'],
    ['upper', 'straße ŉ', 'STRASSE ʼN'],
    ['lower', 'ΑΣ', 'ας'],
    ['url', 'a b/ü?~-._', 'a%20b%2F%C3%BC%3F~-._'],
    ['html', `<a href="x">'&'</a>`, '&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;'],
    ['json', '"\\/\b\t\n\f\r\u0001é\u2028\u2029\u2030', '\\"\\\\/\\b\\t\\n\\f\\r\\u0001é\\u2028\\u2029\u2030'],
    ['base64', '', ''],
    ['base64', 'f', 'Zg=='],
    ['base64', 'fo', 'Zm8='],
    ['base64', 'foo', 'Zm9v'],
    ['base64', 'é', 'w6k='],
    ['raw', '<é', '<é'],
    ['upper|html', 'a&b', 'A&amp;B'],
    ['html|url', '<', '%26lt%3B'],
    ['base64|url', 'f', 'Zg%3D%3D'],
    ['json|html', '"', '\\&quot;'],
  ])('%s of %j', (filter, body, expected) => {
    const set = compileRuleSet([{ regex: '(.*)', flags: 's', with: `\${1|${filter}}`, once: true }])
    expect(rewriteText(set, body)).toBe(expected)
  })

  test.each([
    ['text/html', '\\u0022\\u0027\\u003c\\u003e\\u0026\\u0060\\u0024\\\\'],
    ['application/javascript', '\\u0022\\u0027\\u003c\\u003e\\u0026\\u0060\\u0024\\\\'],
    ['application/json', '\\"\'<>&`$\\\\'],
    ['text/plain', '\\"\'<>&`$\\\\'],
  ])('json in %s', (mediaType, expected) => {
    const set = compileRuleSet([{ regex: '.+', with: '${&|json}' }])
    expect(rewriteText(set, '"\'<>&`$\\', { mediaType })).toBe(expected)
  })

  test('a group without a match is empty, named groups and the whole match take filters', () => {
    const set = compileRuleSet([{ regex: '(?<word>[a-z]+)(1)?', with: '<${word|upper}${2|base64}${&|html}>' }])
    expect(rewriteText(set, 'ab ab1')).toBe('<ABab> <ABMQ==ab1>')
  })

  test('bytes that are no UTF-8 pass upper, lower, html and json unchanged in octet mode', () => {
    const body = Uint8Array.of(0x61, 0xff, 0x62, 0xc3, 0xe2, 0x80)
    expect(filtered('upper', body)).toEqual(Uint8Array.of(0x41, 0xff, 0x42, 0xc3, 0xe2, 0x80))
    for (const filter of ['lower', 'html', 'json', 'raw'] as const) expect(filtered(filter, body)).toEqual(body)
    expect(decodeLatin1(filtered('url', body))).toBe('a%FFb%C3%E2%80')
  })

  test('bytes that are no UTF-8 pass upper and lower unchanged in text mode, letters around them do not', () => {
    const octets = (text: string): Uint8Array => encodeLatin1(text)
    expect(changeCase(octets('\xc3\xa4\xff\xc3b\xe2\x80'), 'upper', 'text')).toEqual(
      octets('\xc3\x84\xff\xc3B\xe2\x80'),
    )
    expect(changeCase(octets('\xffA\xc3\x84'), 'lower', 'text')).toEqual(octets('\xffa\xc3\xa4'))
  })

  test('an octet mode letter beyond ASCII has no case', () => {
    expect(decodeLatin1(filtered('upper', encodeLatin1('\u00e4a')))).toBe('\u00e4A')
  })

  test('base64 and url give the octets back', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (body) => {
        expect(decodeLatin1(filtered('base64', body))).toBe(btoa(decodeLatin1(body)))
        const url = decodeLatin1(filtered('url', body))
        expect(decodeLatin1(body)).toBe(
          url.replace(/%(..)/g, (_, pair) => String.fromCharCode(Number.parseInt(pair, 16))),
        )
      }),
      { numRuns: 200 },
    )
  })

  test('json gives the text back, whatever the type', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 30 }),
        fc.constantFrom('text/html', 'application/json', 'text/javascript', undefined),
        (text, mediaType) => {
          const escaped = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
            filtered('json', new TextEncoder().encode(`x${text}`), mediaType),
          )
          expect(JSON.parse(`"${escaped}"`)).toBe(`x${text}`)
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('request variables', () => {
  const hostile = `"><script>'\`$&\\\u0001\n`
  const value = (template: string, mediaType: string | undefined): string =>
    rewriteText(
      compileRuleSet([
        { text: 'unused', with: '' },
        { regex: 'V', with: template },
      ]),
      'V',
      {
        variables: { query: hostile },
        ...(mediaType === undefined ? {} : { mediaType }),
      },
    )
  const html = '&quot;&gt;&lt;script&gt;&#39;`$&amp;\\'
  const script = '\\u0022\\u003e\\u003cscript\\u003e\\u0027\\u0060\\u0024\\u0026\\\\\\u0001\\n'
  const json = '\\">' + "<script>'`$&\\\\\\u0001\\n"

  test.each([
    ['text/html', html],
    ['Text/HTML; charset=utf-8', html],
    ['application/xhtml+xml', html],
    ['image/svg+xml', html],
    ['application/xml', html],
    ['text/xsl', html],
    [undefined, html],
    // What browsers sniff.
    ['', html],
    ['html', html],
    ['text/plain, text/html', html],
    ['text/plain; charset=utf-8, text/html', html],
    ['application/unknown', html],
    ['multipart/x-mixed-replace; boundary=x', html],
    ['text/javascript', script],
    ['application/javascript', script],
    ['application/x-javascript', script],
    ['application/json', json],
    ['application/ld+json', json],
    ['text/plain', `"><script>'\`$&\\`],
    ['text/css', `"><script>'\`$&\\`],
  ])('land in %s', (mediaType, expected) => {
    expect(value('${query}', mediaType)).toBe(expected)
  })

  test.each([
    ['${query|raw}', 'text/html', hostile],
    ['${query|raw}', 'application/json', hostile],
    ['${query|html}', 'text/html', html],
    // A string in a script of a page.
    ['${query|json}', 'text/html', script],
    ['${query|json}', 'application/json', json],
    ['${query|url}', 'text/html', '%22%3E%3Cscript%3E%27%60%24%26%5C%01%0A'],
    ['${query|base64}', 'text/html', btoa(hostile)],
    ['${query|upper}', 'text/html', '&quot;&gt;&lt;SCRIPT&gt;&#39;`$&amp;\\'],
    ['${query|upper|raw}', 'text/html', hostile.toUpperCase()],
    // Safe for something else is not safe here.
    ['${query|html}', 'application/json', '&quot;&gt;&lt;script&gt;&#39;`$&amp;\\\\\\u0001\\n'],
    ['${query|json}', undefined, '\\&quot;&gt;&lt;script&gt;&#39;`$&amp;\\\\\\u0001\\n'],
  ])('%s in %s', (template, mediaType, expected) => {
    expect(value(template, mediaType)).toBe(expected)
  })

  test('no value can leave a string or an attribute of a page', () => {
    const both = compileRuleSet([{ regex: 'V', with: '${query}${query|json}' }])
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii', maxLength: 20 }), (query) => {
        const output = decodeLatin1(
          rewriteBytes(both, encodeLatin1('V'), { variables: { query }, mediaType: 'text/html' }),
        )
        expect(output).not.toMatch(/["'<>]/)
      }),
      { numRuns: 200 },
    )
  })

  test('names of fields have no case, those of cookies do, missing values are empty', () => {
    const set = compileRuleSet([
      { regex: 'V', with: '${header:User-Agent}|${header:x}|${cookie:Sid}|${cookie:sid}|${host}|${time}' },
    ])
    expect(set.variables).toEqual(['header:user-agent', 'header:x', 'cookie:Sid', 'cookie:sid', 'host', 'time'])
    const variables = { 'header:user-agent': 'a', 'header:X': 'b', 'cookie:Sid': 'c', 'cookie:sid': 'd' }
    expect(rewriteText(set, 'V', { variables })).toBe('a|b|c|d||')
  })

  test('values are octets in octet mode and characters in text mode', () => {
    const rule = { regex: 'V', with: '${host}' }
    const init = { variables: { host: '\u00e4' }, mediaType: 'text/plain' }
    expect([...rewriteBytes(compileRuleSet([rule], { mode: 'octet' }), encodeLatin1('V'), init)]).toEqual([0xe4])
    expect([...rewriteBytes(compileRuleSet([rule]), encodeLatin1('V'), init)]).toEqual([0xc3, 0xa4])
  })

  test('nginx compatibility escapes nothing', () => {
    const set = compileRuleSet([{ regex: 'V', with: '$arg_x${arg_x}' }], { compat: 'nginx' })
    expect(rewriteText(set, 'V', { variables: { arg_x: '<' }, mediaType: 'text/html' })).toBe('<<')
  })
})

describe('templates that are refused', () => {
  test.each([
    ['a${1|shout}', 1, "there is no filter 'shout'"],
    ['${1|}', 0, "there is no filter ''"],
    ['${1|upper|LOWER}', 0, "there is no filter 'LOWER'"],
    ['é${nobody|upper}', 2, "there is no group and no variable 'nobody'"],
    ['${header:}', 0, "there is no group and no variable 'header:'"],
    ['${header:a b}', 0, "there is no group and no variable 'header:a b'"],
    ['${2|upper}', 0, 'the pattern has no group 2'],
    ['$<n|upper>', 0, "the pattern has no group named 'n|upper'"],
    ['${&', 0, "'${' is not closed"],
  ])('%s', (template, at, message) => {
    let problems: unknown
    try {
      compileRuleSet([{ regex: '(a)', with: template }])
    } catch (error) {
      if (error instanceof RuleSetError) problems = error.problems
    }
    expect(problems).toMatchObject([{ code: 'E_TEMPLATE', field: 'with', at, message }])
  })
})

test('a template without groups and variables stays in the kernel', () => {
  // Seen from outside as: the text of a match need not be held.
  const set = compileRuleSet([{ regex: 'a+', with: 'b$$' }])
  const rewriter = set.createRewriter({ write: () => true })
  rewriter.write(encodeLatin1('a'.repeat(1_000)))
  expect(rewriter.heldBytes).toBe(0)
})

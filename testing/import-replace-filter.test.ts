/**
 * `replace_filter` as it stands in files of nginx, imported: the cases that come with the project's design where their
 * folder is there, and a table of our own. What a case says of types, of `skip` and of variables is what the import and
 * the gate are asked for here; the engine by itself is driven in conformance.test.ts.
 */
import { readNginx } from '@prexy/config/nginx-include'
import { importNginx } from '@prexy/config/nginx-import'
import { formatImport } from '@prexy/config/nginx-yaml'
import { loadConfig, textAsFile } from '@prexy/config/load'
import { prepareConditions, rulesForRequest, rulesForStatus, rulesForType } from '@prexy/http/conditions'
import { compileRuleSet } from '@prexy/rewrite/rule-set'
import { type Rule, typesOf } from '@prexy/rewrite/rules'
import { expect, it } from 'vitest'
import { latin1 } from './src/arbitraries.ts'
import { octetString } from './src/compare.ts'
import { drive } from './src/drive.ts'
import { NO_OUTSIDE_CASES, readOutsideCases, type ReplaceFilterCase } from './src/outside-cases.ts'

/** A word as a file of nginx has it, quoted. */
function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\r', '\\r')}"`
}

function nginxFile({ config_rules, types, skip, max_buffered, vars, last_modified }: ReplaceFilterCase): string {
  const variables = Object.entries(vars).map(([name, value]) => `set $${name} ${quoted(value)};`)
  const rules = config_rules.map(
    ({ regex, replacement, flags }) => `replace_filter ${quoted(regex)} ${quoted(replacement)} ${flags};`,
  )
  return `http { server { listen 127.0.0.1:80;
    replace_filter_types ${types.join(' ')};
    location / { proxy_pass http://127.0.0.1:9000;
      ${[...variables, ...rules].join('\n      ')}
      replace_filter_max_buffered_size ${max_buffered};
      replace_filter_last_modified ${last_modified};
      ${skip === null ? '' : `replace_filter_skip ${'skip' in vars ? '$skip' : quoted(skip)};`}
    } } }`
}

/** What is made of the body by the configuration that is imported from the file, in the pieces that it comes in. */
function rewritten(
  file: string,
  contentType: string,
  body: string,
  sizes: readonly number[],
): { body: string; overflows: number } {
  const imported = importNginx(
    readNginx({ file: 'nginx.conf', text: file }, () => 'no includes here'),
    { refusalOf: () => undefined, headerRefusalOf: () => undefined },
  )
  if ('message' in imported) throw new Error(imported.message)
  expect(imported.notes.filter(({ kind }) => kind === 'missing')).toEqual([])
  const yaml = formatImport(imported, 'nginx.conf')
  const loaded = loadConfig('prexy.yaml', textAsFile(yaml, 'prexy.yaml'))
  expect(loaded.problems).toEqual([])
  const [list] = loaded.ruleLists
  if (list === undefined || list.rules.length === 0) return { body, overflows: 0 }
  // As the application does it: rules stand for the octets of their UTF-8 form, and are not once unless they say so.
  const rules = list.rules.map((rule): Rule => {
    if (!('regex' in rule)) throw new Error('replace_filter has patterns only')
    return { once: false, ...rule, regex: octetsOf(rule.regex), with: octetsOf(rule.with) }
  })
  const conditions = prepareConditions(rules.map((rule) => ({ ...rule, types: typesOf(rule) })))
  const forRequest = rulesForRequest(conditions, { method: 'GET', path: '/', fields: [] })
  const forStatus = typeof forRequest === 'string' ? undefined : rulesForStatus(conditions, forRequest, 200)
  const active = forStatus === undefined ? undefined : rulesForType(conditions, forStatus, contentType)
  if (active === undefined) return { body, overflows: 0 }
  const own = drive(compileRuleSet(rules, list.options), latin1(body), sizes)
  return { body: octetString(own.output), overflows: own.overflows }
}

function octetsOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

const OWN: readonly (readonly [name: string, directives: string, body: string, wanted: string])[] = [
  ['the first match without g', 'replace_filter a X;', 'aba', 'Xba'],
  ['a fired rule keeps its text', 'replace_filter a X; replace_filter ab Y g;', 'a ab ab b', 'X ab ab b'],
  [
    'groups, variables and dollar signs',
    "set $v 'w$';replace_filter '(a)(b)?' '[$1$2$$$v]' g;",
    'ab a',
    '[ab$w$] [a$w$]',
  ],
  ['dot takes newlines, ends are of lines', "replace_filter '^a.b$' X g;", 'a\nb\na.b', 'X\nX'],
  ['trailing blanks', "replace_filter '[ \\t]+$' '' g;", 'a \nb\t\n c', 'a\nb\n c'],
  ['i is ASCII', 'replace_filter k X gi;', 'Kk\u00e2\u0084\u00aa', 'XX\u00e2\u0084\u00aa'],
]

it.each(OWN)('%s', (_, directives, body, wanted) => {
  const file = `server { location / { proxy_pass http://127.0.0.1:9000; ${directives} } }`
  expect(rewritten(file, 'text/html', body, [body.length]).body).toBe(wanted)
})

if (NO_OUTSIDE_CASES === undefined) {
  const rows = readOutsideCases<ReplaceFilterCase>('replace-filter.jsonl')
  it.each(rows.map((row, i) => [`${i + 1} ${row.name}`, row] as const))('%s', (_, row) => {
    const sizes = row.upstream_body_chunks.map((chunk) => chunk.length)
    const got = rewritten(nginxFile(row), row.content_type, row.upstream_body_chunks.join(''), sizes)
    expect([got.body, got.overflows > 0]).toEqual([row.expected_body, row.overflow_expected])
  })
} else {
  it('cases from outside', (context) => context.skip(NO_OUTSIDE_CASES))
}

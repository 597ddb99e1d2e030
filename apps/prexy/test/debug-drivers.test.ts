import { describe, expect, test } from 'vitest'
import { collect, runPrexy, startPrexy } from './run-prexy.ts'

async function ask(driver: 'match' | 'rewrite', lines: readonly string[]): Promise<unknown[]> {
  const { code, stdout, stderr } = await runPrexy(['debug', driver], `${lines.join('\n')}\n`)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line))
}

/** Questions and what an answer to each must hold. All of a driver's go through one process, in order. */
type Case = readonly [what: string, question: unknown, answer: Readonly<Record<string, unknown>>]

function driverTests(driver: 'match' | 'rewrite', cases: readonly Case[]): void {
  describe(`prexy debug ${driver}`, () => {
    const answers = ask(
      driver,
      cases.map(([, question]) => (typeof question === 'string' ? question : JSON.stringify(question))),
    )
    test('answers every question', async () => {
      expect(await answers).toHaveLength(cases.length)
    })
    test.each(cases.map(([what, , expected], index) => [what, index, expected] as const))(
      '%s',
      async (_what, index, expected) => {
        const answer = (await answers)[index]
        if ('error' in expected) expect(answer).toMatchObject({ message: expect.any(String), ...expected })
        else expect(answer).toEqual(expected)
      },
    )
  })
}

driverTests('match', [
  [
    'the documented example',
    {
      regexes: ['a(b)?'],
      flags: 'ms',
      flags_per_regex: ['i'],
      mode: 'octet',
      compat: 'nginx',
      subject: 'xxAb',
      chunks: [1, 2],
    },
    {
      matched: true,
      rule: 0,
      captures: [
        [2, 4],
        [3, 4],
      ],
    },
  ],
  ['no match', { regexes: ['a'], subject: 'b' }, { matched: false }],
  [
    'an unset group is null',
    { regexes: ['a(b)?(c)'], subject: 'ac' },
    { matched: true, rule: 0, captures: [[0, 2], null, [1, 2]] },
  ],
  [
    'trailing unset groups are listed',
    { regexes: ['a(b)?'], subject: 'a' },
    { matched: true, rule: 0, captures: [[0, 1], null] },
  ],
  [
    'the leftmost of several patterns',
    { regexes: ['b', 'a(x)'], subject: 'axb' },
    {
      matched: true,
      rule: 1,
      captures: [
        [0, 2],
        [1, 2],
      ],
    },
  ],
  [
    'the first pattern at one place',
    { regexes: ['ab', 'a'], subject: 'ab' },
    { matched: true, rule: 0, captures: [[0, 2]] },
  ],
  ['no pattern', { regexes: [], subject: 'a' }, { matched: false }],
  [
    'empty pieces, and a rest',
    { regexes: ['abc'], subject: 'xabc', chunks: [0, 1, 0, 2, 0] },
    { matched: true, rule: 0, captures: [[1, 4]] },
  ],
  ['an empty subject', { regexes: ['^$'], subject: '', chunks: [] }, { matched: true, rule: 0, captures: [[0, 0]] }],
  [
    'octets above ASCII',
    { regexes: ['\u00ff'], mode: 'octet', subject: 'a\u00ff' },
    { matched: true, rule: 0, captures: [[1, 2]] },
  ],
  [
    'UTF-8 in text mode: offsets are octets',
    { regexes: ['.(\u00c3\u00a9)'], subject: '\u00c3\u00bc\u00c3\u00a9' },
    {
      matched: true,
      rule: 0,
      captures: [
        [0, 4],
        [2, 4],
      ],
    },
  ],
  [
    'null stands for absent',
    { regexes: ['a'], flags: null, flags_per_regex: null, chunks: null, subject: 'a' },
    { matched: true, rule: 0, captures: [[0, 1]] },
  ],
  [
    'blanks and repeats in flags',
    { regexes: ['a'], flags: ' i i ', subject: 'A' },
    { matched: true, rule: 0, captures: [[0, 1]] },
  ],
  [
    'of the common flags m and s go to every pattern',
    { regexes: ['^b'], flags: 'im', flags_per_regex: [''], subject: 'a\nb' },
    { matched: true, rule: 0, captures: [[2, 3]] },
  ],
  ['but i does not', { regexes: ['^b'], flags: 'im', flags_per_regex: [''], subject: 'a\nB' }, { matched: false }],
  ['a faulty pattern', { regexes: ['ok', 'ab('], subject: '' }, { error: 'E_PATTERN_SYNTAX', rule: 1, at: 2 }],
  ['an unsupported pattern', { regexes: ['(a)\\1'], subject: '' }, { error: 'E_PATTERN_UNSUPPORTED', rule: 0, at: 3 }],
  ['a pattern that is no UTF-8', { regexes: ['a\u00ff'], subject: '' }, { error: 'E_PATTERN_SYNTAX', rule: 0, at: 1 }],
  ['an unknown flag', { regexes: ['a'], flags: 'q', subject: '' }, { error: 'E_QUESTION' }],
  [
    'an unknown field',
    { regexes: ['a'], subjct: 'a' },
    { error: 'E_QUESTION', message: 'the question has an unknown field "subjct"; did you mean subject?' },
  ],
  ['a missing field', { regexes: ['a'] }, { error: 'E_QUESTION', message: 'subject is missing' }],
  ['a character that is no octet', { regexes: ['a'], subject: '\u0100' }, { error: 'E_QUESTION' }],
  ['pieces beyond the subject', { regexes: ['a'], subject: 'a', chunks: [2] }, { error: 'E_QUESTION' }],
  ['a piece of no size', { regexes: ['a'], subject: 'a', chunks: [0.5] }, { error: 'E_QUESTION' }],
  ['flags for too few patterns', { regexes: ['a', 'b'], flags_per_regex: ['i'], subject: '' }, { error: 'E_QUESTION' }],
  ['an unknown mode', { regexes: ['a'], mode: 'bytes', subject: '' }, { error: 'E_QUESTION' }],
  ['a line that is no JSON', '{"regexes":', { error: 'E_QUESTION' }],
  ['a line that is no object', '[1]', { error: 'E_QUESTION' }],
  ['an empty line', '', { error: 'E_QUESTION' }],
  ['and the next one is read', { regexes: ['a'], subject: 'a' }, { matched: true, rule: 0, captures: [[0, 1]] }],
])

driverTests('rewrite', [
  [
    'the documented example',
    {
      rules: [
        { regex: 'a+', with: '<$&>', flags: 'i', once: true },
        { text: 'b', with: 'c' },
      ],
      options: {
        priority: 'first',
        mode: 'octet',
        compat: 'nginx',
        maxHeldBytes: 65536,
        overflow: 'skip',
        vars: { host: 'b.example' },
      },
      chunks: ['xa', 'ab'],
    },
    { body: 'x<aa>c', emitted: ['x', '<aa>c', ''], held: [1, 0], hits: [1, 1], overflows: 0 },
  ],
  [
    'no body',
    { rules: [{ text: 'a', with: 'b' }], chunks: [] },
    { body: '', emitted: [''], held: [], hits: [0], overflows: 0 },
  ],
  [
    'empty chunks',
    { rules: [{ text: 'ab', with: 'x' }], chunks: ['', 'a', '', 'b'] },
    { body: 'x', emitted: ['', '', '', 'x', ''], held: [0, 1, 1, 0], hits: [1], overflows: 0 },
  ],
  ['no rules', { rules: [], chunks: ['a'] }, { body: 'a', emitted: ['a', ''], held: [0], hits: [], overflows: 0 }],
  [
    'text mode reads UTF-8 and writes it',
    { rules: [{ regex: '\u00c3\u00a9', with: '\u00c3\u00bc' }], chunks: ['\u00c3', '\u00a9'] },
    { body: '\u00c3\u00bc', emitted: ['', '\u00c3\u00bc', ''], held: [1, 0], hits: [1], overflows: 0 },
  ],
  [
    'variables',
    {
      rules: [
        { text: 'a', with: 'b' },
        { regex: 'h', with: '${host}' },
      ],
      options: { vars: { host: 'x.example' } },
      chunks: ['h'],
    },
    { body: 'x.example', emitted: ['x.example', ''], held: [0], hits: [0, 1], overflows: 0 },
  ],
  [
    'after abort, the body is what went out',
    {
      rules: [{ regex: 'a.*b', with: '$&' }],
      options: { maxHeldBytes: 4, overflow: 'abort' },
      chunks: ['x', 'a123456', 'b'],
    },
    { body: 'xa123', emitted: ['x', 'a123'], held: [0, 0], hits: [0], overflows: 1, aborted: true },
  ],
  [
    'a domain',
    { rules: [{ domain: 'a.example', to: 'b.example' }], chunks: ['//A.example/ nota.example'] },
    {
      body: '//b.example/ nota.example',
      emitted: ['//b.example/ nota.example', ''],
      held: [0],
      hits: [1],
      overflows: 0,
    },
  ],
  [
    'a domain in its own script, octet by octet',
    {
      rules: [{ domain: 'b\u00c3\u00bccher.example', to: '\u00c3\u00b6l.test' }],
      options: { mode: 'octet' },
      chunks: ['b\u00c3\u00bccher.example xn--bcher-kva.example'],
    },
    {
      body: '\u00c3\u00b6l.test xn--l-0ga.test',
      emitted: ['\u00c3\u00b6l.test ', 'xn--l-0ga.test'],
      held: [21],
      hits: [2],
      overflows: 0,
    },
  ],
  [
    'a snippet, once, also where once is said for all others',
    {
      rules: [{ insert: 'before', at: '</a>', with: '\u00c3\u00a9' }],
      options: { compat: 'nginx' },
      chunks: ['</A></a>'],
    },
    { body: '\u00c3\u00a9</A></a>', emitted: ['\u00c3\u00a9</A></a>', ''], held: [0], hits: [1], overflows: 0 },
  ],
  [
    'a kept case',
    { rules: [{ text: 'ab', with: 'cd', keepCase: true }], chunks: ['ab Ab AB'] },
    { body: 'cd Cd CD', emitted: ['cd Cd CD', ''], held: [0], hits: [3], overflows: 0 },
  ],
  [
    'variables, escaped for the type',
    {
      rules: [{ regex: 'h', with: '${query}|${query|raw}|${&|upper}' }],
      options: { vars: { query: '<\u00c3\u00a4"' }, mediaType: 'application/json' },
      chunks: ['h'],
    },
    {
      body: '<\u00c3\u00a4\\"|<\u00c3\u00a4"|H',
      emitted: ['<\u00c3\u00a4\\"|<\u00c3\u00a4"|H', ''],
      held: [0],
      hits: [1],
      overflows: 0,
    },
  ],
  [
    'conditions are fields of a rule',
    { rules: [{ text: 'a', with: 'b', types: ['text/html'], paths: ['/x'], status: [200] }], chunks: ['a'] },
    { body: 'b', emitted: ['b', ''], held: [0], hits: [1], overflows: 0 },
  ],
  ['a faulty template', { rules: [{ regex: 'a', with: 'x$9' }], chunks: [] }, { error: 'E_TEMPLATE', rule: 0, at: 1 }],
  [
    'a faulty pattern',
    {
      rules: [
        { text: 'a', with: '' },
        { regex: 'a{2,1}', with: '' },
      ],
      chunks: [],
    },
    { error: 'E_PATTERN_SYNTAX', rule: 1 },
  ],
  [
    'an unknown field of a rule',
    { rules: [{ text: 'a', wth: '' }], chunks: [] },
    { error: 'E_QUESTION', message: 'rules[0].wth: unknown key; did you mean with?' },
  ],
  ['an unknown option', { rules: [], options: { maxHeld: 1 }, chunks: [] }, { error: 'E_QUESTION' }],
  ['a limit that is too small', { rules: [], options: { maxHeldBytes: 3 }, chunks: [] }, { error: 'E_QUESTION' }],
  ['a chunk that is no text', { rules: [], chunks: [1] }, { error: 'E_QUESTION' }],
  ['no chunks', { rules: [] }, { error: 'E_QUESTION', message: 'chunks is missing' }],
  [
    'and the next one is read',
    { rules: [], chunks: ['a'] },
    { body: 'a', emitted: ['a', ''], held: [0], hits: [], overflows: 0 },
  ],
])

test('each answer comes before the next question is asked', async () => {
  const child = startPrexy(['debug', 'match'])
  const answers: string[] = []
  let wake = (): void => {}
  child.stdout.on('data', (chunk: Buffer) => {
    answers.push(chunk.toString())
    wake()
  })
  for (let number = 0; number < 3; number++) {
    const answered = new Promise<void>((resolve) => {
      wake = resolve
    })
    child.stdin.write(`${JSON.stringify({ regexes: ['b'], subject: 'a'.repeat(number) + 'b' })}\n`)
    await answered
    expect(JSON.parse(answers[number])).toEqual({ matched: true, rule: 0, captures: [[number, number + 1]] })
  }
  child.stdin.end()
  expect((await collect(child)).code).toBe(0)
})

test('a line that is cut anywhere on its way in, and a last line without an end', async () => {
  const child = startPrexy(['debug', 'match'])
  const outcome = collect(child)
  const bytes = Buffer.from(
    `${JSON.stringify({ regexes: ['\u00e9'], mode: 'octet', subject: '\u00e9' })}\n`.repeat(2).trimEnd(),
  )
  for (const byte of bytes) child.stdin.write(Buffer.of(byte))
  child.stdin.end()
  const answer = '{"matched":true,"rule":0,"captures":[[0,1]]}\n'
  expect((await outcome).stdout).toBe(answer + answer)
})

test('a line that is not UTF-8 is a question that cannot be understood', async () => {
  const { stdout } = await runPrexy(['debug', 'match'], Buffer.from([0x22, 0xff, 0x22, 0x0a]))
  expect(JSON.parse(stdout)).toMatchObject({ error: 'E_QUESTION' })
})

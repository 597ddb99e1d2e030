import { compileRuleSet } from '@prexy/rewrite/rule-set'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BodyRewriter } from '../src/body-rewriter.ts'

const SETS = [
  compileRuleSet([{ text: 'abc', with: 'x' }]),
  compileRuleSet([
    { text: 'é', with: 'ü€' },
    { regex: '[a-c]+', with: '<$&>' },
    { regex: 'q*$', with: '!' },
  ]),
  compileRuleSet(
    [
      { text: 'é', with: 'ж日' },
      { regex: 'b.', with: '' },
    ],
    { maxHeldBytes: 8 },
  ),
  compileRuleSet([{ text: 'a', with: 'bb' }], { mode: 'octet' }),
  compileRuleSet([{ text: 'a', with: 'bb' }], { compat: 'nginx' }),
]
const TYPES = [
  'text/html',
  'text/html; charset=utf-8',
  'text/html; charset=shift_jis',
  'text/css',
  'application/xml',
  'text/plain; charset=utf-16be',
  'text/plain',
  undefined,
]
const PARTS = [
  ...[
    '<meta charset=',
    'big5',
    'utf-8',
    'iso-2022-jp',
    'windows-1251',
    '>',
    '<!--',
    '-->',
    '@charset "',
    '";',
    '<?xml encoding="',
    '"?>',
  ],
  ...['abc', 'ab', 'c', 'q', ' ', '\xe9', '\xc3\xa9', '\x81', '\xef\xbb\xbf', '\xff\xfe', '\0', 'x'.repeat(500)],
  ...['<script src=a integrity=', '<link href=a ', ' integrity="x"'],
]

interface Way {
  readonly sizes: readonly number[]
  /** The sink asks for a pause after every so many writes; 0: never. */
  readonly pause: number
}

/** What comes out; each chunk is in a buffer that is used again. */
function rewritten(set: (typeof SETS)[number], type: string | undefined, body: Buffer, drops: boolean, way: Way) {
  const output: Buffer[] = []
  let writes = 0
  const sink = {
    write(chunk: Uint8Array): boolean {
      output.push(Buffer.from(chunk))
      writes++
      return way.pause === 0 || writes % way.pause !== 0
    },
  }
  const init = type === undefined ? {} : { mediaType: type }
  const rewriter = new BodyRewriter(set, sink, init, type, drops ? () => true : undefined)
  const used = Buffer.alloc(body.length)
  for (let at = 0, i = 0; at < body.length; i++) {
    const chunk = used.subarray(0, body.copy(used, 0, at, at + way.sizes[i % way.sizes.length]))
    for (let taken = 0; taken < chunk.length || rewriter.blocked; ) taken += rewriter.write(chunk.subarray(taken))
    at += chunk.length
    used.fill(0x61)
  }
  while (!rewriter.end());
  const { charset, isCopied, unencodable, hits, overflows, droppedIntegrity } = rewriter
  const told = { charset, isCopied, unencodable, hits: [...hits], overflows, droppedIntegrity }
  return { output: Buffer.concat(output).toString('latin1'), told, held: rewriter.heldBytes }
}

test('a body of any type and encoding comes out the same however it is cut and taken', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...SETS),
      fc.constantFrom(...TYPES),
      fc.array(fc.constantFrom(...PARTS), { maxLength: 12 }),
      fc.boolean(),
      fc.record({
        sizes: fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 }),
        pause: fc.constantFrom(0, 1, 2, 3),
      }),
      (set, type, parts, drops, way) => {
        const body = Buffer.from(parts.join(''), 'latin1')
        const whole = rewritten(set, type, body, drops, { sizes: [body.length + 1], pause: 0 })
        expect(rewritten(set, type, body, drops, way)).toEqual(whole)
        if (whole.told.isCopied) expect(whole.output).toBe(body.toString('latin1'))
      },
    ),
    { numRuns: 400 },
  )
})

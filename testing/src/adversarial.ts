/**
 * Rule sets that are hard for matchers of their kind, each with a body made against it. Tests count the engine's steps
 * over them (testing/adversarial), the bench takes the time of the slowest (engine-corpus).
 */
import type { Rule, RuleSetOptions } from '@prexy/rewrite/rules'
import { seededRandom } from './splits.ts'

export interface AdversarialCase {
  readonly name: string
  readonly rules: readonly Rule[]
  readonly options: RuleSetOptions
  /** A body of exactly so many bytes, the same every time. */
  readonly body: (bytes: number) => Uint8Array
}

const encoder = new TextEncoder()

type Body = AdversarialCase['body']

/** `unit` over and over, cut at the length. */
function repeated(unit: string | readonly number[]): Body {
  const octets = typeof unit === 'string' ? encoder.encode(unit) : Uint8Array.from(unit)
  return (bytes) => Uint8Array.from({ length: bytes }, (_, i) => octets[i % octets.length])
}

/** `first`, then `unit` over and over, and `last` at the end. */
function framed(first: string, unit: string, last = ''): Body {
  const [head, tail] = [encoder.encode(first), encoder.encode(last)]
  return (bytes) => {
    const body = repeated(unit)(bytes)
    body.set(head.subarray(0, bytes))
    if (tail.length <= bytes) body.set(tail, bytes - tail.length)
    return body
  }
}

/** Pieces in random order. */
function mixed(pieces: readonly string[], seed = 1): Body {
  const parts = pieces.map((piece) => encoder.encode(piece))
  return (bytes) => {
    const random = seededRandom(seed)
    const body = new Uint8Array(bytes)
    for (let at = 0; at < bytes; ) {
      const part = parts[Math.floor(random() * parts.length)]
      body.set(part.subarray(0, bytes - at), at)
      at += part.length
    }
    return body
  }
}

/** Any octets. */
function noise(seed: number): Body {
  return (bytes) => {
    const random = seededRandom(seed)
    return Uint8Array.from({ length: bytes }, () => Math.floor(random() * 256))
  }
}

function words(count: number, length: number, letters: string, seed: number): string[] {
  const random = seededRandom(seed)
  const made = new Set<string>()
  while (made.size < count) {
    made.add(Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join(''))
  }
  return [...made]
}

function regex(pattern: string, flags = '', replacement = 'X'): Rule {
  return { regex: pattern, with: replacement, flags }
}

function text(literal: string, replacement = 'X', flags = ''): Rule {
  return { text: literal, with: replacement, flags }
}

function one(name: string, pattern: string, body: Body, options: RuleSetOptions = {}): AdversarialCase {
  return { name, rules: [regex(pattern)], options, body }
}

function set(name: string, rules: readonly Rule[], body: Body, options: RuleSetOptions = {}): AdversarialCase {
  return { name, rules, options, body }
}

const LONGEST: RuleSetOptions = { priority: 'longest' }
const OCTET: RuleSetOptions = { mode: 'octet' }

/** Matches that are open for long: what an engine decides late or looks at again. */
const OPEN: readonly AdversarialCase[] = [
  one('a long look for an end that never comes', 'a.*b|a', repeated('a')),
  one('the same with the end at the very end', 'a.*b|a', framed('', 'a', 'b')),
  one('the same over lines', '(?s)a.*b|a', repeated('aaaaaaa\n')),
  one('a long look in longest', 'a.*b|a', repeated('a'), LONGEST),
  one('the same with a held group', '(a).*b|a', repeated('a')),
  set('a group and an end that never comes', [regex('<([a-z]*)[^>]*>|<', 's', '[$1]')], repeated('<a ')),
  set('nested ends', [regex('(?s)a.*z'), regex('(?s)b.*y'), regex('(?s)c.*x'), text('d')], repeated('abcd')),
  set(
    'many rules open at once',
    words(24, 1, 'abcdefghijklmnopqrstuvwxyz', 3).map((w) => regex(`${w}.*[0-9]`, 's')),
    mixed([...'abcdefghijklmnopqrstuvwxyz']),
  ),
  one('two ways open until the end', '(?:ab)*c|(?:ab)*d|a', repeated('ab')),
  one('an end one byte too early', '(?:aa)*b|a', repeated('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac')),
  one('a lazy loop without an end', 'a.*?b', repeated('a')),
  one('lazy loops in a row', 'a.*?b.*?c.*?d.*?e', repeated('abcd')),
  one('an attribute in a tag without an end', '<a [^>]*href="([^"]*)"[^>]*>', framed('', '<a href="x" ')),
  one('a script that never ends', '(?is)<script.*?</script>', framed('<script>', '</scrip ')),
  one('a comment that never ends', '(?s)<!--.*?-->', framed('<!--', '--')),
  one('a string with escapes', '"(?:[^"\\\\]|\\\\.)*"', repeated('"\\\\\\"')),
  set('a limit of few bytes', [regex('a.*b')], repeated('a'), { maxHeldBytes: 4 }),
  set('a limit met by every match', [regex('a{1,100}b'), text('a', 'yy')], repeated('aaaaaaaaaaaaac'), {
    maxHeldBytes: 8,
  }),
  set(
    'text held between dropped matches',
    [regex('(?s)x.*y', '', 'Q'), regex('a+', '', '')],
    framed('x', 'bbbbbaaaaa'),
    { maxHeldBytes: 262_144 },
  ),
]

/** Loops in loops, counts in counts. */
const LOOPS: readonly AdversarialCase[] = [
  one('two equal ways in a loop', '(?:a|a)*b', repeated('a')),
  one('a loop in a loop', '(?:a*)*b', repeated('a')),
  one('a loop in a loop in a loop', '(?:(?:a+)+)+b', repeated('a')),
  one('an optional part in a loop', '(?:a?){40}a{40}', repeated('a')),
  one('ways that overlap', '(?:a|aa|aaa|aaaa)*b', repeated('a')),
  one('a loop of two loops', '(?:x+x+)+y', repeated('x')),
  one('classes that overlap', '(?:[a-m]|[g-z]|\\w)*!', repeated('ghijklm')),
  one('a mail address', '[a-z0-9._]+@(?:[a-z0-9]+\\.)+[a-z]{2,6}', repeated('a.b.c.d.')),
  one('an image name', '[a-z]+\\.(?:png|css)', repeated('abcdefgh')),
  one('an image name, held', '([a-z]+)\\.(png|css)', repeated('abcdefgh.pn')),
  one('a count', 'a{200}b', repeated('a')),
  one('a count of a class', '[ab]{100}c', mixed(['a', 'b'])),
  one('a count in a count', '(?:(?:ab?){5}c?){10}d', repeated('ababac')),
  one('optional counts', '(?:a{0,5}){0,20}b', repeated('a')),
  one('a count that ends open', '(?:ab){20,}c', repeated('ab')),
  one('a loop that can be empty', '(?:a*b*)*c', repeated('ab')),
  one('groups in a loop', '(?:(a)|(b)|(c))*d', repeated('abc')),
  set('groups in a loop that are used', [regex('(?:(a)|(b)|(c))*d', '', '$1$2$3')], framed('', 'abc', 'd')),
  set('groups of a long match', [regex('((?:[a-z]| )*)\\.', '', '<$1>')], framed('', 'lorem ipsum ', '.'), {
    maxHeldBytes: 16_384,
  }),
]

/** Automata with many states, and bodies that visit them all. */
const STATES: readonly AdversarialCase[] = [
  one('a letter so many bytes ago', '(?:a|b)*a(?:a|b){20}c', mixed(['a', 'b'])),
  one('a letter so many bytes ago, anywhere', 'a[ab]{14}c', mixed(['a', 'b'])),
  one('a letter so many bytes ago, in longest', 'a[ab]{10}c', mixed(['a', 'b']), LONGEST),
  one('windows that overlap', 'a.{12}b|c.{9}d', mixed(['a', 'b', 'c', 'd'])),
  set(
    'windows of ten rules',
    [...'abcdefghij'].map((w, i) => regex(`${w}[a-j]{${5 + i}}!`)),
    mixed([...'abcdefghij']),
  ),
  one('a letter so many bytes ago, up to a word edge', 'a[ab]{14}\\b', mixed(['a', 'b'])),
  one('threads at every distance, up to a line end', '(?m)a.{40}$', mixed(['a', 'b'], 5)),
  set('threads at every distance', [regex('a.{60}z')], mixed(['a', 'b'], 5)),
  set(
    'once-rules in any order',
    words(12, 3, 'xyz', 9).map((w) => ({ ...text(w), once: true })),
    mixed(words(27, 3, 'xyz', 2)),
  ),
  set(
    'rules with counts',
    words(6, 2, 'xyz', 4).map((w, i) => ({ ...text(w), max: 50 + i })),
    mixed([...'xyz']),
  ),
  set('a limited rule behind an open one', [regex('(?s)a.*b'), { ...text('c'), max: 1_000 }], framed('a', 'cccd')),
  set('limited empty matches', [{ ...regex('x*'), max: 5_000 }], repeated('xy')),
]

/** Prefilters: candidates everywhere, matches nowhere. */
const NEAR: readonly AdversarialCase[] = [
  set('near misses of one literal', [text('www.example.org')], repeated('www.example.orwww.example.or')),
  set('near misses that differ early', [text('abcdefgh')], repeated('abcabdabe')),
  set('near misses of a literal in itself', [text('aaaaaaaaaaaaaaab')], repeated('a')),
  set('near misses of a long literal in itself', [text(`${'a'.repeat(2_000)}b`)], repeated('a')),
  set(
    'near misses of long literals that begin alike',
    words(40, 4, 'bcde', 15).map((w) => text(`${'a'.repeat(60)}${w}`)),
    repeated('a'),
  ),
  set(
    'near misses of a hundred literals',
    words(101, 8, 'abcd', 6).map((w) => text(w)),
    mixed(words(101, 8, 'abcd', 6).map((w) => w.slice(0, 7))),
  ),
  set(
    'near misses of a thousand literals',
    words(1_000, 9, 'abcdefgh', 7).map((w) => text(w)),
    mixed(words(1_000, 9, 'abcdefgh', 7).map((w) => w.slice(0, 8))),
  ),
  set(
    'literals that differ in the last byte',
    words(500, 4, 'abcdefghij', 8).map((w) => text(`/static/js/app.${w}`)),
    repeated('/static/js/app.aaaz'),
  ),
  set(
    'literals that end alike',
    words(300, 4, 'abcdefghij', 10).map((w) => text(`${w}.example.org`)),
    mixed(['.example.org', 'abcd.example.or']),
  ),
  set(
    'caseless near misses',
    [text('Tracking', 'X', 'i'), text('Kelvin', 'X', 'i')],
    repeated('tRACKINtracKIkElVi\u212aelvi'),
  ),
  set('first bytes everywhere', [regex('[a-z]{8}[0-9]')], repeated('abcdefg ')),
  set('a class of nearly everything', [regex('[^q]{30}q')], noise(3), OCTET),
  set(
    'near misses of a domain',
    [{ domain: 'a.example', to: 'b.example' }],
    repeated('nota.example a.example.org my-a.example '),
  ),
  set(
    'escapes before a domain',
    [{ domain: 'shop.example', to: 'b.example' }],
    repeated('https%253A%252F%252Fshop.exampl &#x2F;shop.example.org \\/\\/shop.example-'),
  ),
  set(
    'a domain with subdomains',
    [{ domain: 'a.example', to: 'b.example', subdomains: 'keep' }],
    repeated('x.y.z.w.v.u.t.s.r.q.a.exampl'),
  ),
  set(
    'domains by the dozen',
    words(40, 5, 'abc', 12).map((w) => ({ domain: `${w}.example`, to: `${w}.test` })),
    mixed(words(40, 5, 'abc', 12).map((w) => `${w}.exampl `)),
  ),
  set('near misses of a tag', [{ insert: 'before', at: '</head>', with: '<x>' }], repeated('</hea</head</headx>')),
  set('a tag that never ends', [{ insert: 'after', at: '<body>', with: '<x>' }], framed('<body a="', '> b="')),
]

/** Matches at every byte, empty matches, long and short replacements. */
const DENSE: readonly AdversarialCase[] = [
  set('a match at every byte', [text('a', 'b')], repeated('a')),
  set('every byte by a class', [regex('[a-z]', '', '')], repeated('abcxyz')),
  set('a match at every other byte', [text('a', 'bb')], repeated('a-')),
  set('an empty match at every byte', [regex('', '', '-')], repeated('a')),
  set('empty and not', [regex('b*', '', '<$&>')], repeated('aab')),
  set('empty matches in text', [regex('x*', '', '.')], repeated('\u00e9\u20ac\u{1f600}')),
  set('empty matches in longest', [regex('x*', '', '.'), regex('y?', '', ',')], repeated('zxyx'), LONGEST),
  set('huge replacements', [text('a', 'x'.repeat(1_000))], repeated('a---------')),
  set('huge replacements of groups', [regex('(a)', '', '$1'.repeat(500))], repeated('a---------')),
  set('a group at every byte', [regex('([a-z])', '', '[$1]')], repeated('abc')),
  set('a filter at every word', [regex('([a-z]+)', '', '${1|upper|html|url}')], repeated('abc def ')),
  set('case kept at every word', [{ text: 'acme', with: 'Zenith', keepCase: true }], repeated('Acme ACME acme aCmE ')),
  set('blanks swallowed', [regex('\\s+', '', ' ')], repeated(' ')),
  set('a long match that drops its text', [regex('[^<]+', '', '')], framed('', 'lorem ipsum ')),
]

/** Edges: words, lines, the end, characters. */
const EDGES: readonly AdversarialCase[] = [
  one('word edges at every byte', '\\b', repeated('a ')),
  one('word edges in a chain', '\\b\\w+\\b \\b\\w+\\b!', repeated('ab cd ')),
  one('no word edges', '\\Ba\\B', repeated('aaa')),
  set('lines', [regex('^', 'm'), regex('$', 'm')], repeated('a\n')),
  set('blanks at line ends', [regex('[ \\t]+$', 'm', '')], repeated('   \t  x')),
  one('the end of the body', 'a+\\z', repeated('a')),
  one('a final newline', 'a*$', repeated('aa\n')),
  one('the start of the body', '\\A(?:a|b)*c', mixed(['a', 'b'])),
  one('a prefix of anything', '.*abc', repeated('abab')),
  one('a prefix of anything, over lines', '(?s).*abc', repeated('abab')),
  one('letters of all scripts', '\\p{L}+!', repeated('a\u00df\u0434\u4e2d\u3042')),
  one('letters of all scripts, held', '(\\p{Lu}\\p{Ll}+)!', repeated('\u0410\u0431\u0432\u00c4\u00e4')),
  set('a class of all but one', [regex('[^\\x{10ffff}]{3}!', 'i')], repeated('\u{1f600}\u4e2da')),
  one('characters cut short', '\u20ac+\u00e9', repeated([0xe2, 0x82, 0xe2, 0x82, 0xac, 0xc3])),
  set('text that is no text', [regex('.+?\u00e9')], noise(7)),
  set('octets', [regex('[\\x80-\\xff]{2,5}\\x00')], noise(9), OCTET),
  set('folding beyond ASCII', [regex('stra\u00dfe|\u03c3\u03c2', 'i')], repeated('STRA\u1e9e\u03a3\u03c3\u017ftra')),
  set('nginx: spent rules keep their text', [{ ...text('aa'), once: true }, text('a', 'b')], repeated('aaab'), {
    compat: 'nginx',
  }),
]

export const ADVERSARIAL_CASES: readonly AdversarialCase[] = [...OPEN, ...LOOPS, ...STATES, ...NEAR, ...DENSE, ...EDGES]

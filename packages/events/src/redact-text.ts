/**
 * Takes secrets out of text whose form is not known, or only roughly: pages, scripts, JSON, XML, forms, header values.
 *
 * Two things are looked for. What is a secret by its looks: user names and passwords in URLs, JSON Web Tokens, keys of
 * well-known services, private keys, credentials behind `Bearer` and `Basic`. And what stands behind the name of a secret:
 * `"password": "..."`, `token=...`, `<secret>...</secret>`, `<input name="csrf" value="...">`, a part of a multipart form.
 * The text may be cut off anywhere: a secret at the end is taken out as far as it is there.
 *
 * Text stands for octets, one character each (latin-1), or is Unicode; all that is looked for is ASCII. What is not taken
 * out stays as it is, and redacting twice is the same as once. Linear in the text, but for constant factors: every
 * quantifier is bounded, or ends where what it repeats cannot begin anew.
 *
 * It errs on the side of taking too much: `token = next()` in a script loses `next(`.
 */
import type { NamePlace, SecretNames } from './secret-names.ts'

/** What stands in the place of a secret. */
export const REDACTED = '[redacted]'

const LOOKS = new RegExp(
  [
    // Of a URL: user and password.
    String.raw`:\/\/[^\s\/?#"'<>@]{1,256}@`,
    // The same within a query.
    String.raw`%3[Aa]%2[Ff]%2[Ff](?:(?!%40|%2[Ff]|%3[Ff])[^\s\/?#"'<>@&]){1,256}%40`,
    // The same, cut off by the end of the text; what looks like a port is taken for one.
    String.raw`:\/\/[^\s\/?#"'<>@:]{1,128}:(?!\d{1,5}$)[^\s\/?#"'<>@]{1,256}$`,
    // JSON Web Tokens, whole or cut off by the end of the text; not in the middle of a longer run, so that runs are read once.
    String.raw`(?:(?<![\w-])|(?<=%[0-9A-Fa-f]{2}))eyJ[\w-]{10,}(?:(?:\.[\w-]*){1,4}|$)`,
    String.raw`-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----`,
    String.raw`\b(?:[Bb]earer|BEARER|[Bb]asic|BASIC)(?: |%20|\+)[\w.~+\/=-]{12,}`,
    // Keys that services give a prefix, for finding them where they should not be.
    String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{12,}`,
    String.raw`\bgh[opsur]_\w{16,}`,
    String.raw`\bgithub_pat_\w{16,}`,
    String.raw`\bglpat-[\w-]{16,}`,
    String.raw`\bxox[abeoprs]-[\w-]{10,}`,
    String.raw`\b[rs]k_(?:live|test)_\w{10,}`,
    String.raw`\bAIza[\w-]{30,}`,
    String.raw`\bya29\.[\w-]{16,}`,
    String.raw`\bnpm_\w{30,}`,
  ].join('|'),
  'g',
)

/**
 * What every match of `LOOKS` has in it: most texts have none of it, and are told so in a fraction of the time.
 *
 * PERF: 30 header values of a request and its response, 6 us instead of 31 (Node 20.20, 2026-12-01, loaded machine).
 */
const TRACES =
  /:\/\/|%40|eyJ|earer|EARER|asic|ASIC|-----B|AKIA|ASIA|gh[opsur]_|_pat_|glpat|xox|k_live|k_test|AIza|ya29|npm_/

/** What every value behind a name has before it. */
const SEPARATORS = /[=:<,(]|%(?:25){0,3}3[AaDd]/

const MAX_NAME_UNITS = 64
/** How far the rest of a tag or the head of a part is looked through. */
const MAX_TAG_UNITS = 1_024

/** The text without its secrets; the same string if it holds none. */
export function redactText(text: string, names: SecretNames, place: NamePlace): string {
  const variables = new Set<string>()
  let shown = redactNamed(redactLooks(text), names, place, variables)
  if (variables.size > 0) shown = redactNamed(shown, namesOf(variables), place, undefined)
  return place === 'query' ? redactAddress(shown, names) : shown
}

/** What only addresses have: names that are percent-encoded, a user before a host without a scheme, secrets in a path. */
function redactAddress(text: string, names: SecretNames): string {
  let result = text
  if (result.includes('@') && result.includes('//')) result = result.replaceAll(SCHEMELESS_USER, `//${REDACTED}@`)
  if (result.includes('%') && result.includes('=')) {
    result = result.replace(ENCODED_PAIR, (all: string, before: string, name: string) =>
      names.has(percentDecoded(name), 'query') ? `${before}${name}=${REDACTED}` : all,
    )
  }
  return LONG_SEGMENT.test(result) ? redactPath(result, names) : result
}

const SCHEMELESS_USER = /(?<![:\w/])\/\/[^\s/?#"'<>@]{1,256}@/g
/** A name with an escape in it, and its value. */
const ENCODED_PAIR = /(^|[?&;#])([^=&;#?\s%]{0,64}%[^=&;#?\s]{0,64})=[^&;#\s"'<>]+/g
/** A segment that is long enough for a secret. */
const LONG_SEGMENT = /\/[\w.~=-]{16}/
/** Segments that are followed by a secret, beside those with the name of one. */
const BEFORE_SECRETS =
  /^(?:activate|activation|confirm|confirmation|invite|invitation|key|magic|reset|unsubscribe|verify)$/i

/** `/reset-password/3f9a…`: of the segment behind such a name what looks like no word. */
function redactPath(text: string, names: SecretNames): string {
  return text.replace(/(?<=\/([^/?#\s]{1,64})\/)[\w.~=-]{16,512}(?=[/?#\s]|$)/g, (segment: string, before: string) => {
    const isSecret = BEFORE_SECRETS.test(before) || names.has(before, 'body')
    return isSecret && /\d/.test(segment) && /[A-Za-z]/.test(segment) ? REDACTED : segment
  })
}

/** `+` is a space; what is no escape stays as it is. Only for comparing names. */
export function percentDecoded(text: string): string {
  return text
    .replaceAll('+', ' ')
    .replaceAll(/%([0-9A-Fa-f]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** Takes out what is a secret by its looks. */
export function redactLooks(text: string): string {
  if (!TRACES.test(text)) return text
  let result = ''
  let at = 0
  LOOKS.lastIndex = 0
  for (let match = LOOKS.exec(text); match !== null; match = LOOKS.exec(text)) {
    const [found] = match
    result += text.slice(at, match.index)
    at = match.index + found.length
    if (found.startsWith('%3')) {
      result += `${found.slice(0, 9)}${REDACTED}%40`
    } else if (found.startsWith('://')) {
      result += found.endsWith('@') ? `://${REDACTED}@` : `://${REDACTED}`
    } else if (found.startsWith('-----')) {
      const end = text.indexOf('-----END', at)
      result += found + REDACTED
      at = end < 0 ? text.length : end
      LOOKS.lastIndex = at
    } else {
      const scheme = /^(bearer|basic)(?: |%20|\+)/i.exec(found)?.[0]
      // "Basic authentication" is no credential.
      if (scheme !== undefined && /^[A-Za-z-]*$/.test(found.slice(scheme.length)) && found.length < 40) result += found
      else result += (scheme ?? '') + REDACTED
    }
  }
  return at === 0 ? text : result + text.slice(at)
}

/** Takes out what stands behind the name of a secret, and gathers variables that do. */
function redactNamed(text: string, names: Names, place: NamePlace, variables: Set<string> | undefined): string {
  if (!SEPARATORS.test(text)) return text
  let result = ''
  let at = 0
  const { hints } = names
  hints.lastIndex = 0
  for (let match = hints.exec(text); match !== null; match = hints.exec(text)) {
    if (match.index < at) {
      hints.lastIndex = at
      continue
    }
    const start = nameStart(text, match.index, at)
    const end = nameEnd(text, match.index + match[0].length)
    hints.lastIndex = end
    if (!names.has(text.slice(start, end), place)) continue
    const value = valueBehind(text, start, end)
    if (value === undefined || value.start < at || value.start === value.end) continue
    if (text.startsWith(REDACTED, value.start)) continue
    if (variables !== undefined && text[value.start] === '$') {
      const variable = VARIABLE.exec(text.slice(value.start, Math.min(value.end, value.start + 66)))?.[1]
      if (variable !== undefined) variables.add(variable)
    }
    result += text.slice(at, value.start) + (value.replacement ?? REDACTED)
    at = value.end
    hints.lastIndex = Math.max(at, end)
  }
  return at === 0 ? text : result + text.slice(at)
}

/** What is asked about names. */
type Names = Pick<SecretNames, 'hints' | 'has'>

/** A variable of a GraphQL operation in the place of a secret: its value stands elsewhere. */
const VARIABLE = /^\$([A-Za-z_]\w{0,63})$/
const MAX_VARIABLES = 32

function namesOf(variables: ReadonlySet<string>): Names {
  return {
    hints: new RegExp([...variables].slice(0, MAX_VARIABLES).join('|'), 'g'),
    has: (name) => variables.has(name),
  }
}

function nameStart(text: string, from: number, least: number): number {
  let start = from
  const stop = Math.max(least, from - MAX_NAME_UNITS)
  while (start > stop && isNameUnit(text.charCodeAt(start - 1))) start--
  // Of `user%5Bpin%5D`, the name is pin.
  if (start > 0 && text[start - 1] === '%')
    start += /^(?:25){0,3}[0-9A-Fa-f]{2}/.exec(text.slice(start, start + 8))?.[0].length ?? 0
  return Math.min(start, from)
}

function nameEnd(text: string, from: number): number {
  let end = from
  const stop = Math.min(text.length, from + MAX_NAME_UNITS)
  while (end < stop && isNameUnit(text.charCodeAt(end))) end++
  return end
}

/** Letters, digits, `$`, `-`, `.`, `_`. */
function isNameUnit(unit: number): boolean {
  return (
    (unit >= 0x61 && unit <= 0x7a) ||
    (unit >= 0x41 && unit <= 0x5a) ||
    (unit >= 0x30 && unit <= 0x39) ||
    unit === 0x5f ||
    unit === 0x2d ||
    unit === 0x24 ||
    unit === 0x2e
  )
}

interface Value {
  readonly start: number
  readonly end: number
  /** Where it is not {@link REDACTED} alone. */
  readonly replacement?: string
}

function valueBehind(text: string, nameFrom: number, nameTo: number): Value | undefined {
  if (text[nameFrom - 1] === '<') return elementContent(text, nameTo)
  if (text[nameFrom - 1] === ':' && /<[\w.-]{1,32}:$/.test(text.slice(Math.max(nameFrom - 34, 0), nameFrom))) {
    return elementContent(text, nameTo)
  }
  if (/cookie$/i.test(text.slice(nameFrom, nameTo))) {
    const line = /:[^\r\n]+/y
    line.lastIndex = nameTo
    if (line.test(text) && !/^:\s*\\?["'`]/.test(text.slice(nameTo, nameTo + 8))) {
      return { start: nameTo + 1, end: line.lastIndex, replacement: ` ${REDACTED}` }
    }
  }
  return assigned(text, nameTo) ?? argument(text, nameFrom, nameTo) ?? attributeOrPart(text, nameFrom, nameTo)
}

/**
 * `name="..."`, `'name': 5`, `name=...&`, `name]=...`, `["name"] = "..."`, `\"name\":\"...\"`, and the same percent-encoded, also
 * more than once.
 */
function assigned(text: string, nameTo: number): Value | undefined {
  const between =
    /(?:%5[Dd]|\]){0,4}(?:\\{0,3}["'`]|%(?:25){0,3}2[27])?\]?(?:\s{0,20}(?:=>|:=|[=:])|%(?:25){0,3}3[AaDd])(?:%(?:25){0,3}2[027]){0,3}\s{0,20}/y
  between.lastIndex = nameTo
  const separator = between.exec(text)
  if (separator === null) return undefined
  const start = between.lastIndex
  const quote = /\\{0,3}(?:"""|["'`])/y
  quote.lastIndex = start
  const opened = quote.exec(text)?.[0]
  if (opened !== undefined) return { start: start + opened.length, end: quoteEnd(text, start + opened.length, opened) }
  const first = text[start]
  if (first === '|' || first === '>') return blockScalar(text, start)
  if (first === '{' || first === '[') {
    if (text.startsWith(REDACTED, start)) return { start, end: start }
    return { start, end: bracketEnd(text, start), replacement: `"${REDACTED}"` }
  }
  const bare = separator[0].includes('%') ? /[^\s,;&<>"'`{}()%]+/y : /[^\s,;&<>"'`{}()]+/y
  bare.lastIndex = start
  const word = bare.exec(text)?.[0]
  if (word === undefined || /^(?:null|true|false|undefined|none)$/i.test(word)) return undefined
  if (/^(?:bearer|basic|digest|negotiate|token)$/i.test(word)) {
    const credentials = /[ \t]+[^\s,;&<>"'`]+/y
    credentials.lastIndex = start + word.length
    if (credentials.test(text)) return { start, end: credentials.lastIndex, replacement: `${word} ${REDACTED}` }
  }
  // A number must stay one, or JSON is none any more.
  const isNumber = separator[0].includes(':') && /^-?\d+(?:\.\d+)?$/.test(word)
  return { start, end: start + word.length, ...(isNumber ? { replacement: '0' } : {}) }
}

/** YAML 1.2, section 8.1: `|` or `>`, then lines that are indented. */
function blockScalar(text: string, start: number): Value | undefined {
  const block = /[|>][-+0-9]{0,2}[ \t]{0,20}\r?\n/y
  block.lastIndex = start
  if (!block.test(text)) return undefined
  const from = block.lastIndex
  let end = from
  for (let line = from; line < text.length && /[ \t]/.test(text[line]); ) {
    const feed = text.indexOf('\n', line)
    end = feed < 0 ? text.length : feed
    line = end + 1
  }
  return end === from ? undefined : { start: from, end, replacement: `  ${REDACTED}` }
}

/** `["name", "..."]`, `("name", "...")`, `name("...")`. */
function argument(text: string, nameFrom: number, nameTo: number): Value | undefined {
  const behind = /\s{0,5}\(\s{0,5}(["'`])(?=[^"'`\r\n]{8})|(["'`])\s{0,5},\s{0,20}(["'`])/y
  behind.lastIndex = nameTo
  const found = behind.exec(text)
  if (found === null) return undefined
  const isPair = found[2] !== undefined
  if (isPair && !/[[(]\s{0,20}["'`]$/.test(text.slice(Math.max(nameFrom - 24, 0), nameFrom))) return undefined
  const start = behind.lastIndex
  const end = quoteEnd(text, start, found[1] ?? found[3])
  // A list of names goes on.
  const isList = isPair && end < text.length && !/^["'`]\s{0,20}[\])]/.test(text.slice(end, end + 22))
  return isList ? undefined : { start, end }
}

/** `opened`: the quote with the backslashes before it, since JSON within a string has those. */
function quoteEnd(text: string, from: number, opened: string): number {
  if (opened.endsWith('"""')) {
    const end = text.indexOf(opened, from)
    return end < 0 ? text.length : end
  }
  const mark = opened.at(-1) ?? '"'
  const depth = opened.length - 1
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + 1)) {
    let slashes = 0
    while (at - slashes > from && text[at - slashes - 1] === '\\') slashes++
    if (depth === 0 ? slashes % 2 === 0 : slashes <= depth) return at - Math.min(slashes, depth)
  }
  return text.length
}

/** Behind the bracket that closes the one at `from`, strings left out. */
function bracketEnd(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const unit = text[at]
    if (unit === '{' || unit === '[') depth++
    else if (unit === '}' || unit === ']') depth--
    else if (unit === '"') at = quoteEnd(text, at + 1, '"')
    if (depth === 0) return at + 1
  }
  return text.length
}

/** `<name ...>...</`. */
function elementContent(text: string, nameTo: number): Value | undefined {
  const close = text.slice(nameTo, nameTo + MAX_TAG_UNITS).indexOf('>')
  if (close < 0 || text[nameTo + close - 1] === '/') return undefined
  const start = nameTo + close + 1
  const end = text.indexOf('</', start)
  return { start, end: end < 0 ? text.length : end }
}

/**
 * `name="secret" value="..."`, `type=password value=...`, `"name": "secret", "value": "..."`, the part of a form that is
 * called so, or what stands in a tag that is.
 */
function attributeOrPart(text: string, nameFrom: number, nameTo: number): Value | undefined {
  const before = text.slice(Math.max(nameFrom - 24, 0), nameFrom)
  if (/<(?:name|key)>\s{0,16}$/i.test(before)) return siblingContent(text, nameTo)
  if (/["']?\b(?:name|key|field|header|param|id)["']?\s{0,5}:\s{0,5}["']?$/i.test(before))
    return siblingMember(text, nameFrom, nameTo)
  if (!/(?:name|id|type|itemprop|property)\s?=\s?["']?[^"'\s=]{0,8}$/i.test(before)) return undefined
  const rest = text.slice(nameTo, nameTo + MAX_TAG_UNITS)
  if (/form-data; {0,5}name="?[^"]{0,8}$/i.test(text.slice(Math.max(nameFrom - 40, 0), nameFrom))) {
    const head = /^[^\r\n]{0,200}(?:\r?\n[^\r\n]{1,200}){0,4}(\r?\n)\r?\n/.exec(rest)
    if (head === null) return undefined
    const start = nameTo + head[0].length
    const end = text.indexOf(`${head[1]}--`, start)
    return { start, end: end < 0 ? text.length : end }
  }
  const reach = Math.max(nameFrom - MAX_TAG_UNITS, 0)
  const opened = text.slice(reach, nameFrom).lastIndexOf('<')
  if (opened < 0) return undefined
  const open = reach + opened
  const tagEnd = rest.indexOf('>')
  const tag = text.slice(open, tagEnd < 0 ? nameTo + MAX_TAG_UNITS : nameTo + tagEnd)
  const attribute = /[\s"'/](?:value|content)\s{0,5}=\s{0,5}(?:"([^"]*)|'([^']*)|([^\s"'>]+))/i.exec(tag)
  if (attribute === null) return /^<(?:textarea|output)\b/i.test(tag) ? elementContent(text, nameTo) : undefined
  const content = attribute[1] ?? attribute[2] ?? attribute[3]
  const end = open + attribute.index + attribute[0].length
  return { start: end - content.length, end }
}

const VALUE_MEMBER = String.raw`["']?\b(?:value|val|content|text)["']?\s{0,5}:\s{0,5}`
const NEXT_VALUE = new RegExp(String.raw`^["']?\s{0,5}[,\r\n][^{}[\]]{0,256}?${VALUE_MEMBER}`)
const OTHER_VALUE = new RegExp(VALUE_MEMBER)

/** The value beside a name in the same object or, in YAML, the same item. */
function siblingMember(text: string, nameFrom: number, nameTo: number): Value | undefined {
  const next = NEXT_VALUE.exec(text.slice(nameTo, nameTo + MAX_TAG_UNITS))
  if (next !== null) return memberValue(text, nameTo + next[0].length)
  const reach = Math.max(nameFrom - MAX_TAG_UNITS, 0)
  const opened = text.slice(reach, nameFrom).lastIndexOf('{')
  if (opened < 0) return undefined
  const from = reach + opened
  const member = OTHER_VALUE.exec(text.slice(from, nameFrom))
  return member === null ? undefined : memberValue(text, from + member.index + member[0].length)
}

function memberValue(text: string, start: number): Value | undefined {
  const opened = text[start]
  if (opened === '"' || opened === "'") return { start: start + 1, end: quoteEnd(text, start + 1, opened) }
  const bare = /[^\s,{}[\]"']+/y
  bare.lastIndex = start
  return bare.test(text) ? { start, end: bare.lastIndex } : undefined
}

/** `<name>secret</name><value>...</value>`. */
function siblingContent(text: string, nameTo: number): Value | undefined {
  const behind = text.slice(nameTo, nameTo + 300)
  const next = /^\s{0,20}<\/(?:name|key)>\s{0,50}<(?:value|string)\b[^>]{0,200}>/i.exec(behind)
  if (next === null) return undefined
  const start = nameTo + next[0].length
  const end = text.indexOf('</', start)
  return { start, end: end < 0 ? text.length : end }
}

/** The `integrity` parameter of links in a Link field (RFC 8288 §3), read in one pass. */
import { isNamed } from '@prexy/http/fields'

/** Takes the parameter off links to targets that are rewritten. What is no link, or does not end well, stays. */
export function withoutLinkIntegrity(value: string, isRewritten: (url: string) => boolean): string {
  let text = ''
  let kept = 0
  for (let open = value.indexOf('<'); open >= 0; open = value.indexOf('<', open)) {
    const close = endOfTarget(value, open + 1)
    const found: Parameter[] = []
    const end = close < 0 ? close : endOfLink(value, close + 1, found)
    open = end < 0 ? open + 1 : end
    if (end < 0 || found.length === 0 || !isRewritten(value.slice(value.lastIndexOf('<', close) + 1, close))) continue
    for (const { from, to } of found) {
      text += value.slice(kept, from)
      kept = to
    }
  }
  return kept === 0 ? value : text + value.slice(kept)
}

/** Where a parameter stands, from before its semicolon on. */
interface Parameter {
  readonly from: number
  readonly to: number
}

/** The `>`, or -1 if there is none before the next `<`. */
function endOfTarget(value: string, from: number): number {
  for (let at = from; at < value.length; at++) {
    if (value[at] === '>') return at
    if (value[at] === '<') return -1
  }
  return -1
}

/** The place behind the parameters, or -1 if neither a comma nor the end follows; `found` gets those to be taken off. */
function endOfLink(value: string, from: number, found: Parameter[]): number {
  for (let at = from; ; ) {
    const semicolon = skipBlanks(value, at)
    if (value[semicolon] !== ';') {
      return semicolon === value.length || value[semicolon] === ',' ? at : -1
    }
    const nameStart = skipBlanks(value, semicolon + 1)
    const nameEnd = skipWhile(value, nameStart, isNameCharacter)
    const equals = skipBlanks(value, nameEnd)
    // Blanks behind a semicolon or a name that nothing follows belong to what comes next.
    const to = value[equals] === '=' ? endOfValue(value, equals + 1) : nameEnd > nameStart ? nameEnd : semicolon + 1
    if (isNamed(value.slice(nameStart, nameEnd), 'integrity')) found.push({ from: at, to })
    at = to
  }
}

function endOfValue(value: string, from: number): number {
  const start = skipBlanks(value, from)
  if (value[start] === '"') {
    for (let at = start + 1; at < value.length; at++) {
      if (value[at] === '"') return at + 1
      if (value[at] === '\\') at++
    }
    return from
  }
  const end = skipWhile(value, start, isValueCharacter)
  return end > start ? end : from
}

function skipBlanks(value: string, from: number): number {
  return skipWhile(value, from, isBlank)
}

function skipWhile(value: string, from: number, holds: (character: string) => boolean): number {
  let at = from
  while (at < value.length && holds(value[at])) at++
  return at
}

function isBlank(character: string): boolean {
  return character === ' ' || character === '\t'
}

/** Neither a name nor a bare value can begin another link. */
function isNameCharacter(character: string): boolean {
  return character !== '=' && isValueCharacter(character)
}

function isValueCharacter(character: string): boolean {
  return !' \t;,"<'.includes(character)
}

/**
 * The syntax of nginx configuration files, as nginx's own reader has it (`ngx_conf_read_token`): words, quotes, escapes,
 * comments, blocks. What directives mean is not known here.
 */

/** One directive with what stands behind its name; a block has the directives in its braces. */
export interface NginxDirective {
  readonly name: string
  /** Without quotes and escapes. */
  readonly args: readonly string[]
  readonly file: string
  /** Counts from 1. */
  readonly line: number
  readonly block: readonly NginxDirective[] | undefined
}

/** Something that cannot be read: nginx would refuse the file, too. */
export interface NginxSyntaxProblem {
  readonly file: string
  readonly line: number
  readonly message: string
}

/** How deep blocks may stand in one another. nginx has no such limit; real files have five levels. */
export const MAX_NGINX_DEPTH = 100

interface Word {
  readonly text: string
  readonly line: number
}

type Token =
  | { readonly kind: 'word'; readonly word: Word }
  | { readonly kind: ';' | '{' | '}' | 'end'; readonly line: number }

/** Reads one file; `include` is a directive like any other. Never throws: what is wrong is in `problems`. */
export function parseNginx(
  text: string,
  file: string,
): { readonly directives: readonly NginxDirective[]; readonly problems: readonly NginxSyntaxProblem[] } {
  const problems: NginxSyntaxProblem[] = []
  const root: NginxDirective[] = []
  const open: { readonly words: readonly Word[]; readonly into: NginxDirective[] }[] = []
  const reader = new TokenReader(text)
  let words: Word[] = []
  const complain = (line: number, message: string): void => {
    problems.push({ file, line, message })
  }
  const close = (block: readonly NginxDirective[] | undefined, from: readonly Word[]): void => {
    const into = open.at(-1)?.into ?? root
    into.push({ name: from[0].text, args: from.slice(1).map((word) => word.text), file, line: from[0].line, block })
  }
  for (;;) {
    const token = reader.next()
    if (typeof token === 'string') {
      complain(reader.line, token)
      return { directives: root, problems }
    }
    if (token.kind === 'word') {
      words.push(token.word)
      continue
    }
    if (token.kind === 'end') {
      if (words.length > 0) complain(words[0].line, `${words[0].text} has no ; at its end`)
      const unclosed = open.at(-1)
      if (unclosed !== undefined) complain(unclosed.words[0].line, `${unclosed.words[0].text} has no } at its end`)
      return { directives: root, problems }
    }
    if (token.kind === '}') {
      if (words.length > 0) {
        complain(words[0].line, `${words[0].text} has no ; before the }`)
        return { directives: root, problems }
      }
      const block = open.pop()
      if (block === undefined) {
        complain(token.line, 'a } stands without its {')
        return { directives: root, problems }
      }
      close(block.into, block.words)
      continue
    }
    if (words.length === 0) {
      complain(token.line, `a ${token.kind} stands without a directive before it`)
      return { directives: root, problems }
    }
    if (token.kind === ';') close(undefined, words)
    else if (words[0].text.endsWith('_by_lua_block')) {
      if (!reader.skipLua()) {
        complain(words[0].line, `${words[0].text} has no } at its end`)
        return { directives: root, problems }
      }
      close([], words)
    } else {
      if (open.length === MAX_NGINX_DEPTH) {
        complain(token.line, `blocks stand more than ${MAX_NGINX_DEPTH} levels deep`)
        return { directives: root, problems }
      }
      open.push({ words, into: [] })
    }
    words = []
  }
}

const BLANK = /[ \t\r\n]/

class TokenReader {
  readonly #text: string
  #at = 0
  /** Of what was read last. */
  line = 1

  constructor(text: string) {
    this.#text = text
  }

  /** A text says what is wrong; nothing can be read after it. */
  next(): Token | string {
    this.#skipBlanks()
    const text = this.#text
    const { line } = this
    if (this.#at >= text.length) return { kind: 'end', line }
    const first = text[this.#at]
    if (first === ';' || first === '{' || first === '}') {
      this.#at++
      return { kind: first, line }
    }
    return first === '"' || first === "'" ? this.#quoted(first, line) : this.#bare(line)
  }

  #skipBlanks(): void {
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at]
      if (character === '\n') this.line++
      else if (character === '#') {
        const end = this.#text.indexOf('\n', this.#at)
        this.#at = (end === -1 ? this.#text.length : end) - 1
      } else if (!BLANK.test(character)) return
    }
  }

  #quoted(quote: string, line: number): Token | string {
    const start = ++this.#at
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at]
      if (character === '\n') this.line++
      if (character === '\\') {
        if (this.#text[++this.#at] === '\n') this.line++
      } else if (character === quote) {
        const word = { text: unescape(this.#text.slice(start, this.#at)), line }
        const next = this.#text[++this.#at]
        if (next === undefined || BLANK.test(next) || next === ';' || next === '{') return { kind: 'word', word }
        // nginx lets a ) follow, and reads on behind it as another word.
        if (next === ')') return { kind: 'word', word }
        return `unexpected ${JSON.stringify(next)} behind a quoted text`
      }
    }
    this.line = line
    return `a text that begins with ${quote} does not end`
  }

  #bare(line: number): Token {
    const start = this.#at
    let afterDollar = false
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at]
      // ${name} is no block.
      if (character === '{' && afterDollar) {
        afterDollar = false
        continue
      }
      if (BLANK.test(character) || character === ';' || character === '{') break
      afterDollar = character === '$'
      if (character === '\\' && this.#text[++this.#at] === '\n') this.line++
    }
    return { kind: 'word', word: { text: unescape(this.#text.slice(start, this.#at)), line } }
  }

  /** Goes behind the } that ends a block of Lua; false if there is none. */
  skipLua(): boolean {
    const token =
      /--\[(=*)\[[\s\S]*?\]\1\]|--[^\n]*|\[(=*)\[[\s\S]*?\]\2\]|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'|[{}\n]/g
    token.lastIndex = this.#at
    for (let depth = 1; ; ) {
      const found = token.exec(this.#text)
      if (found === null) return false
      this.line += found[0].split('\n').length - 1
      if (found[0] === '{') depth++
      else if (found[0] === '}' && --depth === 0) {
        this.#at = token.lastIndex
        return true
      }
    }
  }
}

const CONTROLS: Readonly<Record<string, string>> = { t: '\t', r: '\r', n: '\n' }

/** Of `\"`, `\'` and `\\` the backslash goes, `\t \r \n` are what they say, any other backslash stays. */
function unescape(text: string): string {
  return text.replace(/\\(["'\\trn])/g, (_, character: string) => CONTROLS[character] ?? character)
}

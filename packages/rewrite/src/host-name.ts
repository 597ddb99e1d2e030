/**
 * Host names in their two forms: `xn--bcher-kva.example`, as DNS has it, and `bücher.example`, as people read it.
 *
 * Letters are mapped as browsers map most names: NFKC and lower case, without the tables of UTS 46 (a name that those
 * would refuse or map in another way must be given in its `xn--` form).
 */

/** RFC 1035 §2.3.4. */
const MAX_LABEL_BYTES = 63
const MAX_HOST_BYTES = 253

export interface HostName {
  /** Every label in ASCII. */
  readonly ascii: string
  /** The same as `ascii` where no label has another form. */
  readonly unicode: string
}

/** What is wrong with a host name. */
export interface HostProblem {
  readonly message: string
  readonly hint: string
}

export function parseHostName(host: string): HostName | HostProblem {
  if (host === '') return { message: 'the host name is empty', hint: 'write a name such as a.example' }
  if (host.includes('/')) {
    return { message: `'${host}' is not a host name`, hint: 'leave out the scheme and the path: they stay as they are' }
  }
  if (host.includes(':')) {
    return { message: `'${host}' is not a host name`, hint: 'leave out the port: it stays as it is' }
  }
  const labels: HostName[] = []
  for (const label of host.split(/[.\u3002\uff0e\uff61]/)) {
    const read = parseLabel(label, host)
    if ('message' in read) return read
    labels.push(read)
  }
  const ascii = labels.map((label) => label.ascii).join('.')
  if (ascii.length > MAX_HOST_BYTES) {
    return { message: `a host name has at most ${MAX_HOST_BYTES} characters`, hint: 'shorten it' }
  }
  return { ascii, unicode: labels.map((label) => label.unicode).join('.') }
}

function parseLabel(label: string, host: string): HostName | HostProblem {
  if (label === '') return { message: `'${host}' has an empty label`, hint: 'write single dots between labels' }
  const isAscii = /^[\0-\x7f]*$/.test(label)
  const mapped = isAscii ? label : label.normalize('NFKC').toLowerCase().normalize('NFKC')
  const bad = /[^\p{L}\p{M}\p{N}\u00b7\u200c-\u200d_-]/u.exec(mapped)
  if (bad !== null) {
    return { message: `'${bad[0]}' cannot be part of a host name`, hint: 'use letters, digits, - and _' }
  }
  const ascii = isAscii ? label : `xn--${encodePunycode(mapped)}`
  if (ascii.length > MAX_LABEL_BYTES) {
    return { message: `a label has at most ${MAX_LABEL_BYTES} characters`, hint: 'shorten it' }
  }
  if (!isAscii) return { ascii, unicode: mapped }
  const decoded = /^xn--/i.test(label) ? decodePunycode(label.slice(4).toLowerCase()) : undefined
  // What only looks like an encoded label is a name of its own.
  const isEncoded = decoded !== undefined && `xn--${encodePunycode(decoded)}` === label.toLowerCase()
  return { ascii, unicode: isEncoded ? decoded : label }
}

// Punycode, RFC 3492.

const BASE = 36
const T_MIN = 1
const T_MAX = 26
const SKEW = 38
const DAMP = 700
const INITIAL_BIAS = 72
const INITIAL_POINT = 0x80
const MAX_POINT = 0x10ffff
const DIGITS = 'abcdefghijklmnopqrstuvwxyz0123456789'

function adapt(delta: number, points: number, isFirst: boolean): number {
  let rest = Math.floor(delta / (isFirst ? DAMP : 2))
  rest += Math.floor(rest / points)
  let k = 0
  for (; rest > ((BASE - T_MIN) * T_MAX) / 2; k += BASE) rest = Math.floor(rest / (BASE - T_MIN))
  return k + Math.floor(((BASE - T_MIN + 1) * rest) / (rest + SKEW))
}

function threshold(k: number, bias: number): number {
  return Math.min(Math.max(k - bias, T_MIN), T_MAX)
}

/** RFC 3492 §6.3; of a label of at most a few hundred characters. */
export function encodePunycode(text: string): string {
  const points = Array.from(text, (character) => character.codePointAt(0) ?? 0)
  const basic = points.filter((point) => point < INITIAL_POINT)
  let output = String.fromCharCode(...basic)
  if (basic.length > 0) output += '-'
  let bias = INITIAL_BIAS
  let delta = 0
  let handled = basic.length
  for (let point = INITIAL_POINT; handled < points.length; point++) {
    const next = Math.min(...points.filter((each) => each >= point))
    delta += (next - point) * (handled + 1)
    point = next
    for (const each of points) {
      if (each < point) delta++
      if (each !== point) continue
      let rest = delta
      let k = BASE
      for (; rest >= threshold(k, bias); k += BASE) {
        const t = threshold(k, bias)
        output += DIGITS[t + ((rest - t) % (BASE - t))]
        rest = Math.floor((rest - t) / (BASE - t))
      }
      output += DIGITS[rest]
      bias = adapt(delta, handled + 1, handled === basic.length)
      delta = 0
      handled++
    }
    delta++
  }
  return output
}

/** RFC 3492 §6.2; undefined for what is not well-formed. */
export function decodePunycode(text: string): string | undefined {
  const cut = Math.max(text.lastIndexOf('-'), 0)
  const points = Array.from(text.slice(0, cut), (character) => character.charCodeAt(0))
  let bias = INITIAL_BIAS
  let point = INITIAL_POINT
  let index = 0
  for (let at = cut > 0 ? cut + 1 : 0; at < text.length; ) {
    const before = index
    let weight = 1
    for (let k = BASE; ; k += BASE) {
      const digit = at < text.length ? DIGITS.indexOf(text[at++]) : -1
      if (digit < 0) return undefined
      index += digit * weight
      const t = threshold(k, bias)
      if (digit < t) break
      weight *= BASE - t
      if (weight > MAX_POINT * BASE) return undefined
    }
    const length = points.length + 1
    bias = adapt(index - before, length, before === 0)
    point += Math.floor(index / length)
    index %= length
    if (point > MAX_POINT || (point >= 0xd800 && point <= 0xdfff)) return undefined
    points.splice(index++, 0, point)
  }
  return points.every((each) => each < INITIAL_POINT) ? undefined : String.fromCodePoint(...points)
}

import { type FieldList, joinedValue, listElements, trimBlanks } from './fields.ts'

/** Content codings that can be decoded and made. `zstd` only where the runtime has it. */
export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd'

/** What Content-Encoding says: one coding of ours, nothing (also `identity`), or something to leave alone. */
export type DeclaredCoding = Coding | 'identity' | 'unknown' | 'stacked'

/** Weights from 0, not acceptable, to 1; undefined where the client did not say. */
type AcceptEncoding = { [name in Coding | 'identity' | '*']: number | undefined }

/**
 * RFC 9110 §12.5.3. An element whose weight does not parse is left out, and the first word on a coding counts. No field
 * at all would allow every coding; it is read as identity only, since such clients cannot decode in practice.
 */
function parseAcceptEncoding(fields: FieldList): AcceptEncoding {
  const accepted: AcceptEncoding = {
    gzip: undefined,
    deflate: undefined,
    br: undefined,
    zstd: undefined,
    identity: undefined,
    '*': undefined,
  }
  const value = joinedValue(fields, 'accept-encoding')
  if (value === undefined) return accepted
  // No parameter here is a quoted string, so every comma separates.
  for (let start = 0; start < value.length; ) {
    const comma = value.indexOf(',', start)
    const end = comma < 0 ? value.length : comma
    const element = value.slice(start, end)
    const semicolon = element.indexOf(';')
    const name = knownName(trimBlanks(semicolon < 0 ? element : element.slice(0, semicolon)))
    if (name !== undefined && accepted[name] === undefined) {
      accepted[name] = semicolon < 0 ? 1 : parseWeight(trimBlanks(element.slice(semicolon + 1)))
    }
    start = end + 1
  }
  return accepted
}

function knownName(name: string): keyof AcceptEncoding | undefined {
  switch (name.toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return 'gzip'
    case 'deflate':
      return 'deflate'
    case 'br':
      return 'br'
    case 'zstd':
      return 'zstd'
    case 'identity':
      return 'identity'
    case '*':
      return '*'
    default:
      return undefined
  }
}

/** `q=` with at most three decimals (RFC 9110 §12.4.2). */
function parseWeight(parameter: string): number | undefined {
  if (parameter.slice(0, 2).toLowerCase() !== 'q=') return undefined
  const digits = parameter.slice(2)
  if (digits.length === 0 || digits.length > 5 || (digits[0] !== '0' && digits[0] !== '1')) return undefined
  if (digits.length > 1 && digits[1] !== '.') return undefined
  for (let i = 2; i < digits.length; i++) if (digits[i] < '0' || digits[i] > '9') return undefined
  const weight = Number(digits)
  return weight <= 1 ? weight : undefined
}

function weightOf(accepted: AcceptEncoding, coding: Coding | 'identity'): number {
  return accepted[coding] ?? accepted['*'] ?? (coding === 'identity' ? 1 : 0)
}

/** The client's favourite of our codings, the first of ours among equals. */
function favourite(accepted: AcceptEncoding, available: readonly Coding[]): Coding | undefined {
  let best: Coding | undefined
  let bestWeight = 0
  for (const coding of available) {
    const weight = weightOf(accepted, coding)
    if (weight <= bestWeight) continue
    best = coding
    bestWeight = weight
  }
  return best
}

/**
 * What to code with that came without coding: the client's favourite of `available`, unless it likes identity better.
 * RFC 9110 §12.5.3 has no preference between equals; whoever compresses has.
 */
export function compressionCoding(requestFields: FieldList, available: readonly Coding[]): Coding | 'identity' {
  const accepted = parseAcceptEncoding(requestFields)
  const best = favourite(accepted, available)
  if (best === undefined) return 'identity'
  return (accepted.identity ?? 0) > weightOf(accepted, best) ? 'identity' : best
}

/**
 * Accept-Encoding for an upstream whose response may be changed: of our codings those the client accepts, with its
 * weights, so that what is passed on unchanged suits the client too; `identity` if there are none. A client that
 * forbids identity and accepts none of ours gets its own value sent.
 */
export function upstreamAcceptEncoding(requestFields: FieldList, available: readonly Coding[]): string {
  const accepted = parseAcceptEncoding(requestFields)
  const identityForbidden = weightOf(accepted, 'identity') === 0
  const elements: string[] = []
  for (const coding of available) {
    const weight = weightOf(accepted, coding)
    if (weight > 0) elements.push(weight === 1 ? coding : `${coding};q=${weight}`)
  }
  if (elements.length === 0) {
    return identityForbidden ? (joinedValue(requestFields, 'accept-encoding') ?? 'identity') : 'identity'
  }
  if (identityForbidden) elements.push('identity;q=0')
  return elements.join(', ')
}

/** `identity`, `none`, any case and `x-gzip` are understood (RFC 9110 §8.4.1). */
export function contentCoding(responseFields: FieldList, available: readonly Coding[]): DeclaredCoding {
  const value = joinedValue(responseFields, 'content-encoding')
  if (value === undefined) return 'identity'
  const codings = listElements(value)
    .map((coding) => coding.toLowerCase())
    .filter((coding) => coding !== 'identity' && coding !== 'none')
  if (codings.length === 0) return 'identity'
  if (codings.length > 1) return 'stacked'
  const name = codings[0] === 'x-gzip' ? 'gzip' : codings[0]
  return available.find((coding) => coding === name) ?? 'unknown'
}

/**
 * The upstream's coding if the client accepts it, else the best it accepts, else identity; the upstream's all the same
 * where the client accepts nothing we have (RFC 9110 §12.5.3 lets us).
 */
export function outputCoding(
  requestFields: FieldList,
  upstream: Coding | 'identity',
  available: readonly Coding[],
): Coding | 'identity' {
  const accepted = parseAcceptEncoding(requestFields)
  if (weightOf(accepted, upstream) > 0) return upstream
  const best = favourite(accepted, available)
  if (best !== undefined) return best
  return weightOf(accepted, 'identity') > 0 ? 'identity' : upstream
}

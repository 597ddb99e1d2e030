import { fieldValues, joinedValue, trimBlanks } from '@prexy/http/fields'
import type { RequestHead } from '@prexy/http/message'

/** Request fields that variables are taken from, in lower case: a cache must know them. */
export function requestFieldsOf(variables: readonly string[]): readonly string[] {
  return variables.flatMap((name) => {
    if (name.startsWith('header:')) return [name.slice('header:'.length)]
    return name.startsWith('cookie:') ? ['cookie'] : []
  })
}

const NO_VARIABLES: Readonly<Record<string, string>> = {}

/**
 * Values of the variables that a rule set asks for. A head's texts hold one octet per character; in octet mode that is
 * what a template wants, in text mode they are read as UTF-8 where they are that, else as ISO 8859-1.
 */
export function requestVariables(
  names: readonly string[],
  request: Pick<RequestHead, 'authority' | 'method' | 'path' | 'fields'>,
  status: number,
  mode: 'text' | 'octet',
): Readonly<Record<string, string>> {
  if (names.length === 0) return NO_VARIABLES
  return Object.fromEntries(
    names.map((name) => {
      const value = valueOf(name, request, status)
      return [name, mode === 'octet' ? value : decodedOctets(value)]
    }),
  )
}

function valueOf(
  name: string,
  { authority, method, path, fields }: Pick<RequestHead, 'authority' | 'method' | 'path' | 'fields'>,
  status: number,
): string {
  const query = path.indexOf('?')
  switch (name) {
    case 'host':
      return authority ?? ''
    case 'scheme':
      return 'http'
    case 'method':
      return method
    case 'path':
      return query < 0 ? path : path.slice(0, query)
    case 'query':
      return query < 0 ? '' : path.slice(query + 1)
    case 'status':
      return String(status)
    case 'time':
      return new Date().toISOString().replace(/\.\d+/, '')
    default:
      if (name.startsWith('header:')) return joinedValue(fields, name.slice('header:'.length)) ?? ''
      return name.startsWith('cookie:') ? cookieValue(fieldValues(fields, 'cookie'), name.slice('cookie:'.length)) : ''
  }
}

/** Value of the first cookie of that name (RFC 6265 §5.4), as it was sent; empty if there is none. */
function cookieValue(lines: readonly string[], name: string): string {
  for (const line of lines) {
    for (const pair of line.split(';')) {
      const equals = pair.indexOf('=')
      if (equals >= 0 && trimBlanks(pair.slice(0, equals)) === name) return trimBlanks(pair.slice(equals + 1))
    }
  }
  return ''
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodedOctets(text: string): string {
  if (!/[^\0-\x7f]/.test(text)) return text
  try {
    return UTF8.decode(Buffer.from(text, 'latin1'))
  } catch {
    return text
  }
}

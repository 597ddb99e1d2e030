/**
 * A recorded request as a command line for a POSIX shell.
 *
 * SECURITY: whoever sent the request chose every part of it, and a person pastes the line into a shell. So everything that
 * is not made here is quoted, nothing is read from a file by an `@`, and nothing in the URL is a pattern.
 */
import { decodeLatin1, encodeLatin1 } from '@prexy/bytes/latin1'
import type { ExchangeRecord } from '@prexy/events/recorded-event'
import { urlOf } from './event-json.ts'

/** What curl says by itself, or what the length of the body decides. */
const LEFT_OUT = new Set(['content-length', 'transfer-encoding', 'connection', 'keep-alive', 'te', 'expect', 'upgrade'])

/** The command, on one line; what of it is missing in the recording is told by `notes`. */
export function curlCommand(event: ExchangeRecord): { readonly command: string; readonly notes: readonly string[] } {
  const notes: string[] = []
  const words = ['curl', '--globoff', '--path-as-is', '--include']
  if (event.method === 'HEAD') words.push('--head')
  else if (event.method !== 'GET') words.push('--request', quoted(event.method))
  const fields = event.request?.fields ?? []
  for (let at = 0; at < fields.length; at += 2) {
    const [name, value] = [fields[at], fields[at + 1]]
    if (LEFT_OUT.has(name.toLowerCase())) continue
    // Without a value curl would take the field away instead.
    words.push('--header', quoted(value === '' ? `${name};` : `${name}: ${value}`))
  }
  const body = event.bodies?.request
  let input = ''
  if (body?.octets !== undefined && body.octets.length > 0) {
    const text = decodeLatin1(body.octets)
    if (text.includes('\0')) {
      input = `printf ${printfFormat(text)} | `
      words.push('--data-binary', '@-')
    } else {
      words.push('--data-raw', quoted(text))
    }
  }
  if (body?.omitted !== undefined) notes.push('the body was not recorded whole')
  words.push('--url', quoted(escapedUrl(urlOf(event))))
  return { command: input + words.join(' '), notes }
}

/** One word of a shell, each character of `text` one octet of it. It must hold no NUL. */
export function quoted(text: string): string {
  if (/^[A-Za-z0-9_./:=,+-]+$/.test(text)) return text
  if (/^[\n\t -~]*$/.test(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`
  // A command substitution drops the line ends behind everything else.
  const end = text.replace(/\n+$/, '').length
  const lines = end < text.length ? `'${text.slice(end)}'` : ''
  return `"$(printf ${printfFormat(text.slice(0, end))})"${lines}`
}

/** The format for `printf` that prints these octets: everything else than plain letters and digits in octal. */
function printfFormat(text: string): string {
  const escaped = text.replaceAll(/[^A-Za-z0-9 _.,:;=/?&@+-]/g, (character) => {
    return `\\${(character.charCodeAt(0) & 0xff).toString(8).padStart(3, '0')}`
  })
  return `'${escaped.startsWith('-') ? `\\055${escaped.slice(1)}` : escaped}'`
}

/** What cannot be sent as it is in its escaped form (RFC 3986 §2.1); everything else as it came. */
function escapedUrl(url: string): string {
  return url.replaceAll(/[^!-~]/g, (character) => {
    return [...encodeLatin1(character)].map((octet) => `%${octet.toString(16).toUpperCase().padStart(2, '0')}`).join('')
  })
}

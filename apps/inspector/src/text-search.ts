/** Finds a text in the octets of events: in any ASCII letter case, in everything that an event holds. */
import { encodeUtf8 } from '@prexy/bytes/utf8'
import { decode } from '@prexy/msgpack/decode'
import { DecodeError } from '@prexy/msgpack/errors'
import type { Block } from './store.ts'
import { eventOctets } from './store.ts'

const FOLD = Uint8Array.from({ length: 256 }, (_, octet) => (octet >= 0x41 && octet <= 0x5a ? octet + 32 : octet))

/** Rows of the block whose event holds the text. */
export function rowsWithText(block: Block, text: string, bodiesOnly: boolean): Uint8Array {
  const found = new Uint8Array(block.rows)
  const needle = encodeUtf8(text).map((octet) => FOLD[octet])
  if (needle.length === 0) return found.fill(1)
  const { bytes, byteLength, offsets } = block
  const last = needle.length - 1
  const shifts = new Uint32Array(256).fill(needle.length)
  for (let i = 0; i < last; i++) {
    for (let octet = 0; octet < 256; octet++) if (FOLD[octet] === needle[i]) shifts[octet] = last - i
  }
  // What maps are made of, names of fields and words of the format, is in every event and is not what is looked for.
  const isCertain = !bodiesOnly && !isWordOfFormat(text)
  let row = 0
  let at = last
  while (at < byteLength) {
    let back = 0
    while (back <= last && FOLD[bytes[at - back]] === needle[last - back]) back++
    if (back <= last) {
      at += shifts[bytes[at]]
      continue
    }
    while (offsets[row + 1] <= at) row++
    if (at - last >= offsets[row] && (isCertain || isInValues(eventOctets(block, row), text, bodiesOnly)))
      found[row] = 1
    // One place is enough.
    at = offsets[row + 1] + last
  }
  return found
}

const FORMAT_WORDS =
  'exchange websocket gap application version kind run sequence startedAtMs exchangeId connectionId requestNumber timings ' +
  'requestHeadUs upstreamAskedUs upstreamConnectedUs responseHeadUs rewriteUs endUs client scheme method host target status ' +
  'route upstream upstreamAddress upstreamAttempts requestId clientInBytes clientOutBytes upstreamOutBytes upstreamInBytes ' +
  'outcome detail treatment passed head-only rewritten reason decode encode stats hits overflows peakHeldBytes inBytes ' +
  'outBytes notes charset unencodable droppedIntegrity fieldEdits requestTreatment mapped request response minorVersion ' +
  'fields sent webSocket fromClient fromUpstream bytes textMessages binaryMessages controlFrames closeCode broken bodies ' +
  'requestSent responseSent log timing query custom debug info warn error octets omitted length type coded memory dropped source level name message durationMs traceId data'

function isWordOfFormat(text: string): boolean {
  const lower = text.toLowerCase()
  return FORMAT_WORDS.toLowerCase()
    .split(' ')
    .some((word) => word.includes(lower))
}

function isInValues(octets: Uint8Array, text: string, bodiesOnly: boolean): boolean {
  const event = decoded(octets)
  const value = bodiesOnly ? bodiesOf(event) : event
  const lower = text.toLowerCase()
  return holds(value, lower, bodiesOnly)
}

/** Undefined for what is MessagePack up to its end and yet too deep to be decoded. */
function decoded(octets: Uint8Array): unknown {
  try {
    return decode(octets, { binary: 'view' })
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

function bodiesOf(event: unknown): unknown {
  return typeof event === 'object' && event !== null && 'bodies' in event ? event.bodies : undefined
}

const decoder = new TextDecoder()

function holds(value: unknown, lower: string, bodiesOnly: boolean): boolean {
  if (value instanceof Uint8Array) return decoder.decode(value).toLowerCase().includes(lower)
  if (typeof value === 'string') return !bodiesOnly && value.toLowerCase().includes(lower)
  if (Array.isArray(value)) return value.some((each) => holds(each, lower, bodiesOnly))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).some(([key, each]) => key !== 'kind' && holds(each, lower, bodiesOnly))
  return false
}

import type { FieldList } from '@prexy/http/fields'
import { encodeResponseHead, reasonPhrase } from '@prexy/http/serialize'

/** Values of Date (RFC 9110 §6.6.1), formatted once per second. */
export class HttpDate {
  #second = -1
  #text = ''

  now(): string {
    const second = Math.floor(Date.now() / 1_000)
    if (second !== this.#second) {
      this.#second = second
      this.#text = new Date(second * 1_000).toUTCString()
    }
    return this.#text
  }
}

export interface AnswerInit {
  readonly status: number
  readonly date: string
  /** One sentence for people. */
  readonly text: string
  /** Lets an operator find the event of the exchange. */
  readonly exchangeId: number
  /** Whether the connection closes afterwards. */
  readonly close: boolean
  /** A HEAD request gets no body. */
  readonly head: boolean
  readonly fields: FieldList
  /** A body that an operator wrote, with its type in `fields`. Absent: a short text, which no cache may keep. */
  readonly body?: Uint8Array | undefined
}

/** Fields and body of a response of our own; no body and no length where the status has none. */
export function answerParts(answer: AnswerInit): { readonly fields: string[]; readonly body: Uint8Array } {
  const { status, text, exchangeId } = answer
  const fields = ['Date', answer.date, ...answer.fields]
  if (answer.body === undefined) fields.push('Cache-Control', 'no-store')
  // RFC 9110 §15.3.5, §15.4.5: these end with their head.
  if (status === 204 || status === 304) return { fields, body: NOTHING }
  let { body } = answer
  if (body === undefined) {
    body = Buffer.from(`${status} ${reasonPhrase(status)}\n${text}\nExchange ${exchangeId}\n`)
    fields.push('Content-Type', 'text/plain; charset=utf-8')
  }
  fields.push('Content-Length', String(body.length))
  return { fields, body: answer.head ? NOTHING : body }
}

const NOTHING = new Uint8Array()

/** A response of our own, as HTTP/1.1 has it; it says nothing of the inside. */
export function encodeAnswer(answer: AnswerInit): Uint8Array {
  const { fields, body } = answerParts(answer)
  if (answer.close) fields.push('Connection', 'close')
  const head = encodeResponseHead(answer.status, fields)
  return body.length === 0 ? head : Buffer.concat([head, body])
}

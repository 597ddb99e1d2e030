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
}

/** A response of our own: short text, never stored, saying nothing of the inside. A 204 has no body. */
export function encodeAnswer(answer: AnswerInit): Uint8Array {
  const fields = ['Date', answer.date, ...answer.fields, 'Cache-Control', 'no-store']
  if (answer.close) fields.push('Connection', 'close')
  if (answer.status === 204) return encodeResponseHead(answer.status, fields)
  const { status, text, exchangeId } = answer
  const body = Buffer.from(`${status} ${reasonPhrase(status)}\n${text}\nExchange ${exchangeId}\n`)
  fields.push('Content-Type', 'text/plain; charset=utf-8', 'Content-Length', String(body.length))
  const head = encodeResponseHead(status, fields)
  return answer.head ? head : Buffer.concat([head, body])
}

import { fieldValue } from '@prexy/http/fields'
import { DEFAULT_REQUEST_LIMITS } from '@prexy/http/limits'
import type { RequestHead } from '@prexy/http/message'
import { RequestParser } from '@prexy/http/request-parser'
import { expect, it } from 'vitest'
import { editRequestFields, hasArrived } from '../src/request-edits.ts'

function head(method: string, maxForwards: string): RequestHead {
  const parser = new RequestParser(DEFAULT_REQUEST_LIMITS)
  parser.read(Buffer.from(`${method} / HTTP/1.1\r\nHost: a\r\nMax-Forwards: ${maxForwards}\r\n\r\n`), 0)
  return parser.head
}

it.each([
  ['OPTIONS', '0', 'arrived'],
  ['OPTIONS', '00', 'arrived'],
  ['OPTIONS', '1', '0'],
  ['OPTIONS', '010', '9'],
  ['OPTIONS', '9'.repeat(400), '999999'],
  // Not 1*DIGIT: no number, so neither counted nor touched.
  ['OPTIONS', '0x10', '0x10'],
  ['OPTIONS', '1e3', '1e3'],
  ['OPTIONS', '-1', '-1'],
  ['OPTIONS', '1.5', '1.5'],
  ['OPTIONS', '', ''],
  ['GET', '0', '0'],
  ['GET', '5', '5'],
])('%s with Max-Forwards: %s goes on as %s', (method, value, expected) => {
  const request = head(method, value)
  const fields = request.fields.slice()
  editRequestFields(fields, request, {
    host: 'b',
    pseudonym: 'p',
    keepAlive: true,
    upgrade: undefined,
  })
  expect(hasArrived(request) ? 'arrived' : fieldValue(fields, 'max-forwards')).toBe(expected)
})

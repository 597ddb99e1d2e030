import { encodeLatin1 } from '@prexy/bytes/latin1'
import { REQUESTS } from '@prexy/testing/request-corpus'
import { expect, test } from 'vitest'
import { WIRE_FAULT_CODES } from '../src/wire-fault.ts'
import { requestLog, responseLog, verdict } from './event-log.ts'
import { RESPONSES } from './response-corpus.ts'

/** `body-bytes` has no limit by default, and the tests of limits reach it; the others are those of HTTP/2. */
const NOT_IN_CORPUS = [
  'body-bytes',
  'pseudo-field',
  'scheme',
  'authority-differs',
  'connection-field',
  'field-blanks',
  'content-length-sum',
]

test('every fault is reached by some row of the corpora', () => {
  const verdicts = [
    ...REQUESTS.map(({ raw }) => verdict(requestLog(encodeLatin1(raw)))),
    ...RESPONSES.map(({ raw, asked }) => verdict(responseLog(encodeLatin1(raw), asked))),
  ]
  const reached = new Set(verdicts.map((text) => text.split(' ').at(-1)))
  expect(WIRE_FAULT_CODES.filter((code) => !reached.has(code))).toEqual(NOT_IN_CORPUS)
})

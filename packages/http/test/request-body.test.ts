import { describe, expect, test } from 'vitest'
import type { RequestHead } from '../src/message.ts'
import { decideRequestBody, isMappableType, type RequestBodyDecision } from '../src/request-body.ts'

const LENGTH: RequestHead['body'] = { kind: 'length', bytes: 9 }

function decide(
  fields: Readonly<Record<string, string>>,
  body: RequestHead['body'] = LENGTH,
  ignoreNoTransform = false,
): RequestBodyDecision | undefined {
  return decideRequestBody({ fields: Object.entries(fields).flat(), body }, ignoreNoTransform)
}

const FORM = 'application/x-www-form-urlencoded'

describe('a request body', () => {
  test.each([
    FORM,
    'APPLICATION/X-WWW-FORM-URLENCODED; charset=UTF-8',
    'application/json',
    'application/json;charset=utf-8',
    'application/vnd.api+json',
    'application/soap+xml',
    'application/xml',
    'application/graphql',
    'text/plain',
    'text/plain; charset=iso-8859-1',
    'text/xml; charset="windows-1251"',
    'text/plain; charset=us-ascii',
  ])('of %s is mapped', (type) => {
    expect(decide({ 'Content-Type': type })).toEqual({ action: 'map' })
    expect(decide({ 'Content-Type': type }, { kind: 'chunked' })).toEqual({ action: 'map' })
    expect(isMappableType(type)).toBe(true)
  })

  test.each<[fields: Readonly<Record<string, string>>, reason: string]>([
    [{}, 'content-type'],
    [{ 'Content-Type': 'nonsense' }, 'content-type'],
    [{ 'Content-Type': 'image/png' }, 'content-type'],
    [{ 'Content-Type': 'application/octet-stream' }, 'content-type'],
    [{ 'Content-Type': 'application/grpc' }, 'content-type'],
    [{ 'Content-Type': 'multipart/mixed; boundary=b' }, 'content-type'],
    [{ 'Content-Type': 'multipart/form-data' }, 'content-type'],
    [{ 'Content-Type': 'multipart/form-data; boundary=' }, 'content-type'],
    [{ 'Content-Type': `multipart/form-data; boundary=${'b'.repeat(71)}` }, 'content-type'],
    [{ 'Content-Type': 'text/plain; charset=utf-16' }, 'charset'],
    [{ 'Content-Type': 'text/plain; charset=shift_jis' }, 'charset'],
    [{ 'Content-Type': 'text/plain; charset=gbk' }, 'charset'],
    [{ 'Content-Type': 'text/plain; charset=who-knows' }, 'charset'],
    [{ 'Content-Type': FORM, 'Content-Encoding': 'gzip' }, 'coding'],
    [{ 'Content-Type': FORM, 'Content-Encoding': 'identity, br' }, 'coding'],
    [{ 'Content-Type': FORM, 'Content-Range': 'bytes 0-8/9' }, 'partial-content'],
    [{ 'Content-Type': FORM, 'Cache-Control': 'no-transform' }, 'no-transform'],
    [{ 'Content-Type': FORM, 'Signature-Input': 's=("@method" "content-digest");keyid="k"' }, 'signed'],
  ])('passes: %j', (fields, reason) => {
    expect(decide(fields)).toEqual({ action: 'pass', reason })
  })

  test.each<[type: string, boundary: string]>([
    ['multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW', '----WebKitFormBoundary7MA4YWxkTrZu0gW'],
    ['multipart/form-data; charset=utf-8; Boundary="a b;c"', 'a b;c'],
  ])('of a form with files is mapped in parts: %s', (type, boundary) => {
    expect(decide({ 'Content-Type': type })).toEqual({ action: 'map-parts', boundary })
  })

  test('that is none needs no decision', () => {
    expect(decide({ 'Content-Type': FORM }, { kind: 'none' })).toBeUndefined()
    expect(decide({ 'Content-Type': FORM }, { kind: 'length', bytes: 0 })).toBeUndefined()
  })

  test('may be changed against no-transform, and with an identity coding', () => {
    expect(decide({ 'Content-Type': FORM, 'Cache-Control': 'no-transform' }, LENGTH, true)).toEqual({ action: 'map' })
    expect(decide({ 'Content-Type': FORM, 'Content-Encoding': 'Identity' })).toEqual({ action: 'map' })
  })
})

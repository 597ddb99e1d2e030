import { encodeLatin1 } from '@prexy/bytes/latin1'
import { describe, expect, test } from 'vitest'
import { CHARSET_WINDOW_BYTES, CharsetDetector } from '../src/charset.ts'

const wide = (text: string): string => [...text].map((character) => `${character}\0`).join('')
const padding = (bytes: number): string => `<!--${'x'.repeat(bytes - 7)}-->`

/** Content-Type, the body's beginning, what is found. */
const CASES: readonly (readonly [string | undefined, string, string])[] = [
  // A mark outranks everything.
  ['text/html; charset=koi8-r', '\xef\xbb\xbf<meta charset=big5>', 'utf-8 mark'],
  ['text/html; charset=koi8-r', '\xfe\xff\0a', 'utf-16be mark'],
  ['text/plain', '\xff\xfea\0', 'utf-16le mark'],
  ['text/html', '\xef\xbb', 'windows-1252 default'],
  ['text/html', '\xff', 'windows-1252 default'],
  ['application/json', '\xef\xbb\xbf{}', 'utf-8 mark'],
  // Then Content-Type.
  ['text/html; charset=koi8-r', '<meta charset=big5>', 'koi8-r content-type'],
  ['text/html; charset="ISO-8859-1"', '', 'windows-1252 content-type'],
  ['text/html; charset=utf-16', 'a\0', 'utf-16le content-type'],
  ['text/html; charset=utf-32', '<meta charset=big5>', 'foreign content-type'],
  ['text/html; charset=x-user-defined', '', 'x-user-defined content-type'],
  ['text/css; charset=euc-kr', '@charset "big5";', 'euc-kr content-type'],
  ['application/xml; charset=euc-kr', '<?xml version="1.0" encoding="big5"?>', 'euc-kr content-type'],
  // A label that names nothing is none.
  ['text/html; charset=foo', '<meta charset=big5>', 'big5 declaration'],
  ['text/html; charset=', '<meta charset=big5>', 'big5 declaration'],
  ["text/html; charset='big5'", '', 'windows-1252 default'],
  // Then a declaration: HTML.
  ['text/html', '<meta charset=shift_jis>', 'shift_jis declaration'],
  ['text/html', '<META CHARSET="Shift_JIS">', 'shift_jis declaration'],
  ['text/html', "<html><head><meta charset='gb2312' />", 'gbk declaration'],
  ['text/html', '<meta name=a content=b><meta charset=gb18030>', 'gb18030 declaration'],
  ['text/html', '<meta/charset=euc-jp>', 'euc-jp declaration'],
  ['text/html', '<meta charset = euc-jp >', 'euc-jp declaration'],
  ['text/html', '<meta\ncharset\t=\reuc-jp>', 'euc-jp declaration'],
  ['text/html', '<meta http-equiv=Content-Type content="text/html; charset=windows-1251">', 'windows-1251 declaration'],
  ['text/html', '<meta content="text/html;charset=koi8-u" http-equiv="content-type">', 'koi8-u declaration'],
  ['text/html', `<meta http-equiv=content-type content="charset = 'big5' x">`, 'big5 declaration'],
  ['text/html', '<meta http-equiv=content-type content="charset">', 'windows-1252 default'],
  ['text/html', '<meta content="text/html; charset=koi8-u">', 'windows-1252 default'],
  ['text/html', '<meta http-equiv=refresh content="charset=koi8-u">', 'windows-1252 default'],
  ['text/html', '<meta charset=foo><meta charset=big5>', 'big5 declaration'],
  ['text/html', '<meta charset=foo http-equiv=content-type content="charset=euc-kr">', 'windows-1252 default'],
  ['text/html', '<meta charset=big5 charset=gbk>', 'big5 declaration'],
  ['text/html', '<meta charset=utf-16>', 'utf-8 declaration'],
  ['text/html', '<meta charset=utf-16be>', 'utf-8 declaration'],
  ['text/html', '<meta charset=x-user-defined>', 'windows-1252 declaration'],
  ['text/html', '<meta charset=iso-2022-jp>', 'iso-2022-jp declaration'],
  ['text/html', '<meta charset=hz-gb-2312>', 'replacement declaration'],
  ['text/html', '<metadata charset=big5>', 'windows-1252 default'],
  ['text/html', '<!-- <meta charset=big5> -->', 'windows-1252 default'],
  ['text/html', '<!--><meta charset=big5>', 'big5 declaration'],
  ['text/html', '<a title="<meta charset=big5>">', 'windows-1252 default'],
  ['text/html', '<a title=<meta charset=big5>', 'windows-1252 default'],
  ['text/html', '</a title="<meta charset=big5>"><meta charset=gbk>', 'gbk declaration'],
  ['text/html', '<!doctype html><meta charset=big5>', 'big5 declaration'],
  ['text/html', '<? <meta charset=big5>', 'windows-1252 default'],
  ['text/html', '1 < 2 <meta charset=big5>', 'big5 declaration'],
  ['text/html', '<script>"<meta charset=big5>"</script>', 'big5 declaration'],
  ['text/html', '<meta charset=big5', 'windows-1252 default'],
  ['text/html', '<meta charset="big5', 'windows-1252 default'],
  ['text/html', '<?xml version="1.0" encoding="big5"?>', 'big5 declaration'],
  ['text/html', wide('<?xml'), 'utf-16le declaration'],
  ['text/html', `${padding(CHARSET_WINDOW_BYTES - 19)}<meta charset=big5>`, 'big5 declaration'],
  ['text/html', `${padding(CHARSET_WINDOW_BYTES - 18)}<meta charset=big5>`, 'windows-1252 default'],
  ['text/html', 'caf\xe9', 'windows-1252 default'],
  ['text/html', '', 'windows-1252 default'],
  // CSS.
  ['text/css', '@charset "windows-1251";', 'windows-1251 declaration'],
  ['text/css', '@charset "utf-16le";', 'utf-8 declaration'],
  ['text/css', '@charset "windows-1251" ;', 'utf-8 default'],
  ['text/css', '@charset  "windows-1251";', 'utf-8 default'],
  ['text/css', "@charset 'windows-1251';", 'utf-8 default'],
  ['text/css', '@CHARSET "windows-1251";', 'utf-8 default'],
  ['text/css', ' @charset "windows-1251";', 'utf-8 default'],
  ['text/css', '@charset "windows-1251"', 'utf-8 default'],
  ['text/css', '@charset "foo";', 'utf-8 default'],
  ['text/css', '<meta charset=big5>', 'utf-8 default'],
  // XML.
  ['application/xml', '<?xml version="1.0" encoding="iso-8859-2"?>', 'iso-8859-2 declaration'],
  ['image/svg+xml', "<?xml version='1.0' encoding = 'iso-8859-2' ?>", 'iso-8859-2 declaration'],
  ['application/xhtml+xml', '<?xml version="1.0"?><meta charset=big5>', 'utf-8 default'],
  ['text/xml', ' <?xml version="1.0" encoding="iso-8859-2"?>', 'utf-8 default'],
  ['text/xml', '<?xml version="1.0" encoding="utf-16"?>', 'utf-8 declaration'],
  ['text/xml', wide('<?xml'), 'utf-16le declaration'],
  ['text/xml', `\0${wide('<?xml')}`, 'utf-16be declaration'],
  ['text/xml', '<a/>', 'utf-8 default'],
  // Types that declare nothing.
  ['application/json', '<meta charset=big5>', 'utf-8 default'],
  ['text/javascript', '@charset "big5";', 'utf-8 default'],
  ['text/event-stream', 'data: x', 'utf-8 default'],
  ['text/plain', '<meta charset=big5>', 'windows-1252 default'],
  [undefined, '<meta charset=big5>', 'utf-8 default'],
  ['junk', '<meta charset=big5>', 'utf-8 default'],
]

describe('the encoding of a body', () => {
  test.each(CASES)('%s, %j: %s', (contentType, text, expected) => {
    const body = encodeLatin1(text)
    const detector = new CharsetDetector(contentType)
    const found = detector.detect(body, true)
    expect(`${found?.charset} ${found?.from}`).toBe(expected)
    // Whatever is told earlier is the same, and once the window is full something is told.
    for (let length = 0; length <= body.length; length++) {
      const early = detector.detect(body.subarray(0, length), false)
      if (early !== undefined) expect(early).toEqual(found)
    }
    const padded = new Uint8Array(CHARSET_WINDOW_BYTES).fill(0x20)
    expect(detector.detect(padded, false)).toBeDefined()
  })

  const waits: readonly (readonly [string, string, number])[] = [
    // Content-Type, body, octets after which it is known.
    ['application/json', '{"a":1}', 1],
    ['application/json', '\xef\xbbx', 3],
    ['text/html; charset=utf-8', '<p>', 1],
    ['text/html', '<meta charset=big5><p>', 19],
    ['text/css', 'a{}', 1],
    ['text/css', '@charset "big5";', 16],
    ['text/xml', '<a/>', 2],
  ]
  test.each(waits)('%s, %j is known after %i octets', (contentType, text, bytes) => {
    const body = encodeLatin1(text)
    const detector = new CharsetDetector(contentType)
    const known = Array.from({ length: body.length + 1 }, (_, length) => length).find(
      (length) => detector.detect(body.subarray(0, length), false) !== undefined,
    )
    expect(known).toBe(bytes)
  })

  test('no more than the window may be held', () => {
    const detector = new CharsetDetector('text/html', 8)
    expect(detector.detect(encodeLatin1('<p>12345'), false)).toEqual({ charset: 'windows-1252', from: 'default' })
    expect(detector.detect(encodeLatin1('<p>1234'), false)).toBeUndefined()
  })
})

/**
 * The gate's truth tables as data, written from RFC 9110, 9111, 9112, 9530 and our rules for an intermediary that
 * changes bodies, not from the code.
 *
 * Columns of {@link RESPONSES}: request | response | route | decision | fields to send. A request is a method and a path,
 * then fields; a response is a status and fields; fields are set apart by ` & `, and `html` stands for
 * `Content-Type: text/html`. The route column names variations of the usual route, which has a rule for `text/html` with
 * status 2xx and 404 on every path, and one for `application/json` below `/api/`. The last column says which lines the
 * fields to send have (`Name: value`, all lines of that name joined) and which they lack (`!Name`). `#` is the rule set's
 * hash. Lines that begin with `--` are headings, and become part of the test's name.
 */
export const RESPONSES = `
-- what is rewritten
GET / | 200 & html | | rewrite identity>identity 10 | Content-Type: text/html
GET /a/b.html?x=1 | 200 & html | | rewrite identity>identity 10 |
POST / | 200 & html | | rewrite identity>identity 10 |
PUT / | 200 & html | | rewrite identity>identity 10 |
DELETE / | 200 & html | | rewrite identity>identity 10 |
PROPFIND / | 207 & html | | rewrite identity>identity 10 |
OPTIONS / | 200 & html | | rewrite identity>identity 10 |
GET / | 201 & html | | rewrite identity>identity 10 |
GET / | 203 & html | | rewrite identity>identity 10 |
GET / | 299 & html | | rewrite identity>identity 10 |
GET / | 404 & html | | rewrite identity>identity 10 |
GET / | 404 & html & Content-Length: 9 | | rewrite identity>identity 10 | !Content-Length
GET /api/x | 200 & Content-Type: application/json | | rewrite identity>identity 01 |
GET /api/x | 500 & Content-Type: application/json | | rewrite identity>identity 01 |
GET /api/x | 200 & html | | rewrite identity>identity 10 |
GET / | 200 & html & Content-Length: 0 | | rewrite identity>identity 10 | !Content-Length
GET / | 200 & html & Content-Length: 0 & Content-Encoding: gzip | | rewrite gzip>identity 10 | !Content-Encoding
GET / | 200 & Content-Type: TEXT/HTML | | rewrite identity>identity 10 | Content-Type: TEXT/HTML
GET / | 200 & Content-Type: text/html;charset=utf-8 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html ; a=b | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; | | rewrite identity>identity 10 |
GET / | 200 & html & html | | rewrite identity>identity 10 |
GET / | 302 & html & Location: /x | any | rewrite identity>identity 1 | Location: /x
GET / | 500 & html | any | rewrite identity>identity 1 |
GET / | 200 | any | rewrite identity>identity 1 |
GET / | 200 & Content-Type: image/png | any | rewrite identity>identity 1 |
GET / | 200 & Content-Type: text | any | rewrite identity>identity 1 |
GET / | 200 & Content-Type: text/event-stream | any | rewrite identity>identity 1 | Content-Type: text/event-stream

-- conditions
GET / & X-Beta: 1 | 200 & Content-Type: text/css & X-Powered-By: PHP/8 | all host=a.example | rewrite identity>identity 1 |
GET / & X-Beta: 1 | 200 & Content-Type: text/css & X-Powered-By: PHP/8 | all host=WWW.A.example:80 | rewrite identity>identity 1 |
GET / & X-Beta: 1 | 200 & Content-Type: text/css & X-Powered-By: php | all host=a.example | rewrite identity>identity 1 |
HEAD / & X-Beta: 1 | 200 & Content-Type: text/css & X-Powered-By: php | all host=a.example | edit-head head |
GET / & X-Beta: 1 | 200 & Content-Type: text/css & X-Powered-By: php | all host=b.example | pass host |
GET / & X-Beta: 1 | 200 & Content-Type: text/css & X-Powered-By: php | all host=xa.example | pass host |
GET / & X-Beta: 1 | 200 & Content-Type: text/css & X-Powered-By: php | all | pass host |
POST / & X-Beta: 1 | 200 & Content-Type: text/css & X-Powered-By: php | all host=a.example | pass method |
GET /x & X-Beta: 1 | 200 & Content-Type: text/css & X-Powered-By: php | all host=a.example | pass path |
GET / | 200 & Content-Type: text/css & X-Powered-By: php | all host=a.example | pass request-header |
GET / & X-Beta: 1 | 201 & Content-Type: text/css & X-Powered-By: php | all host=a.example | pass status |
GET / & X-Beta: 1 | 200 & html | all host=a.example | pass response-header |
GET / & X-Beta: 1 | 200 & html & X-Powered-By: perl | all host=a.example | pass response-header |
GET / & X-Beta: 1 | 200 & Content-Type: image/png & X-Powered-By: php | all host=a.example | pass content-type |
GET /x | 200 & html | y-only | pass path |
GET /y | 200 & html | y-only | rewrite identity>identity 1 |
GET /%79 | 200 & html | y-only | rewrite identity>identity 1 |
GET /z/../y | 200 & html | y-only | rewrite identity>identity 1 |
GET / | 200 & html | no-rules | pass no-rules | Content-Type: text/html
GET / | 206 & html | no-rules | pass no-rules |
GET / | 200 & html & Cache-Control: no-transform | no-rules | pass no-rules |
HEAD / | 200 & html | no-rules | pass no-rules |
GET / | 304 | no-rules | pass no-rules |
GET / | 300 & html | | pass status |
GET / | 301 & html & Location: /x | | pass status | Location: /x
GET / | 400 & html | | pass status |
GET / | 403 & html | | pass status |
GET / | 500 & html | | pass status |
GET / | 600 & html | | pass status |
GET / | 200 & Content-Type: image/png | | pass content-type |
GET / | 200 & Content-Type: text/plain | | pass content-type |
GET / | 200 & Content-Type: text/htmlx | | pass content-type |
GET / | 200 & Content-Type: xtext/html | | pass content-type |
GET / | 200 & Content-Type: application/json | | pass content-type |
GET / | 200 | | pass content-type |
GET / | 200 & Content-Type: | | pass content-type |
GET / | 200 & Content-Type: html | | pass content-type |
GET / | 200 & Content-Type: text/ | | pass content-type |
GET / | 200 & Content-Type: /html | | pass content-type |
GET / | 200 & Content-Type: text/html, image/png | | pass content-type |
GET / | 200 & html & Content-Type: image/png | | pass content-type | Content-Type: text/html, image/png
GET / | 200 & Content-Type: image/png & html | | pass content-type |
GET / | 200 & Content-Type: text/html; charset=a & Content-Type: text/html; charset=b | | pass content-type |

-- no content: RFC 9110 §15.2, §15.3.5, §15.3.6
GET / | 100 | | pass no-content |
GET / | 102 | | pass no-content |
GET / | 103 & Link: </a.css>; rel=preload | | pass no-content | Link: </a.css>; rel=preload
GET / | 199 & html | | pass no-content |
GET / | 101 & Upgrade: websocket & Connection: Upgrade | | pass upgrade | !Upgrade & !Connection
GET / | 101 | no-rules | pass upgrade |
GET / | 204 | | pass no-content |
GET / | 204 & html | | pass no-content |
GET / | 204 & html & Content-Encoding: gzip | | pass no-content | Content-Encoding: gzip
GET / | 204 & ETag: "v1" | | pass no-content | ETag: "v1"
PUT / | 204 & ETag: "v1" | | pass no-content | ETag: "v1"
HEAD / | 204 & html | | pass no-content |
GET / | 204 | no-rules | pass no-content |
GET / | 205 | | pass no-content |
GET / | 205 & html & Content-Encoding: gzip | | pass no-content |
GET / | 205 & html & Content-Length: 9 | | pass no-content | !Content-Length
GET / | 204 & html | any | pass no-content |
GET / | 205 & html | any | pass no-content |

-- HEAD: RFC 9110 §9.3.2, the fields of GET without the origin's length
HEAD / | 200 & html | | edit-head head |
HEAD / | 200 & html & Content-Length: 99 | | edit-head head | !Content-Length
HEAD / | 200 & html & Transfer-Encoding: chunked | | edit-head head | !Transfer-Encoding
HEAD / & Accept-Encoding: gzip | 200 & html & Content-Encoding: gzip | | edit-head head | Content-Encoding: gzip
HEAD / | 200 & html & Content-Encoding: gzip | | edit-head head | !Content-Encoding
HEAD / & Accept-Encoding: br | 200 & html & Content-Encoding: gzip | | edit-head head | Content-Encoding: br
HEAD / | 200 & html & ETag: "v1" | | edit-head head | ETag: W/"v1-p#"
HEAD / | 200 & html & Content-MD5: x & Digest: y & Repr-Digest: z & Content-Digest: w | | edit-head head | !Content-MD5 & !Digest & !Repr-Digest & !Content-Digest
HEAD / | 200 & html & Accept-Ranges: bytes | | edit-head head | !Accept-Ranges
HEAD / | 404 & html | | edit-head head |
HEAD / | 500 & html | | pass status |
HEAD / | 200 & Content-Type: image/png & Content-Length: 9 & ETag: "v1" | | pass content-type | ETag: "v1"
HEAD / | 200 & html & Content-Encoding: gzip, br | | pass coding-stacked | Content-Encoding: gzip, br
HEAD / | 200 & html & Content-Encoding: compress | | pass coding-unknown | Content-Encoding: compress
HEAD / | 206 & html & Content-Range: bytes 0-1/2 | | pass partial-content |
HEAD / | 200 & html & Cache-Control: no-transform | | pass no-transform |
HEAD / | 200 & Content-Type: text/html; charset=iso-2022-jp | | pass charset |

-- 304: RFC 9110 §15.4.5, changed as the 200 would be
GET / | 304 & ETag: "v1" | | edit-head not-modified | ETag: W/"v1-p#" & Vary: Accept-Encoding
GET / | 304 & ETag: W/"v1" | | edit-head not-modified | ETag: W/"v1-p#"
GET / | 304 & ETag: "v1" & Content-Length: 99 | | edit-head not-modified | !Content-Length
GET / | 304 & Last-Modified: Mon, 01 Jun 2026 11:00:00 GMT | | edit-head not-modified | !Last-Modified
GET / | 304 & Vary: Cookie | | edit-head not-modified | Vary: Cookie, Accept-Encoding
GET / | 304 & Repr-Digest: sha-256=:x: | | edit-head not-modified | !Repr-Digest
GET / | 304 & Cache-Control: max-age=1 & Expires: 0 | | edit-head not-modified | Cache-Control: max-age=1 & Expires: 0
GET / & Accept-Encoding: gzip, identity;q=0 | 304 | | edit-head not-modified | !Content-Encoding
HEAD / | 304 & ETag: "v1" | | edit-head not-modified | ETag: W/"v1-p#"
GET / | 304 & Content-Type: image/png & ETag: "v1" | | edit-head not-modified |
GET /a.mp4 | 304 & ETag: "v1" | | pass content-type | ETag: "v1"
GET /a.PNG | 304 & ETag: "v1" | | pass content-type | ETag: "v1"
GET /a & Sec-Fetch-Dest: video | 304 & ETag: "v1" | | pass content-type | ETag: "v1"
GET /a & Sec-Fetch-Dest: document | 304 & ETag: "v1" | | edit-head not-modified |
GET /x | 304 & ETag: "v1" | y-only | pass path | ETag: "v1"
GET / & Cache-Control: no-transform | 304 & ETag: "v1" | | pass no-transform | ETag: "v1"
GET / | 304 & Cache-Control: no-transform & ETag: "v1" | | pass no-transform | ETag: "v1"
GET / | 304 & Cache-Control: no-transform & ETag: "v1" | ignore | edit-head not-modified | ETag: W/"v1-p#"
GET / | 304 & ETag: "v1" | varies=cookie | edit-head not-modified | !ETag & Vary: Accept-Encoding, cookie
GET / | 304 & ETag: "v1" | new | edit-head not-modified | !ETag

-- parts: RFC 9110 §14, §15.3.7, §15.5.17, RFC 3229 §10.4.1
GET / & Range: bytes=0-1 | 206 & html & Content-Range: bytes 0-1/2 & ETag: "v1" | | pass partial-content | ETag: "v1" & Content-Range: bytes 0-1/2
GET / | 206 & html | | pass partial-content |
GET / | 206 & Content-Type: image/png | | pass partial-content |
GET / | 206 & html & Content-Encoding: gzip | | pass partial-content | Content-Encoding: gzip
GET / | 206 & Content-Type: multipart/byteranges; boundary=x | | pass partial-content |
GET / | 200 & Content-Type: multipart/byteranges; boundary=x | | pass partial-content |
GET / | 200 & Content-Type: Multipart/ByteRanges | any | pass partial-content |
GET / | 200 & html & Content-Range: bytes 0-1/2 | | pass partial-content |
GET / | 404 & html & Content-Range: bytes */2 | | pass partial-content |
GET / | 416 & html & Content-Range: bytes */2 | | pass partial-content |
GET / | 416 & html | any | pass partial-content |
GET / | 206 & html & Accept-Ranges: bytes | | pass partial-content | Accept-Ranges: bytes
GET / | 206 & html & Content-Digest: sha-256=:x: & Repr-Digest: sha-256=:y: | | pass partial-content | Content-Digest: sha-256=:x: & Repr-Digest: sha-256=:y:
GET / | 226 & html & IM: vcdiff | any | pass partial-content | IM: vcdiff
GET / | 206 & html & Cache-Control: no-transform | | pass partial-content |
GET / | 206 & html | varies=cookie | pass partial-content | Vary: cookie

-- no-transform: RFC 9110 §7.7, RFC 9111 §5.2.1.6, §5.2.2.6
GET / | 200 & html & Cache-Control: no-transform & ETag: "v1" | | pass no-transform | ETag: "v1" & Cache-Control: no-transform
GET / | 200 & html & Cache-Control: No-Transform | | pass no-transform |
GET / | 200 & html & Cache-Control: public, no-transform, max-age=1 | | pass no-transform |
GET / | 200 & html & Cache-Control: public & Cache-Control: no-transform | | pass no-transform |
GET / | 200 & html & Cache-Control: ,no-transform, | | pass no-transform |
GET / & Cache-Control: no-transform | 200 & html | | pass no-transform |
GET / & Cache-Control: max-age=0, no-transform | 200 & html | | pass no-transform |
GET / | 200 & html & Cache-Control: private="no-transform" | | rewrite identity>identity 10 |
GET / | 200 & html & Cache-Control: private="x, no-transform" | | rewrite identity>identity 10 |
GET / | 200 & html & Cache-Control: no-transformation | | rewrite identity>identity 10 |
GET / | 200 & html & Cache-Control: x-no-transform | | rewrite identity>identity 10 |
GET / | 200 & html & Pragma: no-transform | | rewrite identity>identity 10 |
GET / & Cache-Control: no-transform | 200 & html | ignore | rewrite identity>identity 10 |
GET / | 200 & html & Cache-Control: no-transform | ignore | rewrite identity>identity 10 | Cache-Control: no-transform
GET / | 200 & html & Cache-Control: no-transform & Content-Encoding: foo | | pass no-transform |
GET / | 500 & html & Cache-Control: no-transform | | pass no-transform |

-- codings: RFC 9110 §8.4, §12.5.3
GET / & Accept-Encoding: gzip | 200 & html & Content-Encoding: gzip | | rewrite gzip>gzip 10 | Content-Encoding: gzip
GET / & Accept-Encoding: gzip | 200 & html & Content-Encoding: x-gzip | | rewrite gzip>gzip 10 | Content-Encoding: gzip
GET / & Accept-Encoding: gzip | 200 & html & Content-Encoding: GZip | | rewrite gzip>gzip 10 | Content-Encoding: gzip
GET / & Accept-Encoding: X-GZIP | 200 & html & Content-Encoding: gzip | | rewrite gzip>gzip 10 |
GET / & Accept-Encoding: br | 200 & html & Content-Encoding: br | | rewrite br>br 10 | Content-Encoding: br
GET / & Accept-Encoding: BR | 200 & html & Content-Encoding: BR | | rewrite br>br 10 | Content-Encoding: br
GET / & Accept-Encoding: deflate | 200 & html & Content-Encoding: deflate | | rewrite deflate>deflate 10 | Content-Encoding: deflate
GET / & Accept-Encoding: deflate | 200 & html & Content-Encoding: Deflate | | rewrite deflate>deflate 10 |
GET / & Accept-Encoding: zstd | 200 & html & Content-Encoding: zstd | zstd | rewrite zstd>zstd 10 | Content-Encoding: zstd
GET / & Accept-Encoding: zstd | 200 & html & Content-Encoding: zstd | | pass coding-unknown | Content-Encoding: zstd
GET / | 200 & html & Content-Encoding: identity | | rewrite identity>identity 10 | !Content-Encoding
GET / | 200 & html & Content-Encoding: Identity | | rewrite identity>identity 10 | !Content-Encoding
GET / | 200 & html & Content-Encoding: none | | rewrite identity>identity 10 | !Content-Encoding
GET / | 200 & html & Content-Encoding: NONE | | rewrite identity>identity 10 | !Content-Encoding
GET / | 200 & html & Content-Encoding: | | rewrite identity>identity 10 | !Content-Encoding
GET / | 200 & html & Content-Encoding: , | | rewrite identity>identity 10 |
GET / & Accept-Encoding: gzip | 200 & html & Content-Encoding: identity, gzip | | rewrite gzip>gzip 10 |
GET / & Accept-Encoding: gzip | 200 & html & Content-Encoding: none & Content-Encoding: gzip | | rewrite gzip>gzip 10 | Content-Encoding: gzip
GET / | 200 & html & Content-Encoding: gzip | | rewrite gzip>identity 10 | !Content-Encoding
GET / & Accept-Encoding: identity | 200 & html & Content-Encoding: gzip | | rewrite gzip>identity 10 |
GET / & Accept-Encoding: | 200 & html & Content-Encoding: gzip | | rewrite gzip>identity 10 |
GET / & Accept-Encoding: gzip;q=0 | 200 & html & Content-Encoding: gzip | | rewrite gzip>identity 10 |
GET / & Accept-Encoding: gzip; q=0.000 | 200 & html & Content-Encoding: gzip | | rewrite gzip>identity 10 |
GET / & Accept-Encoding: gzip;q=0.001 | 200 & html & Content-Encoding: gzip | | rewrite gzip>gzip 10 |
GET / & Accept-Encoding: gzip;Q=0.5 | 200 & html & Content-Encoding: gzip | | rewrite gzip>gzip 10 |
GET / & Accept-Encoding: gzip;q=2 | 200 & html & Content-Encoding: gzip | | rewrite gzip>identity 10 |
GET / & Accept-Encoding: * | 200 & html & Content-Encoding: gzip | | rewrite gzip>gzip 10 |
GET / & Accept-Encoding: *;q=0, gzip | 200 & html & Content-Encoding: gzip | | rewrite gzip>gzip 10 |
GET / & Accept-Encoding: gzip | 200 & html & Content-Encoding: br | | rewrite br>gzip 10 | Content-Encoding: gzip
GET / & Accept-Encoding: deflate | 200 & html & Content-Encoding: gzip | | rewrite gzip>deflate 10 |
GET / & Accept-Encoding: gzip, br | 200 & html | | rewrite identity>identity 10 | !Content-Encoding
GET / & Accept-Encoding: gzip, identity;q=0 | 200 & html | | rewrite identity>gzip 10 | Content-Encoding: gzip
GET / & Accept-Encoding: gzip, *;q=0 | 200 & html | | rewrite identity>gzip 10 |
GET / & Accept-Encoding: identity;q=0 | 200 & html | | rewrite identity>identity 10 |
GET / & Accept-Encoding: *;q=0 | 200 & html & Content-Encoding: gzip | | rewrite gzip>gzip 10 |
GET / & Accept-Encoding: foo | 200 & html & Content-Encoding: gzip | | rewrite gzip>identity 10 |
GET / | 200 & html & Content-Encoding: compress | | pass coding-unknown | Content-Encoding: compress
GET / | 200 & html & Content-Encoding: x-compress | | pass coding-unknown |
GET / | 200 & html & Content-Encoding: exi | | pass coding-unknown |
GET / | 200 & html & Content-Encoding: aes128gcm | | pass coding-unknown |
GET / | 200 & html & Content-Encoding: dcb | | pass coding-unknown | Content-Encoding: dcb
GET / | 200 & html & Content-Encoding: dcz | zstd | pass coding-unknown |
GET / | 200 & html & Content-Encoding: utf-8 | | pass coding-unknown |
GET / | 200 & html & Content-Encoding: gzip;q=1 | | pass coding-unknown |
GET / | 200 & html & Content-Encoding: "gzip" | | pass coding-unknown |
GET / | 200 & html & Content-Encoding: gzip br | | pass coding-unknown |
GET / | 200 & html & Content-Encoding: gzip, br | | pass coding-stacked |
GET / | 200 & html & Content-Encoding: gzip, gzip | | pass coding-stacked |
GET / | 200 & html & Content-Encoding: gzip & Content-Encoding: gzip | | pass coding-stacked | Content-Encoding: gzip, gzip
GET / | 200 & html & Content-Encoding: foo, bar | | pass coding-stacked |
GET / | 200 & html & Content-Encoding: gzip, identity, br | | pass coding-stacked |
GET / | 200 & html & Content-Encoding: foo & ETag: "v1" & Digest: x & Accept-Ranges: bytes | | pass coding-unknown | ETag: "v1" & Digest: x & Accept-Ranges: bytes

-- charsets: the label of Content-Type
GET / | 200 & Content-Type: text/html; charset=utf-8 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=UTF-8 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset="utf-8" | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=utf8 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; Charset = utf-8 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=iso-8859-1 | | rewrite identity>identity 10 | Content-Type: text/html; charset=iso-8859-1
GET / | 200 & Content-Type: text/html; charset=latin1 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=us-ascii | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=iso-8859-15 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=windows-1251 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=cp1251 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=koi8-r | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=KOI8-U | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=macintosh | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=Shift_JIS | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=x-sjis | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=EUC-JP | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=gb2312 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=gb18030 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=Big5-HKSCS | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=euc-kr | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=utf-16le | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=UTF-16 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset= | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=foo | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset='utf-16' | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=iso-2022-jp | | pass charset |
GET / | 200 & Content-Type: text/html; charset=csISO2022JP | | pass charset |
GET / | 200 & Content-Type: text/html; charset=iso-2022-kr | | pass charset |
GET / | 200 & Content-Type: text/html; charset=iso-2022-cn | | pass charset |
GET / | 200 & Content-Type: text/html; charset=hz-gb-2312 | | pass charset |
GET / | 200 & Content-Type: text/html; charset=replacement | | pass charset |
GET / | 200 & Content-Type: text/html; charset=utf-7 | | pass charset |
GET / | 200 & Content-Type: text/html; charset=UTF-32 | | pass charset |
GET / | 200 & Content-Type: text/html; charset=utf-32le | | pass charset |
GET / | 200 & Content-Type: text/html; charset=iso-10646-ucs-4 | | pass charset |
GET / | 200 & Content-Type: text/html; charset=ibm037 | | pass charset |
GET / | 200 & Content-Type: text/html; charset=johab | | pass charset |
GET / | 200 & Content-Type: text/html; charset=utf-7; charset=utf-8 | | pass charset |
GET / | 200 & Content-Type: text/html; charset=utf-8; charset=utf-7 | | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=shift_jis | octets | pass charset |
GET / | 200 & Content-Type: text/html; charset=gbk | octets | pass charset |
GET / | 200 & Content-Type: text/html; charset=utf-16be | octets | pass charset |
GET / | 200 & Content-Type: text/html; charset=latin1 | octets | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=shift_jis | any-charset | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=utf-32 | any-charset | rewrite identity>identity 10 |
GET / | 200 & Content-Type: text/html; charset=utf-7 & ETag: "v1" | | pass charset | ETag: "v1"
GET / | 200 & Content-Type: text/html; charset=utf-7 & Content-Encoding: foo | | pass charset |

-- entity tags: RFC 9110 §8.8.1, §8.8.3
GET / | 200 & html & ETag: "v1" | | rewrite identity>identity 10 | ETag: W/"v1-p#"
GET / | 200 & html & ETag: W/"v1" | | rewrite identity>identity 10 | ETag: W/"v1-p#"
GET / | 200 & html & ETag: "" | | rewrite identity>identity 10 | ETag: W/"-p#"
GET / | 200 & html & ETag: "a,b" | | rewrite identity>identity 10 | ETag: W/"a,b-p#"
GET / | 200 & html & ETag: "a\\b" | | rewrite identity>identity 10 | ETag: W/"a\\b-p#"
GET / | 200 & html & ETag: v1 | | rewrite identity>identity 10 | !ETag
GET / | 200 & html & ETag: w/"v1" | | rewrite identity>identity 10 | !ETag
GET / | 200 & html & ETag: "v1 | | rewrite identity>identity 10 | !ETag
GET / | 200 & html & ETag: "v"1" | | rewrite identity>identity 10 | !ETag
GET / | 200 & html & ETag: "v1" & ETag: "v2" | | rewrite identity>identity 10 | !ETag
GET / | 200 & html & ETag: "v1" & ETag: "v1" | | rewrite identity>identity 10 | ETag: W/"v1-p#"
GET / | 200 & html & ETag: "v1" | varies=x-beta | rewrite identity>identity 10 | !ETag
GET / | 200 & html & ETag: "v1" | new | rewrite identity>identity 10 | !ETag
GET / | 200 & html & ETag: "v1" & Content-Encoding: gzip | | rewrite gzip>identity 10 | ETag: W/"v1-p#"
GET / | 200 & Content-Type: image/png & ETag: "v1" | | pass content-type | ETag: "v1"
GET / | 200 & Content-Type: image/png & ETag: "v1" | varies=x-beta | pass content-type | ETag: "v1" & Vary: x-beta

-- dates: RFC 9110 §8.8.2
GET / | 200 & html & Last-Modified: Mon, 01 Jun 2026 11:00:00 GMT | | rewrite identity>identity 10 | !Last-Modified
GET / | 200 & html & Last-Modified: Mon, 01 Jun 2026 11:00:00 GMT | keep | rewrite identity>identity 10 | Last-Modified: Mon, 01 Jun 2026 12:00:00 GMT
GET / | 200 & html & Last-Modified: Mon, 01 Jun 2026 13:00:00 GMT | keep | rewrite identity>identity 10 | Last-Modified: Mon, 01 Jun 2026 13:00:00 GMT
GET / | 200 & html & Last-Modified: yesterday | keep | rewrite identity>identity 10 | !Last-Modified
GET / | 200 & html & Last-Modified: Mon, 01 Jun 2026 13:00:00 GMT | keep new | rewrite identity>identity 10 | !Last-Modified
GET / | 200 & html & Last-Modified: Mon, 01 Jun 2026 13:00:00 GMT | keep varies=cookie | rewrite identity>identity 10 | !Last-Modified
GET / | 304 & Last-Modified: Mon, 01 Jun 2026 13:00:00 GMT | keep | edit-head not-modified | Last-Modified: Mon, 01 Jun 2026 13:00:00 GMT
GET / | 200 & Content-Type: image/png & Last-Modified: Mon, 01 Jun 2026 11:00:00 GMT | | pass content-type | Last-Modified: Mon, 01 Jun 2026 11:00:00 GMT
GET / | 200 & html & Date: Mon, 01 Jun 2026 11:00:00 GMT & Age: 3 & Expires: 0 | | rewrite identity>identity 10 | Date: Mon, 01 Jun 2026 11:00:00 GMT & Age: 3 & Expires: 0

-- Vary: RFC 9110 §12.5.5, RFC 9111 §4.1
GET / | 200 & html | | rewrite identity>identity 10 | Vary: Accept-Encoding
GET / | 200 & html & Vary: Accept-Encoding | | rewrite identity>identity 10 | Vary: Accept-Encoding
GET / | 200 & html & Vary: accept-encoding | | rewrite identity>identity 10 | Vary: accept-encoding
GET / | 200 & html & Vary: Cookie | | rewrite identity>identity 10 | Vary: Cookie, Accept-Encoding
GET / | 200 & html & Vary: Cookie & Vary: Origin | | rewrite identity>identity 10 | Vary: Cookie, Origin, Accept-Encoding
GET / | 200 & html & Vary: * | | rewrite identity>identity 10 | Vary: *
GET / | 200 & html & Vary: Cookie, * | | rewrite identity>identity 10 | Vary: Cookie, *
GET / | 200 & html & Vary: | | rewrite identity>identity 10 | Vary: Accept-Encoding
GET / | 200 & html & Vary: X-Accept-Encoding | | rewrite identity>identity 10 | Vary: X-Accept-Encoding, Accept-Encoding
GET / | 200 & html | varies=x-beta,cookie | rewrite identity>identity 10 | Vary: Accept-Encoding, x-beta, cookie
GET / | 200 & html & Vary: COOKIE | varies=x-beta,cookie | rewrite identity>identity 10 | Vary: COOKIE, Accept-Encoding, x-beta
GET / | 200 & Content-Type: image/png | | pass content-type | !Vary
GET / | 200 & Content-Type: image/png & Vary: Cookie | | pass content-type | Vary: Cookie
GET / | 500 & html | varies=x-beta | pass status | Vary: x-beta
GET / | 500 & html & Vary: * | varies=x-beta | pass status | Vary: *

-- compressing what came uncompressed: the client's favourite, RFC 9110 §12.5.3
GET / & Accept-Encoding: gzip, br | 200 & html | no-rules gz | compress no-rules br | Content-Encoding: br & Vary: Accept-Encoding
GET / & Accept-Encoding: gzip | 200 & html | no-rules gz | compress no-rules gzip | Content-Encoding: gzip
GET / & Accept-Encoding: GZIP | 200 & html | no-rules gz | compress no-rules gzip |
GET / & Accept-Encoding: x-gzip | 200 & html | no-rules gz | compress no-rules gzip | Content-Encoding: gzip
GET / & Accept-Encoding: gzip;q=1, br;q=0.9 | 200 & html | no-rules gz | compress no-rules gzip |
GET / & Accept-Encoding: gzip;q=0.001 | 200 & html | no-rules gz | compress no-rules gzip |
GET / & Accept-Encoding: * | 200 & html | no-rules gz | compress no-rules br |
GET / & Accept-Encoding: br;q=0, * | 200 & html | no-rules gz | compress no-rules gzip |
GET / & Accept-Encoding: gzip;q=0.5, identity | 200 & html | no-rules gz | pass no-rules | !Content-Encoding & Vary: Accept-Encoding
GET / & Accept-Encoding: gzip;q=0.5, identity;q=0.5 | 200 & html | no-rules gz | compress no-rules gzip |
GET / & Accept-Encoding: identity;q=0, gzip | 200 & html | no-rules gz | compress no-rules gzip |
GET / & Accept-Encoding: gzip;q=0 | 200 & html | no-rules gz | pass no-rules | !Content-Encoding & Vary: Accept-Encoding
GET / & Accept-Encoding: gzip;q=0, br;q=0, *;q=1 | 200 & html | no-rules gz | pass no-rules | !Content-Encoding
GET / & Accept-Encoding: deflate, compress | 200 & html | no-rules gz | pass no-rules | Vary: Accept-Encoding
GET / & Accept-Encoding: gzip;q=2 | 200 & html | no-rules gz | pass no-rules |
GET / & Accept-Encoding: | 200 & html | no-rules gz | pass no-rules | Vary: Accept-Encoding
GET / | 200 & html | no-rules gz | pass no-rules | !Content-Encoding & Vary: Accept-Encoding
POST / & Accept-Encoding: gzip | 200 & html | no-rules gz | compress no-rules gzip |

-- compressing: which responses
GET / & Accept-Encoding: gzip | 403 & html | no-rules gz | compress no-rules gzip |
GET / & Accept-Encoding: gzip | 404 & html | no-rules gz | compress no-rules gzip |
GET / & Accept-Encoding: gzip | 500 & html | no-rules gz | pass no-rules | !Content-Encoding & !Vary
GET / & Accept-Encoding: gzip | 201 & html | no-rules gz | pass no-rules | !Vary
GET / & Accept-Encoding: gzip | 204 | no-rules gz | pass no-content | !Vary
GET / & Accept-Encoding: gzip | 206 & html & Content-Range: bytes 0-1/9 | no-rules gz | pass no-rules | !Content-Encoding & Content-Range: bytes 0-1/9
GET / & Accept-Encoding: gzip | 200 & html & Content-Range: bytes 0-1/9 | no-rules gz | pass no-rules | !Content-Encoding
GET / & Accept-Encoding: gzip | 200 & Content-Type: text/css; charset=utf-8 | no-rules gz | compress no-rules gzip |
GET / & Accept-Encoding: gzip | 200 & Content-Type: Application/JSON | no-rules gz | compress no-rules gzip |
GET / & Accept-Encoding: gzip | 200 & Content-Type: text/event-stream | no-rules gz | compress no-rules gzip |
GET / & Accept-Encoding: gzip | 200 & Content-Type: image/png | no-rules gz | pass no-rules | !Content-Encoding & !Vary
GET / & Accept-Encoding: gzip | 200 | no-rules gz | pass no-rules | !Vary
GET / & Accept-Encoding: gzip | 200 & html & Content-Length: 99 | no-rules gz | pass no-rules | !Content-Encoding & !Vary
GET / & Accept-Encoding: gzip | 200 & html & Content-Length: 100 | no-rules gz | compress no-rules gzip |
GET / & Accept-Encoding: gzip | 200 & html & Content-Encoding: br | no-rules gz | pass no-rules | Content-Encoding: br & !Vary
GET / & Accept-Encoding: gzip | 200 & html & Content-Encoding: zstd | no-rules gz | pass no-rules | Content-Encoding: zstd
GET / & Accept-Encoding: gzip | 200 & html & Content-Encoding: identity | no-rules gz | compress no-rules gzip | Content-Encoding: gzip
GET / & Accept-Encoding: gzip | 200 & html & Cache-Control: no-transform | no-rules gz | pass no-rules | !Content-Encoding & !Vary
GET / & Accept-Encoding: gzip & Cache-Control: no-transform | 200 & html | no-rules gz | pass no-rules | !Content-Encoding
GET / & Accept-Encoding: gzip | 200 & html & Cache-Control: no-transform | no-rules gz ignore | compress no-rules gzip |
HEAD / & Accept-Encoding: gzip | 200 & html & ETag: "v1" | no-rules gz | edit-head head | Content-Encoding: gzip & ETag: W/"v1" & Vary: Accept-Encoding
HEAD / | 200 & html & ETag: "v1" | no-rules gz | pass no-rules | ETag: "v1" & Vary: Accept-Encoding
HEAD / & Accept-Encoding: gzip | 200 & html & Content-Length: 99 | no-rules gz | pass no-rules | !Content-Encoding

-- compressing: the head of other octets, RFC 9110 §8.8.3.3, RFC 9530
GET / & Accept-Encoding: gzip | 200 & html & ETag: "v1" | no-rules gz | compress no-rules gzip | ETag: W/"v1"
GET / & Accept-Encoding: gzip | 200 & html & ETag: W/"v1" | no-rules gz | compress no-rules gzip | ETag: W/"v1"
GET / & Accept-Encoding: gzip | 200 & html & Last-Modified: Mon, 01 Jun 2026 11:00:00 GMT | no-rules gz | compress no-rules gzip | Last-Modified: Mon, 01 Jun 2026 11:00:00 GMT
GET / & Accept-Encoding: gzip | 200 & html & Accept-Ranges: bytes & Content-Digest: a & Repr-Digest: b & Content-MD5: c | no-rules gz | compress no-rules gzip | !Accept-Ranges & !Content-Digest & !Repr-Digest & !Content-MD5
GET / & Accept-Encoding: gzip | 200 & html & Vary: Cookie | no-rules gz | compress no-rules gzip | Vary: Cookie, Accept-Encoding
GET / & Accept-Encoding: gzip | 304 & ETag: "v1" | no-rules gz | edit-head not-modified | ETag: W/"v1" & Vary: Accept-Encoding
GET / | 304 & ETag: "v1" | no-rules gz | pass no-rules | ETag: "v1"

-- compressing what is rewritten, and what rules are not for
GET / & Accept-Encoding: gzip | 200 & html & ETag: "v1" | gz | rewrite identity>gzip 10 | Content-Encoding: gzip & ETag: W/"v1-p#" & Vary: Accept-Encoding
GET / & Accept-Encoding: gzip, br | 200 & html & Content-Encoding: gzip | gz | rewrite gzip>gzip 10 | Content-Encoding: gzip
GET / | 200 & html & Content-Encoding: gzip | gz | rewrite gzip>identity 10 | !Content-Encoding
GET / & Accept-Encoding: gzip | 200 & html & Content-Length: 99 | gz | rewrite identity>identity 10 | !Content-Encoding
HEAD / & Accept-Encoding: gzip | 200 & html | gz | edit-head head | Content-Encoding: gzip
GET / & Accept-Encoding: gzip | 200 & Content-Type: text/css | gz | compress content-type gzip |
GET / & Accept-Encoding: gzip | 200 & Content-Type: text/css | gz varies=x-beta | compress content-type gzip | Vary: x-beta, Accept-Encoding
GET / & Accept-Encoding: gzip | 200 & Content-Type: text/html; charset=utf-7 | gz | compress charset gzip |
GET / & Accept-Encoding: gzip | 200 & html & Cache-Control: no-transform | gz | pass no-transform | !Content-Encoding

-- digests and signatures: RFC 9530 §2, §3, RFC 1864, RFC 3230, RFC 9421
GET / | 200 & html & Content-Digest: sha-256=:x: | | rewrite identity>identity 10 | !Content-Digest
GET / | 200 & html & Repr-Digest: sha-256=:x: | | rewrite identity>identity 10 | !Repr-Digest
GET / | 200 & html & REPR-DIGEST: sha-256=:x: & repr-digest: sha-512=:y: | | rewrite identity>identity 10 | !Repr-Digest
GET / | 200 & html & Digest: SHA-256=x | | rewrite identity>identity 10 | !Digest
GET / | 200 & html & Content-MD5: x | | rewrite identity>identity 10 | !Content-MD5
GET / | 200 & html & Signature: a=:x: & Signature-Input: a=("content-digest") | | rewrite identity>identity 10 | !Signature & !Signature-Input
GET / | 200 & html & Want-Repr-Digest: sha-256=1 | | rewrite identity>identity 10 | Want-Repr-Digest: sha-256=1
GET / | 200 & html & X-Digest: x & Digestive: y | | rewrite identity>identity 10 | X-Digest: x & Digestive: y
GET / | 200 & Content-Type: image/png & Content-Digest: a & Repr-Digest: b & Digest: c & Content-MD5: d | | pass content-type | Content-Digest: a & Repr-Digest: b & Digest: c & Content-MD5: d
GET / | 200 & Content-Type: image/png & Signature: a=:x: & Signature-Input: a=() | | pass content-type | Signature: a=:x: & Signature-Input: a=()
GET / | 404 & html & Content-Digest: sha-256=:x: | | rewrite identity>identity 10 | !Content-Digest

-- ranges offered: RFC 9110 §14.3
GET / | 200 & html & Accept-Ranges: bytes | | rewrite identity>identity 10 | !Accept-Ranges
GET / | 200 & html & Accept-Ranges: none | | rewrite identity>identity 10 | !Accept-Ranges
GET / | 200 & Content-Type: image/png & Accept-Ranges: bytes | | pass content-type | Accept-Ranges: bytes
GET / | 200 & html & Accept-Ranges: bytes & Cache-Control: no-transform | | pass no-transform | Accept-Ranges: bytes

-- fields of the connection: RFC 9110 §7.6.1
GET / | 200 & html & Connection: x-a & X-A: 1 & X-B: 2 | | rewrite identity>identity 10 | !Connection & !X-A & X-B: 2
GET / | 200 & html & Connection: content-type, etag & ETag: "v1" | | rewrite identity>identity 10 | Content-Type: text/html & ETag: W/"v1-p#"
GET / | 200 & html & Keep-Alive: timeout=5 & Trailer: x & Transfer-Encoding: chunked | | rewrite identity>identity 10 | !Keep-Alive & !Trailer & !Transfer-Encoding
GET / | 200 & html & Proxy-Authenticate: Basic & Upgrade: h2c | | rewrite identity>identity 10 | !Proxy-Authenticate & !Upgrade
GET / | 500 & html & Connection: x-a & X-A: 1 & Keep-Alive: timeout=5 | | pass status | !Connection & !X-A & !Keep-Alive
GET / | 200 & html & Set-Cookie: a=1 & Set-Cookie: b=2 | | rewrite identity>identity 10 | Set-Cookie: a=1, b=2

-- the first reason in order is told
GET / | 101 & html & Cache-Control: no-transform | no-rules | pass upgrade |
GET / | 206 & Content-Type: image/png & Cache-Control: no-transform | | pass partial-content |
GET / | 500 & Content-Type: image/png | | pass status |
GET / | 200 & Content-Type: image/png & Content-Encoding: foo | | pass content-type |
GET / | 200 & Content-Type: image/png; charset=utf-7 | | pass content-type |
GET /x | 206 & html | y-only | pass path |
GET /x | 204 | y-only | pass no-content |
`

/**
 * Columns of {@link REQUESTS}: request | route | what becomes of it | fields to send upstream. `412` is an answer of our
 * own.
 */
export const REQUESTS = `
-- where no rule can apply, everything goes as it came
GET / & Range: bytes=0-1 & If-Range: "v1" & If-None-Match: "v1" & Accept-Encoding: br | no-rules | send | Range: bytes=0-1 & If-Range: "v1" & If-None-Match: "v1" & Accept-Encoding: br
GET /a.mp4 & Range: bytes=0-1 & If-Range: "v1" | | send | Range: bytes=0-1 & If-Range: "v1"
GET /a.zip & Range: bytes=0-1 | | send | Range: bytes=0-1
GET /a.pdf?x=.html & Range: bytes=0-1 | | send | Range: bytes=0-1
GET /a & Sec-Fetch-Dest: audio & Range: bytes=0-1 | | send | Range: bytes=0-1
GET /x & Range: bytes=0-1 & If-Match: "v1" | y-only | send | Range: bytes=0-1 & If-Match: "v1"
GET / & Cache-Control: no-transform & Range: bytes=0-1 & If-None-Match: W/"v1-p#" | | send | Range: bytes=0-1 & If-None-Match: W/"v1-p#"
PUT /x & If-Match: "v1" | y-only | send | If-Match: "v1"

-- ranges: RFC 9110 §13.1.5, §14.2
GET / & Range: bytes=0-1 | | send | !Range
GET / & Range: bytes=0-1 & If-Range: "v1" | | send | !Range & !If-Range
GET / & If-Range: Mon, 01 Jun 2026 11:00:00 GMT | | send | !If-Range
GET /a.html & Range: bytes=0-1 | | send | !Range
GET /a & Sec-Fetch-Dest: document & Range: bytes=0-1 | | send | !Range
GET / & Cache-Control: no-transform & Range: bytes=0-1 | ignore | send | !Range

-- If-None-Match: RFC 9110 §13.1.2
GET / & If-None-Match: W/"v1-p#" | | send | If-None-Match: "v1"
HEAD / & If-None-Match: W/"v1-p#" | | send | If-None-Match: "v1"
GET / & If-None-Match: W/"v1-p#", W/"v2-p#" | | send | If-None-Match: "v1", "v2"
GET / & If-None-Match: W/"v1-p#" & If-None-Match: W/"v2-p#" | | send | If-None-Match: "v1", "v2"
GET / & If-None-Match: W/"v1-pfedcba9876543210" | | send | !If-None-Match
GET / & If-None-Match: "v1" | | send | !If-None-Match
GET / & If-None-Match: W/"v1" | | send | !If-None-Match
GET / & If-None-Match: "v1-p#" | | send | !If-None-Match
GET / & If-None-Match: W/"v1-p#", "v2" | | send | If-None-Match: "v1"
GET / & If-None-Match: * | | send | If-None-Match: *
GET / & If-None-Match: junk | | send | !If-None-Match
GET / & If-None-Match: W/"a,b-p#" | | send | If-None-Match: "a,b"
PUT / & If-None-Match: * | | send | If-None-Match: *
PUT / & If-None-Match: "v1" | | send | If-None-Match: "v1"
PUT / & If-None-Match: W/"v1-p#" | | send | If-None-Match: "v1"
PUT / & If-None-Match: W/"v1-pfedcba9876543210" | | send | If-None-Match: "v1"

-- If-Match is never dropped: RFC 9110 §13.1.1
PUT / & If-Match: W/"v1-p#" | | send | If-Match: "v1"
DELETE / & If-Match: W/"v1-p#", "x" | | send | If-Match: "v1"
PUT / & If-Match: W/"v1-pfedcba9876543210" | | 412 |
PUT / & If-Match: "v1" | | 412 |
PUT / & If-Match: W/"v1" | | 412 |
PATCH / & If-Match: junk | | 412 |
PUT / & If-Match: | | 412 |
GET / & If-Match: "v1" | | 412 |
PUT / & If-Match: * | | send | If-Match: *
PUT /a.zip & If-Match: "v1" | | send | If-Match: "v1"

-- dates: RFC 9110 §13.1.3, §13.1.4
GET / & If-Modified-Since: Mon, 01 Jun 2026 11:00:00 GMT | | send | !If-Modified-Since
GET / & If-Modified-Since: Mon, 01 Jun 2026 11:00:00 GMT | keep | send | !If-Modified-Since
GET / & If-Modified-Since: Mon, 01 Jun 2026 13:00:00 GMT | keep | send | If-Modified-Since: Mon, 01 Jun 2026 13:00:00 GMT
GET / & If-Modified-Since: Mon, 01 Jun 2026 13:00:00 GMT | keep new | send | !If-Modified-Since
GET / & If-Modified-Since: never | keep | send | !If-Modified-Since
PUT / & If-Unmodified-Since: Mon, 01 Jun 2026 11:00:00 GMT | | send | If-Unmodified-Since: Mon, 01 Jun 2026 11:00:00 GMT
GET /a.zip & If-Modified-Since: Mon, 01 Jun 2026 11:00:00 GMT | | send | If-Modified-Since: Mon, 01 Jun 2026 11:00:00 GMT

-- codings asked for: RFC 9110 §12.5.3
GET / | | send | Accept-Encoding: identity
GET / & Accept-Encoding: gzip, deflate, br, zstd | | send | Accept-Encoding: br, gzip, deflate
GET / & Accept-Encoding: gzip, deflate, br, zstd | zstd | send | Accept-Encoding: zstd, br, gzip, deflate
GET / & Accept-Encoding: gzip;q=0.5, br | | send | Accept-Encoding: br, gzip;q=0.5
GET / & Accept-Encoding: gzip;q=0 | | send | Accept-Encoding: identity
GET / & Accept-Encoding: foo | | send | Accept-Encoding: identity
GET / & Accept-Encoding: gzip, identity;q=0 | | send | Accept-Encoding: gzip, identity;q=0
GET / & Accept-Encoding: dcb, gzip | | send | Accept-Encoding: gzip
GET / & Accept-Encoding: foo | no-rules | send | Accept-Encoding: foo

-- the rest
GET / & Want-Repr-Digest: sha-256=1 | | send | Want-Repr-Digest: sha-256=1
GET / & Connection: x-a & X-A: 1 & TE: trailers | | send | !Connection & !X-A & !TE
POST / & Content-Digest: sha-256=:x: & Content-MD5: y | | send | Content-Digest: sha-256=:x: & Content-MD5: y
`

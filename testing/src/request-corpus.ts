/**
 * Requests, hostile and merely odd, each with what the parser must say about it.
 *
 * `expected` is a fault as `status code`, or `accepted`; `llhttp` says where the runtime's own server, asked with the
 * same octets, differs and why that is right. No `llhttp`: both accept or both refuse.
 */
export interface RequestRow {
  readonly name: string
  readonly raw: string
  readonly expected: string
  readonly llhttp?: string
}

const H = 'Host: a.example\r\n'

function get(fields: string): string {
  return `GET / HTTP/1.1\r\n${H}${fields}\r\n`
}

function post(fields: string, body: string): string {
  return `POST / HTTP/1.1\r\n${H}${fields}\r\n${body}`
}

function chunked(body: string): string {
  return post('Transfer-Encoding: chunked\r\n', body)
}

function target(text: string): string {
  return `GET ${text} HTTP/1.1\r\n${H}\r\n`
}

function host(value: string): string {
  return `GET / HTTP/1.1\r\nHost: ${value}\r\n\r\n`
}

const OURS = 'prexy is stricter: '

export const REQUESTS: readonly RequestRow[] = [
  // Ordinary.
  { name: 'plain GET', raw: get(''), expected: 'accepted' },
  { name: 'GET in HTTP/1.0 without Host', raw: 'GET / HTTP/1.0\r\n\r\n', expected: 'accepted' },
  { name: 'GET with a Content-Length body', raw: get('Content-Length: 3\r\n') + 'abc', expected: 'accepted' },
  { name: 'POST with an empty body', raw: post('Content-Length: 0\r\n', ''), expected: 'accepted' },
  { name: 'POST without framing', raw: post('', ''), expected: 'accepted' },
  { name: 'chunked body', raw: chunked('5\r\nhello\r\n0\r\n\r\n'), expected: 'accepted' },
  { name: 'chunked body with a trailer', raw: chunked('5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n'), expected: 'accepted' },
  {
    name: 'chunk sizes in either case',
    raw: chunked('A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n'),
    expected: 'accepted',
  },
  { name: 'chunk size with leading zeros', raw: chunked('0005\r\nhello\r\n000\r\n\r\n'), expected: 'accepted' },
  { name: 'chunk extension', raw: chunked('5;a=b\r\nhello\r\n0;c\r\n\r\n'), expected: 'accepted' },
  { name: 'chunk extension in quotes', raw: chunked('5;a="b;c"\r\nhello\r\n0\r\n\r\n'), expected: 'accepted' },
  {
    name: 'Transfer-Encoding in capitals',
    raw: post('Transfer-Encoding: CHUNKED\r\n', '0\r\n\r\n'),
    expected: 'accepted',
  },
  { name: 'empty field value', raw: get('X:\r\n'), expected: 'accepted' },
  { name: 'white space around a value', raw: get('X: \t a b \t\r\n'), expected: 'accepted' },
  { name: 'value above US-ASCII', raw: get('X: \xe9\xff\r\n'), expected: 'accepted' },
  { name: 'name of every token character', raw: get("!#$%&'*+-.^_`|~09azAZ: 1\r\n"), expected: 'accepted' },
  { name: 'colon in a value', raw: get('X: a:b\r\n'), expected: 'accepted' },
  { name: 'one empty line before the request', raw: `\r\n${get('')}`, expected: 'accepted' },
  {
    name: 'lower-case method',
    raw: `get / HTTP/1.1\r\n${H}\r\n`,
    expected: 'accepted',
    llhttp: 'refuses: it knows a fixed list of methods; RFC 9110 §9.1 makes them any token',
  },
  {
    name: 'unknown method',
    raw: `FROB / HTTP/1.1\r\n${H}\r\n`,
    expected: 'accepted',
    llhttp: 'refuses: it knows a fixed list of methods; RFC 9110 §9.1 makes them any token',
  },
  { name: 'PURGE', raw: `PURGE / HTTP/1.1\r\n${H}\r\n`, expected: 'accepted' },
  { name: 'OPTIONS *', raw: `OPTIONS * HTTP/1.1\r\n${H}\r\n`, expected: 'accepted' },
  { name: 'absolute target', raw: target('http://b.example:81/x?y'), expected: 'accepted' },
  { name: 'absolute target without a path', raw: target('http://b.example'), expected: 'accepted' },
  { name: 'absolute target with a query only', raw: target('HTTP://b.example?q'), expected: 'accepted' },
  { name: 'target with dots', raw: target('/a/../b'), expected: 'accepted' },
  { name: 'target with encoded dots', raw: target('/%2e%2e/b'), expected: 'accepted' },
  { name: 'target with a broken escape', raw: target('/%zz'), expected: 'accepted' },
  { name: 'target with two slashes', raw: target('//evil.example/x'), expected: 'accepted' },
  { name: 'target with a backslash', raw: target('/\\evil'), expected: 'accepted' },
  { name: 'target with characters that URIs exclude', raw: target('/"<>^`{|}'), expected: 'accepted' },
  {
    name: 'a higher minor version',
    raw: `GET / HTTP/1.2\r\n${H}\r\n`,
    expected: 'accepted',
    llhttp: 'refuses: RFC 9110 §2.5 has it treated as the highest minor version we know',
  },
  { name: 'Connection names Host', raw: get('Connection: host\r\n'), expected: 'accepted' },
  {
    name: 'Expect: 100-continue',
    raw: post('Expect: 100-Continue\r\nContent-Length: 1\r\n', 'x'),
    expected: 'accepted',
  },
  {
    name: 'another expectation in HTTP/1.0',
    raw: 'GET / HTTP/1.0\r\nExpect: magic\r\n\r\n',
    expected: 'accepted',
  },
  { name: 'Content-Length with leading zeros', raw: post('Content-Length: 003\r\n', 'abc'), expected: 'accepted' },
  { name: 'two requests', raw: get('') + get(''), expected: 'accepted' },
  {
    name: 'an empty line between two requests',
    raw: `${post('Content-Length: 1\r\n', 'x')}\r\n${get('')}`,
    expected: 'accepted',
  },

  // Content-Length.
  { name: 'Content-Length empty', raw: post('Content-Length:\r\n', ''), expected: '400 content-length' },
  { name: 'Content-Length with a plus', raw: post('Content-Length: +3\r\n', 'abc'), expected: '400 content-length' },
  { name: 'Content-Length with a minus', raw: post('Content-Length: -3\r\n', 'abc'), expected: '400 content-length' },
  {
    name: 'Content-Length in hexadecimal',
    raw: post('Content-Length: 0x3\r\n', 'abc'),
    expected: '400 content-length',
  },
  {
    name: 'Content-Length with an underscore',
    raw: post('Content-Length: 1_0\r\n', 'abc'),
    expected: '400 content-length',
  },
  {
    name: 'Content-Length with a fraction',
    raw: post('Content-Length: 3.0\r\n', 'abc'),
    expected: '400 content-length',
  },
  {
    name: 'Content-Length with an exponent',
    raw: post('Content-Length: 3e0\r\n', 'abc'),
    expected: '400 content-length',
  },
  {
    name: 'Content-Length with a space inside',
    raw: post('Content-Length: 1 0\r\n', 'abc'),
    expected: '400 content-length',
  },
  { name: 'Content-Length list', raw: post('Content-Length: 3, 3\r\n', 'abc'), expected: '400 content-length' },
  { name: 'Content-Length with a comma', raw: post('Content-Length: 3,\r\n', 'abc'), expected: '400 content-length' },
  { name: 'Content-Length with junk', raw: post('Content-Length: 3abc\r\n', 'abc'), expected: '400 content-length' },
  { name: 'Content-Length in quotes', raw: post('Content-Length: "3"\r\n', 'abc'), expected: '400 content-length' },
  {
    name: 'Content-Length in Arabic digits of latin-1',
    raw: post('Content-Length: \xb3\r\n', 'abc'),
    expected: '400 content-length',
  },
  {
    name: 'Content-Length above 2^53',
    raw: post('Content-Length: 9007199254740992\r\n', 'abc'),
    expected: '400 content-length',
  },
  {
    name: 'Content-Length above 2^64',
    raw: post('Content-Length: 18446744073709551616\r\n', 'abc'),
    expected: '400 content-length',
  },
  {
    name: 'Content-Length twice, different',
    raw: post('Content-Length: 3\r\nContent-Length: 4\r\n', 'abc'),
    expected: '400 content-length-repeated',
  },
  {
    name: 'Content-Length twice, equal',
    raw: post('Content-Length: 3\r\ncontent-length: 3\r\n', 'abc'),
    expected: '400 content-length-repeated',
  },

  // Transfer-Encoding.
  {
    name: 'Content-Length and Transfer-Encoding',
    raw: post('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    expected: '400 content-length-and-transfer-encoding',
  },
  {
    name: 'Transfer-Encoding and Content-Length',
    raw: post('Transfer-Encoding: chunked\r\nContent-Length: 3\r\n', '0\r\n\r\n'),
    expected: '400 content-length-and-transfer-encoding',
  },
  {
    name: 'Transfer-Encoding empty',
    raw: post('Transfer-Encoding:\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding unknown',
    raw: post('Transfer-Encoding: foo\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding identity',
    raw: post('Transfer-Encoding: identity\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding almost chunked',
    raw: post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding chunked with junk',
    raw: post('Transfer-Encoding: chunkedx\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding in quotes',
    raw: post('Transfer-Encoding: "chunked"\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding with a parameter',
    raw: post('Transfer-Encoding: chunked;q=1\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding with a vertical tab',
    raw: post('Transfer-Encoding: \x0bchunked\r\n', '0\r\n\r\n'),
    expected: '400 control-octet',
  },
  {
    name: 'Transfer-Encoding with a no-break space',
    raw: post('Transfer-Encoding: \xa0chunked\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding chunked, chunked',
    raw: post('Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding twice',
    raw: post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding chunked, then identity',
    raw: post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding chunked, gzip',
    raw: post('Transfer-Encoding: chunked, gzip\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding gzip, chunked',
    raw: post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'),
    expected: '501 transfer-encoding-unsupported',
    llhttp: `${OURS}the octets inside would be gzip, and no origin expects that`,
  },
  {
    name: 'Transfer-Encoding with an empty element',
    raw: post('Transfer-Encoding: , chunked\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
    llhttp: `${OURS}other parsers read this as no chunked at all`,
  },
  {
    name: 'Transfer-Encoding with a comma behind',
    raw: post('Transfer-Encoding: chunked,\r\n', '0\r\n\r\n'),
    expected: '400 transfer-encoding',
  },
  {
    name: 'Transfer-Encoding in HTTP/1.0',
    raw: `POST / HTTP/1.0\r\n${H}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    expected: '400 transfer-encoding-version',
    llhttp: `${OURS}an HTTP/1.0 recipient on the way did not see the framing (RFC 9112 §6.1)`,
  },

  // Lines.
  { name: 'bare LF after the request line', raw: `GET / HTTP/1.1\n${H}\r\n`, expected: '400 bare-lf' },
  { name: 'bare LF after a field', raw: `GET / HTTP/1.1\r\nHost: a.example\n\r\n`, expected: '400 bare-lf' },
  { name: 'bare LF as the empty line', raw: `GET / HTTP/1.1\r\n${H}\n`, expected: '400 bare-lf' },
  { name: 'bare CR in a value', raw: get('X: a\rb\r\n'), expected: '400 bare-cr' },
  { name: 'bare CR in a name', raw: get('X\r: a\r\n'), expected: '400 bare-cr' },
  { name: 'bare CR before the line end', raw: get('X: a\r\r\n'), expected: '400 bare-cr' },
  { name: 'bare CR in the request line', raw: `GET /\r HTTP/1.1\r\n${H}\r\n`, expected: '400 bare-cr' },
  { name: 'CR CR LF as the empty line', raw: `GET / HTTP/1.1\r\n${H}\r\rX`, expected: '400 bare-cr' },
  { name: 'NUL in a value', raw: get('X: a\0b\r\n'), expected: '400 control-octet' },
  { name: 'NUL in a name', raw: get('X\0: a\r\n'), expected: '400 control-octet' },
  { name: 'DEL in a value', raw: get('X: a\x7fb\r\n'), expected: '400 control-octet' },
  { name: 'control octet in a value', raw: get('X: a\x01b\r\n'), expected: '400 control-octet' },
  { name: 'obs-fold with a space', raw: get('X: a\r\n b\r\n'), expected: '400 obs-fold' },
  { name: 'obs-fold with a tab', raw: get('X: a\r\n\tb\r\n'), expected: '400 obs-fold' },
  { name: 'obs-fold of nothing', raw: get('X: a\r\n \r\n'), expected: '400 obs-fold' },
  {
    name: 'obs-fold in Transfer-Encoding',
    raw: post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n'),
    expected: '400 obs-fold',
  },
  { name: 'space before the first field', raw: `GET / HTTP/1.1\r\n ${H}\r\n`, expected: '400 obs-fold' },
  { name: 'space before the colon', raw: get('X : a\r\n'), expected: '400 space-before-colon' },
  { name: 'tab before the colon', raw: get('X\t: a\r\n'), expected: '400 space-before-colon' },
  {
    name: 'space before the colon of Content-Length',
    raw: post('Content-Length : 3\r\n', 'abc'),
    expected: '400 space-before-colon',
  },
  { name: 'space inside a name', raw: get('X Y: a\r\n'), expected: '400 field-name' },
  { name: 'empty name', raw: get(': a\r\n'), expected: '400 field-name' },
  { name: 'no colon', raw: get('X\r\n'), expected: '400 field-name' },
  { name: 'name with a parenthesis', raw: get('X(: a\r\n'), expected: '400 field-name' },
  { name: 'name with an octet above US-ASCII', raw: get('X\xe9: a\r\n'), expected: '400 field-name' },
  { name: 'name with a slash', raw: get('X/Y: a\r\n'), expected: '400 field-name' },
  { name: 'name with a quote', raw: get('"X": a\r\n'), expected: '400 field-name' },

  // Request line.
  {
    name: 'two empty lines before the request',
    raw: `\r\n\r\n${get('')}`,
    expected: '400 leading-bytes',
    llhttp: `${OURS}one empty line is what RFC 9112 §2.2 asks for`,
  },
  {
    name: 'LF before the request',
    raw: `\n${get('')}`,
    expected: '400 bare-lf',
    llhttp: `${OURS}a line feed alone ends no line`,
  },
  { name: 'space before the request', raw: ` ${get('')}`, expected: '400 method' },
  { name: 'no method', raw: ` / HTTP/1.1\r\n${H}\r\n`, expected: '400 method' },
  { name: 'method with a parenthesis', raw: `G(T / HTTP/1.1\r\n${H}\r\n`, expected: '400 method' },
  { name: 'method of 65 octets', raw: `${'M'.repeat(65)} / HTTP/1.1\r\n${H}\r\n`, expected: '501 method-long' },
  {
    name: 'two spaces after the method',
    raw: `GET  / HTTP/1.1\r\n${H}\r\n`,
    expected: '400 start-line',
    llhttp: `${OURS}RFC 9112 §3 allows one space`,
  },
  {
    name: 'two spaces before the version',
    raw: `GET /  HTTP/1.1\r\n${H}\r\n`,
    expected: '400 version',
    llhttp: `${OURS}RFC 9112 §3 allows one space`,
  },
  { name: 'tab after the method', raw: `GET\t/ HTTP/1.1\r\n${H}\r\n`, expected: '400 method' },
  { name: 'space behind the version', raw: `GET / HTTP/1.1 \r\n${H}\r\n`, expected: '400 version' },
  { name: 'HTTP/0.9', raw: 'GET /\r\n\r\n', expected: '400 start-line', llhttp: 'accepts, and answers nothing' },
  {
    name: 'version 0.9',
    raw: `GET / HTTP/0.9\r\n${H}\r\n`,
    expected: '505 version-major',
    llhttp: 'accepts: only a major version of 1 is ours to read',
  },
  {
    name: 'version 2.0',
    raw: `GET / HTTP/2.0\r\n${H}\r\n`,
    expected: '505 version-major',
    llhttp: 'accepts: only a major version of 1 is ours to read',
  },
  { name: 'HTTP/2 preface', raw: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', expected: '505 version-major' },
  { name: 'version of two digits', raw: `GET / HTTP/1.10\r\n${H}\r\n`, expected: '400 version' },
  { name: 'lower-case version', raw: `GET / http/1.1\r\n${H}\r\n`, expected: '400 version' },
  { name: 'other protocol', raw: `GET / ICY/1.1\r\n${H}\r\n`, expected: '400 version' },
  { name: 'version without end', raw: `GET / HTTP/1.${'1'.repeat(20_000)}`, expected: '400 version' },
  { name: 'TLS on a plain port', raw: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc', expected: '400 control-octet' },
  { name: 'CONNECT', raw: `CONNECT a.example:443 HTTP/1.1\r\n${H}\r\n`, expected: '405 method-refused' },
  {
    name: 'TRACE',
    raw: `TRACE / HTTP/1.1\r\n${H}\r\n`,
    expected: '405 method-refused',
    llhttp: 'accepts: TRACE would show an origin’s view of our fields',
  },

  // Target.
  { name: 'target with a space', raw: target('/a b'), expected: '400 version' },
  { name: 'target with a tab', raw: target('/a\tb'), expected: '400 start-line' },
  { name: 'target with a control octet', raw: target('/a\x01'), expected: '400 control-octet' },
  { name: 'target with DEL', raw: target('/a\x7f'), expected: '400 control-octet' },
  { name: 'target above US-ASCII', raw: target('/\xe9'), expected: '400 target-octet' },
  {
    name: 'target with a fragment',
    raw: target('/a#b'),
    expected: '400 target-fragment',
    llhttp: `${OURS}a fragment is never sent (RFC 9112 §3.2)`,
  },
  { name: 'target without a slash', raw: target('a'), expected: '400 target-form' },
  { name: 'target of an authority', raw: target('a.example:80'), expected: '400 target-form' },
  {
    name: 'target *',
    raw: target('*'),
    expected: '400 target-form',
    llhttp: `${OURS}the asterisk is for OPTIONS only (RFC 9112 §3.2.4)`,
  },
  {
    name: 'target * with more',
    raw: `OPTIONS */x HTTP/1.1\r\n${H}\r\n`,
    expected: '400 target-form',
    llhttp: `${OURS}the asterisk stands alone`,
  },
  {
    name: 'absolute target with user information',
    raw: target('http://u:p@b.example/'),
    expected: '400 target-userinfo',
    llhttp: `${OURS}RFC 9110 §4.2.4: likely meant to mislead`,
  },
  {
    name: 'absolute target without a host',
    raw: target('http:///x'),
    expected: '400 target-form',
    llhttp: `${OURS}RFC 9110 §4.2.1 has an empty host refused`,
  },
  {
    name: 'absolute target with a bad port',
    raw: target('http://b.example:99999/x'),
    expected: '400 target-form',
    llhttp: `${OURS}no such port`,
  },
  {
    name: 'absolute target of another scheme',
    raw: target('ftp://b.example/x'),
    expected: '400 target-form',
    llhttp: `${OURS}only http and https name something of ours`,
  },
  { name: 'target with one slash after the scheme', raw: target('http:/b.example'), expected: '400 target-form' },
  {
    name: 'target of 8,193 octets',
    raw: target(`/${'a'.repeat(8_192)}`),
    expected: '414 target-long',
    llhttp: 'accepts: its limit is 16 KB for the whole head',
  },

  // Host.
  { name: 'no Host', raw: 'GET / HTTP/1.1\r\n\r\n', expected: '400 host-missing' },
  { name: 'two Hosts', raw: get('Host: b.example\r\n'), expected: '400 host-repeated', llhttp: `${OURS}RFC 9112 §3.2` },
  { name: 'two equal Hosts', raw: get(H), expected: '400 host-repeated', llhttp: `${OURS}RFC 9112 §3.2` },
  {
    name: 'two Hosts in HTTP/1.0',
    raw: `GET / HTTP/1.0\r\n${H}${H}\r\n`,
    expected: '400 host-repeated',
    llhttp: `${OURS}RFC 9112 §3.2`,
  },
  { name: 'Host empty', raw: host(''), expected: '400 host-invalid', llhttp: `${OURS}no route can have an empty name` },
  { name: 'Host list', raw: host('a.example, b.example'), expected: '400 host-invalid', llhttp: `${OURS}two names` },
  {
    name: 'Host list without spaces',
    raw: host('a.example,b.example'),
    expected: '400 host-invalid',
    llhttp: `${OURS}two names`,
  },
  {
    name: 'Host with user information',
    raw: host('u@a.example'),
    expected: '400 host-invalid',
    llhttp: `${OURS}not a uri-host`,
  },
  { name: 'Host with a path', raw: host('a.example/x'), expected: '400 host-invalid', llhttp: `${OURS}not a uri-host` },
  { name: 'Host with a space', raw: host('a b'), expected: '400 host-invalid', llhttp: `${OURS}not a uri-host` },
  {
    name: 'Host with a word for a port',
    raw: host('a.example:http'),
    expected: '400 host-invalid',
    llhttp: `${OURS}not a uri-host`,
  },
  {
    name: 'Host with a port above 65,535',
    raw: host('a.example:65536'),
    expected: '400 host-invalid',
    llhttp: `${OURS}no such port`,
  },
  {
    name: 'Host with two ports',
    raw: host('a.example:80:80'),
    expected: '400 host-invalid',
    llhttp: `${OURS}not a uri-host`,
  },
  { name: 'Host with a backslash', raw: host('a\\b'), expected: '400 host-invalid', llhttp: `${OURS}not a uri-host` },
  { name: 'Host with a quote', raw: host('"a"'), expected: '400 host-invalid', llhttp: `${OURS}not a uri-host` },
  { name: 'Host above US-ASCII', raw: host('\xe9'), expected: '400 host-invalid', llhttp: `${OURS}not a uri-host` },
  {
    name: 'Host of half an IPv6 address',
    raw: host('[::1'),
    expected: '400 host-invalid',
    llhttp: `${OURS}not a uri-host`,
  },
  {
    name: 'Host of an IPv6 address without brackets',
    raw: host('::1'),
    expected: '400 host-invalid',
    llhttp: `${OURS}not a uri-host`,
  },
  {
    name: 'Host with a URL',
    raw: host('http://a.example'),
    expected: '400 host-invalid',
    llhttp: `${OURS}not a uri-host`,
  },
  {
    name: 'Host invalid under an absolute target',
    raw: 'GET http://b.example/ HTTP/1.1\r\nHost: a/b\r\n\r\n',
    expected: '400 host-invalid',
    llhttp: `${OURS}RFC 9112 §3.2`,
  },
  { name: 'Host of an IPv6 address', raw: host('[2001:db8::1]:8080'), expected: 'accepted' },
  { name: 'Host with an empty port', raw: host('a.example:'), expected: 'accepted' },
  { name: 'Host other than the absolute target', raw: target('http://b.example/'), expected: 'accepted' },

  // Chunks.
  { name: 'chunk size empty', raw: chunked('\r\nhello\r\n0\r\n\r\n'), expected: '400 chunk-size' },
  { name: 'chunk size with 0x', raw: chunked('0x5\r\nhello\r\n0\r\n\r\n'), expected: '400 chunk-size' },
  { name: 'chunk size negative', raw: chunked('-5\r\nhello\r\n0\r\n\r\n'), expected: '400 chunk-size' },
  { name: 'chunk size with a plus', raw: chunked('+5\r\nhello\r\n0\r\n\r\n'), expected: '400 chunk-size' },
  { name: 'chunk size with a space before', raw: chunked(' 5\r\nhello\r\n0\r\n\r\n'), expected: '400 chunk-size' },
  { name: 'chunk size with a space behind', raw: chunked('5 \r\nhello\r\n0\r\n\r\n'), expected: '400 chunk-size' },
  { name: 'chunk size with a tab behind', raw: chunked('5\t\r\nhello\r\n0\r\n\r\n'), expected: '400 chunk-size' },
  { name: 'space before a chunk extension', raw: chunked('5 ;a\r\nhello\r\n0\r\n\r\n'), expected: '400 chunk-size' },
  {
    name: 'chunk size above 2^53',
    raw: chunked('20000000000000\r\nhello\r\n0\r\n\r\n'),
    expected: '400 chunk-size',
  },
  {
    name: 'chunk size above 2^64',
    raw: chunked('10000000000000005\r\nhello\r\n0\r\n\r\n'),
    expected: '400 chunk-size',
  },
  {
    name: 'chunk size of 17 digits',
    raw: chunked('00000000000000005\r\nhello\r\n0\r\n\r\n'),
    expected: '400 chunk-size',
    llhttp: `${OURS}padding without end is a way to keep us busy`,
  },
  { name: 'chunk size line ends with LF', raw: chunked('5\nhello\r\n0\r\n\r\n'), expected: '400 chunk-size' },
  { name: 'chunk size line ends with CR and more', raw: chunked('5\rXhello\r\n0\r\n\r\n'), expected: '400 bare-cr' },
  { name: 'chunk data ends with LF', raw: chunked('5\r\nhello\n0\r\n\r\n'), expected: '400 chunk-end' },
  { name: 'chunk data ends with nothing', raw: chunked('5\r\nhello0\r\n\r\n'), expected: '400 chunk-end' },
  { name: 'chunk data longer than said', raw: chunked('5\r\nhello!\r\n0\r\n\r\n'), expected: '400 chunk-end' },
  { name: 'chunk data ends with CR and more', raw: chunked('5\r\nhello\rX0\r\n\r\n'), expected: '400 chunk-end' },
  { name: 'chunk extension with LF', raw: chunked('5;a\nb\r\nhello\r\n0\r\n\r\n'), expected: '400 chunk-extension' },
  { name: 'chunk extension with CR', raw: chunked('5;a\rb\r\nhello\r\n0\r\n\r\n'), expected: '400 bare-cr' },
  { name: 'chunk extension with NUL', raw: chunked('5;a\0\r\nhello\r\n0\r\n\r\n'), expected: '400 chunk-extension' },
  {
    name: 'chunk extension with an open quote',
    raw: chunked('5;a="b\r\nhello\r\n0\r\n\r\n'),
    expected: '400 chunk-extension',
  },
  {
    name: 'chunk extension with an open quote after an escaped one',
    raw: chunked('5;a="b\\"\r\nhello\r\n0\r\n\r\n'),
    expected: '400 chunk-extension',
  },
  {
    name: 'chunk extension with an escaped quote',
    raw: chunked('5;a="b\\"c"\r\nhello\r\n0\r\n\r\n'),
    expected: 'accepted',
  },
  {
    name: 'chunk extensions of 16,385 octets',
    raw: chunked(`5;${'a'.repeat(16_384)}\r\nhello\r\n0\r\n\r\n`),
    expected: '413 chunk-extension-bytes',
    llhttp: 'accepts: it does not count the semicolon',
  },
  { name: 'last chunk without the empty line', raw: chunked('0\r\nX'), expected: '400 truncated' },
  { name: 'trailer with bare LF', raw: chunked('0\r\nX: a\n\r\n'), expected: '400 bare-lf' },
  { name: 'trailer with obs-fold', raw: chunked('0\r\nX: a\r\n b\r\n\r\n'), expected: '400 obs-fold' },
  {
    name: 'trailer with a space before the colon',
    raw: chunked('0\r\nX : a\r\n\r\n'),
    expected: '400 space-before-colon',
  },
  { name: 'trailer Content-Length', raw: chunked('0\r\nContent-Length: 3\r\n\r\n'), expected: '400 trailer-forbidden' },
  {
    name: 'trailer Transfer-Encoding',
    raw: chunked('0\r\nTransfer-Encoding: chunked\r\n\r\n'),
    expected: '400 trailer-forbidden',
  },
  {
    name: 'trailer Host',
    raw: chunked('0\r\nHost: b.example\r\n\r\n'),
    expected: '400 trailer-forbidden',
    llhttp: `${OURS}RFC 9110 §6.5.1: no routing in trailers`,
  },
  {
    name: 'trailer of 8,193 octets',
    raw: chunked(`0\r\nX: ${'a'.repeat(8_190)}\r\n\r\n`),
    expected: '431 trailer-bytes',
    llhttp: 'accepts: its limit is 16 KB',
  },
  {
    name: '65 trailers',
    raw: chunked(`0\r\n${'X: a\r\n'.repeat(65)}\r\n`),
    expected: '431 trailer-count',
    llhttp: 'accepts: it counts octets only',
  },

  // Size.
  { name: 'a header of 32 KB', raw: get(`X: ${'a'.repeat(32_768)}\r\n`), expected: '431 header-bytes' },
  {
    name: '129 headers',
    raw: get('X: a\r\n'.repeat(128)),
    expected: '431 header-count',
    llhttp: 'accepts: it counts octets only',
  },
  {
    name: 'two expectations',
    raw: post('Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 0\r\n', ''),
    expected: '417 expectation',
    llhttp: `${OURS}no client sends two`,
  },
  { name: 'another expectation', raw: post('Expect: magic\r\nContent-Length: 0\r\n', ''), expected: '417 expectation' },

  // After a request that is well.
  { name: 'junk after a body', raw: `${post('Content-Length: 3\r\n', 'abc')}\0\0`, expected: '400 control-octet' },
  {
    name: 'a body longer than said',
    raw: `${post('Content-Length: 3\r\n', 'abcdef')} x\r\n\r\n`,
    expected: '400 start-line',
  },
  {
    name: 'a smuggled request in a chunked body',
    raw: chunked(`0\r\n\r\nGET /admin HTTP/1.1\r\n${H}\r\n`),
    expected: 'accepted',
  },
]

/** The pages that nginx serves, and what prexy has to make of them: worked out by JavaScript's own replacing. */
import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, openSync, utimesSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

/** As they stand in a configuration file; `expectedPage` says the same. */
export const RULES = `
  - {text: www.example.org, with: www.example.de}
  - {regex: 'UA-[0-9]+-[0-9]+', with: UA-99-1}
  - {regex: '<title>([^<]*)</title>', with: '<title>$1 (copy)</title>'}
  - {domain: a.example, to: b.example}
`

export function expectedPage(page: Buffer): Buffer {
  const text = page
    .toString('latin1')
    .replaceAll('www.example.org', 'www.example.de')
    .replace(/UA-[0-9]+-[0-9]+/g, 'UA-99-1')
    .replace(/<title>([^<]*)<\/title>/g, '<title>$1 (copy)</title>')
    .replaceAll('//a.example/', '//b.example/')
  return Buffer.from(text, 'latin1')
}

const NEEDLE = 'www.example.org'
/** Matches lie across multiples of this. Unit: bytes. */
const CUT_BYTES = 16_384

/** HTML of exactly that size: matches, near misses, octets that are no UTF-8, and a match that ends the page. */
function makePage(bytes: number): Buffer {
  let text = '<!doctype html><title>A shop</title>\n'
  for (let line = 1; text.length < bytes; line++) {
    const noise = String.fromCharCode(...Array.from({ length: 12 }, (_, i) => 128 + ((line * 31 + i * 17) % 128)))
    text += `<p><a href="https://a.example/${line}">${noise}</a> UA-${line}-${line % 7} www.example.or UA-${line}-`
    text += ` <img src="//aa.example/"> https://www.example.org/ //a.example.com/ </p>\n`
  }
  const page = Buffer.from(text.slice(0, bytes), 'latin1')
  for (let cut = CUT_BYTES; cut + NEEDLE.length < bytes; cut += CUT_BYTES) page.write(` ${NEEDLE} `, cut - 7, 'latin1')
  page.write(` ${NEEDLE}`, bytes - NEEDLE.length - 1, 'latin1')
  return page
}

/** Octets that are no text, with matches among them. */
function makeBlob(bytes: number): Buffer {
  const blob = Buffer.alloc(bytes)
  for (let i = 0, state = 1; i < bytes; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    blob[i] = state >>> 16
  }
  for (let at = 1_000; at + NEEDLE.length < bytes; at += 10_000) blob.write(NEEDLE, at, 'latin1')
  return blob
}

export const PAGE_SIZES: Readonly<Record<'1k' | '64k1' | '1m', number>> = {
  '1k': 1_024,
  '64k1': 65_537,
  '1m': 1_048_576,
}
export type PageName = keyof typeof PAGE_SIZES
export const PAGES: Readonly<Record<PageName, Buffer>> = {
  '1k': makePage(PAGE_SIZES['1k']),
  '64k1': makePage(PAGE_SIZES['64k1']),
  '1m': makePage(PAGE_SIZES['1m']),
}
export const BLOB: Buffer = makeBlob(300_000)
export const HUGE_BYTES: number = 100 * PAGE_SIZES['1m']

export const SITE_CHANGED: Date = new Date('2015-06-01T00:00:00Z')

/** Writes the files that {@link nginxServer} serves. */
export function writeSite(folder: string): void {
  const put = (path: string, content: Uint8Array): void => {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), content)
    utimesSync(join(folder, path), SITE_CHANGED, SITE_CHANGED)
  }
  for (const [name, page] of Object.entries(PAGES)) {
    put(`pages/${name}.html`, page)
    put(`gzip/${name}.html`, gzipSync(page, { level: 1 }))
    put(`br/${name}.html`, brotliCompressSync(page, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }))
  }
  put('pages/empty.html', new Uint8Array(0))
  put('pages/missing.html', Buffer.from(`<p>Nothing here; see ${NEEDLE}</p>\n`))
  for (const type of ['zip', 'dat', 'png', 'mp4']) put(`pages/blob.${type}`, BLOB)
  mkdirSync(join(folder, 'upload'))
  const huge = openSync(join(folder, 'pages/100m.html'), 'w')
  for (let at = 0; at < HUGE_BYTES; at += PAGES['1m'].length) writeSync(huge, PAGES['1m'])
  closeSync(huge)
}

/** SHA-256 of the huge page as it has to arrive. No match crosses the seams. */
export function expectedHugeHash(): string {
  const page = expectedPage(PAGES['1m'])
  const hash = createHash('sha256')
  for (let at = 0; at < HUGE_BYTES; at += PAGES['1m'].length) hash.update(page)
  return hash.digest('hex')
}

/** Content of the `server` block. `X-Served` tells which of nginx's connections a response came over, and as which. */
export function nginxServer(folder: string): string {
  const served = 'add_header X-Served "$connection $connection_requests" always;'
  return `
    ${served}
    gzip_proxied any;
    gzip_types *;
    gzip_min_length 1;
    gzip_comp_level 1;
    location /plain/ { alias ${folder}/pages/; }
    location /gz/ { alias ${folder}/pages/; gzip on; }
    location /gz-close/ { alias ${folder}/pages/; gzip on; chunked_transfer_encoding off; }
    location /coded/gzip/ { alias ${folder}/gzip/; add_header Content-Encoding gzip; }
    location /coded/br/ { alias ${folder}/br/; add_header Content-Encoding br; }
    location /few/ { alias ${folder}/pages/; keepalive_requests 3; }
    location /since/ { alias ${folder}/pages/; if_modified_since before; }
    location /upload/ { alias ${folder}/upload/; dav_methods PUT DELETE; client_max_body_size 64m; }
    location /missing/ { error_page 404 /plain/missing.html; }
    location = /none { return 204; }
    location = /moved { absolute_redirect off; return 302 /plain/1k.html; }
    location = /gone { default_type text/html; return 410 "gone to ${NEEDLE}"; }
    location = /broken { return 500; }
  `
}

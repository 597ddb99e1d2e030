/**
 * Names of character encodings as the web uses them (WHATWG Encoding Standard §4.2): many labels, few encodings. What
 * is not in the table is no encoding to a browser either.
 */

/** Encodings of one octet per character, ASCII below 80. */
export const SINGLE_BYTE_CHARSETS = [
  'ibm866',
  'iso-8859-2',
  'iso-8859-3',
  'iso-8859-4',
  'iso-8859-5',
  'iso-8859-6',
  'iso-8859-7',
  'iso-8859-8',
  'iso-8859-8-i',
  'iso-8859-10',
  'iso-8859-13',
  'iso-8859-14',
  'iso-8859-15',
  'iso-8859-16',
  'koi8-r',
  'koi8-u',
  'macintosh',
  'windows-874',
  'windows-1250',
  'windows-1251',
  'windows-1252',
  'windows-1253',
  'windows-1254',
  'windows-1255',
  'windows-1256',
  'windows-1257',
  'windows-1258',
  'x-mac-cyrillic',
  'x-user-defined',
] as const

/** Encodings in which a character takes one octet or several; ASCII octets may be the last of several. */
export const MULTI_BYTE_CHARSETS = ['gbk', 'gb18030', 'big5', 'euc-jp', 'shift_jis', 'euc-kr'] as const

export type SingleByteCharset = (typeof SINGLE_BYTE_CHARSETS)[number]
export type MultiByteCharset = (typeof MULTI_BYTE_CHARSETS)[number]

/** `replacement` stands for encodings that browsers refuse to read; `iso-2022-jp` has states. */
export type Charset =
  | 'utf-8'
  | 'utf-16le'
  | 'utf-16be'
  | SingleByteCharset
  | MultiByteCharset
  | 'iso-2022-jp'
  | 'replacement'

/** Labels by encoding, the encoding's own name left out where it is one of them. */
const LABELS: Readonly<Record<Charset, string>> = {
  'utf-8': 'unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf8 x-unicode20utf8',
  ibm866: '866 cp866 csibm866',
  'iso-8859-2': 'csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2',
  'iso-8859-3': 'csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3',
  'iso-8859-4': 'csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4',
  'iso-8859-5': 'csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988',
  'iso-8859-6':
    'arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987',
  'iso-8859-7':
    'csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek',
  'iso-8859-8':
    'csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 visual',
  'iso-8859-8-i': 'csiso88598i logical',
  'iso-8859-10': 'csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6',
  'iso-8859-13': 'iso8859-13 iso885913',
  'iso-8859-14': 'iso8859-14 iso885914',
  'iso-8859-15': 'csisolatin9 iso8859-15 iso885915 iso_8859-15 l9',
  'iso-8859-16': '',
  'koi8-r': 'cskoi8r koi koi8 koi8_r',
  'koi8-u': 'koi8-ru',
  macintosh: 'csmacintosh mac x-mac-roman',
  'windows-874': 'dos-874 iso-8859-11 iso8859-11 iso885911 tis-620',
  'windows-1250': 'cp1250 x-cp1250',
  'windows-1251': 'cp1251 x-cp1251',
  'windows-1252':
    'ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii x-cp1252',
  'windows-1253': 'cp1253 x-cp1253',
  'windows-1254':
    'cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 x-cp1254',
  'windows-1255': 'cp1255 x-cp1255',
  'windows-1256': 'cp1256 x-cp1256',
  'windows-1257': 'cp1257 x-cp1257',
  'windows-1258': 'cp1258 x-cp1258',
  'x-mac-cyrillic': 'x-mac-ukrainian',
  'x-user-defined': '',
  gbk: 'chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk',
  gb18030: '',
  big5: 'big5-hkscs cn-big5 csbig5 x-x-big5',
  'euc-jp': 'cseucpkdfmtjapanese x-euc-jp',
  'iso-2022-jp': 'csiso2022jp',
  shift_jis: 'csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis',
  'euc-kr': 'cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949',
  replacement: 'csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr',
  'utf-16be': 'unicodefffe',
  'utf-16le': 'csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16',
}

const CHARSET_BY_LABEL: ReadonlyMap<string, Charset> = new Map([
  ...labelsOf('utf-8'),
  ...labelsOf('utf-16le'),
  ...labelsOf('utf-16be'),
  ...SINGLE_BYTE_CHARSETS.flatMap(labelsOf),
  ...MULTI_BYTE_CHARSETS.flatMap(labelsOf),
  ...labelsOf('iso-2022-jp'),
  ...labelsOf('replacement'),
])

function labelsOf(charset: Charset): readonly (readonly [string, Charset])[] {
  const others = LABELS[charset].split(' ').filter((label) => label !== '')
  return [charset, ...others].map((label) => [label, charset])
}

/** The encoding that a label names, ignoring case and ASCII white space around; undefined for what names none. */
export function charsetOfLabel(label: string): Charset | undefined {
  return CHARSET_BY_LABEL.get(label.replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, '').toLowerCase())
}

/** Beginnings of labels of encodings that no browser reads and in which an ASCII octet need not be that character. */
const FOREIGN_LABELS: readonly string[] = [
  'utf-7',
  'utf7',
  'unicode-1-1-utf-7',
  'utf-32',
  'utf32',
  'utf16',
  'ucs2',
  'ucs-4',
  'ucs4',
  'iso-10646',
  'iso10646',
  'csiso10646',
  'scsu',
  'bocu',
  'iso-2022',
  'iso2022',
  'csiso2022',
  'hz',
  'johab',
  'ebcdic',
  'x-ebcdic',
  'utf-ebcdic',
  'ibm0',
  'ibm-0',
  'ibm1047',
  'cp037',
  'cp500',
]

/**
 * Whether a label that {@link charsetOfLabel} does not know is that of an encoding in which ASCII text cannot be found
 * octet by octet: UTF-32, UTF-7, EBCDIC, ISO 2022 and such. A body that says so is better left alone.
 */
export function isForeignCharset(label: string): boolean {
  const lower = label.trim().toLowerCase()
  return !CHARSET_BY_LABEL.has(lower) && FOREIGN_LABELS.some((prefix) => lower.startsWith(prefix))
}

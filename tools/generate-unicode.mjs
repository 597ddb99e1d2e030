// Writes packages/regex/src/unicode-tables.ts from the Unicode data of the runtime that runs this script
// (through its RegExp), so that every runtime that runs the result agrees on one version of Unicode.
//
//     node tools/generate-unicode.mjs           write the table
//     node tools/generate-unicode.mjs --check   fail when the committed table differs (other Unicode version: skip)
//
// Data is text in base 64 with five bits a digit, low bits first, the sixth bit meaning that more follow (VLQ).
//   range list   gap to the next range, its length - 1, ...
//   partition    length of the run, number of its value, ... over 0 to 10FFFF
//   fold         gap to the next run of case variants, its length - 1, stride - 1, zigzag distance to the next form

import { readFileSync, writeFileSync } from 'node:fs'

const TARGET = new URL('../packages/regex/src/unicode-tables.ts', import.meta.url)
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const LAST = 0x10ffff

const CATEGORIES = {
  Lu: 'Uppercase_Letter',
  Ll: 'Lowercase_Letter',
  Lt: 'Titlecase_Letter',
  Lm: 'Modifier_Letter',
  Lo: 'Other_Letter',
  Mn: 'Nonspacing_Mark',
  Mc: 'Spacing_Mark',
  Me: 'Enclosing_Mark',
  Nd: 'Decimal_Number',
  Nl: 'Letter_Number',
  No: 'Other_Number',
  Pc: 'Connector_Punctuation',
  Pd: 'Dash_Punctuation',
  Ps: 'Open_Punctuation',
  Pe: 'Close_Punctuation',
  Pi: 'Initial_Punctuation',
  Pf: 'Final_Punctuation',
  Po: 'Other_Punctuation',
  Sm: 'Math_Symbol',
  Sc: 'Currency_Symbol',
  Sk: 'Modifier_Symbol',
  So: 'Other_Symbol',
  Zs: 'Space_Separator',
  Zl: 'Line_Separator',
  Zp: 'Paragraph_Separator',
  Cc: 'Control',
  Cf: 'Format',
  Cs: 'Surrogate',
  Co: 'Private_Use',
  Cn: 'Unassigned',
}

const ALL = Object.keys(CATEGORIES).join(' ')

// Long name, short name, and the categories that come nearest: only the difference to their union is stored.
const PROPERTIES = [
  ['Alphabetic', 'Alpha', 'Lu Ll Lt Lm Lo Nl'],
  ['ASCII_Hex_Digit', 'AHex', ''],
  ['Bidi_Control', 'Bidi_C', ''],
  ['Bidi_Mirrored', 'Bidi_M', 'Ps Pe Pi Pf'],
  ['Case_Ignorable', 'CI', 'Mn Me Cf Lm Sk'],
  ['Cased', 'Cased', 'Lu Ll Lt'],
  ['Changes_When_Casefolded', 'CWCF', 'Lu Lt'],
  ['Changes_When_Casemapped', 'CWCM', 'Lu Ll Lt'],
  ['Changes_When_Lowercased', 'CWL', 'Lu Lt'],
  ['Changes_When_NFKC_Casefolded', 'CWKCF', 'Lu Lt'],
  ['Changes_When_Titlecased', 'CWT', 'Ll'],
  ['Changes_When_Uppercased', 'CWU', 'Ll Lt'],
  ['Dash', 'Dash', 'Pd'],
  ['Default_Ignorable_Code_Point', 'DI', ''],
  ['Deprecated', 'Dep', ''],
  ['Diacritic', 'Dia', ''],
  ['Emoji', 'Emoji', ''],
  ['Emoji_Component', 'EComp', ''],
  ['Emoji_Modifier', 'EMod', ''],
  ['Emoji_Modifier_Base', 'EBase', ''],
  ['Emoji_Presentation', 'EPres', ''],
  ['Extended_Pictographic', 'ExtPict', ''],
  ['Extender', 'Ext', ''],
  ['Grapheme_Base', 'Gr_Base', ALL.replaceAll(/\b(Cc|Cf|Cs|Co|Cn|Zl|Zp|Mn|Me) ?/g, '').trim()],
  ['Grapheme_Extend', 'Gr_Ext', 'Mn Me'],
  ['Hex_Digit', 'Hex', ''],
  ['ID_Continue', 'IDC', 'Lu Ll Lt Lm Lo Nl Mn Mc Nd Pc'],
  ['ID_Start', 'IDS', 'Lu Ll Lt Lm Lo Nl'],
  ['IDS_Binary_Operator', 'IDSB', ''],
  ['IDS_Trinary_Operator', 'IDST', ''],
  ['Ideographic', 'Ideo', ''],
  ['Join_Control', 'Join_C', ''],
  ['Logical_Order_Exception', 'LOE', ''],
  ['Lowercase', 'Lower', 'Ll'],
  ['Math', 'Math', 'Sm'],
  ['Noncharacter_Code_Point', 'NChar', ''],
  ['Pattern_Syntax', 'Pat_Syn', ''],
  ['Pattern_White_Space', 'Pat_WS', ''],
  ['Quotation_Mark', 'QMark', 'Pi Pf'],
  ['Radical', 'Radical', ''],
  ['Regional_Indicator', 'RI', ''],
  ['Sentence_Terminal', 'STerm', ''],
  ['Soft_Dotted', 'SD', ''],
  ['Terminal_Punctuation', 'Term', ''],
  ['Unified_Ideograph', 'UIdeo', ''],
  ['Uppercase', 'Upper', 'Lu'],
  ['Variation_Selector', 'VS', ''],
  ['White_Space', 'space', 'Zs Zl Zp'],
  ['XID_Continue', 'XIDC', 'Lu Ll Lt Lm Lo Nl Mn Mc Nd Pc'],
  ['XID_Start', 'XIDS', 'Lu Ll Lt Lm Lo Nl'],
]

// Names and four-letter codes (ISO 15924) of the scripts; those that the runtime does not know yet are left out.
const SCRIPTS = `
Adlam Adlm Ahom Ahom Anatolian_Hieroglyphs Hluw Arabic Arab Armenian Armn Avestan Avst Balinese Bali Bamum Bamu
Bassa_Vah Bass Batak Batk Bengali Beng Beria_Erfe Berf Bhaiksuki Bhks Bopomofo Bopo Brahmi Brah Braille Brai
Buginese Bugi Buhid Buhd Canadian_Aboriginal Cans Carian Cari Caucasian_Albanian Aghb Chakma Cakm Cham Cham
Cherokee Cher Chorasmian Chrs Common Zyyy Coptic Copt Cuneiform Xsux Cypriot Cprt Cypro_Minoan Cpmn Cyrillic Cyrl
Deseret Dsrt Devanagari Deva Dives_Akuru Diak Dogra Dogr Duployan Dupl Egyptian_Hieroglyphs Egyp Elbasan Elba
Elymaic Elym Ethiopic Ethi Garay Gara Georgian Geor Glagolitic Glag Gothic Goth Grantha Gran Greek Grek
Gujarati Gujr Gunjala_Gondi Gong Gurmukhi Guru Gurung_Khema Gukh Han Hani Hangul Hang Hanifi_Rohingya Rohg
Hanunoo Hano Hatran Hatr Hebrew Hebr Hiragana Hira Imperial_Aramaic Armi Inherited Zinh Inscriptional_Pahlavi Phli
Inscriptional_Parthian Prti Javanese Java Kaithi Kthi Kannada Knda Katakana Kana Kawi Kawi Kayah_Li Kali
Kharoshthi Khar Khitan_Small_Script Kits Khmer Khmr Khojki Khoj Khudawadi Sind Kirat_Rai Krai Lao Laoo Latin Latn
Lepcha Lepc Limbu Limb Linear_A Lina Linear_B Linb Lisu Lisu Lycian Lyci Lydian Lydi Mahajani Mahj Makasar Maka
Malayalam Mlym Mandaic Mand Manichaean Mani Marchen Marc Masaram_Gondi Gonm Medefaidrin Medf Meetei_Mayek Mtei
Mende_Kikakui Mend Meroitic_Cursive Merc Meroitic_Hieroglyphs Mero Miao Plrd Modi Modi Mongolian Mong Mro Mroo
Multani Mult Myanmar Mymr Nabataean Nbat Nag_Mundari Nagm Nandinagari Nand New_Tai_Lue Talu Newa Newa Nko Nkoo
Nushu Nshu Nyiakeng_Puachue_Hmong Hmnp Ogham Ogam Ol_Chiki Olck Ol_Onal Onao Old_Hungarian Hung Old_Italic Ital
Old_North_Arabian Narb Old_Permic Perm Old_Persian Xpeo Old_Sogdian Sogo Old_South_Arabian Sarb Old_Turkic Orkh
Old_Uyghur Ougr Oriya Orya Osage Osge Osmanya Osma Pahawh_Hmong Hmng Palmyrene Palm Pau_Cin_Hau Pauc Phags_Pa Phag
Phoenician Phnx Psalter_Pahlavi Phlp Rejang Rjng Runic Runr Samaritan Samr Saurashtra Saur Sharada Shrd
Shavian Shaw Siddham Sidd Sidetic Sidt SignWriting Sgnw Sinhala Sinh Sogdian Sogd Sora_Sompeng Sora Soyombo Soyo
Sundanese Sund Sunuwar Sunu Syloti_Nagri Sylo Syriac Syrc Tagalog Tglg Tagbanwa Tagb Tai_Le Tale Tai_Tham Lana
Tai_Viet Tavt Tai_Yo Tayo Takri Takr Tamil Taml Tangsa Tnsa Tangut Tang Telugu Telu Thaana Thaa Thai Thai
Tibetan Tibt Tifinagh Tfng Tirhuta Tirh Todhri Todr Tolong_Siki Tols Toto Toto Tulu_Tigalari Tutg Ugaritic Ugar
Vai Vaii Vithkuqi Vith Wancho Wcho Warang_Citi Wara Yezidi Yezi Yi Yiii Zanabazar_Square Zanb Unknown Zzzz
`
  .trim()
  .split(/\s+/)

function vlq(value) {
  let out = ''
  let rest = value
  do {
    const digit = rest & 31
    rest >>= 5
    out += DIGITS[rest > 0 ? digit | 32 : digit]
  } while (rest > 0)
  return out
}

function known(expression) {
  try {
    return new RegExp(`^${expression}$`, 'u')
  } catch {
    return undefined
  }
}

// One flag for each code point.
function members(expression) {
  const test = known(expression)
  if (test === undefined) return undefined
  const out = new Uint8Array(LAST + 1)
  for (let point = 0; point <= LAST; point++) if (test.test(String.fromCodePoint(point))) out[point] = 1
  return out
}

function rangeList(flags) {
  let out = ''
  let border = 0
  for (let point = 0; point <= LAST; point++) {
    if (flags[point] === 0) continue
    const start = point
    while (point < LAST && flags[point + 1] === 1) point++
    out += vlq(start - border) + vlq(point - start)
    border = point + 1
  }
  return out
}

function partition(names, flagsOf) {
  const value = new Uint8Array(LAST + 1).fill(255)
  names.forEach((name, index) => {
    const flags = flagsOf(name)
    for (let point = 0; point <= LAST; point++) if (flags[point] === 1) value[point] = index
  })
  if (value.includes(255)) throw new Error(`code point without a value: ${value.indexOf(255).toString(16)}`)
  let out = ''
  for (let point = 0; point <= LAST; ) {
    const start = point
    while (point <= LAST && value[point] === value[start]) point++
    out += vlq(point - start) + vlq(value[start])
  }
  return out
}

// Next form of each character that has case variants, the last one leading back to the first.
function foldSuccessors() {
  // Folding is full and after decomposition in the first of these: U+0390, which U+1FD3 folds to, is in the second only.
  const changing = known('[\\p{Changes_When_Casefolded}\\p{Changes_When_Casemapped}]')
  let everything = ''
  for (let point = 0; point <= LAST; point++) {
    if (point < 0xd800 || point > 0xdfff) everything += String.fromCodePoint(point)
  }
  const next = new Map()
  for (let point = 0; point <= LAST; point++) {
    if (next.has(point) || (point >= 0xd800 && point <= 0xdfff) || !changing.test(String.fromCodePoint(point))) continue
    const orbit = everything.match(new RegExp(`\\u{${point.toString(16)}}`, 'giu')).map((char) => char.codePointAt(0))
    if (orbit.length > 1) orbit.forEach((member, i) => next.set(member, orbit[(i + 1) % orbit.length]))
  }
  return next
}

function foldTable(next) {
  const points = [...next.keys()].sort((a, b) => a - b)
  let out = ''
  let border = 0
  for (let i = 0; i < points.length; ) {
    const distance = next.get(points[i]) - points[i]
    const stride = i + 1 < points.length ? points[i + 1] - points[i] : 1
    let count = 1
    while (
      i + count < points.length &&
      points[i + count] - points[i + count - 1] === stride &&
      next.get(points[i + count]) - points[i + count] === distance
    ) {
      count++
    }
    const zigzag = distance < 0 ? -2 * distance - 1 : 2 * distance
    out += vlq(points[i] - border) + vlq(count - 1) + vlq(count === 1 ? 0 : stride - 1) + vlq(zigzag)
    border = points[i + count - 1] + 1
    i += count
  }
  return out
}

function generate() {
  const categoryNames = Object.keys(CATEGORIES)
  const categoryFlags = new Map(categoryNames.map((name) => [name, members(`\\p{gc=${name}}`)]))
  const categories = partition(categoryNames, (name) => categoryFlags.get(name))

  const properties = PROPERTIES.map(([long, short, base]) => {
    const flags = members(`\\p{${long}}`)
    for (const name of base.split(' ').filter(Boolean)) {
      const part = categoryFlags.get(name)
      for (let point = 0; point <= LAST; point++) flags[point] ^= part[point]
    }
    return [long, short, base === '' ? '-' : base.replaceAll(' ', '+'), rangeList(flags)]
  })

  const scriptFlags = new Map()
  const scripts = []
  for (let i = 0; i < SCRIPTS.length; i += 2) {
    const [long, short] = SCRIPTS.slice(i, i + 2)
    if (short === 'Zzzz') continue
    const flags = members(`\\p{sc=${short}}`)
    if (flags === undefined) continue
    scriptFlags.set(long, flags)
    scripts.push([long, short])
  }
  const unknown = new Uint8Array(LAST + 1).fill(1)
  for (const flags of scriptFlags.values())
    for (let point = 0; point <= LAST; point++) unknown[point] &= 1 - flags[point]
  for (let point = 0; point <= LAST; point++) {
    // A script missing from the list above would show as assigned characters without a script.
    if (unknown[point] === 1 && !['Cn', 'Cs', 'Co'].some((name) => categoryFlags.get(name)[point] === 1)) {
      throw new Error(`no script in the list has U+${point.toString(16)}`)
    }
  }
  scriptFlags.set('Unknown', unknown)
  scripts.push(['Unknown', 'Zzzz'])
  const scriptPartition = partition(
    scripts.map(([long]) => long),
    (name) => scriptFlags.get(name),
  )

  const extensions = []
  for (const [long, short] of scripts) {
    if (long === 'Unknown') continue
    const flags = members(`\\p{scx=${short}}`)
    const base = scriptFlags.get(long)
    for (let point = 0; point <= LAST; point++) flags[point] ^= base[point]
    const list = rangeList(flags)
    if (list !== '') extensions.push([long, list])
  }

  const rows = (list) => list.map((row) => `  '${row.join(' ')}',`).join('\n')
  return `// Generated by tools/generate-unicode.mjs: do not edit. The encoding is described there.

/** Version of Unicode that all tables below belong to. */
export const UNICODE_VERSION: string = '${process.versions.unicode}'

/** Short and long name of each general category, in the order of the numbers in GENERAL_CATEGORY. */
export const CATEGORY_NAMES: readonly string[] = [
${rows(Object.entries(CATEGORIES))}
]

/** Partition. */
export const GENERAL_CATEGORY: string =
  '${categories}'

/** Long name and ISO 15924 code of each script, in the order of the numbers in SCRIPT. */
export const SCRIPT_NAMES: readonly string[] = [
${rows(scripts)}
]

/** Partition. */
export const SCRIPT: string =
  '${scriptPartition}'

/** Long name of a script and the range list of the characters in which Script_Extensions differs from Script. */
export const SCRIPT_EXTENSIONS: readonly string[] = [
${rows(extensions)}
]

/** Long name, short name, nearest general categories (joined by +, or -), range list of the difference to these. */
export const BINARY_PROPERTIES: readonly string[] = [
${rows(properties)}
]

/** Fold list: distance from each character with case variants (simple folding) to the next variant, in a cycle. */
export const CASE_VARIANTS: string =
  '${foldTable(foldSuccessors())}'
`
}

if (process.argv.includes('--check')) {
  const committed = readFileSync(TARGET, 'utf8')
  if (!committed.includes(`UNICODE_VERSION: string = '${process.versions.unicode}'`)) {
    process.stdout.write(`not checked: this runtime has Unicode ${process.versions.unicode}\n`)
  } else if (committed !== generate()) {
    process.stderr.write(`${TARGET.pathname} is not what tools/generate-unicode.mjs writes\n`)
    process.exitCode = 1
  }
} else {
  writeFileSync(TARGET, generate())
}

/**
 * Generated Sigma rules and events, the same every time, with the statistics of the public set: 5 literals in the median
 * rule and 18 in every tenth, each used 3.6 times, process names and command lines that begin and end alike, exceptions in
 * two of five rules.
 */
import type { LogSource, SigmaEvent } from '@prexy/sigma/event'
import { webEvent } from '@prexy/sigma/web-event'
import { mulberry32 } from './random.ts'

export type SigmaEvents = 'process' | 'web'

const SYLLABLES = 'ad con dis ex gen host inst ker load man net op proc que reg serv task up vol win xec zip'.split(' ')
const FOLDERS = [
  '\\Windows\\System32\\',
  '\\Windows\\SysWOW64\\',
  '\\Program Files\\',
  '\\Users\\Public\\',
  '\\AppData\\Local\\Temp\\',
]

interface Chance {
  readonly next: () => number
  below(limit: number): number
  pick<T>(list: readonly T[]): T
  /** The first ones far more often than the last ones. */
  common<T>(list: readonly T[]): T
}

function chance(seed: number): Chance {
  const next = mulberry32(seed)
  const below = (limit: number): number => next() % limit
  return {
    next,
    below,
    pick: (list) => list[below(list.length)],
    common: (list) => list[Math.floor((next() / 2 ** 32) ** 2 * list.length)],
  }
}

interface Words {
  readonly programs: readonly string[]
  readonly options: readonly string[]
  readonly paths: readonly string[]
}

function wordsOf({ below, pick }: Chance): Words {
  const word = (): string => Array.from({ length: 2 + below(2) }, () => pick(SYLLABLES)).join('')
  return {
    programs: [...new Set(Array.from({ length: 1_200 }, () => `${word()}.exe`))],
    options: [
      ...new Set(
        Array.from(
          { length: 9_000 },
          () => pick([' -', ' /', ' --', '.', ' ']) + word() + pick(['', ':', '=', ' ', '-']),
        ),
      ),
    ],
    paths: [
      ...new Set(
        Array.from({ length: 2_500 }, () => `/${word()}/${word()}${pick(['.php', '.jsp', '', '?id=', '/../'])}`),
      ),
    ],
  }
}

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** Documents of one file. */
export function sigmaRules(kind: SigmaEvents, count: number): string {
  const random = chance(7)
  const words = wordsOf(random)
  const rules = Array.from({ length: count }, (_, index) => {
    const detection = kind === 'process' ? processDetection(random, words) : webDetection(random, words)
    const source =
      kind === 'process'
        ? '  category: process_creation\n  product: windows'
        : `  category: ${random.pick(['webserver', 'proxy'])}`
    return `title: Rule ${index}\nid: ${index}\nlevel: high\nlogsource:\n${source}\ndetection:\n${detection}`
  })
  return rules.join('---\n')
}

/** Few in most rules, many in some: 5 in the median, 19 at the ninth decile. */
function listLength({ next, below }: Chance): number {
  const share = next() / 2 ** 32
  return share < 0.5 ? 1 : share < 0.75 ? 2 + below(3) : share < 0.97 ? 8 + below(18) : 40 + below(300)
}

function list(key: string, values: readonly string[], indent: string): string {
  return values.length === 1
    ? `${indent}${key}: ${quote(values[0])}\n`
    : `${indent}${key}:\n${values.map((value) => `${indent}    - ${quote(value)}\n`).join('')}`
}

function several(random: Chance, from: readonly string[], most: number): readonly string[] {
  return [...new Set(Array.from({ length: Math.min(most, listLength(random)) }, () => random.common(from)))]
}

function processDetection(random: Chance, { programs, options }: Words): string {
  const images = several(random, programs, 4)
  let text = '    selection_img:\n'
  if (random.below(5) < 2) {
    text += list(
      '- Image|endswith',
      images.map((name) => `\\${name}`),
      '        ',
    ).replaceAll('\n            -', '\n              -')
    text += list('- OriginalFileName', images, '        ').replaceAll('\n            -', '\n              -')
  } else
    text += list(
      random.below(4) === 0 ? 'ParentImage|endswith' : 'Image|endswith',
      images.map((name) => `\\${name}`),
      '        ',
    )
  const condition = ['selection_img']
  if (random.below(10) < 8) {
    const literals = several(random, options, 340)
    const all = random.below(4) === 0 && literals.length > 1
    text += `    selection_cli:\n${list(all ? 'CommandLine|contains|all' : 'CommandLine|contains', all ? literals.slice(0, 4) : literals, '        ')}`
    condition.push('selection_cli')
  }
  if (random.below(5) < 2) {
    text += `    filter_main_path:\n${list('Image|startswith', [`C:${random.pick(FOLDERS)}`], '        ')}`
    if (random.below(2) === 0) text += list('CommandLine|contains', [random.common(options)], '        ')
    condition.push('not 1 of filter_main_*')
  }
  return `${text}    condition: ${condition.join(' and ')}\n`
}

function webDetection(random: Chance, { paths }: Words): string {
  let text = `    selection:\n${list(random.pick(['cs-uri-query|contains', 'c-uri|contains', 'cs-uri-stem|endswith']), several(random, paths, 40), '        ')}`
  if (random.below(2) === 0) text += list('cs-method', [random.pick(['GET', 'POST'])], '        ')
  if (random.below(10) < 3) text += '        sc-status: 200\n'
  return `${text}    condition: selection\n`
}

const PROCESS_SOURCES: readonly LogSource[] = [
  { product: 'windows', service: 'sysmon' },
  { category: 'process_creation', product: 'windows', service: 'sysmon' },
]

/** Events of which few match: programs and options of the rules are among others, as they are in a log. */
export function sigmaEvents(kind: SigmaEvents, count: number): readonly SigmaEvent[] {
  const random = chance(7)
  const words = wordsOf(random)
  return Array.from({ length: count }, () =>
    kind === 'process' ? processEvent(random, words) : requestEvent(random, words),
  )
}

function processEvent({ below, pick, next }: Chance, { programs, options }: Words): SigmaEvent {
  const program = (): string => (below(6) === 0 ? pick(programs) : `${pick(SYLLABLES)}${pick(SYLLABLES)}64.exe`)
  const image = `C:${pick(FOLDERS)}${program()}`
  const parent = `C:${pick(FOLDERS)}${program()}`
  const words = Array.from({ length: 2 + below(8) }, () => {
    return below(16) === 0 ? pick(options) : ` ${next().toString(36)}${pick(SYLLABLES)}\\${pick(SYLLABLES)}`
  })
  const name = image.slice(image.lastIndexOf('\\') + 1)
  const fields = new Map<string, string | number>([
    ['EventID', 1],
    ['Channel', 'Microsoft-Windows-Sysmon/Operational'],
    ['Image', image],
    ['OriginalFileName', name],
    ['CommandLine', `"${image}"${words.join('')}`],
    ['ParentImage', parent],
    ['ParentCommandLine', `"${parent}"${words.slice(0, 2).join('')}`],
    ['User', 'CORP\\user'],
    ['IntegrityLevel', 'Medium'],
    ['Hashes', `SHA256=${Array.from({ length: 8 }, () => next().toString(16).padStart(8, '0')).join('')}`],
  ])
  return {
    sources: PROCESS_SOURCES,
    time: 0,
    get: (field) => fields.get(field),
    text: () => [...fields.values()].join(' '),
  }
}

function requestEvent({ below, pick, common, next }: Chance, { paths }: Words): SigmaEvent {
  const path = below(20) === 0 ? common(paths) : `/${pick(SYLLABLES)}/${pick(SYLLABLES)}${next().toString(36)}`
  return webEvent({
    time: 0,
    method: pick(['GET', 'GET', 'GET', 'POST']),
    target: `${path}${path.includes('?') ? '' : '?q='}${next().toString(36)}%20${pick(SYLLABLES)}`,
    scheme: 'https',
    host: 'www.example.org',
    version: 'HTTP/1.1',
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36',
    referer: 'https://www.example.org/',
    cookie: undefined,
    contentType: undefined,
    username: undefined,
    clientAddress: '192.0.2.7',
    serverAddress: '10.0.0.1',
    serverPort: 443,
    status: pick([200, 200, 200, 404]),
    requestBytes: 400,
    responseBytes: 5_000,
    durationMs: 12,
    fields: undefined,
    text: undefined,
  })
}

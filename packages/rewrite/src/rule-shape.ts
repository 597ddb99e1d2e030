/** Rules and options as plain JavaScript hands them over: what a compiler would have refused is a problem, not a crash. */

const CONDITIONS = ['types', 'paths', 'status', 'methods', 'hosts', 'requestHeaders', 'responseHeaders']
const LIMITS = ['between', 'once', 'max']

/** Texts that a kind needs, and the other fields that it may have. The first text names the kind. */
const KINDS: readonly { readonly texts: readonly string[]; readonly others: readonly string[] }[] = [
  { texts: ['text', 'with'], others: ['flags', 'keepCase'] },
  { texts: ['regex', 'with'], others: ['flags'] },
  { texts: ['domain', 'to'], others: ['subdomains'] },
  { texts: ['insert', 'at', 'with'], others: [] },
]

/** Fields of rules that have one of a few values. */
const FIELD_CHOICES: Readonly<Record<string, readonly (string | boolean)[]>> = {
  insert: ['before', 'after', 'replace'],
  subdomains: ['ignore', 'keep', 'map'],
  keepCase: [true, false],
  once: [true, false],
}

export interface ShapeProblem {
  readonly field: string
  readonly message: string
  readonly hint: string
}

/** Every field that a rule of each kind may have. */
const KNOWN_FIELDS = new Map(
  KINDS.map(({ texts, others }) => [texts[0], new Set([...texts, ...others, ...LIMITS, ...CONDITIONS])]),
)

/** What is wrong with the fields of a rule, whatever their contents say. */
export function ruleShapeProblems(rule: unknown): ShapeProblem[] {
  const hint = `write an object with one of ${KINDS.map(({ texts }) => texts[0]).join(', ')}`
  if (typeof rule !== 'object' || rule === null) return [{ field: '', message: 'a rule is an object', hint }]
  const fields = new Map<string, unknown>(Object.entries(rule))
  const kind = KINDS.find(({ texts }) => fields.get(texts[0]) !== undefined)
  if (kind === undefined) return [{ field: '', message: 'the rule says nothing to look for', hint }]
  const { texts } = kind
  const known = KNOWN_FIELDS.get(texts[0])
  const problems: ShapeProblem[] = []
  for (const [field, value] of fields) {
    if (known?.has(field) || value === undefined) continue
    problems.push({
      field,
      message: `a ${texts[0]} rule has no field '${field}'`,
      hint: `it may have ${[...(known ?? [])].join(', ')}`,
    })
  }
  for (const field of texts) {
    if (typeof fields.get(field) === 'string') continue
    problems.push({ field, message: `${field} is no text`, hint: `a ${texts[0]} rule needs ${texts.join(', ')}` })
  }
  for (const [field, choices] of Object.entries(FIELD_CHOICES)) {
    const value = fields.get(field)
    if (value === undefined || choices.some((choice) => choice === value)) continue
    // That it is a text at all is asked of the texts of a kind above.
    if (texts.includes(field) && typeof value !== 'string') continue
    problems.push({
      field,
      message: `there is no ${field} ${JSON.stringify(value)}`,
      hint: `write ${choices.join(' or ')}`,
    })
  }
  const flags = fields.get('flags')
  if (flags !== undefined && typeof flags !== 'string') {
    problems.push({ field: 'flags', message: 'flags is no text', hint: "write letters, like 'im'" })
  }
  const between = fields.get('between')
  if (between !== undefined && !isMarkerPair(between)) {
    problems.push({
      field: 'between',
      message: 'between is no pair of texts',
      hint: "write an opening and a closing marker, like ['<head>', '</head>']",
    })
  }
  return problems
}

function isMarkerPair(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every((each) => typeof each === 'string' && each !== '')
}

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  priority: ['first', 'longest'],
  mode: ['text', 'octet'],
  compat: ['nginx'],
  overflow: ['skip', 'passthrough', 'abort'],
}

/** Throws a `RangeError` that names the first option with a value that it cannot have. */
export function checkOptionChoices(options: object): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || name === 'maxHeldBytes') continue
    const choices = Object.hasOwn(CHOICES, name) ? CHOICES[name] : undefined
    if (choices === undefined) {
      throw new RangeError(`there is no option '${name}'; options are ${Object.keys(CHOICES).join(', ')}, maxHeldBytes`)
    }
    if (!choices.includes(String(value))) throw new RangeError(`${name} is one of ${choices.join(', ')}`)
  }
}

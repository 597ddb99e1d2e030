/**
 * Rules on the command line: `--text A --with B --regex P --with R --domain a --with b`, in the order they stand, with
 * `--flags`, `--keep-case`, `--between`, `--once`, `--max`, `--subdomains` and `--at` speaking of the rule before them, and
 * `--rules FILE` in between.
 */
import { type Command, Option } from 'commander'
import { CommandError } from './exit-codes.ts'

const RULES_HEADING = 'Rules, applied in one pass; where two match at one place, the earlier wins:'

/** One rule as the options spell it. */
export interface OptionRule {
  readonly kind: 'text' | 'regex' | 'domain' | 'insert'
  /** What to look for; of an insert where to put it: `before`, `after` or `replace`. */
  readonly pattern: string
  with: string | undefined
  flags: string | undefined
  once: boolean
  max: number | undefined
  subdomains: string | undefined
  keepCase: boolean
  at: string | undefined
  between: readonly [string, string] | undefined
}

/** What the rule options gave, in their order: a rule, or the name of a rules file. */
export type RuleEntry =
  | { readonly kind: 'rule'; readonly rule: OptionRule }
  | { readonly kind: 'file'; readonly path: string }

/** Collects rule options while commander parses; options are seen in the order of the command line. */
export class RuleCollector {
  readonly entries: RuleEntry[] = []
  /** What a rule without `--with` writes; undefined: it must have one. */
  readonly #defaultWith: string | undefined

  constructor(defaultWith?: string) {
    this.#defaultWith = defaultWith
  }

  begin(kind: OptionRule['kind'], pattern: string): void {
    this.finish()
    const rule: OptionRule = {
      kind,
      pattern,
      with: undefined,
      flags: undefined,
      once: false,
      max: undefined,
      subdomains: undefined,
      keepCase: false,
      at: undefined,
      between: undefined,
    }
    this.entries.push({ kind: 'rule', rule })
  }

  file(path: string): void {
    this.finish()
    this.entries.push({ kind: 'file', path })
  }

  /** The rule that `option` speaks of; with `kind`, one of that kind. */
  current(option: string, kind?: OptionRule['kind']): OptionRule {
    const last = this.entries.at(-1)
    if (last?.kind !== 'rule')
      throw new CommandError(`${option} stands alone; put it after the --text, --regex, --domain or --insert it is for`)
    if (kind !== undefined && last.rule.kind !== kind) {
      throw new CommandError(`${option} is for --${kind}, not for --${last.rule.kind}`)
    }
    if (option === '--with' && last.rule.with !== undefined) {
      throw new CommandError(`--${last.rule.kind} ${last.rule.pattern} has two --with; keep one`)
    }
    return last.rule
  }

  /** Call when the command line is read: the last rule must be whole, too. */
  finish(): void {
    const last = this.entries.at(-1)
    if (last?.kind === 'rule' && last.rule.kind === 'insert' && last.rule.at === undefined) {
      throw new CommandError(`--insert ${last.rule.pattern} has no --at; add --at and a tag, like --at '</head>'`)
    }
    if (last?.kind === 'rule') last.rule.with ??= this.#defaultWith
    if (last?.kind === 'rule' && last.rule.with === undefined) {
      throw new CommandError(
        `--${last.rule.kind} ${last.rule.pattern} has no --with; add --with and the new text, '' to delete`,
      )
    }
  }
}

/**
 * Adds the rule options to a command and returns what will collect them. `defaultWith` is what a rule without `--with`
 * writes; without it every rule must have one.
 */
export function addRuleOptions(command: Command, defaultWith?: string): RuleCollector {
  const rules = new RuleCollector(defaultWith)
  const add = (flags: string, description: string, take: (value: string) => void): void => {
    const option = new Option(flags, description).helpGroup(RULES_HEADING)
    command.addOption(option)
    // Events come in the order of the command line, values that stand twice included.
    command.on(`option:${option.name()}`, take)
  }
  add('--text <text>', 'replace this text; no character in it is special', (value) => rules.begin('text', value))
  add('--regex <pattern>', 'replace what this pattern matches', (value) => rules.begin('regex', value))
  add('--domain <host>', 'replace this host name in every form that pages write', (value) =>
    rules.begin('domain', value),
  )
  add('--insert <where>', 'put a snippet before or after a tag, or replace it, once', (value) =>
    rules.begin('insert', value),
  )
  add('--at <tag>', 'of the --insert before: the tag without attributes, </head> or <body>', (value) => {
    rules.current('--at', 'insert').at = value
  })
  add('--with <text>', "what to write instead; after --regex, $1 is the first group ('' deletes)", (value) => {
    rules.current('--with').with = value
  })
  add('--flags <flags>', 'of the rule before: i any case, m lines, s dot takes newlines, x free spacing', (value) => {
    rules.current('--flags').flags = value
  })
  add('--keep-case', 'of the --text before: find it in any letter case and write the new text in the same', () => {
    rules.current('--keep-case', 'text').keepCase = true
  })
  add(
    '--between <open,close>',
    'of the rule before: match only between these two texts, split at the comma',
    (value) => {
      const markers = value.split(',')
      if (markers.length !== 2 || markers.includes('')) {
        throw new CommandError(`--between ${value} is no pair of texts; write it like --between '<head>,</head>'`)
      }
      rules.current('--between').between = [markers[0], markers[1]]
    },
  )
  add('--once', 'replace only the first match of the rule before, per body', () => {
    rules.current('--once').once = true
  })
  add('--max <count>', 'replace at most so many matches of the rule before, per body', (value) => {
    const max = Number(value)
    if (!Number.isSafeInteger(max) || max < 1) throw new CommandError(`--max ${value} is no whole number from 1`)
    rules.current('--max').max = max
  })
  add('--subdomains <how>', 'of the --domain before: ignore, keep or map the names below it', (value) => {
    rules.current('--subdomains').subdomains = value
  })
  add('--rules <file>', 'take rules from a YAML file: a list as in the configuration', (value) => rules.file(value))
  return rules
}

/** An {@link OptionRule} as the configuration would have it; not checked. */
export function ruleFromOptions(rule: OptionRule): unknown {
  return {
    [rule.kind]: rule.pattern,
    [rule.kind === 'domain' ? 'to' : 'with']: rule.with,
    ...(rule.at === undefined ? {} : { at: rule.at }),
    ...(rule.keepCase ? { keepCase: true } : {}),
    ...(rule.flags === undefined ? {} : { flags: rule.flags }),
    ...(rule.between === undefined ? {} : { between: rule.between }),
    ...(rule.once ? { once: true } : {}),
    ...(rule.max === undefined ? {} : { max: rule.max }),
    ...(rule.subdomains === undefined ? {} : { subdomains: rule.subdomains }),
  }
}

/** From rules as data to a compiled rule set. */
import type { ByteSink } from '@prexy/bytes/sink'
import { type Node, type ParsedPattern, PatternError } from '@prexy/regex/ast'
import { type CaptureProgram, compileCaptures } from '@prexy/regex/captures'
import { ContextLimitError, type Region } from '@prexy/regex/context'
import { findFixedGroup } from '@prexy/regex/fixed-groups'
import { parsePattern } from '@prexy/regex/parse'
import { instructionBound, MAX_RULE_INSTRUCTIONS, type RuleSource } from '@prexy/regex/program'
import {
  type CacheLimits,
  DEFAULT_CACHE_LIMITS,
  type RecipePiece,
  Tokenizer,
  type TokenizerOptions,
  type TokenizerRule,
} from '@prexy/regex/tokenizer'
import { findUnbounded } from '@prexy/regex/unbounded'
import { asciiCaseClosure, unicodeCaseClosure } from '@prexy/regex/unicode'
import { domainNode, domainTemplate } from './domain.ts'
import { type HostName, parseHostName } from './host-name.ts'
import { parseTag, tagNode } from './insert.ts'
import { caseKeeper, hasCase } from './keep-case.ts'
import type { Rewriter, RewriterInit, RuleSet, UnboundedRule } from './rewriter.ts'
import {
  DEFAULT_MAX_HELD_BYTES,
  type DomainRule,
  type InsertRule,
  MAX_MAX_HELD_BYTES,
  MIN_MAX_HELD_BYTES,
  type RegexRule,
  type Rule,
  type RuleProblem,
  RuleSetError,
  type RuleSetOptions,
  type TextRule,
} from './rules.ts'
import { checkOptionChoices, ruleShapeProblems } from './rule-shape.ts'
import { StreamRewriter } from './stream-rewriter.ts'
import {
  encodeText,
  fixedTemplate,
  parseTemplate,
  type Template,
  TemplateError,
  templateOf,
  variablesOf,
} from './template.ts'

/** A rule ready to run. */
export interface CompiledRule {
  readonly source: RuleSource
  readonly template: Template
  readonly max: number
  readonly region: Region | undefined
  readonly groupCount: number
  /** Present when the template uses a group. */
  readonly captures: CaptureProgram | undefined
}

type Settings = RuleSet['options']

/**
 * Compiles rules. Throws {@link RuleSetError} with everything that is wrong. In octet mode patterns and texts are
 * latin-1 (one character, one octet), in text mode ordinary strings. `cacheLimits` bounds what all bodies of the rule
 * set share.
 */
export function compileRuleSet(
  rules: readonly Rule[],
  options: RuleSetOptions = {},
  cacheLimits: CacheLimits = DEFAULT_CACHE_LIMITS,
): RuleSet {
  const settings = resolveOptions(options)
  const compiled = compileRules(rules, settings)
  const tokenizer = makeTokenizer(rules, compiled, settings, cacheLimits)
  let unbounded: readonly UnboundedRule[] | undefined
  return {
    rules,
    options: settings,
    hash: hashText(JSON.stringify([rules, settings])),
    variables: [...new Set(compiled.flatMap(({ template }) => variablesOf(template)))],
    get unbounded(): readonly UnboundedRule[] {
      unbounded ??= compiled.flatMap((rule, index) => {
        // A tag is held until its end, which says docs/rules.md; no other pattern would hold less.
        if ('insert' in rules[index]) return []
        const message = findUnbounded(toTokenizerRule(rule))
        return message === undefined ? [] : [{ rule: index, message }]
      })
      return unbounded
    },
    createRewriter(sink: ByteSink, init: RewriterInit = {}): Rewriter {
      return new StreamRewriter(tokenizer, compiled, settings, sink, init)
    },
  }
}

/** Throws {@link RuleSetError} where the rules' regions are too many. */
function makeTokenizer(
  rules: readonly Rule[],
  compiled: readonly CompiledRule[],
  settings: Settings,
  cacheLimits: CacheLimits,
): Tokenizer {
  try {
    return new Tokenizer(compiled.map(toTokenizerRule), tokenizerOptions(settings), cacheLimits)
  } catch (error) {
    if (!(error instanceof ContextLimitError)) throw error
    const rule = rules.findIndex(({ between }) => between !== undefined)
    const hint = 'use fewer different pairs of markers, or shorter ones'
    throw new RuleSetError([{ code: 'E_RULE', rule, field: 'between', at: undefined, message: error.message, hint }])
  }
}

/** Compiles every rule, or throws {@link RuleSetError}. */
export function compileRules(rules: readonly Rule[], settings: Settings): CompiledRule[] {
  const problems: RuleProblem[] = []
  const compiled: CompiledRule[] = []
  rules.forEach((rule, index) => {
    const report = (problem: Omit<RuleProblem, 'rule'>): void => {
      problems.push({ ...problem, rule: index })
    }
    const shape = ruleShapeProblems(rule)
    for (const problem of shape) report({ code: 'E_RULE', at: undefined, ...problem })
    const result = shape.length > 0 ? undefined : compileRule(rule, settings, report)
    if (result !== undefined) compiled.push(result)
  })
  if (problems.length > 0) throw new RuleSetError(problems)
  return compiled
}

/** Fills in defaults. Throws a `RangeError` for a value that an option cannot have. */
export function resolveOptions(options: RuleSetOptions): Settings {
  checkOptionChoices(options)
  const { compat, maxHeldBytes = DEFAULT_MAX_HELD_BYTES } = options
  const least = compat === 'nginx' ? 0 : MIN_MAX_HELD_BYTES
  if (!Number.isInteger(maxHeldBytes) || maxHeldBytes < least || maxHeldBytes > MAX_MAX_HELD_BYTES) {
    throw new RangeError(`maxHeldBytes is a whole number of bytes from ${least} to ${MAX_MAX_HELD_BYTES}`)
  }
  return {
    priority: options.priority ?? 'first',
    mode: options.mode ?? (compat === 'nginx' ? 'octet' : 'text'),
    overflow: options.overflow ?? 'skip',
    maxHeldBytes,
    ...(compat === undefined ? {} : { compat }),
  }
}

export function tokenizerOptions({ priority, compat, maxHeldBytes, overflow }: Settings): TokenizerOptions {
  return { priority, nginx: compat === 'nginx', maxHeldBytes, overflow }
}

export function toTokenizerRule(rule: CompiledRule): TokenizerRule {
  const { root, mode, hostEnd } = rule.source
  return {
    root,
    mode,
    hostEnd,
    usesSpan: rule.template.usesSpan,
    usesGroups: rule.captures !== undefined,
    max: rule.max,
    region: rule.region,
    replacement: rule.template.fixed,
    recipe: rule.template.fixed === undefined ? recipeOf(rule) : undefined,
  }
}

/** How the kernel can put a replacement together; undefined where a variable, a filter or the text decides. */
function recipeOf({ template, source }: CompiledRule): readonly RecipePiece[] | undefined {
  const pieces: RecipePiece[] = []
  for (const part of template.parts) {
    if (part.kind === 'bytes') {
      pieces.push(part.bytes)
      continue
    }
    if (part.kind !== 'group' || part.filters.length > 0) return undefined
    const group = findFixedGroup(source.root, part.group, source.mode)
    if (group === undefined) return undefined
    pieces.push(group)
  }
  return pieces
}

type Report = (problem: Omit<RuleProblem, 'rule'>) => void

/** What a rule's kind says; the rest is said by every kind. */
type Compiled = Omit<CompiledRule, 'region'>

function compileRule(rule: Rule, settings: Settings, report: Report): CompiledRule | undefined {
  const compiled = compileKind(rule, settings, report)
  if (compiled === undefined) return undefined
  if (rule.between === undefined) return { ...compiled, region: undefined }
  const markers = rule.between.map((marker): [string, string] => ['between', marker])
  if (!checkEncoding(markers, settings.mode, report)) return undefined
  const [open, close] = rule.between.map((marker) => encodeText(marker, settings.mode))
  return { ...compiled, region: { open, close } }
}

function compileKind(rule: Rule, settings: Settings, report: Report): Compiled | undefined {
  const max = readMax(rule, report)
  if ('domain' in rule) return compileDomain(rule, settings, max, report)
  if ('insert' in rule) return compileInsert(rule, settings, max, report)
  const flags = readFlags(rule, settings, report)
  const encodable = checkEncoding(textsOf(rule), settings.mode, report)
  if (flags === undefined || !encodable) return undefined
  if ('text' in rule) return compileText(rule, settings, max, flags, report)
  return compileRegex(rule, settings, max, flags, report)
}

function readMax(rule: Rule, report: Report): number {
  if (rule.max !== undefined && (!Number.isInteger(rule.max) || rule.max < 1)) {
    report({
      code: 'E_RULE',
      field: 'max',
      at: undefined,
      message: `max is ${rule.max}`,
      hint: 'write a whole number, at least 1',
    })
  }
  const once = rule.once ?? ('insert' in rule && rule.max === undefined)
  return once ? 1 : (rule.max ?? Infinity)
}

/** In octet mode a character is an octet; in text mode half a surrogate pair is no character. */
function checkEncoding(
  fields: readonly (readonly [field: string, text: string])[],
  mode: 'text' | 'octet',
  report: Report,
): boolean {
  let encodable = true
  for (const [field, text] of fields) {
    const bad = mode === 'octet' ? /[^\0-\u00ff]/.exec(text) : /\p{Surrogate}/u.exec(text)
    if (bad === null) continue
    encodable = false
    report({
      code: 'E_RULE',
      field,
      at: undefined,
      message: mode === 'octet' ? `'${bad[0]}' is not an octet` : 'it holds half of a surrogate pair',
      hint:
        mode === 'octet'
          ? 'in octet mode every character stands for one byte, up to U+00FF'
          : 'write the whole character',
    })
  }
  return encodable
}

/** The texts of a rule that are looked for or written as they are. */
function textsOf(rule: TextRule | RegexRule | InsertRule): (readonly [field: string, text: string])[] {
  const fields: (readonly [string, string])[] = [['with', rule.with]]
  // The parser says so itself for a pattern, with its offset.
  if ('text' in rule) fields.unshift(['text', rule.text])
  if ('insert' in rule) fields.unshift(['at', rule.at])
  return fields
}

interface Flags {
  readonly i: boolean
  readonly m: boolean
  readonly s: boolean
  readonly x: boolean
}

function readFlags(rule: TextRule | RegexRule, settings: Settings, report: Report): Flags | undefined {
  const nginx = settings.compat === 'nginx'
  const text = (rule.flags ?? '').replaceAll(' ', '')
  const allowed = 'text' in rule ? 'i' : 'imsx'
  const bad = [...text].find((flag) => !allowed.includes(flag))
  if (bad !== undefined) {
    report({
      code: 'E_RULE',
      field: 'flags',
      at: (rule.flags ?? '').indexOf(bad),
      message: `there is no flag '${bad}'`,
      hint: `flags of a ${'text' in rule ? 'text' : 'regex'} rule are ${[...allowed].join(', ')}`,
    })
    return undefined
  }
  return {
    i: text.includes('i'),
    m: nginx || text.includes('m'),
    s: nginx || text.includes('s'),
    x: text.includes('x'),
  }
}

function compileRegex(
  rule: RegexRule,
  settings: Settings,
  max: number,
  flags: Flags,
  report: Report,
): Compiled | undefined {
  const parsed = tryParse(rule.regex, settings, flags, 'regex', report)
  const template =
    parsed === undefined
      ? undefined
      : tryTemplate(rule.with, report, {
          mode: settings.mode,
          nginx: settings.compat === 'nginx',
          groupCount: parsed.groupCount,
          groupNames: parsed.groupNames,
        })
  if (parsed === undefined || template === undefined) return undefined
  return finishRule(
    { root: parsed.root, mode: settings.mode, hostEnd: false },
    template,
    max,
    parsed.groupCount,
    report,
  )
}

function compileText(
  rule: TextRule,
  settings: Settings,
  max: number,
  flags: Flags,
  report: Report,
): Compiled | undefined {
  if (rule.text === '') {
    report({
      code: 'E_RULE',
      field: 'text',
      at: undefined,
      message: 'the text is empty',
      hint: 'write what to look for',
    })
    return undefined
  }
  const keepCase = rule.keepCase === true
  const source: RuleSource = {
    root: literalNode(rule.text, settings.mode, flags.i || keepCase),
    mode: settings.mode,
    hostEnd: false,
  }
  const template =
    keepCase && hasCase(rule.text, settings.mode) && hasCase(rule.with, settings.mode)
      ? templateOf([{ kind: 'derived', derive: caseKeeper(rule.with, settings.mode) }])
      : fixedTemplate(encodeText(rule.with, settings.mode))
  return { source, template, max, groupCount: 0, captures: undefined }
}

function compileInsert(rule: InsertRule, settings: Settings, max: number, report: Report): Compiled | undefined {
  if (!checkEncoding(textsOf(rule), settings.mode, report)) return undefined
  const tag = parseTag(rule.at)
  if (tag === undefined) {
    report({
      code: 'E_RULE',
      field: 'at',
      at: undefined,
      message: `'${rule.at}' is no tag`,
      hint: 'write a start or end tag without attributes, like </head> or <body>; it is found with any',
    })
    return undefined
  }
  const source: RuleSource = {
    root: tagNode(tag, rule.insert === 'before' ? 'start' : 'whole', settings.mode),
    mode: 'octet',
    hostEnd: false,
  }
  const snippet = { kind: 'bytes', bytes: encodeText(rule.with, settings.mode) } as const
  const found = { kind: 'group', group: 0, filters: [] } as const
  const parts = { before: [snippet, found], after: [found, snippet], replace: [snippet] }
  return { source, template: templateOf(parts[rule.insert]), max, groupCount: 0, captures: undefined }
}

/** A tree that matches exactly `text`, in any letter case when caseless. */
function literalNode(text: string, mode: 'text' | 'octet', caseless: boolean): Node {
  const close = mode === 'text' ? unicodeCaseClosure : asciiCaseClosure
  const nodes = Array.from(text, (character): Node => {
    const point = character.codePointAt(0) ?? 0
    if (!caseless && point < ASCII_NODES.length) return ASCII_NODES[point]
    const ranges = [point, point]
    return { kind: 'class', ranges: caseless ? close(ranges) : ranges, span: NO_SPAN }
  })
  return { kind: 'concat', nodes, span: NO_SPAN }
}

const NO_SPAN = { start: 0, end: 0 }
/** One node per ASCII character, shared by all texts: sets of thousands of texts are common. */
const ASCII_NODES: readonly Node[] = Array.from({ length: 128 }, (_, point) => ({
  kind: 'class',
  ranges: [point, point],
  span: NO_SPAN,
}))

function compileDomain(rule: DomainRule, settings: Settings, max: number, report: Report): Compiled | undefined {
  const read = (field: 'domain' | 'to'): HostName | undefined => {
    const host = parseHostName(rule[field])
    if (!('message' in host)) return host
    report({ code: 'E_RULE', field, at: undefined, ...host })
    return undefined
  }
  const from = read('domain')
  const to = read('to')
  if (from === undefined || to === undefined) return undefined
  const source: RuleSource = {
    root: domainNode(from, rule.subdomains, settings.mode),
    mode: settings.mode,
    hostEnd: true,
  }
  return { source, template: domainTemplate(from, to, rule.subdomains), max, groupCount: 0, captures: undefined }
}

function finishRule(
  source: RuleSource,
  template: Template,
  max: number,
  groupCount: number,
  report: Report,
): Compiled | undefined {
  const usesGroups = template.parts.some((part) => part.kind === 'group' && part.group > 0)
  // Compiled where no group is used, too, if the pattern may expand too far: it is here that this is found.
  const mayBeTooLong = instructionBound(source.root, source.mode) > MAX_RULE_INSTRUCTIONS
  try {
    const captures = usesGroups || mayBeTooLong ? compileCaptures(source, groupCount) : undefined
    return { source, template, max, groupCount, captures: usesGroups ? captures : undefined }
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    report({ code: error.code, field: 'regex', at: error.at, message: error.message, hint: error.hint })
    return undefined
  }
}

/** Parses a pattern, or reports what is wrong with it. */
function tryParse(
  text: string,
  settings: Settings,
  flags: Flags,
  field: string,
  report: Report,
): ParsedPattern | undefined {
  try {
    return parsePattern(text, {
      mode: settings.mode,
      flags,
      ...(settings.compat === undefined ? {} : { compat: settings.compat }),
    })
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    report({ code: error.code, field, at: error.at, message: error.message, hint: error.hint })
    return undefined
  }
}

function tryTemplate(text: string, report: Report, context: Parameters<typeof parseTemplate>[1]): Template | undefined {
  try {
    return parseTemplate(text, context)
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    report({ code: 'E_TEMPLATE', field: 'with', at: error.at, message: error.message, hint: error.hint })
    return undefined
  }
}

/** 64 bits as 16 hexadecimal digits, of two multiplicative hashes side by side: tells rule sets apart, is no protection. */
function hashText(text: string): string {
  let high = 0x811c9dc5
  let low = 0x9747b28c
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    high = Math.imul(high ^ unit, 0x01000193)
    low = Math.imul(low ^ unit, 0x5bd1e995)
    low ^= low >>> 15
  }
  return [high, low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('')
}

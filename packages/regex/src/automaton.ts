/**
 * The search automaton: tokenizing a body by a rule set, determinised.
 *
 * A body is tokenized by the ordered simulation of `(?:rule1|rule2|...|any byte)*`. At every position
 * exactly one thread is at the loop head, the one that would win if every other live thread failed; what it has read
 * so far is the *spine*: copied bytes and complete matches. Every other live thread was started at some earlier node
 * of the spine and, when it reaches its rule's end, cuts the spine back to that node and puts its match there.
 *
 * So a state of this automaton is
 *
 *     context | group 1 | group 2 | ... | loop head
 *
 * where a *group* is the ordered list of live threads that began at one spine node (nodes in order of position, which
 * is also order of priority), and the loop head is `normal` (rules may start here; those threads are implied by the
 * context and the active rules and are not stored) or `forced` (a rule matched the empty string here, so the next
 * byte is copied). The spine itself is not in the state: a transition carries *operations* that a small machine
 * (kernel) applies to it.
 *
 * INVARIANT: duplicates are dropped at consuming instructions, over all groups, so a state has at most one thread per
 * instruction and the number of groups is bounded by the program.
 *
 * Closures with an assertion that looks ahead wait in the state and are worked out when the next symbol is known, before
 * it is consumed (phase 1); then the byte is consumed (phase 2). `$` before a final newline and the right edge of a host name need one byte
 * more; such threads carry a *mode* and report a match that ended one byte back, after which the byte between is read
 * again from the new loop head.
 *
 * Cost: a step is linear in the threads of the state (m, the size of the program, at most). States and steps are
 * cached by the caller.
 */
import {
  asciiLowerCase,
  buildContexts,
  byteKind,
  type ContextAutomaton,
  isHostByte,
  isLabelByte,
  KIND_NEWLINE,
  KIND_NONE,
  KIND_OTHER,
  KIND_WORD,
  NEWLINE,
  type Region,
} from './context.ts'
import {
  compileProgram,
  type Instruction,
  type Program,
  rangesByTarget,
  type RuleSource,
  takesOneByte,
} from './program.ts'

/** What comes next, as far as assertions can tell: a byte kind, `LOOK_END`, or not known yet. */
export const LOOK_UNKNOWN = 0
export const LOOK_END = 4
/** A newline, and then the end. */
export const LOOK_FINAL_NEWLINE = 5

export interface AutomatonRule extends RuleSource {
  /** The replacement needs the matched text (`$&` or a group). */
  readonly usesSpan: boolean
  /** The replacement needs a group, so that which way matched may matter. */
  readonly usesGroups: boolean
  /** Matches after which the rule is spent; `Infinity` for none. */
  readonly max: number
  /** Where the rule may begin a match; undefined for anywhere. */
  readonly region?: Region | undefined
}

export interface AutomatonOptions {
  readonly priority: 'first' | 'longest'
  /** A fired once-rule keeps taking its token and leaves it unchanged (replace_filter). */
  readonly firedKeepsToken: boolean
}

/**
 * Spine operations, as a flat list. Every op begins with its code; `back` is how many bytes before the position after
 * this step the event lies. Groups are numbered: those of the old state in order, then each `OP_GROUP` in turn.
 *
 * `OP_GROUP back kind`: a node with live threads; remember position, spine length and the kind of the byte before.
 * `OP_MATCH group rule back flags`: cut the spine to that group's node and append the match from there.
 * `OP_EMPTY rule back flags`: append an empty match.
 * `OP_COPY group`: cut the spine to the group's node; the bytes since are copied (a whole character won).
 * `OP_KEEP n g1 ... gn`: the groups that live on; always last.
 */
export const OP_GROUP = 1
export const OP_MATCH = 2
export const OP_EMPTY = 3
export const OP_COPY = 4
export const OP_KEEP = 5

/**
 * Flags of a match: bits 0-2 what followed it (a look), bit 3 the token stays unchanged, bit 4 its text is needed; from
 * bit 8 on the kind of the byte before it (set by the kernel for `OP_MATCH`).
 */
export const MATCH_LOOK_MASK = 7
export const MATCH_KEEPS_TEXT = 8
export const MATCH_NEEDS_TEXT = 16
export const MATCH_KIND_SHIFT = 8

/** Which rules may start a match; changes when once-rules are spent. Interned. */
export interface ActiveSet {
  readonly id: number
  readonly rules: readonly number[]
  /** Once-rules that have fired and keep their token. */
  readonly fired: ReadonlySet<number>
}

export interface Group {
  readonly threads: readonly number[]
  readonly active: ActiveSet
  /**
   * With `longest`: the rule whose match from this group's node ends here, and the one whose match ended one byte
   * back; -1 for none. Kept only while a waiting thread could still report a match with the same end.
   */
  readonly endsHere: number
  readonly endedBack: number
  /** Bytes between its node and here, 2 for two or more or where it decides nothing: whether a match is empty. */
  readonly age: number
  /** Stands for the threads in a state's key, where they are a list that is shared; '' elsewhere. */
  readonly label: string
}

export interface State {
  readonly key: string
  readonly context: number
  /** `none` appears only in the analysis of which groups can still win. */
  readonly head: 'normal' | 'forced' | 'none'
  readonly active: ActiveSet
  /** Active rules before the empty match of a forced head. */
  readonly nodeActive: ActiveSet
  readonly groups: readonly Group[]
  /** Index of the first group that is not only a character being copied; the number of groups when there is none. */
  readonly firstRuleGroup: number
  /**
   * Index of the first group that can still win with a rule that needs its text; -1 when there is none,
   * {@link TEXT_GROUP_UNKNOWN} where {@link Automaton.textGroupOf} has to look for it.
   */
  readonly firstTextGroup: number
  /** A live thread may report a match that ended one byte back, and the byte since then would be copied. */
  readonly lastByteNeeded: boolean
}

export const TEXT_GROUP_UNKNOWN = -2

export interface Step {
  readonly target: State
  /** Empty when nothing happens to the spine or the groups. */
  readonly ops: Int32Array
}

/** What `settle` takes, and the rules that are active afterwards. */
export interface Settled {
  readonly ops: Int32Array
  readonly active: ActiveSet
}

/** A rule with a limit above one fires: whether it is spent now is known only at run time. */
export interface Undecided {
  readonly undecided: number
  /** The group whose match it is, -1 for an empty match at the loop head; numbered as in `ops`. */
  readonly group: number
  /** What has happened in the step before. */
  readonly ops: readonly (readonly number[])[]
}

const MODE_NORMAL = 0
/** Only a newline and then the end may follow (`$` passed before a newline). */
const MODE_FINAL_NEWLINE = 1
/** Only the end may follow. */
const MODE_AT_END = 2
/** The match ended one byte back, if the end comes now. */
const MODE_ENDED_BACK = 3
/** The host name ended one byte back, if no label byte comes now. */
const MODE_HOST_DOT = 4
/**
 * Everything that can be reached from here without a byte, once it is known what comes next. An assertion that has to
 * wait stands for its whole closure: which of its ways come first, and which are dropped as duplicates, depends on it.
 */
const MODE_WAITING = 5

/** Groups that the analysis of winners may look at, per rule set; beyond it every live thread counts as able to win. */
const MAX_ANALYSED_STATES = 4_000

interface Found {
  readonly rule: number
  readonly back: number
  /** The context where the match ended, when that is one byte back. */
  readonly context: number
  /** It was the end of the body that decided. */
  readonly ended: boolean
}

interface Spawn {
  /** Threads that begin here, in order; cut at an empty match. */
  readonly threads: readonly number[]
  readonly emptyRule: number
  readonly waits: boolean
  /** The threads that can read each byte class; made when first asked for. */
  byClass: number[][] | undefined
  /** What the threads become that read a byte class, where that is the same whatever comes before and after. */
  readonly begun: Map<number, Begun | undefined>
}

/** The threads of a group one byte after its node; shared by all states that have them. */
interface Begun {
  readonly threads: readonly number[]
  readonly label: string
}

interface Reach {
  readonly leaves: readonly number[]
  readonly rule: number
  readonly waits: boolean
}

/** What a byte does in a state without a loop head: the state after it, and what {@link readOutcomeOps} says. */
interface OutcomeEdge {
  readonly to: string
  readonly kept: readonly number[]
  readonly won: number
  readonly text: boolean
}

interface Outcome {
  none: boolean
  /** Bit mask of groups that can win with a rule that needs its text, as group indices. */
  text: Set<number>
  /** Groups that can win otherwise. */
  plain: Set<number>
}

interface Head {
  readonly kind: State['head']
  readonly active: ActiveSet
}

interface WorkGroup {
  readonly active: ActiveSet
  /** Index of its `OP_GROUP`, -1 for a group of the old state. */
  readonly opIndex: number
  /** Bytes between its node and the position after this step; 2 stands for more. */
  readonly age: number
  endedBack: number
  endsHere: number
}

/** Where a step is: the growing list of threads and operations. */
interface Work {
  readonly symbol: number
  readonly look: number
  /** Bytes that this step consumes: 1, or 0 at the end. */
  readonly consumes: number
  readonly groups: WorkGroup[]
  threads: number[]
  threadGroups: number[]
  /** The group that begins here, when it need not be stepped thread by thread; it ranks below all others. */
  begun: Begun | undefined
  begunGroup: number
  ops: number[][]
  stamp: number
  decisions: string
  decided: number
}

export class Automaton {
  readonly program: Program
  readonly contexts: ContextAutomaton
  readonly classOf: Uint8Array
  readonly classCount: number
  readonly endSymbol: number
  readonly ruleCount: number
  /** Some rule can match the empty string (or wait for an assertion before matching it). */
  readonly nullable: boolean
  readonly initialActive: ActiveSet
  readonly rules: readonly AutomatonRule[]
  /** The regions that rules name, each once. */
  readonly regions: readonly Region[]
  /** Region of each rule, -1 for none. */
  private readonly regionOf: readonly number[]
  private readonly options: AutomatonOptions
  private readonly representative: Uint8Array
  private readonly arcTargets: (Int32Array | undefined)[] = []
  private readonly copiesCharacters: boolean
  private readonly copyRule: number
  private readonly dotSymbol: number
  private readonly newlineSymbol: number
  private readonly alienSymbol: number
  /** Modes other than normal: threads above the instruction count. */
  private readonly threadPc: number[] = []
  private readonly threadMode: number[] = []
  private readonly threadContext: number[] = []
  private readonly threadIds = new Map<number, number>()
  private readonly closures = new Map<number, Int32Array>()
  private readonly reaches = new Map<number, Reach>()
  private readonly spawns = new Map<string, Spawn>()
  private readonly activeSets = new Map<string, ActiveSet>()
  private readonly useful: Uint8Array | undefined
  private readonly outcomes = new Map<string, Outcome>()
  /** The analysis of outcomes has met its limit once; it is not begun again for each further state. */
  private tooManyOutcomes = false
  private readonly mixedText: boolean
  private readonly allText: boolean
  /** Some thread may have to know what comes next: there are assertions. */
  private readonly looksAhead: boolean
  /** Of each instruction that takes one range of bytes: the range, and where it goes; -1 for other instructions. */
  private readonly rangeLow: Uint8Array
  private readonly rangeHigh: Uint8Array
  private readonly rangeTarget: Int32Array
  private readonly allSymbols: readonly number[]
  /** A list of one for each byte class. */
  private readonly singleSymbols: readonly (readonly number[])[]
  /** A flag for each instruction from which an assertion can be reached without a byte; undefined without assertions. */
  private readonly reachesAssertion: Uint8Array | undefined
  private readonly walk: number[] = []
  private visited: Int32Array
  private stamp = 0
  private activeSetsMade = 0
  private begunMade = 0
  private entries = 0

  constructor(rules: readonly AutomatonRule[], options: AutomatonOptions) {
    this.rules = rules
    this.options = options
    this.ruleCount = rules.length
    const plain = compileProgram(rules, { saves: false })
    const startsEmpty = rules.some((rule, index) => rule.mode === 'text' && reachesMatch(plain, index))
    this.copiesCharacters = startsEmpty
    this.copyRule = startsEmpty ? rules.length : -1
    // Positions inside a well-formed character are no places for an empty match: a multi-byte character is copied as a
    // whole when it turns out to be one, by a thread that ranks above the copy of its first byte.
    this.program = startsEmpty ? compileProgram([...rules, COPY_CHARACTER], { saves: false }) : plain
    const instructions = this.program.instructions
    const asserts = new Set<string>()
    for (const each of instructions) if (each.op === 'assert') asserts.add(each.assertion)
    this.looksAhead = asserts.size > 0 || rules.some(({ hostEnd }) => hostEnd)
    const hosts = asserts.has('hostStart') || asserts.has('hostStartOrSubdomain')
    const kinds = [...asserts].some((each) => each !== 'hostStart' && each !== 'hostStartOrSubdomain')
    const regions = new Map<string, Region>()
    for (const { region } of rules) if (region !== undefined) regions.set(regionKey(region), region)
    const regionKeys = [...regions.keys()]
    this.regions = [...regions.values()]
    this.regionOf = rules.map(({ region }) => (region === undefined ? -1 : regionKeys.indexOf(regionKey(region))))
    this.contexts = buildContexts({ kinds, hosts, regions: this.regions })
    const { classOf, representative } = byteClasses(instructions, this.contexts, kinds)
    this.classOf = classOf
    this.representative = representative
    this.classCount = representative.length
    this.allSymbols = Array.from({ length: this.classCount }, (_, symbol) => symbol)
    this.singleSymbols = this.allSymbols.map((symbol) => [symbol])
    this.endSymbol = this.classCount
    this.alienSymbol = this.classCount + 1
    this.dotSymbol = classOf[0x2e]
    this.newlineSymbol = classOf[NEWLINE]
    this.visited = new Int32Array(instructions.length + 16)
    this.rangeLow = new Uint8Array(instructions.length)
    this.rangeHigh = new Uint8Array(instructions.length)
    this.rangeTarget = new Int32Array(instructions.length).fill(-1)
    instructions.forEach((instruction, pc) => {
      this.threadPc.push(pc)
      this.threadMode.push(MODE_NORMAL)
      this.threadContext.push(0)
      if (instruction.op !== 'bytes' || instruction.arcs.length !== 3) return
      this.rangeLow[pc] = instruction.arcs[0]
      this.rangeHigh[pc] = instruction.arcs[1]
      this.rangeTarget[pc] = instruction.arcs[2]
    })
    this.reachesAssertion = asserts.size > 0 ? findAssertions(instructions) : undefined
    this.mixedText = rules.some((rule) => rule.usesSpan) || options.firedKeepsToken
    this.allText = !options.firedKeepsToken && rules.every((rule) => rule.usesSpan)
    this.useful = this.findUseful()
    this.initialActive = this.internActive(
      rules.map((_, index) => index),
      new Set(),
    )
    this.nullable = rules.some((_, index) => reachesMatch(this.program, index))
  }

  /** The active set that has only these rules; for conditions that were decided before the body. */
  activeSet(rules: readonly number[]): ActiveSet {
    return this.internActive(rules, new Set())
  }

  /**
   * The state at a loop head, and what happens there at once (an empty match). `copying` is the thread of a character
   * that the loop head stands inside of, -1 for none.
   */
  enter(context: number, active: ActiveSet, decisions = '', copying = -1): Step | Undecided {
    const work = this.newWork(this.alienSymbol, LOOK_UNKNOWN, 0, [], decisions)
    if (copying >= 0) this.push(work, copying, this.newGroup(work, active, [copying], 0, context))
    return this.finish(work, context, 'normal', active)
  }

  /**
   * One step. `symbol` is a byte class or `endSymbol`. `decisions` answers, in order, whether the limited rules that
   * fire in this step are spent (`1`) or not (`0`); without an answer the step returns what it needs to know.
   */
  step(state: State, symbol: number, decisions = ''): Step | Undecided {
    const atEnd = symbol === this.endSymbol
    const look = atEnd ? LOOK_END : byteKind(this.representative[symbol])
    const work = this.newWork(symbol, look, atEnd ? 0 : 1, state.groups, decisions)
    const head = this.resolve(work, state)
    if (isUndecided(head)) return head
    if (!atEnd) return this.consume(work, state, head)
    work.threads.length = 0
    return this.finish(work, state.context, 'none', head.active)
  }

  /**
   * Settles everything before this position as if a byte that no rule can match followed: complete matches are taken.
   * The returned ops leave no group; the search goes on from `enter(state.context, active)`.
   */
  settle(state: State, decisions = ''): Settled | Undecided {
    const work = this.newWork(this.alienSymbol, KIND_OTHER, 0, state.groups, decisions)
    const head = this.resolve(work, state)
    if (isUndecided(head)) return head
    return { ops: encodeOps(work, []), active: head.active }
  }

  /** Numbers kept so that steps need not work them out again. */
  get cachedEntries(): number {
    return this.entries
  }

  /** Forgets what can be worked out again. Active sets and states that are in use stay valid. */
  forget(): void {
    this.closures.clear()
    this.reaches.clear()
    this.spawns.clear()
    this.outcomes.clear()
    this.activeSets.clear()
    this.entries = 0
    this.activeSets.set(activeKey(this.initialActive.rules, this.initialActive.fired), this.initialActive)
  }

  /**
   * Nothing but live threads makes a state: no assertion, limit, empty match or region, and the first match wins. The
   * kernel can then step threads itself.
   */
  get isPlain(): boolean {
    const { priority, firedKeepsToken } = this.options
    const open = this.rules.every(({ max }) => max === Infinity)
    const blind = !this.looksAhead && this.contexts.count === 1 && this.useful === undefined
    return open && blind && !this.nullable && priority === 'first' && !firedKeepsToken
  }

  /** Where matches can begin on a byte class, in order; of a plain automaton (see `isPlain`). */
  startsOn(active: ActiveSet, symbol: number): readonly number[] {
    return this.threadsOn(this.spawn(this.contexts.start, active, LOOK_UNKNOWN), symbol)
  }

  /** The state of a plain automaton that has these live threads, by group. */
  plainState(active: ActiveSet, threads: readonly (readonly number[])[]): State {
    const groups = threads.map(
      (each): Group => ({ threads: each, active, endsHere: -1, endedBack: -1, age: 2, label: '' }),
    )
    return this.makeState(this.contexts.start, 'normal', active, active, groups)
  }

  /** The same live threads without a loop head: nothing begins after them. */
  headless(state: State, groups: readonly Group[]): State {
    return this.makeState(state.context, 'none', this.initialActive, this.initialActive, groups)
  }

  /** The thread that copies the character that this state stands inside of, -1 when there is none. */
  copyingThread(state: State): number {
    const group = state.groups.find(({ threads }) => this.onlyCopies(threads))
    return group === undefined ? -1 : group.threads[0]
  }

  private newWork(symbol: number, look: number, consumes: number, groups: readonly Group[], decisions: string): Work {
    return {
      symbol,
      look,
      consumes,
      groups: groups.map((group) => ({
        active: group.active,
        opIndex: -1,
        age: Math.min(2, group.age + consumes),
        endedBack: consumes === 1 ? group.endsHere : -1,
        endsHere: -1,
      })),
      threads: [],
      threadGroups: [],
      begun: undefined,
      begunGroup: -1,
      ops: [],
      stamp: ++this.stamp,
      decisions,
      decided: 0,
    }
  }

  private onlyCopies(threads: ArrayLike<number>): boolean {
    return this.copyRule >= 0 && this.program.ruleOf[this.threadPc[threads[0]]] === this.copyRule
  }

  /** Phase 1: everything that waits is decided by the symbol that comes next. Returns the loop head before it. */
  private resolve(work: Work, state: State): Undecided | Head {
    const byte = work.symbol < this.classCount ? this.representative[work.symbol] : -1
    for (let g = 0; g < state.groups.length; g++) {
      let best: Found | undefined
      const group = state.groups[g]
      for (const thread of group.threads) {
        const target = thread < this.rangeTarget.length ? this.rangeTarget[thread] : -1
        if (target >= 0) {
          // It has nothing to wait for: on the list if it can read the byte.
          if (byte < 0 || (byte >= this.rangeLow[thread] && byte <= this.rangeHigh[thread])) this.push(work, thread, g)
          continue
        }
        const found = this.resolveThread(work, state.context, thread, g)
        if (found === undefined || this.isWorse(group, found)) continue
        if (best === undefined || found.back < best.back || (found.back === best.back && found.rule < best.rule)) {
          best = found
        }
        if (this.options.priority === 'first') break
      }
      if (best !== undefined) {
        const look = best.back === 0 ? work.look : best.ended ? LOOK_FINAL_NEWLINE : KIND_OTHER
        const active = this.accept(work, g, best.rule, best.back + work.consumes, look)
        if (isUndecided(active)) return active
        if (state.head === 'none') return { kind: 'none', active }
        // A match that ends at its own node is empty: the next byte is copied.
        const empty = group.age === best.back
        if (best.back === 1) return this.rescan(work, state.context, best.context, active, empty)
        if (!empty) return this.resolveHead(work, state.context, active)
        if (work.symbol === this.alienSymbol) return { kind: 'forced', active: state.nodeActive }
        this.startCopy(work, active)
        return { kind: 'forced', active }
      }
    }
    if (state.head === 'normal') return this.resolveHead(work, state.context, state.active)
    // An empty match right before the place where text is settled is searched for again from there.
    if (work.symbol === this.alienSymbol) return { kind: state.head, active: state.nodeActive }
    if (state.head === 'forced') this.startCopy(work, state.active)
    return { kind: state.head, active: state.active }
  }

  /** With `longest`, a match that is shorter than the group's present one, or as long and of a later rule. */
  private isWorse(group: Group, found: Found): boolean {
    if (this.options.priority === 'first') return false
    if (found.back === 0) return group.endsHere >= 0 && group.endsHere < found.rule
    return group.endsHere >= 0 || (group.endedBack >= 0 && group.endedBack < found.rule)
  }

  /** The byte before this position is read again, from a loop head one byte back. */
  private rescan(
    work: Work,
    context: number,
    contextBack: number,
    active: ActiveSet,
    forced: boolean,
  ): Head | Undecided {
    if (forced) return this.resolveHead(work, context, active)
    const ended = work.look === LOOK_END && this.contexts.kind[context] === KIND_NEWLINE
    const symbol = ended ? this.newlineSymbol : this.dotSymbol
    const look = ended ? LOOK_FINAL_NEWLINE : KIND_OTHER
    const spawn = this.spawn(contextBack, active, look)
    const group = this.newGroup(work, active, spawn.threads, work.consumes + 1, contextBack)
    let headActive = active
    if (spawn.emptyRule >= 0) {
      const after = this.acceptEmpty(work, active, spawn.emptyRule, {
        back: work.consumes + 1,
        look,
        context: contextBack,
      })
      if (isUndecided(after)) return after
      headActive = after
    }
    let best = -1
    for (const thread of spawn.threads) {
      const next = this.targetOn(this.threadPc[thread], symbol)
      if (next < 0) continue
      const rule = this.pushEntries(work, this.closure(next, MODE_NORMAL, context, work.look), group)
      if (rule >= 0 && (best < 0 || rule < best)) best = rule
      if (best >= 0 && this.options.priority === 'first') break
    }
    if (best >= 0) {
      const after = this.accept(work, group, best, work.consumes, work.look)
      if (isUndecided(after)) return after
      headActive = after
    }
    return this.resolveHead(work, context, headActive)
  }

  /** Starts the rules at a loop head whose next symbol is known. */
  private resolveHead(work: Work, context: number, active: ActiveSet): Undecided | Head {
    if (work.symbol === this.alienSymbol) return { kind: 'normal', active }
    let spawn = this.spawn(context, active, LOOK_UNKNOWN)
    if (spawn.waits) spawn = this.spawn(context, active, work.look)
    const threads = work.symbol === this.endSymbol ? NO_THREADS : this.threadsOn(spawn, work.symbol)
    const group = this.newGroup(work, active, threads, work.consumes, context)
    if (!this.looksAhead && !this.nullable && threads.length >= MIN_BEGUN_THREADS) {
      work.begun = this.begunOn(spawn, work.symbol)
      work.begunGroup = group
    }
    if (work.begun === undefined) for (const thread of threads) this.push(work, thread, group)
    let after = active
    if (spawn.emptyRule >= 0) {
      const spent = this.acceptEmpty(work, active, spawn.emptyRule, {
        back: work.consumes,
        look: work.look,
        context,
      })
      if (isUndecided(spent)) return spent
      if (group >= 0) work.groups[group].endedBack = spawn.emptyRule
      after = spent
    }
    this.startCopy(work, after)
    return { kind: spawn.emptyRule >= 0 ? 'forced' : 'normal', active: after }
  }

  /** The group that begins with a byte, one byte later; undefined where some rule ends there. */
  private begunOn(spawn: Spawn, symbol: number): Begun | undefined {
    if (spawn.begun.has(symbol)) return spawn.begun.get(symbol)
    const targets = new Set(this.threadsOn(spawn, symbol).map((thread) => this.targetOn(thread, symbol)))
    const isPlain = [...targets].every((pc) => this.program.instructions[pc].op === 'bytes')
    const threads = [...targets]
    const begun = isPlain && this.useful === undefined ? { threads, label: `~${this.begunMade++}` } : undefined
    spawn.begun.set(symbol, begun)
    this.entries += CLOSURE_ENTRIES + threads.length
    return begun
  }

  private startCopy(work: Work, active: ActiveSet): void {
    if (!this.copiesCharacters || work.consumes === 0) return
    const thread = this.program.starts[this.copyRule]
    if (this.targetOn(thread, work.symbol) < 0) return
    const group = this.newGroup(work, active, [thread], work.consumes, 0)
    this.push(work, thread, group)
  }

  /** Remembers a spine node whose threads may live on; the op is dropped again when none does. */
  private newGroup(work: Work, active: ActiveSet, threads: readonly number[], back: number, context: number): number {
    if (threads.length === 0) return -1
    work.ops.push([OP_GROUP, back, this.contexts.kind[context]])
    work.groups.push({ active, opIndex: work.ops.length - 1, age: back, endedBack: -1, endsHere: -1 })
    return work.groups.length - 1
  }

  private push(work: Work, thread: number, group: number): void {
    if (this.visited[thread] === work.stamp) return
    this.visited[thread] = work.stamp
    work.threads.push(thread)
    work.threadGroups.push(group)
  }

  /** A thread of the old state meets the next symbol: it goes on the list, dies, or reports its match. */
  private resolveThread(work: Work, context: number, thread: number, group: number): Found | undefined {
    const pc = this.threadPc[thread]
    const instruction = this.program.instructions[pc]
    const mode = this.threadMode[thread]
    const atEnd = work.symbol === this.endSymbol
    if (mode === MODE_AT_END || mode === MODE_ENDED_BACK) {
      if (!atEnd) return undefined
      const back = mode === MODE_ENDED_BACK ? 1 : 0
      return { rule: this.program.ruleOf[pc], back, context: this.threadContext[thread], ended: true }
    }
    if (instruction.op === 'hostEnd') {
      const byte = work.symbol >= this.classCount ? -1 : this.representative[work.symbol]
      const back = mode === MODE_HOST_DOT ? 1 : 0
      const ends = back === 1 ? byte < 0 || !isLabelByte(byte) : byte < 0 || !isHostByte(byte)
      if (ends) return { rule: instruction.rule, back, context: this.threadContext[thread], ended: false }
      if (back === 0 && byte === 0x2e) this.push(work, thread, group)
      return undefined
    }
    if (mode !== MODE_WAITING) {
      this.push(work, thread, group)
      return undefined
    }
    const best = this.pushEntries(work, this.closure(pc, MODE_NORMAL, context, work.look), group)
    return best < 0 ? undefined : { rule: best, back: 0, context: 0, ended: false }
  }

  /** Phase 2: every listed thread reads the byte. */
  private consume(work: Work, state: State, head: Head): Step | Undecided {
    const { threads, threadGroups } = work
    work.threads = []
    work.threadGroups = []
    work.stamp = ++this.stamp
    const context = this.contexts.next[state.context * 256 + this.representative[work.symbol]]
    const first = this.options.priority === 'first'
    let winner = -1
    let best = -1
    const byte = this.representative[work.symbol]
    const { rangeLow, rangeHigh, rangeTarget } = this
    const ranges = rangeTarget.length
    for (let i = 0; i < threads.length; i++) {
      const group = threadGroups[i]
      if (winner >= 0 && (first || group !== winner)) break
      const thread = threads[i]
      const target = thread < ranges ? rangeTarget[thread] : -1
      if (target >= 0) {
        if (byte < rangeLow[thread] || byte > rangeHigh[thread]) continue
        if (rangeTarget[target] >= 0 && this.useful === undefined) {
          this.push(work, target, group)
          continue
        }
      }
      const rule = this.advance(work, thread, group, state.context, context)
      if (rule < 0) continue
      winner = group
      if (best < 0 || rule < best) best = rule
    }
    if (winner >= 0) work.begun = undefined
    let active = head.active
    if (winner >= 0) {
      const after = this.accept(work, winner, best, 0, LOOK_UNKNOWN)
      if (isUndecided(after)) return after
      active = after
    }
    return this.finish(work, context, head.kind === 'none' ? 'none' : 'normal', active)
  }

  /** A thread reads the byte: what it becomes goes on the list. Returns the rule that it completes, or -1. */
  private advance(work: Work, thread: number, group: number, before: number, after: number): number {
    const pc = this.threadPc[thread]
    const mode = this.threadMode[thread]
    const { op } = this.program.instructions[pc]
    if (op === 'hostEnd') {
      this.push(work, this.threadId(pc, MODE_HOST_DOT, before), group)
      return -1
    }
    if (mode === MODE_FINAL_NEWLINE) {
      if (op === 'match') {
        this.push(work, this.threadId(pc, MODE_ENDED_BACK, before), group)
        return -1
      }
      const next = this.targetOn(pc, this.newlineSymbol)
      return next < 0 ? -1 : this.pushEntries(work, this.closure(next, MODE_AT_END, after, LOOK_END), group)
    }
    const next = this.targetOn(pc, work.symbol)
    return next < 0 ? -1 : this.pushTarget(work, next, after, group)
  }

  /** Puts the leaves of a closure on the list. Returns the rule of its (with `longest`, earliest) match, or -1. */
  private pushEntries(work: Work, entries: Int32Array, group: number): number {
    let best = -1
    for (const entry of entries) {
      if (entry >= 0) this.push(work, entry, group)
      else {
        if (best < 0 || ~entry < best) best = ~entry
        if (this.options.priority === 'first') break
      }
    }
    return best
  }

  /** Puts on the list what can be reached from an instruction when it is not known what comes next. */
  private pushTarget(work: Work, pc: number, context: number, group: number): number {
    if (this.reachesAssertion === undefined || this.reachesAssertion[pc] === 0) {
      return this.pushPlain(work, pc, context, group)
    }
    const { leaves, rule, waits } = this.reach(pc, context)
    if (waits && this.visited[this.threadId(pc, MODE_WAITING, 0)] !== work.stamp) {
      this.push(work, this.threadId(pc, MODE_WAITING, 0), group)
      // They come with the closure, in its order.
      for (const leaf of leaves) this.visited[leaf] = work.stamp
    } else for (const leaf of leaves) this.push(work, leaf, group)
    return rule
  }

  /**
   * The same where no assertion is reached. What an earlier thread of this step has been at is not entered again, so that
   * a step visits every instruction once.
   */
  private pushPlain(work: Work, entry: number, context: number, group: number): number {
    const { instructions } = this.program
    const { visited, useful, walk } = this
    const first = this.options.priority === 'first'
    let best = -1
    walk.length = 0
    for (let pc: number | undefined = entry; pc !== undefined; pc = walk.pop()) {
      if (visited[pc] === work.stamp) continue
      const instruction = instructions[pc]
      switch (instruction.op) {
        case 'split': {
          visited[pc] = work.stamp
          const { next } = instruction
          for (let i = next.length - 1; i >= 0; i--) walk.push(next[i])
          break
        }
        case 'match':
          if (first) return instruction.rule
          if (best < 0 || instruction.rule < best) best = instruction.rule
          break
        case 'save':
          walk.push(instruction.next)
          break
        default:
          if (useful === undefined || useful[pc * 4 + this.contexts.kind[context]] === 1) this.push(work, pc, group)
      }
    }
    return best
  }

  /**
   * What can be reached from an instruction whatever comes next: the leaves, and the match that ends here. `waits` when
   * what comes next decides anything.
   */
  private reach(pc: number, context: number): Reach {
    const key = pc * this.contexts.count + context
    const known = this.reaches.get(key)
    if (known !== undefined) return known
    const open = this.closure(pc, MODE_NORMAL, context, LOOK_UNKNOWN)
    const { leaves, rule } = this.split(open)
    const isOpen = (leaf: number): boolean => this.program.instructions[this.threadPc[leaf]].op === 'assert'
    let waits = leaves.some(isOpen)
    let sure = leaves.filter((leaf) => !isOpen(leaf))
    // Another way to the match that ends here anyway matters only to its groups.
    if (waits && !(rule >= 0 && this.usesGroups(rule))) {
      const ways = LOOKS.map((look) => {
        const then = this.split(this.closure(pc, MODE_NORMAL, context, look))
        const taking = then.leaves.filter((leaf) => this.takesLook(leaf, look))
        // The same match before a final newline; above another way it would cut that one off.
        while (taking.length > 0 && this.isMatchOf(taking[taking.length - 1], rule)) taking.pop()
        return { look, rule: then.rule, leaves: taking }
      })
      const alive = sure.filter((leaf) => ways.some((way) => way.leaves.includes(leaf)))
      waits = ways.some((way) => {
        const same = alive.filter((leaf) => this.takesLook(leaf, way.look))
        return way.rule !== rule || way.leaves.join() !== same.join()
      })
      if (!waits) sure = alive
    }
    const reach: Reach = { leaves: sure, rule, waits }
    this.reaches.set(key, reach)
    this.entries += CLOSURE_ENTRIES + sure.length
    return reach
  }

  /** A closure as leaves before its match, and the match; with `longest` all leaves, and the earliest rule. */
  private split(entries: Int32Array): { leaves: number[]; rule: number } {
    const leaves: number[] = []
    let rule = -1
    for (const entry of entries) {
      if (entry >= 0) leaves.push(entry)
      else {
        if (rule < 0 || ~entry < rule) rule = ~entry
        if (this.options.priority === 'first') break
      }
    }
    return { leaves, rule }
  }

  private usesGroups(rule: number): boolean {
    return rule !== this.copyRule && this.rules[rule].usesGroups
  }

  /** Whether a leaf can read a byte of this kind. */
  private takesLook(leaf: number, look: number): boolean {
    const instruction = this.program.instructions[this.threadPc[leaf]]
    if (this.threadMode[leaf] === MODE_FINAL_NEWLINE) return look === KIND_NEWLINE
    if (instruction.op === 'hostEnd') return true
    return instruction.op === 'bytes' && arcKinds(instruction.arcs).some(({ kind }) => kind === look)
  }

  /** The leaf is a match of the rule that waits for a final newline. */
  private isMatchOf(leaf: number, rule: number): boolean {
    const instruction = this.program.instructions[this.threadPc[leaf]]
    return instruction.op === 'match' && instruction.rule === rule
  }

  private accept(work: Work, group: number, rule: number, back: number, look: number): ActiveSet | Undecided {
    const before = work.groups[group].active
    // Whatever ranks below the match is cut; with `longest`, the group's own threads may still find a longer one.
    let keep = work.threads.length
    while (keep > 0 && work.threadGroups[keep - 1] > group) keep--
    work.threads.length = keep
    work.threadGroups.length = keep
    if (rule === this.copyRule) {
      work.ops.push([OP_COPY, group])
      return before
    }
    const after = this.after(work, before, rule, group)
    if (isUndecided(after)) return after
    const owner = work.groups[group]
    if (back === 0) owner.endsHere = rule
    else if (back === 1 && work.consumes === 1) owner.endedBack = rule
    work.ops.push([OP_MATCH, group, rule, back, this.matchFlags(before, rule, look)])
    return after
  }

  private acceptEmpty(
    work: Work,
    before: ActiveSet,
    rule: number,
    at: { readonly back: number; readonly look: number; readonly context: number },
  ): ActiveSet | Undecided {
    const after = this.after(work, before, rule, -1)
    if (isUndecided(after)) return after
    const kind = this.contexts.kind[at.context] << MATCH_KIND_SHIFT
    work.ops.push([OP_EMPTY, rule, at.back, this.matchFlags(before, rule, at.look) | kind])
    return after
  }

  private matchFlags(active: ActiveSet, rule: number, look: number): number {
    const keeps = active.fired.has(rule)
    return look | (keeps ? MATCH_KEEPS_TEXT : 0) | (keeps || this.rules[rule].usesSpan ? MATCH_NEEDS_TEXT : 0)
  }

  private after(work: Work, active: ActiveSet, rule: number, group: number): ActiveSet | Undecided {
    const { max } = this.rules[rule]
    if (max === Infinity || active.fired.has(rule)) return active
    if (max > 1) {
      const answer = work.decisions[work.decided++]
      if (answer === undefined) return { undecided: rule, group, ops: work.ops }
      if (answer === '0') return active
    }
    if (!this.options.firedKeepsToken) {
      return this.internActive(
        active.rules.filter((each) => each !== rule),
        active.fired,
      )
    }
    const fired = new Set([...active.fired, rule])
    const done = active.rules.every((each) => fired.has(each))
    return this.internActive(done ? [] : active.rules, fired)
  }

  private internActive(rules: readonly number[], fired: ReadonlySet<number>): ActiveSet {
    const key = activeKey(rules, fired)
    const known = this.activeSets.get(key)
    if (known !== undefined) return known
    const set: ActiveSet = { id: this.activeSetsMade++, rules, fired }
    this.activeSets.set(key, set)
    this.entries += ACTIVE_SET_ENTRIES + rules.length + fired.size
    return set
  }

  /** Builds the target state from the surviving threads, starting the rules at the new loop head. */
  private finish(work: Work, context: number, kind: State['head'], active: ActiveSet): Step | Undecided {
    let head = kind
    let headActive = active
    if (kind === 'normal') {
      const spawn = this.spawn(context, active, LOOK_UNKNOWN)
      if (spawn.emptyRule >= 0) {
        const group = this.newGroup(work, active, spawn.threads, 0, context)
        for (const thread of spawn.threads) this.push(work, thread, group)
        const after = this.acceptEmpty(work, active, spawn.emptyRule, { back: 0, look: LOOK_UNKNOWN, context })
        if (isUndecided(after)) return after
        if (group >= 0) work.groups[group].endsHere = spawn.emptyRule
        head = 'forced'
        headActive = after
      }
    }
    const kept: number[] = []
    const groups: Group[] = []
    for (let i = 0; i < work.threads.length; ) {
      const group = work.threadGroups[i]
      let end = i
      while (end < work.threads.length && work.threadGroups[end] === group) end++
      const owner = work.groups[group]
      const listed = work.threads.slice(i, end)
      const unlike = this.looksAhead ? this.withoutRepeats(listed, owner.endsHere, context) : listed
      i = end
      if (unlike.length === 0) continue
      const threads = this.options.priority === 'longest' ? [...unlike].sort((a, b) => a - b) : unlike
      const { active: groupActive, age, endsHere, endedBack } = owner
      const waits = this.looksAhead && threads.some((thread) => this.waits(thread))
      const endsBack = waits && threads.some((thread) => this.endsBack(thread))
      const longest = this.options.priority === 'longest'
      groups.push({
        threads,
        active: groupActive,
        endsHere: longest && waits ? endsHere : -1,
        endedBack: longest && endsBack ? endedBack : -1,
        age: (age === 0 && waits) || (age === 1 && endsBack) ? age : 2,
        label: '',
      })
      kept.push(group)
    }
    if (work.begun !== undefined) {
      const { threads, label } = work.begun
      let whole = true
      for (let i = 0; i < threads.length && whole; i++) whole = this.visited[threads[i]] !== work.stamp
      const fresh = whole ? threads : threads.filter((thread) => this.visited[thread] !== work.stamp)
      if (fresh.length > 0) {
        const { active: groupActive } = work.groups[work.begunGroup]
        groups.push({
          threads: fresh,
          active: groupActive,
          endsHere: -1,
          endedBack: -1,
          age: 2,
          label: whole ? label : '',
        })
        kept.push(work.begunGroup)
      }
    }
    const target = this.makeState(context, head, headActive, active, groups)
    return { target, ops: encodeOps(work, kept) }
  }

  private makeState(
    context: number,
    head: State['head'],
    active: ActiveSet,
    nodeActive: ActiveSet,
    groups: readonly Group[],
  ): State {
    let key = `${context}${head[0]}${active.id},${nodeActive.id}`
    for (const group of groups) {
      const { endsHere, endedBack, age, label, threads } = group
      const isUsual = group.active === active && endsHere < 0 && endedBack < 0 && age === 2
      key += isUsual ? '|' : `|${group.active.id},${endsHere},${endedBack},${age}:`
      if (label !== '') key += label
      else if (threads.length === 1) key += threads[0]
      else key += threads.join(' ')
    }
    let firstRuleGroup = 0
    while (firstRuleGroup < groups.length && this.onlyCopies(groups[firstRuleGroup].threads)) firstRuleGroup++
    const facts = { key, context, head, active, nodeActive, groups }
    const firstTextGroup = head === 'none' ? -1 : this.knownTextGroup(groups, firstRuleGroup)
    const state = { ...facts, firstRuleGroup, firstTextGroup, lastByteNeeded: false }
    return head !== 'none' && this.needsLastByte(state) ? { ...state, lastByteNeeded: true } : state
  }

  private needsLastByte(state: State): boolean {
    if (!this.looksAhead) return false
    const { groups } = state
    const isIn = (mode: number): boolean =>
      groups.some(({ threads }) => threads.some((thread) => this.threadMode[thread] === mode))
    if (isIn(MODE_HOST_DOT)) return true
    if (!isIn(MODE_ENDED_BACK)) return false
    // Only the end decides for them, so what becomes of the byte is known.
    const step = this.step(state, this.endSymbol)
    return isUndecided(step) || copiesLastByte(step.ops)
  }

  private spawn(context: number, active: ActiveSet, look: number): Spawn {
    const key = `${context} ${active.id} ${look}`
    const known = this.spawns.get(key)
    if (known !== undefined) return known
    const threads: number[] = []
    let emptyRule = -1
    let waits = false
    for (const rule of active.rules) {
      if (!this.mayBegin(rule, context)) continue
      const start = this.program.starts[rule]
      if (look === LOOK_UNKNOWN && this.rangeTarget[start] >= 0 && this.useful === undefined) threads.push(start)
      else if (look === LOOK_UNKNOWN) {
        const reach = this.reach(start, context)
        if (reach.waits) threads.push(this.threadId(start, MODE_WAITING, 0))
        else threads.push(...reach.leaves)
        waits ||= reach.waits
        if (emptyRule < 0) emptyRule = reach.rule
      } else {
        const { leaves, rule: matched } = this.split(this.closure(start, MODE_NORMAL, context, look))
        threads.push(...leaves)
        if (emptyRule < 0) emptyRule = matched
      }
      if (emptyRule >= 0 && this.options.priority === 'first') break
    }
    const spawn: Spawn = { threads, emptyRule, waits, byClass: undefined, begun: new Map() }
    this.spawns.set(key, spawn)
    this.entries += CLOSURE_ENTRIES + threads.length
    return spawn
  }

  private mayBegin(rule: number, context: number): boolean {
    const region = this.regionOf[rule]
    return region < 0 || this.contexts.regionOpen[context * this.contexts.regionCount + region] === 1
  }

  /**
   * A group's threads without those that could only repeat the match that ends here. With `first`, one that ranks above
   * a thread that stays would cut that one off, so only the last ones go.
   */
  private withoutRepeats(threads: readonly number[], endsHere: number, context: number): readonly number[] {
    if (endsHere < 0) return threads
    if (this.options.priority === 'longest') {
      return threads.filter((thread) => this.mayChange(thread, endsHere, context))
    }
    let count = threads.length
    while (count > 0 && !this.mayChange(threads[count - 1], endsHere, context)) count--
    return threads.slice(0, count)
  }

  /**
   * Whether a thread can still lead to something else than `rule`'s match, which ends here already: one that waits only
   * to report that same match, or with `longest` a later rule's for the same text, holds text for nothing.
   */
  private mayChange(thread: number, rule: number, context: number): boolean {
    const pc = this.threadPc[thread]
    const mode = this.threadMode[thread]
    const longest = this.options.priority === 'longest'
    // What ended one byte back is shorter than what ends here.
    if (longest && (mode === MODE_ENDED_BACK || mode === MODE_HOST_DOT)) return false
    if (mode !== MODE_WAITING && mode !== MODE_AT_END) return true
    const own = this.program.ruleOf[pc]
    if (longest ? own < rule : own !== rule) return true
    if (own === rule && this.usesGroups(rule)) return true
    return (
      mode === MODE_WAITING &&
      LOOKS.some((look) =>
        this.closure(pc, MODE_NORMAL, context, look).some((entry) => entry >= 0 && !this.isMatchOf(entry, own)),
      )
    )
  }

  private endsBack(thread: number): boolean {
    const mode = this.threadMode[thread]
    return mode === MODE_ENDED_BACK || mode === MODE_HOST_DOT
  }

  /** The thread needs to know what comes next before it can go on. */
  private waits(thread: number): boolean {
    return this.threadMode[thread] >= MODE_AT_END || this.program.instructions[this.threadPc[thread]].op === 'hostEnd'
  }

  private threadsOn(spawn: Spawn, symbol: number): readonly number[] {
    if (spawn.byClass === undefined) {
      spawn.byClass = Array.from({ length: this.classCount }, () => [])
      for (const thread of spawn.threads) {
        for (const each of this.symbolsOf(thread)) spawn.byClass[each].push(thread)
      }
    }
    return spawn.byClass[symbol]
  }

  /** The byte classes that a thread can read. */
  private symbolsOf(thread: number): readonly number[] {
    const instruction = this.program.instructions[this.threadPc[thread]]
    if (this.threadMode[thread] === MODE_NORMAL && instruction.op === 'bytes') {
      const { arcs } = instruction
      if (takesOneByte(arcs)) return this.singleSymbols[this.classOf[arcs[0]]]
    }
    return this.allSymbols.filter((symbol) => this.consumesSymbol(thread, symbol))
  }

  private consumesSymbol(thread: number, symbol: number): boolean {
    const pc = this.threadPc[thread]
    const mode = this.threadMode[thread]
    const { op } = this.program.instructions[pc]
    if (mode === MODE_FINAL_NEWLINE) return op === 'match' || this.targetOn(pc, this.newlineSymbol) >= 0
    if (op === 'hostEnd') return symbol === this.dotSymbol
    return op === 'bytes' && this.targetOn(pc, symbol) >= 0
  }

  /** Where an instruction goes on a byte class, -1 where it does not take it. */
  private targetOn(pc: number, symbol: number): number {
    const instruction = this.program.instructions[pc]
    if (instruction.op !== 'bytes') return -1
    const { arcs } = instruction
    if (arcs.length > MAX_SCANNED_ARCS * 3) return this.targetTable(pc, arcs)[symbol]
    const byte = this.representative[symbol]
    for (let i = 0; i < arcs.length; i += 3) if (arcs[i] <= byte && byte <= arcs[i + 1]) return arcs[i + 2]
    return -1
  }

  private targetTable(pc: number, arcs: readonly number[]): Int32Array {
    const known = this.arcTargets[pc]
    if (known !== undefined) return known
    const targets = new Int32Array(this.classCount).fill(-1)
    for (let i = 0; i < arcs.length; i += 3) {
      for (let byte = arcs[i]; byte <= arcs[i + 1]; byte++) targets[this.classOf[byte]] = arcs[i + 2]
    }
    this.arcTargets[pc] = targets
    return targets
  }

  private threadId(pc: number, mode: number, context: number): number {
    if (mode === MODE_NORMAL) return pc
    const key = (pc * 8 + mode) * this.contexts.count + context
    const known = this.threadIds.get(key)
    if (known !== undefined) return known
    const id = this.threadPc.length
    this.threadPc.push(pc)
    this.threadMode.push(mode)
    this.threadContext.push(context)
    this.threadIds.set(key, id)
    if (id >= this.visited.length) {
      const grown = new Int32Array(this.visited.length * 2)
      grown.set(this.visited)
      this.visited = grown
    }
    return id
  }

  /** Everything reachable without consuming: leaves (thread ids) and matches (`~rule`), in order of priority. */
  private closure(pc: number, mode: number, context: number, look: number): Int32Array {
    const key = ((pc * 4 + mode) * this.contexts.count + context) * 8 + look
    const known = this.closures.get(key)
    if (known !== undefined) return known
    const entries = this.walkClosure(pc, mode, context, look)
    const useful = this.useful
    const kind = this.contexts.kind[context]
    const kept =
      useful === undefined
        ? entries
        : entries.filter(
            (entry) => entry < 0 || this.threadMode[entry] !== MODE_NORMAL || useful[entry * 4 + kind] === 1,
          )
    const result = Int32Array.from(kept)
    this.closures.set(key, result)
    this.entries += CLOSURE_ENTRIES + result.length
    return result
  }

  private walkClosure(entry: number, entryMode: number, context: number, look: number): number[] {
    const result: number[] = []
    const seen = new Set<number>()
    const stack = [entry * 4 + entryMode]
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      if (seen.has(top)) continue
      seen.add(top)
      const pc = top >> 2
      const mode = top & 3
      const instruction = this.program.instructions[pc]
      switch (instruction.op) {
        case 'split':
          for (let i = instruction.next.length - 1; i >= 0; i--) stack.push(instruction.next[i] * 4 + mode)
          break
        case 'save':
          stack.push(instruction.next * 4 + mode)
          break
        case 'match':
          if (mode === MODE_NORMAL) result.push(~instruction.rule)
          else result.push(this.threadId(pc, mode, 0))
          break
        case 'hostEnd':
          result.push(pc)
          break
        case 'bytes':
          if (mode === MODE_NORMAL) result.push(pc)
          else if (mode === MODE_FINAL_NEWLINE && takesNewline(instruction)) result.push(this.threadId(pc, mode, 0))
          break
        case 'assert': {
          // After `$` passed before a newline, what follows is known: that newline, or the end after it.
          const known = mode === MODE_FINAL_NEWLINE ? KIND_NEWLINE : mode === MODE_AT_END ? LOOK_END : look
          const { assertion, next } = instruction
          if (assertion === 'textEndOrFinalNewline' && known === KIND_NEWLINE) {
            stack.push(next * 4 + MODE_FINAL_NEWLINE)
            break
          }
          const holds = this.evaluate(assertion, context, known)
          if (holds === undefined) result.push(pc)
          else if (holds) stack.push(next * 4 + mode)
          break
        }
      }
    }
    return result
  }

  private evaluate(assertion: string, context: number, look: number): boolean | undefined {
    const kind = this.contexts.kind[context]
    switch (assertion) {
      case 'textStart':
        return kind === KIND_NONE
      case 'hostStart':
        return this.contexts.hostStart[context] === 1
      case 'hostStartOrSubdomain':
        return this.contexts.subdomainStart[context] === 1
      case 'lineStart':
        if (kind !== KIND_NEWLINE) return kind === KIND_NONE
        return look === LOOK_UNKNOWN ? undefined : look !== LOOK_END
      default:
        break
    }
    if (look === LOOK_UNKNOWN) return undefined
    switch (assertion) {
      case 'textEnd':
        return look === LOOK_END
      case 'textEndOrFinalNewline':
        return look === LOOK_END || look === LOOK_FINAL_NEWLINE
      case 'lineEnd':
        return look === LOOK_END || look === KIND_NEWLINE || look === LOOK_FINAL_NEWLINE
      case 'wordBoundary':
        return (kind === KIND_WORD) !== (look === KIND_WORD)
      default:
        return (kind === KIND_WORD) === (look === KIND_WORD)
    }
  }

  /**
   * Which instructions can still lead to a match, per kind of the byte before (`useful[pc * 4 + kind]`): a thread that
   * cannot (`a\b\B`, an empty class) would hold text for nothing. Undefined when every instruction can.
   */
  private findUseful(): Uint8Array | undefined {
    const { instructions } = this.program
    const doubtful = instructions.some(
      (each) =>
        (each.op === 'bytes' && each.arcs.length === 0) || (each.op === 'assert' && !each.assertion.startsWith('host')),
    )
    if (!doubtful) return undefined
    const useful = new Uint8Array(instructions.length * 4)
    const kindContext = kindContexts(this.contexts)
    const anyUseful = (entries: readonly number[], kind: number): boolean =>
      entries.some((entry) => entry < 0 || this.threadMode[entry] !== MODE_NORMAL || useful[entry * 4 + kind] === 1)
    const kindsOf = instructions.map((each) => (each.op === 'bytes' ? arcKinds(each.arcs) : []))
    const canUse = (pc: number, kind: number): boolean => {
      const instruction = instructions[pc]
      if (instruction.op === 'bytes') {
        return kindsOf[pc].some(({ kind: after, next }) =>
          anyUseful(this.walkClosure(next, MODE_NORMAL, kindContext[after], LOOK_UNKNOWN), after),
        )
      }
      if (instruction.op !== 'assert') return true
      return [KIND_NEWLINE, KIND_WORD, KIND_OTHER, LOOK_END].some((look) =>
        this.walkClosure(pc, MODE_NORMAL, kindContext[kind], look).some((entry) => {
          if (entry < 0) return true
          const leaf = this.threadPc[entry]
          const at = instructions[leaf]
          if (this.threadMode[entry] === MODE_FINAL_NEWLINE && at.op === 'bytes') {
            const next = arcTarget(at, NEWLINE)
            return next >= 0 && this.walkClosure(next, MODE_AT_END, kindContext[KIND_NEWLINE], LOOK_END).length > 0
          }
          if (this.threadMode[entry] !== MODE_NORMAL) return true
          return kindsOf[leaf].some(
            ({ kind: after, next }) =>
              after === look && anyUseful(this.walkClosure(next, MODE_NORMAL, kindContext[after], LOOK_UNKNOWN), after),
          )
        }),
      )
    }
    for (let changed = true; changed; ) {
      changed = false
      for (let pc = 0; pc < instructions.length; pc++) {
        for (let kind = 0; kind < 4; kind++) {
          if (useful[pc * 4 + kind] === 1 || !canUse(pc, kind)) continue
          useful[pc * 4 + kind] = 1
          changed = true
        }
      }
    }
    // Without assertions on kinds the context tells no kind apart.
    return useful
  }

  /** See `State.firstTextGroup`. */
  private knownTextGroup(groups: readonly Group[], firstRuleGroup: number): number {
    if (!this.mixedText || firstRuleGroup >= groups.length) return -1
    // The best thread of the first group always can win: take the shortest text that completes it.
    if (this.allText) return firstRuleGroup
    return groups.some((group) => this.groupMayNeedText(group)) ? TEXT_GROUP_UNKNOWN : -1
  }

  /**
   * The first group that some continuation lets win with a rule that needs its text; -1 when there is none. Found when
   * it is asked for: few states are ever met near a limit or at the end of a chunk, and each takes a look at all that can
   * follow it.
   */
  textGroupOf(state: State): number {
    if (state.firstTextGroup !== TEXT_GROUP_UNKNOWN) return state.firstTextGroup
    const outcome = this.outcomeOf(state)
    if (outcome === undefined) return state.groups.findIndex((group) => this.groupMayNeedText(group))
    return outcome.text.size === 0 ? -1 : Math.min(...outcome.text)
  }

  /** Whether some thread takes a byte; where nothing looks ahead. */
  private livesOn({ groups }: Pick<State, 'groups'>, symbol: number): boolean {
    return groups.some(({ threads }) => threads.some((thread) => this.targetOn(this.threadPc[thread], symbol) >= 0))
  }

  private groupMayNeedText(group: Group): boolean {
    return group.threads.some((thread) => {
      const rule = this.program.ruleOf[this.threadPc[thread]]
      return rule !== this.copyRule && (this.rules[rule].usesSpan || group.active.fired.has(rule))
    })
  }

  /**
   * How a state's live groups can end, over all continuations: explores the states without a loop head that are
   * reachable, then takes the least fixed point backwards. Undefined when there are too many of them.
   */
  private outcomeOf(from: Pick<State, 'context' | 'groups'>): Outcome | undefined {
    const root = this.makeState(from.context, 'none', this.initialActive, this.initialActive, from.groups)
    const known = this.outcomes.get(root.key)
    if (known !== undefined || this.tooManyOutcomes) return known
    const edges = new Map<string, OutcomeEdge[]>()
    /** By state, those that a byte leads from to it. */
    const sources = new Map<string, Set<string>>()
    const pending: State[] = [root]
    const fresh: string[] = []
    const seen = new Set([root.key])
    while (pending.length > 0) {
      const state = pending.pop() as State
      if (this.outcomes.has(state.key)) continue
      if (this.outcomes.size + fresh.length >= MAX_ANALYSED_STATES) {
        this.tooManyOutcomes = true
        return undefined
      }
      fresh.push(state.key)
      // Most bytes do the same, and end all threads.
      const out = new Map<string, OutcomeEdge>()
      let hasEnded = false
      for (let symbol = 0; symbol <= this.classCount; symbol++) {
        if (symbol !== this.endSymbol && !this.looksAhead && !this.livesOn(state, symbol)) {
          if (hasEnded) continue
          hasEnded = true
        }
        const step = this.step(state, symbol, ALL_SPENT) as Step
        const { kept, won, text } = readOutcomeOps(step.ops, state.groups.length)
        const to = symbol === this.endSymbol ? '' : step.target.key
        out.set(`${to}/${kept.join()}/${won}/${text}`, { to, kept, won, text })
        if (symbol === this.endSymbol) continue
        const leading = sources.get(to)
        if (leading === undefined) sources.set(to, new Set([state.key]))
        else leading.add(state.key)
        if (seen.has(to)) continue
        seen.add(to)
        pending.push(step.target)
      }
      edges.set(state.key, [...out.values()])
    }
    for (const key of fresh) this.outcomes.set(key, { none: false, text: new Set(), plain: new Set() })
    const ended: Outcome = { none: true, text: new Set(), plain: new Set() }
    // What was found last is looked at first: it is nearest to where matches end.
    const waiting = new Set(fresh)
    for (let key = fresh.pop(); key !== undefined; key = fresh.pop()) {
      waiting.delete(key)
      const outcome = this.outcomes.get(key) as Outcome
      const before = Number(outcome.none) + outcome.text.size + outcome.plain.size
      for (const edge of edges.get(key) ?? []) {
        const then = edge.to === '' ? ended : (this.outcomes.get(edge.to) as Outcome)
        for (const group of then.text) outcome.text.add(edge.kept[group])
        for (const group of then.plain) outcome.plain.add(edge.kept[group])
        if (then.none) {
          if (edge.won < 0) outcome.none = true
          else if (edge.text) outcome.text.add(edge.won)
          else outcome.plain.add(edge.won)
        }
      }
      if (Number(outcome.none) + outcome.text.size + outcome.plain.size === before) continue
      for (const source of sources.get(key) ?? []) {
        if (waiting.has(source)) continue
        waiting.add(source)
        fresh.push(source)
      }
    }
    return this.outcomes.get(root.key)
  }
}

/** Arcs that are looked through one by one; an instruction with more gets a table. */
const MAX_SCANNED_ARCS = 4
/** Threads that must begin with a byte for their list to be shared. */
const MIN_BEGUN_THREADS = 8
/** Overhead of a cached item, in numbers. */
const CLOSURE_ENTRIES = 16
const ACTIVE_SET_ENTRIES = 64

/** Markers that differ in letter case are the same. */
function regionKey({ open, close }: Region): string {
  return `${open.map(asciiLowerCase).join()}|${close.map(asciiLowerCase).join()}`
}

function activeKey(rules: readonly number[], fired: ReadonlySet<number>): string {
  return `${rules.join(',')}/${[...fired].sort((a, b) => a - b).join(',')}`
}

const LOOKS: readonly number[] = [KIND_NEWLINE, KIND_WORD, KIND_OTHER, LOOK_END]

/** More answers than one step can ask for: without a loop head nothing depends on which rules are spent. */
const ALL_SPENT = '1'.repeat(64)
const NO_ENTRIES = new Int32Array(0)
const NO_THREADS: readonly number[] = []

const COPY_CHARACTER: RuleSource = {
  root: { kind: 'class', ranges: [0x80, 0xd7ff, 0xe000, 0x10ffff], span: { start: 0, end: 0 } },
  mode: 'text',
  hostEnd: false,
}

function isUndecided<T extends object>(value: T | Undecided): value is Undecided {
  return 'undecided' in value
}

/** A flag for each instruction from which an assertion, or the edge of a host name, can be reached without a byte. */
function findAssertions(instructions: readonly Instruction[]): Uint8Array {
  const before: number[][] = instructions.map(() => [])
  const pending: number[] = []
  instructions.forEach((instruction, pc) => {
    if (instruction.op === 'split') for (const next of instruction.next) before[next].push(pc)
    else if (instruction.op === 'save') before[instruction.next].push(pc)
    else if (instruction.op === 'assert') pending.push(pc)
  })
  const found = new Uint8Array(instructions.length)
  for (let pc = pending.pop(); pc !== undefined; pc = pending.pop()) {
    if (found[pc] === 1) continue
    found[pc] = 1
    pending.push(...before[pc])
  }
  return found
}

/** Whether a rule's program can reach its end without a byte, whatever its assertions say. */
function reachesMatch(program: Program, rule: number): boolean {
  if (program.instructions[program.starts[rule]].op === 'bytes') return false
  const seen = new Set<number>()
  const stack = [program.starts[rule]]
  for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
    if (seen.has(pc)) continue
    seen.add(pc)
    const instruction = program.instructions[pc]
    if (instruction.op === 'match' || instruction.op === 'hostEnd') return true
    if (instruction.op === 'split') stack.push(...instruction.next)
    else if (instruction.op !== 'bytes') stack.push(instruction.next)
  }
  return false
}

function takesNewline(instruction: Extract<Instruction, { op: 'bytes' }>): boolean {
  return arcTarget(instruction, NEWLINE) >= 0
}

function arcTarget(instruction: Extract<Instruction, { op: 'bytes' }>, byte: number): number {
  const { arcs } = instruction
  for (let i = 0; i < arcs.length; i += 3) if (arcs[i] <= byte && byte <= arcs[i + 1]) return arcs[i + 2]
  return -1
}

/** The kinds of bytes that an instruction takes, with where it goes on them; each pair once. */
function arcKinds(arcs: readonly number[]): { kind: number; next: number }[] {
  const found = new Map<number, { kind: number; next: number }>()
  for (let i = 0; i < arcs.length; i += 3) {
    for (let byte = arcs[i]; byte <= arcs[i + 1]; byte++) {
      const kind = byteKind(byte)
      found.set(arcs[i + 2] * 4 + kind, { kind, next: arcs[i + 2] })
    }
  }
  return [...found.values()]
}

/** Some context of each kind, for questions that depend on the kind alone. */
function kindContexts(contexts: ContextAutomaton): number[] {
  return [KIND_NONE, KIND_NEWLINE, KIND_WORD, KIND_OTHER].map((kind) => Math.max(0, contexts.kind.indexOf(kind)))
}

/** Bytes that no instruction, context or look tells apart share a class. */
function byteClasses(
  instructions: readonly Instruction[],
  contexts: ContextAutomaton,
  kinds: boolean,
): { classOf: Uint8Array; representative: Uint8Array } {
  const sets = new Map<string, readonly number[]>()
  let hostEnd = false
  const alone = new Uint8Array(256)
  for (const instruction of instructions) {
    if (instruction.op === 'hostEnd') hostEnd = true
    if (instruction.op !== 'bytes') continue
    const { arcs } = instruction
    if (takesOneByte(arcs)) {
      alone[arcs[0]] = 1
      continue
    }
    for (const ranges of rangesByTarget(arcs).values()) sets.set(ranges.join(' '), ranges)
  }
  const classOf = new Uint8Array(256)
  let count = 1
  const split = (signature: (byte: number) => number): void => {
    const ids = new Map<number, number>()
    const before = classOf.slice()
    for (let byte = 0; byte < 256; byte++) {
      const key = before[byte] * 65_536 + signature(byte)
      const id = ids.get(key) ?? ids.size
      ids.set(key, id)
      classOf[byte] = id
    }
    count = ids.size
  }
  split((byte) => (alone[byte] === 1 ? byte + 1 : 0))
  for (const ranges of sets.values()) {
    const member = new Uint8Array(256)
    for (let i = 0; i < ranges.length; i += 2) member.fill(1, ranges[i], ranges[i + 1] + 1)
    split((byte) => member[byte])
  }
  if (kinds) split(byteKind)
  if (hostEnd) split((byte) => (byte === 0x2e ? 2 : isLabelByte(byte) ? 1 : 0))
  const columns: number[] = []
  split((byte) => {
    const { next, count: rows } = contexts
    const alike = columns.find((other) => {
      for (let row = 0; row < rows; row++) if (next[row * 256 + byte] !== next[row * 256 + other]) return false
      return true
    })
    if (alike === undefined) columns.push(byte)
    return alike ?? byte
  })
  const representative = new Uint8Array(count)
  for (let byte = 255; byte >= 0; byte--) representative[classOf[byte]] = byte
  return { classOf, representative }
}

/** Flattens the ops, dropping remembered nodes that nothing refers to and renumbering the rest. */
function encodeOps(work: Work, kept: readonly number[]): Int32Array {
  let old = 0
  while (old < work.groups.length && work.groups[old].opIndex < 0) old++
  /** New number of each group; -1 for one that nothing refers to. */
  const numbers: number[] = []
  for (let group = 0; group < work.groups.length; group++) numbers.push(group < old ? group : -1)
  let identity = kept.length === old
  for (let index = 0; index < kept.length; index++) {
    if (kept[index] !== index) identity = false
    numbers[kept[index]] = 0
  }
  let events = 0
  for (const op of work.ops) {
    if (op[0] === OP_MATCH || op[0] === OP_COPY) numbers[op[1]] = 0
    if (op[0] !== OP_GROUP) events++
  }
  if (events === 0 && identity) return NO_ENTRIES
  for (let group = 0; group < old; group++) numbers[group] = group
  const result: number[] = []
  let created = old
  let next = old
  for (const op of work.ops) {
    if (op[0] === OP_GROUP) {
      if (numbers[created] >= 0) {
        numbers[created] = next++
        result.push(op[0], op[1], op[2])
      }
      created++
    } else if (op[0] === OP_MATCH) result.push(op[0], numbers[op[1]], op[2], op[3], op[4])
    else if (op[0] === OP_COPY) result.push(op[0], numbers[op[1]])
    else result.push(...op)
  }
  result.push(OP_KEEP, kept.length)
  for (const group of kept) result.push(numbers[group])
  return new Int32Array(result)
}

/** Whether a step at the end takes a match that ended one byte back, and leaves the byte since then to be copied. */
function copiesLastByte(ops: Int32Array): boolean {
  let copies = false
  for (let i = 0; i < ops.length; ) {
    switch (ops[i]) {
      case OP_GROUP:
        i += 3
        break
      case OP_MATCH:
        copies = ops[i + 3] === 1 || (ops[i + 4] & MATCH_NEEDS_TEXT) !== 0
        i += 5
        break
      case OP_EMPTY:
        i += 4
        break
      case OP_COPY:
        i += 2
        break
      default:
        return copies
    }
  }
  return copies
}

/** What a headless step did: which old group each surviving one was, and who won, if anybody. */
function readOutcomeOps(ops: Int32Array, groups: number): { kept: number[]; won: number; text: boolean } {
  let won = -1
  let text = false
  let kept = Array.from({ length: groups }, (_, index) => index)
  for (let i = 0; i < ops.length; ) {
    switch (ops[i]) {
      case OP_GROUP:
        i += 3
        break
      case OP_MATCH:
        won = ops[i + 1]
        text = (ops[i + 4] & MATCH_NEEDS_TEXT) !== 0
        i += 5
        break
      case OP_EMPTY:
        i += 4
        break
      case OP_COPY:
        won = ops[i + 1]
        text = false
        i += 2
        break
      default:
        kept = Array.from(ops.subarray(i + 2, i + 2 + ops[i + 1]))
        i = ops.length
    }
  }
  return { kept, won, text }
}

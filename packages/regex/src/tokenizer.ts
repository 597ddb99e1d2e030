/**
 * Tokenizing bodies with one rule set: the kernel's memory, the cache of automaton states, and the streams that share
 * them.
 *
 * One WebAssembly instance serves all bodies of a rule set. A body that holds nothing between two pieces has no state
 * beyond a few numbers; one that does keeps its text and spine in the instance for as long as no other body is
 * tokenized there, and in arrays of its own otherwise.
 *
 * Memory per body: the held text (at most twice the limit before it is compacted), 16 bytes per pending match, 16 per
 * live group. Shared: transition rows and records up to {@link MAX_TABLE_BYTES}, then the cache starts over.
 */
import {
  type ActiveSet,
  Automaton,
  type AutomatonRule,
  MATCH_KEEPS_TEXT,
  MATCH_KIND_SHIFT,
  MATCH_LOOK_MASK,
  MATCH_NEEDS_TEXT,
  OP_EMPTY,
  OP_GROUP,
  OP_KEEP,
  OP_MATCH,
  type State,
  type Settled,
  type Step,
  TEXT_GROUP_UNKNOWN,
  type Undecided,
} from './automaton.ts'
import type { FixedGroup } from './fixed-groups.ts'
import { KERNEL_WASM } from './kernel.generated.ts'
import { type Beginning, beginningsByRule, byteSet } from './beginnings.ts'
import { buildLiterals } from './literals.ts'
import type { Instruction } from './program.ts'
import { weightOf } from './ordinary-text.ts'
import { buildPrefilter, byteSetBlock, type Prefilter } from './prefilter.ts'

/** Transition rows and records of one rule set; met, the cache starts over. */
export const MAX_TABLE_BYTES: number = 16 * 1024 * 1024
/** Characters of state keys that are kept on the side of JavaScript. */
const MAX_KEY_CHARACTERS = 16 * 1024 * 1024
/** What a group of a state takes beside its threads, counted as characters. */
const GROUP_CHARACTERS = 48
/** Numbers that the automaton keeps to make its steps cheap; met, it works them out again. */
const MAX_AUTOMATON_ENTRIES = 4 * 1024 * 1024
/** States that one body may add to the cache; beyond it, a full cache is stepped past and not flushed. */
export const MAX_STATES_PER_BODY: number = 2_000
/** A body is processed in pieces of at most this size, so that output leaves and others are served in between. */
export const PIECE_BYTES: number = 64 * 1024
const OUT_BYTES = 64 * 1024
/** Short texts are read and copied in whole vectors, past their end, which may be that of the memory. */
const COPY_SLACK_BYTES = 16
const PAGE_BYTES = 65_536
const INITIAL_EDGES = 4_096
/** The kernel reads an op's operands before it knows how many there are. */
const RECORD_MARGIN_BYTES = 16
/** Pending matches and held bytes together, where a limit on held bytes alone is checked at the end of a write. */
const WRITE_END_CAP = 1024 * 1024
/** Positions are moved back when they pass this, long before they leave 31 bits. */
const REBASE_AT = 1 << 29

const EXIT_DONE = 0
const EXIT_UNKNOWN = 1
const EXIT_DECIDE = 2
const EXIT_SPINE_FULL = 3
const EXIT_LIMIT = 4
const EXIT_OUT_FULL = 5
const EXIT_REPLACE = 6
const EXIT_START = 8
const EXIT_ACCEL = 9
const SIM_KINDS = { range: 0, arcs: 1, split: 2, match: 3 } as const
/** The marks of a simulation are cleared before its steps are this many. */
const MAX_SIMULATED_STEPS = 1 << 30
/**
 * What a rule set may spend on states before it has read anything, and for every byte; then threads are simulated. In
 * units of about a microsecond: a state costs some fifty, and one for each thread in it.
 */
const STATE_WORK_AT_FIRST = 150_000
const STATE_WORK_PER_BYTE = 1 / 16
const STATE_WORK = 50
/** A simulation looks so often whether the cache has the state that it has come to. */
const SIMULATED_BYTES = 1_024
const NO_ACCEL = -1
/** A state that is left more often, by bytes of ordinary text, is stepped through. */
const MAX_LEAVING_WEIGHT = 0.1
const PIECE_SLICE = 1
const PIECE_BEGIN_FROM_END = 2
const PIECE_END_FROM_END = 4
/** Lengths of replacements that say how they are made. */
const FIXED_BY_HOST = -1
const FIXED_BY_RECIPE = -2
const DECIDE_FLAG = 0x40000000
const SHAPE_SHIFT = 24
const SHAPE_ENTER = 1
const SHAPE_LEAVE = 2
const SHAPE_TAKE = 3
const SHAPE_PUSH = 4
const SHAPE_CUT = 5
const SHAPE_SLIDE_PUSH = 6
const SHAPE_SLIDE_CUT = 7
/** One byte and what a step can add must fit, so that entering a match needs no check. */
const MIN_SHAPED_LIMIT = 4

// Words of the control block; see kernel/index.ts.
const POS = 0
const END = 1
const ROW = 2
const SKIPPED = 3
const EDGE_COUNT = 4
const EDGE_HEAD = 5
const EDGE_BASE = 6
const GROUP_COUNT = 7
const EMITTED = 8
const BIAS = 9
const OUT_LENGTH = 10
const DETAIL = 11
const LIMIT = 12
const SETTLED = 13
const BARRIER = 14
const CHECK_AT = 16
const WINDOW_START = 17
const CLASS_MAP = 18
const EDGES = 19
const EDGE_CAPACITY = 20
const GROUPS = 21
const OUT = 22
const OUT_CAPACITY = 23
const REPLACEMENTS = 24
const HITS = 25
const PREFILTER = 26
const CONTEXT_NEXT = 27
const CONTEXT_DEPTH = 28
const COUNTERS = 29
const LIMIT_HELD_ONLY = 30
const SCRATCH = 31
const NEW_EDGES = 32
const CONTEXT_RESTING = 33
const HELD = 34
/** In words before the first cell of a row: its first text group. */
const ROW_TEXT_GROUP = 3
const SIM_PROGRAM = 35
const SIM_OPERANDS = 36
const SIM_STARTS = 37
const SIM_VISITED = 38
const SIM_STEP = 39
const SIM_THREADS = 40
const SIM_NEXT_THREADS = 41
const SIM_COUNT = 42
const SIM_STACK = 43
const SIM_FLAGS = 44
const LITERALS = 45
const GROUPS_FIRST = 46
const GROUPS_LAST = 47
/** Numbers of an entry before its text. */
const LITERAL_WORDS = 4
/** A hash under which something else than a literal may begin. */
const NOT_ONLY_LITERALS = 1
const CONTROL_BYTES = 1024

const ROW_HEADER_WORDS = 8
const EDGE_WORDS = 4
const GROUP_WORDS = 4

/** A match whose replacement the host makes. */
export interface Match {
  readonly rule: number
  /** The matched text, empty for a rule that does not use it; borrowed until the callback returns. */
  readonly text: Uint8Array
  /** Kind of the byte before the match (context.ts). */
  readonly kindBefore: number
  /** What followed, as far as an assertion at the end needed it: a kind, `LOOK_END`, `LOOK_FINAL_NEWLINE`, or unknown. */
  readonly look: number
  /** Offset of the match in the body. */
  readonly start: number
}

export interface TokenSink {
  /** Output; the chunk is borrowed until this returns. False asks for a pause. */
  output(chunk: Uint8Array): boolean
  /** The replacement of a match that has no fixed one. */
  replace(match: Match): Uint8Array
}

export interface TokenizerOptions {
  readonly priority: 'first' | 'longest'
  /** OpenResty's replace_filter: fired once-rules keep their token, the limit is checked at the end of a write. */
  readonly nginx: boolean
  readonly maxHeldBytes: number
  readonly overflow: 'skip' | 'passthrough' | 'abort'
}

/** What the shared cache of automaton states may take. */
export interface CacheLimits {
  /** Transition rows and records; met, the cache starts over. Default {@link MAX_TABLE_BYTES}. */
  readonly tableBytes: number
  /** States that one body may add; beyond it, a full cache is stepped past. Default {@link MAX_STATES_PER_BODY}. */
  readonly statesPerBody: number
}

export const DEFAULT_CACHE_LIMITS: CacheLimits = { tableBytes: MAX_TABLE_BYTES, statesPerBody: MAX_STATES_PER_BODY }

export interface TokenizerRule extends AutomatonRule {
  /** The replacement, where it is the same for every match of every body. */
  readonly replacement: Uint8Array | undefined
  /** The replacement, where it is put together from fixed texts and parts of the match at known places. */
  readonly recipe?: readonly RecipePiece[] | undefined
}

export type RecipePiece = Uint8Array | FixedGroup

interface Kernel {
  readonly memory: WebAssembly.Memory
  run(): number
  drain(): number
  settle(): void
  apply(record: number, newPos: number, checked: number): number
  heldBytes(): number
  simulate(): number
}

const kernelModule = new WebAssembly.Module(KERNEL_WASM)

/** What a body leaves in the kernel's memory, taken out of it. */
interface Parked {
  readonly words: Int32Array
  readonly groups: Int32Array
  readonly edges: Int32Array
  readonly text: Uint8Array
  /** Output that the sink has not been offered yet. */
  readonly out: Uint8Array
}

/** What `settle` takes and how the body goes on; undefined if that depends on what was matched. */
interface Settling extends Settled {
  readonly fresh: Step | undefined
}

interface Segment {
  readonly start: number
  readonly end: number
  readonly text: Uint8Array
}

export class Tokenizer {
  readonly automaton: Automaton
  readonly prefilter: Prefilter
  readonly rules: readonly TokenizerRule[]
  readonly options: TokenizerOptions
  readonly cacheLimits: CacheLimits
  /** @internal */
  readonly kernel: Kernel
  /** @internal */
  words: Int32Array
  /** @internal */
  bytes: Uint8Array
  /** @internal The body whose state is in memory. */
  owner: TokenStream | undefined
  /** @internal */
  windowBase = 0
  /** @internal */
  windowCapacity = 0
  /** States built since the tokenizer was made; falls never, so tests can count rebuilds. */
  statesBuilt = 0
  /** @internal What states have cost so far, see {@link STATE_WORK_AT_FIRST}. */
  stateWork = 0
  /** @internal Bytes of all bodies. */
  bytesRead = 0
  /** How often the cache was full and started over. */
  cacheFlushes = 0
  private top = CONTROL_BYTES
  /** @internal */
  readonly isPlain: boolean
  /** @internal Address of the kernel's table of literals; 0 when there is none. */
  readonly literals: number
  private readonly rowStride: number
  private readonly rows = new Map<string, number>()
  private readonly stateAt = new Map<number, State>()
  private readonly startTables = new Map<number, number>()
  private readonly starts = new WeakMap<ActiveSet, Step>()
  private readonly ends = new WeakMap<State, Int32Array>()
  private readonly settlings = new WeakMap<State, Settling>()
  private lastFlags: Uint8Array = NO_TEXT
  private lastSet: ActiveSet
  /** @internal By row, symbol and decisions: the record of the step, or the next question. */
  readonly decided: Map<string, number | Undecided> = new Map()
  private tableBlocks: { at: number; size: number }[] = []
  private block = 0
  private blockUsed = 0
  private tableBytes = 0
  private keyCharacters = 0
  /** The active set whose starts the simulation's tables have; undefined before there are tables. */
  private simulated: ActiveSet | undefined
  private simulatedStarts = 0
  private passingRecord = 0
  private passingRecordBytes = 0
  /** Rows for states that do not go into the cache: where a step comes from, and where it leads. */
  private readonly passingRows: number[] = []

  constructor(
    rules: readonly TokenizerRule[],
    options: TokenizerOptions,
    cacheLimits: CacheLimits = DEFAULT_CACHE_LIMITS,
  ) {
    this.rules = rules
    this.options = options
    this.cacheLimits = cacheLimits
    this.automaton = new Automaton(rules, { priority: options.priority, firedKeepsToken: options.nginx })
    const { automaton } = this
    this.lastSet = automaton.initialActive
    this.kernel = new WebAssembly.Instance(kernelModule, {
      host: { textGroupOf: (row: number): number => this.textGroupOf(row) },
    }).exports as unknown as Kernel
    this.words = new Int32Array(this.kernel.memory.buffer)
    this.bytes = new Uint8Array(this.kernel.memory.buffer)
    this.isPlain = automaton.isPlain && !options.nginx && options.maxHeldBytes >= MIN_SHAPED_LIMIT
    this.rowStride = (ROW_HEADER_WORDS + automaton.classCount) * 4
    const beginnings = automaton.nullable ? [] : beginningsByRule(automaton.program, rules.length)
    this.prefilter = buildPrefilter(beginnings, automaton, options.maxHeldBytes)
    this.setUp()
    this.literals = this.isPlain && this.prefilter.kind !== 'none' ? this.placeLiterals(beginnings) : 0
  }

  private placeLiterals(beginnings: readonly (readonly Beginning[])[]): number {
    const { automaton, rules } = this
    // Reading a literal holds its bytes, and matches pending in it, of four bytes or more.
    const table = buildLiterals(automaton.program, beginnings, Math.floor((this.options.maxHeldBytes * 3) / 4))
    if (table === undefined) return 0
    const at = this.allocate(4 + (4 << table.hashBits))
    this.words[at / 4] = 32 - table.hashBits
    this.words.fill(0, at / 4 + 1, at / 4 + 1 + (1 << table.hashBits))
    for (const [hash, own] of table.rules) {
      let link = at / 4 + 1 + hash
      if (own === undefined) this.words[link] = NOT_ONLY_LITERALS
      for (const rule of own ?? []) {
        const text = table.texts.get(rule) ?? NO_TEXT
        const entry = this.allocate(LITERAL_WORDS * 4 + text.length)
        this.words[link] = entry
        link = entry / 4
        this.words[link] = 0
        this.words[link + 1] = rule
        this.words[link + 2] = text.length
        this.words[link + 3] = rules[rule].usesSpan ? MATCH_NEEDS_TEXT : 0
        this.bytes.set(text, entry + LITERAL_WORDS * 4)
      }
    }
    return at
  }

  private setUp(): void {
    const { automaton } = this
    const put = (bytes: Uint8Array): number => {
      const at = this.allocate(bytes.length)
      this.bytes.set(bytes, at)
      return at
    }
    const classMap = put(automaton.classOf)
    const contexts = put(bytesOf(automaton.contexts.next))
    const resting = put(bytesOf(automaton.contexts.resting))
    const prefilter = this.prefilter.kind === 'none' ? 0 : put(this.prefilter.block)
    const replacements = this.allocate(this.rules.length * 8)
    this.rules.forEach(({ replacement, recipe }, index) => {
      let at = 0
      let length = FIXED_BY_HOST
      if (replacement !== undefined && replacement.length <= OUT_BYTES) {
        at = put(replacement)
        length = replacement.length
      } else if (replacement === undefined && recipe !== undefined) {
        const words = recipe.flatMap((piece) =>
          piece instanceof Uint8Array ? [0, put(piece), piece.length, 0] : sliceWords(piece),
        )
        at = put(bytesOf(Int32Array.of(recipe.length, ...words)))
        length = FIXED_BY_RECIPE
      }
      this.words[replacements / 4 + index * 2] = at
      this.words[replacements / 4 + index * 2 + 1] = length
    })
    const counted = this.rules.some((rule) => rule.max > 1 && rule.max !== Infinity)
    const groups = (automaton.program.instructions.length + 64) * GROUP_WORDS * 4
    const firstGroups = this.allocate(groups * 2)
    const placed: readonly (readonly [number, number])[] = [
      [CLASS_MAP, classMap],
      [CONTEXT_NEXT, contexts],
      [CONTEXT_RESTING, resting],
      [CONTEXT_DEPTH, automaton.contexts.depthBytes],
      [PREFILTER, prefilter],
      [REPLACEMENTS, replacements],
      [HITS, this.allocate(this.rules.length * 4)],
      [COUNTERS, counted ? this.allocate(this.rules.length * 4) : 0],
      [GROUPS, firstGroups],
      [GROUPS_FIRST, firstGroups],
      [GROUPS_LAST, firstGroups + groups],
      [SCRATCH, this.allocate(groups)],
      [NEW_EDGES, this.allocate(64 * EDGE_WORDS * 4)],
      [OUT, this.allocate(OUT_BYTES + COPY_SLACK_BYTES)],
      [OUT_CAPACITY, OUT_BYTES],
      [EDGES, this.allocate(INITIAL_EDGES * EDGE_WORDS * 4)],
      [EDGE_CAPACITY, INITIAL_EDGES],
    ]
    for (const [word, value] of placed) this.words[word] = value
    this.windowCapacity = 2 * PIECE_BYTES
    this.windowBase = this.allocate(this.windowCapacity)
  }

  /** A stream over one body. `active`: nonzero for each rule that applies; absent means all. */
  open(sink: TokenSink, active?: Uint8Array): TokenStream {
    return new TokenStream(this, sink, active === undefined ? this.automaton.initialActive : this.setOf(active))
  }

  /** Most bodies have the same rules as the one before. */
  private setOf(active: Uint8Array): ActiveSet {
    const { automaton, lastFlags } = this
    const { rules } = automaton.initialActive
    let same = lastFlags.length === rules.length
    for (let rule = 0; same && rule < rules.length; rule++) same = (active[rule] !== 0) === (lastFlags[rule] !== 0)
    if (same) return this.lastSet
    const chosen = rules.filter((rule) => active[rule] !== 0)
    this.lastFlags = active.slice(0, rules.length)
    this.lastSet = chosen.length === rules.length ? automaton.initialActive : automaton.activeSet(chosen)
    return this.lastSet
  }

  /** @internal What happens at the end of a body in this state; undefined if that depends on what it matched. */
  endOf(state: State): Int32Array | undefined {
    const known = this.ends.get(state)
    if (known !== undefined) return known
    const step = this.automaton.step(state, this.automaton.endSymbol)
    if ('undecided' in step) return undefined
    this.ends.set(state, step.ops)
    return step.ops
  }

  /** @internal What happens where the text before a state is settled; undefined if that depends on what was matched. */
  settlingOf(state: State): Settling | undefined {
    const known = this.settlings.get(state)
    if (known !== undefined) return known
    const { automaton } = this
    const settled = automaton.settle(state)
    if ('undecided' in settled) return undefined
    // A character that is not whole yet stays one: there is no place for a match inside it.
    const fresh = automaton.enter(state.context, settled.active, '', automaton.copyingThread(state))
    const settling = { ...settled, fresh: 'undecided' in fresh ? undefined : fresh }
    this.settlings.set(state, settling)
    return settling
  }

  /** @internal What happens at the start of a body. */
  startOf(active: ActiveSet): Step {
    let start = this.starts.get(active)
    if (start === undefined) {
      const { automaton } = this
      // A limited rule that matches the empty string at once has matched one time: not spent.
      start = automaton.enter(automaton.contexts.start, active, '0') as Step
      this.starts.set(active, start)
    }
    return start
  }

  get cachedStates(): number {
    return this.rows.size
  }

  /** @internal Reserves memory that is never given back; 16-byte aligned. May move `words` and `bytes`. */
  allocate(size: number): number {
    const at = (this.top + 15) & ~15
    this.top = at + size
    const least = this.top + COPY_SLACK_BYTES
    if (least > this.bytes.length) {
      this.kernel.memory.grow(Math.ceil((least - this.bytes.length) / PAGE_BYTES))
      this.words = new Int32Array(this.kernel.memory.buffer)
      this.bytes = new Uint8Array(this.kernel.memory.buffer)
    }
    return at
  }

  /** @internal */
  stateOf(row: number): State {
    return this.stateAt.get(row) as State
  }

  /** @internal The row of a state; builds it when it is new. Rows stay valid until {@link makeRoom} clears them. */
  rowOf(state: State): number {
    const known = this.rows.get(state.key)
    if (known !== undefined) return known
    const row = this.tableAllocate(this.rowStride) + ROW_HEADER_WORDS * 4
    this.fillRow(row, state)
    this.rows.set(state.key, row)
    const threads = state.groups.reduce((sum, group) => sum + group.threads.length, 0)
    this.keyCharacters += state.key.length + state.groups.length * GROUP_CHARACTERS + threads * 4
    this.statesBuilt++
    this.stateWork += STATE_WORK + threads
    // Only a state without live threads may skip; the table of its siblings tells it apart.
    const starts = state.groups.length === 0 && state.head === 'normal' ? this.startTable(state) : 0
    // Inside what may be a marker no byte is skipped.
    this.words[row / 4 - 4] = this.automaton.contexts.inMarker[state.context] === 0 ? starts : 0
    if (starts !== 0) this.words[starts / 4 + state.context] = row
    return row
  }

  /** @internal Whether the kernel may skip bytes where it stands at a row. */
  maySkip(row: number): boolean {
    return this.words[row / 4 - 4] !== 0
  }

  private startTable(state: State): number {
    const known = this.startTables.get(state.active.id)
    if (known !== undefined) return known
    const size = this.automaton.contexts.count * 4
    const at = this.tableAllocate(size)
    this.words.fill(0, at / 4, at / 4 + this.automaton.contexts.count)
    this.startTables.set(state.active.id, at)
    return at
  }

  /** @internal */
  get isFull(): boolean {
    return this.tableBytes >= this.cacheLimits.tableBytes || this.keyCharacters >= MAX_KEY_CHARACTERS
  }

  /** @internal A row of the cache, if the state has one. */
  cachedRow(state: State): number | undefined {
    return this.rows.get(state.key)
  }

  /** @internal A row that is overwritten by the third call after this one; none of its cells is ever filled. */
  passingRow(state: State): number {
    const row = this.passingRows.length < 3 ? this.allocate(this.rowStride) + ROW_HEADER_WORDS * 4 : this.passingRows[0]
    if (this.passingRows.length === 3) this.passingRows.shift()
    this.passingRows.push(row)
    this.fillRow(row, state)
    return row
  }

  /** @internal Of a row, which knows it from then on. */
  textGroupOf(row: number): number {
    const group = this.automaton.textGroupOf(this.stateOf(row))
    this.words[row / 4 - ROW_TEXT_GROUP] = group
    return group
  }

  private fillRow(row: number, state: State): void {
    const at = row / 4
    this.words.fill(-1, at, at + this.automaton.classCount)
    this.words[at - 1] = state.groups.length
    this.words[at - 2] = state.firstRuleGroup
    this.words[at - ROW_TEXT_GROUP] = state.firstTextGroup
    this.words[at - 4] = 0
    this.words[at - 5] = state.context
    this.words[at - 6] = state.lastByteNeeded ? 1 : 0
    this.words[at - 7] = 0
    this.stateAt.set(row, state)
  }

  /** @internal Clears the cache when it is full; the caller's rows are void then. Returns whether it did. */
  makeRoom(): boolean {
    if (!this.isFull) return false
    this.rows.clear()
    this.stateAt.clear()
    this.startTables.clear()
    this.decided.clear()
    this.block = 0
    this.blockUsed = 0
    this.tableBytes = 0
    this.keyCharacters = 0
    this.cacheFlushes++
    return true
  }

  private tableAllocate(size: number): number {
    const rounded = (size + 15) & ~15
    let block = this.tableBlocks[this.block]
    while (block === undefined || this.blockUsed + rounded > block.size) {
      if (block !== undefined) {
        this.block++
        this.blockUsed = 0
      }
      block = this.tableBlocks[this.block]
      if (block === undefined) {
        const blockSize = Math.max(rounded, Math.min(1024 * 1024, (16 * 1024) << this.tableBlocks.length))
        block = { at: this.allocate(blockSize), size: blockSize }
        this.tableBlocks.push(block)
      }
    }
    const at = block.at + this.blockUsed
    this.blockUsed += rounded
    this.tableBytes += rounded
    return at
  }

  /** @internal Makes the tables of the kernel's simulation, for a plain automaton and one active set. */
  prepareSimulation(active: ActiveSet): void {
    const { instructions } = this.automaton.program
    if (this.simulated === undefined) {
      const operands: number[] = []
      const program = new Int32Array(instructions.length * 4)
      instructions.forEach((instruction, pc) => {
        const fields = simulatedInstruction(instruction, operands)
        program.set(fields, pc * 4)
      })
      const put = (numbers: Int32Array): number => {
        const at = this.allocate(numbers.byteLength)
        this.words.set(numbers, at / 4)
        return at
      }
      const flags = this.rules.map(({ usesSpan }) => (usesSpan ? MATCH_NEEDS_TEXT : 0))
      const placed: readonly (readonly [number, number])[] = [
        [SIM_PROGRAM, put(program)],
        [SIM_OPERANDS, put(Int32Array.from(operands))],
        [SIM_FLAGS, put(Int32Array.from(flags))],
        [SIM_STARTS, this.allocate(this.automaton.classCount * 8)],
        [SIM_VISITED, this.allocate(instructions.length * 4)],
        [SIM_THREADS, this.allocate(instructions.length * 8)],
        [SIM_NEXT_THREADS, this.allocate(instructions.length * 8)],
        [SIM_STACK, this.allocate((operands.length + 1) * 4)],
      ]
      for (const [word, value] of placed) this.words[word] = value
      this.words[SIM_STEP] = MAX_SIMULATED_STEPS
      this.simulatedStarts = this.allocate(countStarts(this.automaton) * 4)
    }
    if (this.words[SIM_STEP] >= MAX_SIMULATED_STEPS) {
      const visited = this.words[SIM_VISITED] / 4
      this.words.fill(0, visited, visited + instructions.length)
      this.words[SIM_STEP] = 0
    }
    if (this.simulated === active) return
    this.simulated = active
    let at = this.simulatedStarts / 4
    for (let symbol = 0; symbol < this.automaton.classCount; symbol++) {
      const starts = this.automaton.startsOn(active, symbol)
      this.words[this.words[SIM_STARTS] / 4 + symbol * 2] = at * 4
      this.words[this.words[SIM_STARTS] / 4 + symbol * 2 + 1] = starts.length
      this.words.set(starts, at)
      at += starts.length
    }
  }

  /** @internal A record in a place of its own, overwritten by the next one. */
  writePassingRecord(target: number, ops: Int32Array): number {
    const size = 8 + ops.length * 4 + RECORD_MARGIN_BYTES
    if (size > this.passingRecordBytes) {
      this.passingRecord = this.allocate(size * 2)
      this.passingRecordBytes = size * 2
    }
    const at = this.passingRecord / 4
    this.words[at] = target
    this.words[at + 1] = ops.length
    this.words.set(ops, at + 2)
    return this.passingRecord
  }

  /** @internal `groups`: those of the state that the step leaves. */
  writeRecord(target: number, ops: Int32Array, groups: number, flag = 0): number {
    const record = this.tableAllocate(8 + ops.length * 4 + RECORD_MARGIN_BYTES)
    this.words[record / 4] = target
    this.words[record / 4 + 1] = ops.length | flag | (this.shapeOf(ops, groups) << SHAPE_SHIFT)
    this.words.set(ops, record / 4 + 2)
    return record
  }

  /** The shape of a record that the kernel applies without a loop; 0 for none. */
  /**
   * @internal Finds the bytes that leave a state which loops on the others, so that the kernel may skip to them. Costs a
   * step for each byte class, once per row.
   */
  buildAccel(state: State, row: number): void {
    const { automaton } = this
    const loops = new Uint8Array(automaton.classCount)
    for (let symbol = 0; symbol < automaton.classCount; symbol++) {
      const cell = this.words[row / 4 + symbol]
      if (cell !== -1) {
        loops[symbol] = Number(cell === row)
        continue
      }
      const step = automaton.step(state, symbol)
      if ('undecided' in step || step.ops.length > 0 || step.target.key !== state.key) continue
      loops[symbol] = 1
      this.words[row / 4 + symbol] = row
    }
    const leaving = byteSet([...automaton.classOf].flatMap((symbol, byte) => (loops[symbol] === 0 ? [byte] : [])))
    if (weightOf(leaving) > MAX_LEAVING_WEIGHT) {
      this.words[row / 4 - 7] = NO_ACCEL
      return
    }
    const block = byteSetBlock(leaving)
    const at = this.tableAllocate(block.length)
    this.bytes.set(block, at)
    this.words[row / 4 - 7] = at
  }

  private shapeOf(ops: Int32Array, groups: number): number {
    // Matches that are counted, and limits below a few bytes, take the general way.
    if (this.words[COUNTERS] !== 0 || this.options.maxHeldBytes < MIN_SHAPED_LIMIT) return 0
    if (ops.length === 2 && ops[0] === OP_KEEP && ops[1] === 0) return SHAPE_LEAVE
    if (ops.length === 7 && ops[0] === OP_MATCH && ops[6] === 0) return SHAPE_TAKE
    if (ops.length === 6 && ops[0] === OP_GROUP && ops[1] === 1 && ops[5] === groups) return SHAPE_ENTER
    const keep = ops[0] === OP_GROUP ? 3 : 0
    if (groups === 0 || ops[keep] !== OP_KEEP || (keep === 3 && ops.at(-1) !== groups)) return 0
    const kept = ops.subarray(keep + 2, keep === 3 ? -1 : undefined)
    if (kept.length === 0 || kept.some((group, index) => group !== kept[0] + index)) return 0
    if (kept[0] === 0) return keep === 3 ? SHAPE_PUSH : SHAPE_CUT
    return keep === 3 ? SHAPE_SLIDE_PUSH : SHAPE_SLIDE_CUT
  }
}

/**
 * One body. `write` and `end` are synchronous; when the sink asks for a pause they stop at the next boundary and
 * `blocked` is true: call `write` with what is left (an empty chunk too), or `end`, once the sink is ready again.
 */
export class TokenStream {
  readonly hits: Uint32Array
  overflows = 0
  /** As the kernel has it: the complement of a bound where the number is not known. */
  private held = 0
  blocked = false
  aborted = false
  private readonly tokenizer: Tokenizer
  private readonly sink: TokenSink
  private readonly counters: Int32Array
  /** Offset in the body of position 0. */
  private origin = 0
  private state: State
  private parked: Parked | undefined
  private segments: readonly Segment[] = NO_SEGMENTS
  /** The rest is copied without a look. */
  private passing = false
  private ended = false
  /** States that this body has added to the cache. */
  private statesAdded = 0
  /** With the limit checked at the end of a write: the parse before the first byte that exceeded it. */
  private exceeded: { readonly settled: number; readonly edges: Int32Array; readonly textFrom: number } | undefined

  constructor(tokenizer: Tokenizer, sink: TokenSink, active: ActiveSet) {
    this.tokenizer = tokenizer
    this.sink = sink
    this.hits = new Uint32Array(tokenizer.rules.length)
    this.counters = tokenizer.words[COUNTERS] === 0 ? NO_OPS : new Int32Array(tokenizer.rules.length)
    const start = tokenizer.startOf(active)
    this.state = start.target
    this.passing = active.rules.length === 0
    // A body at whose start nothing happens takes no place in the kernel before its first bytes come.
    if (this.passing || start.ops.length === 0) return
    this.activate()
    tokenizer.words[LIMIT] = 0x7fffffff
    this.applyOps(start.target, start.ops, 0)
    this.held = 0
  }

  /** Bytes that some continuation of the body would copy or need. Not to be asked for while another body is written. */
  get heldBytes(): number {
    if (this.held < 0) {
      this.activate()
      this.held = this.tokenizer.kernel.heldBytes()
    }
    return this.held
  }

  /** No less than `heldBytes`, and known at any time. */
  get heldBytesAtMost(): number {
    return this.held < 0 ? ~this.held : this.held
  }

  /** Takes bytes of the body; returns how many. Fewer than all only when `blocked`. */
  write(chunk: Uint8Array): number {
    if (this.passing && !this.holdsOutput()) return this.pass(chunk)
    this.activate()
    const { tokenizer } = this
    if (!this.flush()) return 0
    if (this.exceeded !== undefined && !this.settleExceeded()) return this.aborted ? chunk.length : 0
    const pieceBytes = tokenizer.options.nginx ? Math.max(1, chunk.length) : PIECE_BYTES
    let at = 0
    while (at < chunk.length) {
      if (this.passing) return at + this.pass(at === 0 ? chunk : chunk.subarray(at))
      const end = Math.min(chunk.length, at + pieceBytes)
      const piece = at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end)
      at += this.scan(piece)
      if (this.aborted) {
        // What was settled before the limit was met still goes out, whether or not the sink asks for a pause.
        while (!this.flush());
        return at
      }
      // The kernel has worked out what is settled.
      this.held = this.passing ? 0 : tokenizer.words[HELD]
      if (!this.flush(this.passing ? undefined : piece)) return at
    }
    if (this.passing) this.held = 0
    return at
  }

  /** The body ends; hands out the rest. False when blocked: call again. */
  end(): boolean {
    if (this.passing && !this.holdsOutput()) {
      this.close()
      return true
    }
    this.activate()
    if (!this.flush()) return false
    this.exceeded = undefined
    if (!this.ended && !this.passing) {
      this.ended = true
      const { automaton } = this.tokenizer
      const ops =
        this.tokenizer.endOf(this.state) ??
        this.decide<Step>((decisions) => automaton.step(this.state, automaton.endSymbol, decisions)).ops
      this.applyOps(undefined, ops, this.tokenizer.words[POS])
      this.held = 0
    }
    if (!this.flush()) return false
    this.close()
    return true
  }

  /** Gives up what the body holds. */
  close(): void {
    this.parked = undefined
    this.segments = NO_SEGMENTS
    this.held = 0
    if (this.tokenizer.owner === this) {
      this.takeCounts()
      this.tokenizer.owner = undefined
    }
  }

  /** Replacements so far, per rule. */
  counts(): Uint32Array {
    if (this.tokenizer.owner === this) this.takeCounts()
    return this.hits
  }

  private takeCounts(): void {
    const { hits } = this
    const { words } = this.tokenizer
    const at = words[HITS] / 4
    // PERF: for a handful of rules a loop is cheaper than a view of the memory.
    for (let rule = 0; rule < hits.length; rule++) hits[rule] = words[at + rule]
  }

  private holdsOutput(): boolean {
    if (this.parked !== undefined) return true
    if (this.tokenizer.owner !== this) return false
    const { words } = this.tokenizer
    return words[EMITTED] !== words[POS] || words[EDGE_HEAD] !== words[EDGE_COUNT] || words[OUT_LENGTH] !== 0
  }

  private pass(chunk: Uint8Array): number {
    this.blocked = chunk.length > 0 && !this.sink.output(chunk)
    return chunk.length
  }

  /** Brings this body's state into the kernel's memory; parks the one that is there. */
  private activate(): void {
    const { tokenizer } = this
    if (tokenizer.owner === this) return
    tokenizer.owner?.park()
    tokenizer.owner = this
    const { parked } = this
    const { words } = tokenizer
    for (let word = POS; word < ROW; word++) words[word] = 0
    for (const word of CLEARED_WORDS) words[word] = 0
    words[BIAS] = tokenizer.windowBase
    const { hits } = this
    const hitsAt = words[HITS] / 4
    for (let rule = 0; rule < hits.length; rule++) words[hitsAt + rule] = hits[rule]
    if (words[COUNTERS] !== 0) words.set(this.counters, words[COUNTERS] / 4)
    words[CHECK_AT] = 0
    if (parked !== undefined) {
      this.parked = undefined
      PARKED_WORDS.forEach((word, index) => {
        words[word] = parked.words[index]
      })
      words[EDGE_BASE] = words[EDGE_HEAD]
      while (parked.edges.length > tokenizer.words[EDGE_CAPACITY] * EDGE_WORDS) this.growEdges()
      tokenizer.words.set(parked.groups, tokenizer.words[GROUPS] / 4)
      tokenizer.words.set(parked.edges, tokenizer.words[EDGES] / 4)
      this.ensureWindow(parked.text.length)
      tokenizer.bytes.set(parked.text, tokenizer.windowBase)
      tokenizer.bytes.set(parked.out, tokenizer.words[OUT])
      tokenizer.words[OUT_LENGTH] = parked.out.length
      tokenizer.words[WINDOW_START] = tokenizer.words[POS] - parked.text.length
      tokenizer.words[BIAS] = tokenizer.windowBase - tokenizer.words[WINDOW_START]
    }
    const row = this.rowFor(this.state)
    tokenizer.words[ROW] = row
    const isWhole = this.state.active === tokenizer.automaton.initialActive
    tokenizer.words[LITERALS] = isWhole ? tokenizer.literals : 0
  }

  /** The row of a state, in the cache as long as there is room or this body may make some. */
  private rowFor(state: State): number {
    const { tokenizer } = this
    const known = tokenizer.cachedRow(state)
    if (known !== undefined) return known
    if (tokenizer.automaton.cachedEntries >= MAX_AUTOMATON_ENTRIES) tokenizer.automaton.forget()
    if (tokenizer.isFull) {
      if (this.statesAdded >= tokenizer.cacheLimits.statesPerBody) return tokenizer.passingRow(state)
      tokenizer.makeRoom()
    }
    this.statesAdded++
    return tokenizer.rowOf(state)
  }

  /** @internal Takes this body's state out of the kernel's memory. */
  park(): void {
    const { tokenizer } = this
    const { words, bytes } = tokenizer
    this.takeCounts()
    if (this.counters.length > 0)
      this.counters.set(words.subarray(words[COUNTERS] / 4, words[COUNTERS] / 4 + this.counters.length))
    this.state = tokenizer.stateOf(words[ROW])
    const holds = words[GROUP_COUNT] > 0 || this.holdsOutput()
    if (!holds) {
      this.origin += words[POS]
      this.parked = undefined
      return
    }
    const edges = words[EDGES] / 4 + (words[EDGE_HEAD] - words[EDGE_BASE]) * EDGE_WORDS
    const textFrom = Math.max(words[EMITTED], words[WINDOW_START])
    this.parked = {
      words: Int32Array.from(PARKED_WORDS, (word) => words[word]),
      groups: words.slice(words[GROUPS] / 4, words[GROUPS] / 4 + words[GROUP_COUNT] * GROUP_WORDS),
      edges: words.slice(edges, edges + (words[EDGE_COUNT] - words[EDGE_HEAD]) * EDGE_WORDS),
      text: bytes.slice(words[BIAS] + textFrom, words[BIAS] + words[POS]),
      out: bytes.slice(words[OUT], words[OUT] + words[OUT_LENGTH]),
    }
  }

  /** Reads one piece; returns the bytes it took (fewer than all when a limit was met and the rest is to be copied). */
  private scan(piece: Uint8Array): number {
    const { tokenizer } = this
    this.makeSpace(piece.length)
    const { words, bytes } = tokenizer
    const from = words[POS]
    bytes.set(piece, words[BIAS] + from)
    words[END] = from + piece.length
    const { nginx, maxHeldBytes } = tokenizer.options
    words[LIMIT] = maxHeldBytes
    words[LIMIT_HELD_ONLY] = nginx ? 1 : 0
    words[CHECK_AT] = from
    tokenizer.bytesRead += piece.length
    for (;;) {
      const exit = tokenizer.kernel.run()
      if (exit === EXIT_DONE) break
      if (exit === EXIT_LIMIT) {
        this.meetLimit()
      } else if (exit === EXIT_SPINE_FULL) this.growEdges()
      else this.buildTransition(exit)
      if (this.passing || this.aborted) break
    }
    this.state = tokenizer.stateOf(tokenizer.words[ROW])
    return tokenizer.words[POS] - from
  }

  /** Resolves what the kernel asked for: a start row, a transition, or a choice among records. */
  private buildTransition(exit: number): void {
    const { tokenizer } = this
    const { automaton } = tokenizer
    const state = tokenizer.stateOf(tokenizer.words[ROW])
    if (exit === EXIT_ACCEL) {
      const row = tokenizer.words[ROW]
      if (tokenizer.cachedRow(state) === row) tokenizer.buildAccel(state, row)
      else tokenizer.words[row / 4 - 7] = NO_ACCEL
      return
    }
    if (exit === EXIT_START) {
      // Only rule sets without empty matches skip, so nothing happens on entering.
      const row = this.rowFor((automaton.enter(tokenizer.words[DETAIL], state.active) as Step).target)
      tokenizer.words[ROW] = row
      return
    }
    const symbol = tokenizer.words[DETAIL]
    const row = tokenizer.words[ROW]
    if (exit !== EXIT_UNKNOWN && exit !== EXIT_DECIDE) throw new Error(`kernel exit ${exit}`)
    if (exit === EXIT_UNKNOWN && this.addsTooMany() && this.simulate(state)) return
    const step = exit === EXIT_UNKNOWN ? automaton.step(state, symbol) : undefined
    if (step !== undefined && !('undecided' in step)) {
      const target = this.rowFor(step.target)
      if (this.takePassingStep(state, row, step, target)) return
      // The kernel asks at records only whether bytes may be skipped from here on.
      const plain = step.ops.length === 0 && tokenizer.maySkip(row) === tokenizer.maySkip(target)
      const cell = plain ? target : ~tokenizer.writeRecord(target, step.ops, state.groups.length)
      tokenizer.words[row / 4 + symbol] = cell
      return
    }
    if (step !== undefined && tokenizer.cachedRow(state) === row) {
      const cell = ~tokenizer.writeRecord(0, NO_OPS, 0, DECIDE_FLAG)
      tokenizer.words[row / 4 + symbol] = cell
    }
    const isKept = tokenizer.cachedRow(state) === row
    let decisions = ''
    for (;;) {
      const key = `${row} ${symbol} ${decisions}`
      const known = isKept ? tokenizer.decided.get(key) : undefined
      if (typeof known === 'number') {
        this.takeStep(known)
        return
      }
      const decided = known ?? automaton.step(state, symbol, decisions)
      if ('undecided' in decided) {
        if (isKept) tokenizer.decided.set(key, decided)
        decisions += this.decisionOn(decided)
        continue
      }
      const target = this.rowFor(decided.target)
      if (this.takePassingStep(state, row, decided, target)) return
      const record = tokenizer.writeRecord(target, decided.ops, state.groups.length)
      tokenizer.decided.set(key, record)
      this.takeStep(record)
      return
    }
  }

  /** Whether hardly any state that bodies lead to is met again. */
  private addsTooMany(): boolean {
    const { tokenizer } = this
    if (!tokenizer.isPlain) return false
    const isSpent = tokenizer.stateWork >= STATE_WORK_AT_FIRST + tokenizer.bytesRead * STATE_WORK_PER_BYTE
    return isSpent || this.statesAdded >= tokenizer.cacheLimits.statesPerBody
  }

  /** Lets the kernel step the threads of a state; false when the next byte may hold too much. */
  private simulate(state: State): boolean {
    const { tokenizer } = this
    const { automaton } = tokenizer
    tokenizer.prepareSimulation(state.active)
    const from = tokenizer.words[POS]
    let count = 0
    state.groups.forEach(({ threads }, group) => {
      for (const thread of threads) {
        const at = tokenizer.words[SIM_THREADS] / 4 + count++ * 2
        tokenizer.words[at] = thread
        tokenizer.words[at + 1] = group
      }
    })
    tokenizer.words[SIM_COUNT] = count
    const end = tokenizer.words[END]
    tokenizer.words[END] = Math.min(end, from + SIMULATED_BYTES)
    while (tokenizer.kernel.simulate() === EXIT_SPINE_FULL) this.growEdges()
    const { words } = tokenizer
    words[END] = end
    if (words[POS] === from) return false
    const groups: number[][] = Array.from({ length: words[GROUP_COUNT] }, () => [])
    for (let thread = 0; thread < words[SIM_COUNT]; thread++) {
      const at = words[SIM_THREADS] / 4 + thread * 2
      groups[words[at + 1]].push(words[at])
    }
    const reached = automaton.plainState(state.active, groups)
    const isIdle = groups.length === 0
    const row = isIdle ? this.rowFor(reached) : (tokenizer.cachedRow(reached) ?? tokenizer.passingRow(reached))
    tokenizer.words[ROW] = row
    tokenizer.words[CHECK_AT] = 0
    return true
  }

  /** Where a flush or a state that is not kept leaves no cell to fill, the step is taken once, by hand. */
  private takePassingStep(state: State, row: number, step: Step, target: number): boolean {
    const { tokenizer } = this
    if (tokenizer.cachedRow(state) === row && tokenizer.cachedRow(step.target) === target) return false
    if (tokenizer.stateOf(row) !== state) {
      const own = tokenizer.passingRow(state)
      tokenizer.words[ROW] = own
    }
    this.takeStep(tokenizer.writePassingRecord(target, step.ops))
    return true
  }

  /** Applies the record of the byte at the position, as the kernel would. */
  private takeStep(record: number): void {
    const { tokenizer } = this
    const result = tokenizer.kernel.apply(record, tokenizer.words[POS] + 1, 1)
    if (result === EXIT_SPINE_FULL) this.growEdges()
    else if (result === EXIT_LIMIT) this.meetLimit()
  }

  /** Answers a step's questions about limited rules from the counts along the spine. */
  private decide<T extends object>(attempt: (decisions: string) => T | Undecided): T {
    let decisions = ''
    for (;;) {
      const result = attempt(decisions)
      if (!('undecided' in result)) return result
      decisions += this.decisionOn(result)
    }
  }

  /** Whether the undecided rule is spent, as a step's decisions say it. */
  private decisionOn(question: Undecided): '1' | '0' {
    return this.matchesAfter(question) >= this.tokenizer.rules[question.undecided].max ? '1' : '0'
  }

  /** Matches of the undecided rule on the spine once this one is added. */
  private matchesAfter(question: Undecided): number {
    const { words } = this.tokenizer
    const groups = words[GROUPS] / 4
    const depths = Array.from({ length: words[GROUP_COUNT] }, (_, group) => words[groups + group * GROUP_WORDS + 1])
    let base = words[EDGE_COUNT]
    let added: number[] = []
    const cut = (depth: number): void => {
      added = added.slice(0, Math.max(0, depth - base))
      base = Math.min(base, depth)
    }
    for (const op of question.ops) {
      if (op[0] === OP_GROUP) depths.push(base + added.length)
      else if (op[0] === OP_EMPTY) added.push(op[1])
      else {
        cut(depths[op[1]])
        if (op[0] === OP_MATCH) added.push(op[2])
      }
    }
    if (question.group >= 0) cut(depths[question.group])
    let count = words[words[COUNTERS] / 4 + question.undecided] + 1
    for (let edge = base; edge < words[EDGE_COUNT]; edge++) {
      if (words[this.edgeAt(edge) + 2] === question.undecided) count--
    }
    return count + added.filter((rule) => rule === question.undecided).length
  }

  private edgeAt(index: number): number {
    const { words } = this.tokenizer
    return words[EDGES] / 4 + (index - words[EDGE_BASE]) * EDGE_WORDS
  }

  /** Applies ops whatever is held then. Without a target no group may survive. */
  private applyOps(target: State | undefined, ops: Int32Array, pos: number): void {
    const { tokenizer } = this
    const row = target === undefined ? tokenizer.words[ROW] : this.rowFor(target)
    if (ops.length === 0) {
      tokenizer.words[ROW] = row
      tokenizer.words[POS] = pos
      if (target === undefined) tokenizer.words[GROUP_COUNT] = 0
      return
    }
    const record = tokenizer.writePassingRecord(row, ops)
    while (tokenizer.kernel.apply(record, pos, 0) === EXIT_SPINE_FULL) this.growEdges()
    if (target === undefined) tokenizer.words[GROUP_COUNT] = 0
  }

  /** The byte at the position would hold too much. */
  private meetLimit(): void {
    const { tokenizer } = this
    const { words } = tokenizer
    if (tokenizer.options.nginx && words[LIMIT_HELD_ONLY] === 1) {
      // Checked at the end of the write: remember the parse up to here and go on.
      // An empty match right here belongs to what follows.
      const ownEdges = tokenizer.stateOf(words[ROW]).head === 'forced' ? 1 : 0
      const from = this.edgeAt(words[EDGE_HEAD])
      tokenizer.kernel.settle()
      this.exceeded = {
        settled: words[SETTLED] - words[EDGE_HEAD],
        edges: words.slice(from, from + (words[EDGE_COUNT] - words[EDGE_HEAD] - ownEdges) * EDGE_WORDS),
        textFrom: this.firstTextPosition(),
      }
      words[LIMIT_HELD_ONLY] = 0
      words[LIMIT] = Math.max(WRITE_END_CAP, tokenizer.options.maxHeldBytes * 2)
      return
    }
    this.settleHere()
    this.overflows++
    if (tokenizer.options.nginx || tokenizer.options.overflow === 'passthrough') this.passing = true
    if (tokenizer.options.overflow === 'abort' && !tokenizer.options.nginx) this.aborted = true
  }

  /** Position from which on every byte may be needed by a rule; beyond the position when there is none. */
  private firstTextPosition(): number {
    const { words } = this.tokenizer
    const firstTextGroup = this.tokenizer.textGroupOf(words[ROW])
    return firstTextGroup < 0 ? 0x7fffffff : words[words[GROUPS] / 4 + firstTextGroup * GROUP_WORDS]
  }

  /** As {@link firstTextPosition}, or earlier where that takes a look at all that can follow and little is at stake. */
  private firstKeptPosition(): number {
    const { words, options } = this.tokenizer
    const first = words[words[GROUPS] / 4]
    const isUnknown = words[GROUP_COUNT] > 0 && words[words[ROW] / 4 - ROW_TEXT_GROUP] === TEXT_GROUP_UNKNOWN
    return isUnknown && words[POS] - first <= options.maxHeldBytes ? first : this.firstTextPosition()
  }

  /** Settles the text before the position and starts afresh there. */
  private settleHere(): void {
    const { tokenizer } = this
    const { automaton } = tokenizer
    const state = tokenizer.stateOf(tokenizer.words[ROW])
    if (state.head === 'forced') this.dropLastEdge()
    const settled: Settling = tokenizer.settlingOf(state) ?? {
      ...this.decide<Settled>((decisions) => automaton.settle(state, decisions)),
      fresh: undefined,
    }
    const pos = tokenizer.words[POS]
    this.applyOps(undefined, settled.ops, pos)
    const fresh =
      settled.fresh ??
      this.decide<Step>((decisions) =>
        automaton.enter(state.context, settled.active, decisions, automaton.copyingThread(state)),
      )
    this.applyOps(fresh.target, fresh.ops, pos)
    this.state = fresh.target
  }

  private dropLastEdge(): void {
    const { words } = this.tokenizer
    words[EDGE_COUNT]--
    if (words[COUNTERS] !== 0) words[words[COUNTERS] / 4 + words[this.edgeAt(words[EDGE_COUNT]) + 2]]--
  }

  /** replace_filter: the last write exceeded the limit and ended above it. False while blocked. */
  private settleExceeded(): boolean {
    const exceeded = this.exceeded
    this.exceeded = undefined
    const { tokenizer } = this
    const { words } = tokenizer
    if (exceeded === undefined || tokenizer.kernel.heldBytes() <= tokenizer.options.maxHeldBytes) return true
    // Matches whose text is held, and all that was read after them, go out unchanged.
    const edges = exceeded.edges.slice()
    for (let i = exceeded.settled * EDGE_WORDS; i < edges.length; i += EDGE_WORDS) {
      const needed = edges[i] >= exceeded.textFrom || (edges[i + 3] & MATCH_NEEDS_TEXT) !== 0
      if (needed && edges[i + 1] > edges[i]) edges[i + 3] |= MATCH_KEEPS_TEXT
    }
    words.set(edges, this.edgeAt(words[EDGE_HEAD]))
    words[EDGE_COUNT] = words[EDGE_HEAD] + edges.length / EDGE_WORDS
    words[GROUP_COUNT] = 0
    this.overflows++
    this.passing = true
    this.held = 0
    return this.flush()
  }

  /** Hands out everything that is settled. `piece` is what was just read, to be handed on as it is if nothing matched. */
  private flush(piece?: Uint8Array): boolean {
    const { tokenizer } = this
    const { kernel, words } = tokenizer
    this.blocked = false
    if (this.passing || this.ended) {
      words[SETTLED] = words[EDGE_COUNT]
      words[BARRIER] = words[POS]
    } else if (piece === undefined) kernel.settle()
    // Nothing may leave that a check at the end of the write could still have to undo.
    if (this.exceeded !== undefined && kernel.heldBytes() > tokenizer.options.maxHeldBytes) return true
    this.exceeded = undefined
    if (
      piece !== undefined &&
      words[EDGE_HEAD] === words[SETTLED] &&
      words[BARRIER] === words[POS] &&
      words[EMITTED] === words[POS] - piece.length
    ) {
      words[EMITTED] = words[POS]
      return this.emit(piece) && this.tidy()
    }
    for (;;) {
      const exit = kernel.drain()
      if (exit === EXIT_DONE) break
      if (exit === EXIT_OUT_FULL) {
        if (!this.handOut()) return false
      } else if (exit === EXIT_REPLACE) {
        if (!this.replaceNext()) return false
      } else if (!this.copySegment()) return false
    }
    return this.handOut() && this.tidy()
  }

  /** Hands a chunk to the sink, which may tokenize another body of this rule set before it returns. */
  private emit(chunk: Uint8Array): boolean {
    this.blocked = !this.sink.output(chunk)
    this.activate()
    return !this.blocked
  }

  private tidy(): boolean {
    const { words } = this.tokenizer
    if (words[EDGE_HEAD] === words[EDGE_COUNT]) {
      words[EDGE_BASE] = words[EDGE_HEAD]
    } else if (words[EDGE_HEAD] - words[EDGE_BASE] > words[EDGE_CAPACITY] / 2) {
      words.copyWithin(words[EDGES] / 4, this.edgeAt(words[EDGE_HEAD]), this.edgeAt(words[EDGE_COUNT]))
      words[EDGE_BASE] = words[EDGE_HEAD]
    }
    if (this.segments.length > 0 && this.segments[this.segments.length - 1].end <= words[EMITTED]) {
      this.segments = NO_SEGMENTS
    }
    if (words[POS] > REBASE_AT) this.rebase()
    return true
  }

  private handOut(): boolean {
    const { words, bytes } = this.tokenizer
    const length = words[OUT_LENGTH]
    if (length === 0) return true
    words[OUT_LENGTH] = 0
    return this.emit(bytes.subarray(words[OUT], words[OUT] + length))
  }

  private replaceNext(): boolean {
    const { tokenizer } = this
    const { words } = tokenizer
    const edge = this.edgeAt(words[EDGE_HEAD])
    const start = words[edge]
    const end = words[edge + 1]
    const rule = words[edge + 2]
    const flags = words[edge + 3]
    const fixed = tokenizer.rules[rule].replacement
    const replacement =
      fixed ??
      this.sink.replace({
        rule,
        text: (flags & MATCH_NEEDS_TEXT) === 0 ? NO_TEXT : this.textOf(start, end),
        kindBefore: flags >> MATCH_KIND_SHIFT,
        look: flags & MATCH_LOOK_MASK,
        start: this.origin + start,
      })
    return this.put(replacement, end, rule)
  }

  /**
   * Appends what comes of the body up to a position, or hands a long text on as it is; `rule` is -1 but for a
   * replacement. When the sink asks for a pause before, nothing has happened, and the text is asked for again.
   */
  private put(text: Uint8Array, upTo: number, rule: number): boolean {
    const { tokenizer } = this
    let fitting = text
    if (text.length > OUT_BYTES - tokenizer.words[OUT_LENGTH]) {
      // The text may lie in the kernel's memory, which the sink may use before it returns.
      fitting = text.slice()
      if (!this.handOut()) return false
    }
    const { words } = tokenizer
    words[EMITTED] = upTo
    if (rule >= 0) {
      words[words[HITS] / 4 + rule]++
      words[EDGE_HEAD]++
    }
    return fitting !== text && text.length > OUT_BYTES / 2 ? this.emit(fitting) : this.append(fitting)
  }

  private append(text: Uint8Array): boolean {
    const { words, bytes } = this.tokenizer
    bytes.set(text, words[OUT] + words[OUT_LENGTH])
    words[OUT_LENGTH] += text.length
    return true
  }

  private copySegment(): boolean {
    const { words } = this.tokenizer
    const upTo = words[DETAIL]
    return this.put(this.textOf(words[EMITTED], upTo), upTo, -1)
  }

  /** Text of the body between two positions, out of the window or kept segments; borrowed. */
  private textOf(start: number, end: number): Uint8Array {
    const { words, bytes } = this.tokenizer
    if (start >= words[WINDOW_START]) return bytes.subarray(words[BIAS] + start, words[BIAS] + end)
    const text = new Uint8Array(end - start)
    for (let i = this.segmentAfter(start); i < this.segments.length && this.segments[i].start < end; i++) {
      const segment = this.segments[i]
      const from = Math.max(start, segment.start)
      const to = Math.min(end, segment.end)
      if (from < to) text.set(segment.text.subarray(from - segment.start, to - segment.start), from - start)
    }
    const from = Math.max(start, words[WINDOW_START])
    if (from < end) text.set(bytes.subarray(words[BIAS] + from, words[BIAS] + end), from - start)
    return text
  }

  /** Index of the first kept segment that ends behind a position; there may be as many as bytes that may be held. */
  private segmentAfter(position: number): number {
    let low = 0
    let high = this.segments.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.segments[middle].end > position) high = middle
      else low = middle + 1
    }
    return low
  }

  /** Makes the window take `size` more bytes after the position. */
  private makeSpace(size: number): void {
    const { tokenizer } = this
    const { words } = tokenizer
    const pos = words[POS]
    if (words[EMITTED] === pos) {
      words[WINDOW_START] = pos
      words[BIAS] = tokenizer.windowBase - pos
    }
    if (words[BIAS] + pos + size <= tokenizer.windowBase + tokenizer.windowCapacity) return
    if (!tokenizer.options.nginx) this.compact()
    const keepFrom = Math.max(words[WINDOW_START], Math.min(pos, words[EMITTED]))
    this.moveWindow(keepFrom, pos)
    // Room for as much again, and for as many bytes as there are pending matches to look through, so that moving and
    // compacting stay a constant share of the work.
    this.ensureWindow(2 * (pos - keepFrom) + size + (words[EDGE_COUNT] - words[EDGE_HEAD]))
  }

  private moveWindow(keepFrom: number, pos: number): void {
    const { tokenizer } = this
    const { words, bytes } = tokenizer
    bytes.copyWithin(tokenizer.windowBase, words[BIAS] + keepFrom, words[BIAS] + pos)
    words[WINDOW_START] = keepFrom
    words[BIAS] = tokenizer.windowBase - keepFrom
  }

  private ensureWindow(size: number): void {
    const { tokenizer } = this
    if (size <= tokenizer.windowCapacity) return
    const capacity = Math.max(size, tokenizer.windowCapacity * 2)
    const base = tokenizer.allocate(capacity)
    const { words, bytes } = tokenizer
    bytes.copyWithin(base, tokenizer.windowBase, tokenizer.windowBase + tokenizer.windowCapacity)
    words[BIAS] += base - tokenizer.windowBase
    tokenizer.windowBase = base
    tokenizer.windowCapacity = capacity
  }

  /** Keeps only the text that some continuation needs: `\s+` may have read a megabyte that nobody will copy. */
  private compact(): void {
    const { words } = this.tokenizer
    const pos = words[POS]
    const textFrom = Math.min(pos, this.firstKeptPosition())
    const ranges: [number, number][] = []
    let cursor = words[EMITTED]
    const need = (from: number, to: number): void => {
      if (from >= to) return
      const last = ranges[ranges.length - 1]
      if (last !== undefined && last[1] === from) last[1] = to
      else ranges.push([from, to])
    }
    for (let edge = words[EDGE_HEAD]; edge < words[EDGE_COUNT]; edge++) {
      const at = this.edgeAt(edge)
      if (words[at] >= textFrom) break
      need(cursor, words[at])
      if ((words[at + 3] & MATCH_NEEDS_TEXT) !== 0) need(words[at], Math.min(words[at + 1], textFrom))
      cursor = Math.max(cursor, words[at + 1])
    }
    need(cursor, textFrom)
    need(textFrom, pos)
    if (this.tokenizer.stateOf(words[ROW]).lastByteNeeded && ranges.at(-1)?.[1] !== pos) need(pos - 1, pos)
    const tail = ranges.length > 0 && ranges[ranges.length - 1][1] === pos ? ranges.pop() : undefined
    const tailFrom = Math.max(tail?.[0] ?? pos, words[WINDOW_START])
    if (tail !== undefined && tail[0] < tailFrom) ranges.push([tail[0], tailFrom])
    this.segments = ranges.map(([start, end]) => ({ start, end, text: this.textOf(start, end).slice() }))
    this.moveWindow(tailFrom, pos)
  }

  private growEdges(): void {
    const { tokenizer } = this
    const old = tokenizer.words[EDGES] / 4
    const used = tokenizer.words[EDGE_CAPACITY] * EDGE_WORDS
    const at = tokenizer.allocate(used * 4 * 2)
    const { words } = tokenizer
    words.copyWithin(at / 4, old, old + used)
    words[EDGES] = at
    words[EDGE_CAPACITY] *= 2
  }

  /** Moves the origin so that positions stay small; nodes too far back keep their order, their distance means nothing. */
  private rebase(): void {
    const { words } = this.tokenizer
    const shift = words[POS]
    this.origin += shift
    const floor = -REBASE_AT
    for (const word of [POS, END, EMITTED, WINDOW_START, BARRIER]) words[word] = Math.max(floor, words[word] - shift)
    words[BIAS] += shift
    words[CHECK_AT] = 0
    const groups = words[GROUPS] / 4
    for (let group = 0; group < words[GROUP_COUNT]; group++) {
      const at = groups + group * GROUP_WORDS
      const moved = Math.max(floor, words[at] - shift)
      words[at + 2] += moved - (words[at] - shift)
      words[at] = moved
    }
    for (let edge = words[EDGE_HEAD]; edge < words[EDGE_COUNT]; edge++) {
      const at = this.edgeAt(edge)
      words[at] = Math.max(floor, words[at] - shift)
      words[at + 1] = Math.max(floor, words[at + 1] - shift)
    }
    this.segments = this.segments.map(({ start, end, text }) => ({ start: start - shift, end: end - shift, text }))
  }
}

/** Besides those from POS to ROW, what begins at 0 with each body. */
const CLEARED_WORDS: readonly number[] = [
  SKIPPED,
  EDGE_COUNT,
  EDGE_HEAD,
  EDGE_BASE,
  GROUP_COUNT,
  EMITTED,
  OUT_LENGTH,
  WINDOW_START,
]
const PARKED_WORDS: readonly number[] = [POS, SKIPPED, EDGE_COUNT, EDGE_HEAD, GROUP_COUNT, EMITTED, SETTLED, BARRIER]
function bytesOf({ buffer, byteOffset, byteLength }: Uint16Array | Int32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

/** Places of all lists of starts, over all byte classes, when all rules are active. */
function countStarts(automaton: Automaton): number {
  let count = 0
  for (let symbol = 0; symbol < automaton.classCount; symbol++) {
    count += automaton.startsOn(automaton.initialActive, symbol).length
  }
  return count
}

/** Four words, see the kernel; `operands` takes what does not fit. */
function simulatedInstruction(instruction: Instruction, operands: number[]): readonly number[] {
  switch (instruction.op) {
    case 'bytes': {
      const { arcs } = instruction
      if (arcs.length === 3) return [SIM_KINDS.range, ...arcs]
      operands.push(...arcs)
      return [SIM_KINDS.arcs, operands.length - arcs.length, arcs.length / 3, 0]
    }
    case 'split':
      operands.push(...instruction.next)
      return [SIM_KINDS.split, operands.length - instruction.next.length, instruction.next.length, 0]
    case 'match':
      return [SIM_KINDS.match, instruction.rule, 0, 0]
    default:
      throw new Error(`a plain program has no ${instruction.op}`)
  }
}

function sliceWords({ begin, end }: FixedGroup): number[] {
  const flags =
    PIECE_SLICE | (begin.from === 'end' ? PIECE_BEGIN_FROM_END : 0) | (end.from === 'end' ? PIECE_END_FROM_END : 0)
  return [flags, begin.bytes, end.bytes, 0]
}

const NO_OPS = new Int32Array(0)
const NO_SEGMENTS: readonly Segment[] = []
const NO_TEXT = new Uint8Array(0)

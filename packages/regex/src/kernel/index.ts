/**
 * The machine that runs a search automaton over a body: AssemblyScript, compiled to WebAssembly with SIMD.
 *
 * It owns three things in linear memory: the *window* (text not yet emitted, and the piece being read), the *spine*
 * (complete matches of the present parse, in order) and the *groups* (spine nodes that still have live threads). Rows
 * of the transition table are laid out by the host; a cell is the address of the next row, -1 when the transition has
 * not been built, or the complement of the address of a record: target row, length of ops, ops (automaton.ts).
 *
 * Positions are 32-bit and relative to an origin that the host moves; `address = bias + position`.
 *
 * INVARIANT: the spine is sorted; entries below `settled` can no longer change; the host drains them with `drain`.
 */

// Control block, at address 0; the host reads and writes it between calls. Offsets in bytes.
const POS: usize = 0
const END: usize = 4
const ROW: usize = 8
/** Bytes of the spine, up to the position, that lie in matches whose text nobody needs (modulo 2^32). */
const SKIPPED: usize = 12
const EDGE_COUNT: usize = 16
const EDGE_HEAD: usize = 20
/** Index of the entry that is stored first in the spine's memory. */
const EDGE_BASE: usize = 24
const GROUP_COUNT: usize = 28
const EMITTED: usize = 32
const BIAS: usize = 36
const OUT_LENGTH: usize = 40
const DETAIL: usize = 44
/** Limit of held bytes plus pending matches. */
const LIMIT: usize = 48
const SETTLED: usize = 52
const BARRIER: usize = 56
const CHECK_AT: usize = 64
const WINDOW_START: usize = 68
const CLASS_MAP: usize = 72
const EDGES: usize = 76
const EDGE_CAPACITY: usize = 80
const GROUPS: usize = 84
const OUT: usize = 88
const OUT_CAPACITY: usize = 92
/**
 * Per rule: address and length of a fixed replacement; length -1 when the host makes it, -2 when it is a recipe of
 * literals and slices of the match: their number, then four words each (see `PIECE_SLICE`).
 */
const REPLACEMENTS: usize = 96
const HITS: usize = 100
const PREFILTER: usize = 104
const CONTEXT_NEXT: usize = 108
const CONTEXT_DEPTH: usize = 112
/** Per rule, matches on the spine and before it; 0 when no rule has a limit above one. */
const COUNTERS: usize = 116
/** Pending matches do not count against the limit (replace_filter counts held bytes only). */
const LIMIT_HELD_ONLY: usize = 120
const SCRATCH: usize = 124
const NEW_EDGES: usize = 128
/** Per context, the one to start from after a skip, before the last bytes are looked at. */
const CONTEXT_RESTING: usize = 132
/** `heldOrBound` when `run` was done. */
const HELD: usize = 136
/**
 * Table of literals by their first four bytes, 0 when this body must not use it: shift of the hash, then a word per hash:
 * 0 for no beginning, 1 for one of another kind, or the address of the first of its literals (`takeLiteral`).
 */
const LITERALS: usize = 180
/** Groups are dropped at the front by moving `GROUPS`: from its first place to its last, where they move back. */
const GROUPS_FIRST: usize = 184
const GROUPS_LAST: usize = 188

// The simulation of live threads without a table, see `simulate`.
/** Per instruction four words: kind, then what the kind says. */
const SIM_PROGRAM: usize = 140
/** Low, high and target of each arc, and targets of splits. */
const SIM_OPERANDS: usize = 144
/** Per byte class: address and number of the instructions that a match can begin with. */
const SIM_STARTS: usize = 148
/** Per instruction, the step in which it was reached last. */
const SIM_VISITED: usize = 152
const SIM_STEP: usize = 156
/** Instruction and group of each live thread, in order of priority; and room for those of the next step. */
const SIM_THREADS: usize = 160
const SIM_NEXT_THREADS: usize = 164
const SIM_COUNT: usize = 168
const SIM_STACK: usize = 172
/** Per rule, the flags of its matches. */
const SIM_FLAGS: usize = 176

const SIM_RANGE: i32 = 0
const SIM_ARCS: i32 = 1
const SIM_SPLIT: i32 = 2
const SIM_MATCH: i32 = 3

// A row: facts about the state, then a cell per byte class. Offsets from the first cell.
const ROW_GROUPS: usize = 4
const ROW_FIRST_RULE_GROUP: usize = 8
/** {@link TEXT_GROUP_UNKNOWN} until somebody asks: it takes a look at all that can follow. */
const ROW_FIRST_TEXT_GROUP: usize = 12
const TEXT_GROUP_UNKNOWN: i32 = -2
/** Address of the table that gives the start row of each context, for a state without groups; otherwise 0. */
const ROW_STARTS: usize = 16
const ROW_CONTEXT: usize = 20
/** Nonzero when a match may turn out to have ended one byte back, with the byte since then copied. */
const ROW_LAST_BYTE: usize = 24
/** Prefilter block for the bytes that leave the state; 0 when nobody has looked for them, -1 when there are too many. */
const ROW_ACCEL: usize = 28

/** The host finds a row's first text group, puts it there and returns it. */
// @ts-ignore: decorator
@external("host", "textGroupOf")
declare function textGroupOf(row: i32): i32

const EXIT_DONE: i32 = 0
const EXIT_UNKNOWN: i32 = 1
/** The host has to choose among records (a rule with a limit fires). */
const EXIT_DECIDE: i32 = 2
const EXIT_SPINE_FULL: i32 = 3
/** The byte at the position cannot be processed within the limit. */
const EXIT_LIMIT: i32 = 4
const EXIT_OUT_FULL: i32 = 5
const EXIT_REPLACE: i32 = 6
const EXIT_TEXT: i32 = 7
/** The start row of the context in the detail word has not been built. */
const EXIT_START: i32 = 8
/** The state loops on most bytes: which ones leave it? */
const EXIT_ACCEL: i32 = 9
/** No thread is live. */
const EXIT_IDLE: i32 = 10
const SIMULATED_AT_LEAST: i32 = 256

// A piece of a recipe: flags, then address and length of a literal, or the offsets of a slice's begin and end.
const PIECE_SLICE: i32 = 1
/** The offset counts back from the end of the match. */
const PIECE_BEGIN_FROM_END: i32 = 2
const PIECE_END_FROM_END: i32 = 4
const PIECE_BYTES: usize = 16

const OP_GROUP: i32 = 1
const OP_MATCH: i32 = 2
const OP_EMPTY: i32 = 3
const OP_COPY: i32 = 4

const FLAG_KEEPS_TEXT: i32 = 8
const FLAG_NEEDS_TEXT: i32 = 16

const GROUP_BYTES: usize = 16
const EDGE_BYTES: usize = 16

/** Spine entries that one step can append, at most. */
const MAX_NEW_EDGES: i32 = 16
const DECIDE_FLAG: i32 = 0x40000000
const LENGTH_MASK: i32 = 0x00ffffff
/** Records of the commonest shapes carry it in bits 24 to 27, so that `run` can apply them without a loop over ops. */
const SHAPE_SHIFT: i32 = 24
const SHAPE_MASK: i32 = 15
/** From no group to one, which begins at the byte just read: `OP_GROUP 1 kind`, `OP_KEEP 1 0`. */
const SHAPE_ENTER: i32 = 1
/** The last groups die: `OP_KEEP 0`. */
const SHAPE_LEAVE: i32 = 2
/** A match, and no group lives on: `OP_MATCH ...`, `OP_KEEP 0`. */
const SHAPE_TAKE: i32 = 3
/** The first groups live on, and one begins: `OP_GROUP back kind`, `OP_KEEP n 0 1 ... new`. */
const SHAPE_PUSH: i32 = 4
/** Only the first groups live on: `OP_KEEP n 0 1 ...`. */
const SHAPE_CUT: i32 = 5
/** As the two before, but the first groups die: `OP_KEEP n k k+1 ...`. */
const SHAPE_SLIDE_PUSH: i32 = 6
const SHAPE_SLIDE_CUT: i32 = 7
/** Bytes in the same state after which it is worth to look for those that leave it. */
const ACCEL_AFTER: i32 = 16

// @ts-ignore: decorator
@inline
function cb(offset: usize): i32 {
  return load<i32>(offset)
}

// @ts-ignore: decorator
@inline
function cellAt(row: usize, classMap: usize, address: i32): i32 {
  return load<i32>(row + (<usize>load<u8>(classMap + <usize>load<u8>(address)) << 2))
}

/**
 * Runs from the position to the end of the piece. Returns an exit code; the host resolves what it asks for and calls
 * again. One call per piece when all transitions exist; `settle` and `drain` then emit.
 */
export function run(): i32 {
  let pos = cb(POS)
  const end = cb(END)
  let row: usize = cb(ROW)
  const bias = cb(BIAS)
  const classMap: usize = cb(CLASS_MAP)
  const prefilter: usize = cb(PREFILTER)
  const literals: usize = cb(LITERALS)
  for (;;) {
    let cell: i32 = 0
    const starts: usize = load<i32>(row - ROW_STARTS)
    if (starts != 0) {
      // No live thread before this position: a plain cell leads to another state of this kind.
      for (;;) {
        if (prefilter != 0) {
          const candidate = skip(prefilter, bias + pos, bias + end) - bias
          if (candidate > pos) {
            const context = contextAt(<i32>load<i32>(row - ROW_CONTEXT), bias, pos, candidate)
            pos = candidate
            const synced: usize = load<i32>(starts + (<usize>context << 2))
            if (synced == 0) {
              store<i32>(POS, pos)
              store<i32>(ROW, <i32>row)
              store<i32>(DETAIL, context)
              return EXIT_START
            }
            row = synced
            // The last bytes may be the beginning of a marker: then no more are skipped.
            if (load<i32>(row - ROW_STARTS) == 0) {
              cell = 0
              break
            }
          }
          if (literals != 0) {
            const taken = takeLiteral(literals, bias, pos, end)
            if (taken > 0) {
              pos += taken
              continue
            }
            if (taken < 0) {
              store<i32>(POS, pos)
              store<i32>(ROW, <i32>row)
              return EXIT_SPINE_FULL
            }
          }
        }
        if (pos >= end) break
        cell = cellAt(row, classMap, bias + pos)
        if (cell < 0) break
        row = cell
        pos++
      }
      if (pos >= end) break
      if (cell >= 0) continue
    } else {
      let limit = cb(CHECK_AT)
      if (limit > end) limit = end
      while (pos < limit) {
        const before = row
        let stop = pos + ACCEL_AFTER
        if (stop > limit) stop = limit
        while (pos < stop) {
          cell = cellAt(row, classMap, bias + pos)
          if (cell < 0) break
          row = cell
          pos++
        }
        if (cell < 0) break
        if (row == before) {
          const accel = load<i32>(row - ROW_ACCEL)
          if (accel == 0) {
            store<i32>(POS, pos)
            store<i32>(ROW, <i32>row)
            return EXIT_ACCEL
          }
          if (accel > 0) pos = skip(accel, bias + pos, bias + limit) - bias
        }
      }
      if (pos >= end) break
      if (pos >= limit) {
        // The quick bound is used up: how much is really held?
        let slack = cb(LIMIT) - heldAtMost(row, pos)
        if (slack <= 0) slack = cb(LIMIT) - held(row, pos)
        if (slack > 0) {
          store<i32>(CHECK_AT, pos + slack)
          continue
        }
        cell = cellAt(row, classMap, bias + pos)
        if (cell >= 0) {
          if (held(cell, pos + 1) > cb(LIMIT)) {
            store<i32>(POS, pos)
            store<i32>(ROW, <i32>row)
            return EXIT_LIMIT
          }
          row = cell
          pos++
          continue
        }
      }
    }
    if (cell != -1) {
      const record: usize = ~cell
      const shape = (load<i32>(record, 4) >> SHAPE_SHIFT) & SHAPE_MASK
      if (shape == SHAPE_ENTER) {
        const groups: usize = cb(GROUPS)
        store<i32>(groups, pos)
        store<i32>(groups, cb(EDGE_COUNT), 4)
        store<i32>(groups, cb(SKIPPED), 8)
        store<i32>(groups, load<i32>(record, 16), 12)
        store<i32>(GROUP_COUNT, 1)
        store<i32>(CHECK_AT, pos + cb(LIMIT))
        row = load<i32>(record)
        pos++
        continue
      }
      if (shape == SHAPE_LEAVE) {
        store<i32>(GROUP_COUNT, 0)
        row = load<i32>(record)
        pos++
        continue
      }
      if (shape == SHAPE_TAKE && cb(EDGE_COUNT) - cb(EDGE_BASE) + MAX_NEW_EDGES <= cb(EDGE_CAPACITY)) {
        const group = <usize>cb(GROUPS) + <usize>load<i32>(record, 12) * GROUP_BYTES
        const flags = load<i32>(record, 24)
        const start = load<i32>(group)
        const stop = pos + 1 - load<i32>(record, 20)
        const depth = load<i32>(group, 4)
        const edge = edgeAddress(depth)
        store<i32>(edge, start)
        store<i32>(edge, stop, 4)
        store<i32>(edge, load<i32>(record, 16), 8)
        store<i32>(edge, flags | (load<i32>(group, 12) << 8), 12)
        store<i32>(EDGE_COUNT, depth + 1)
        const skipped = load<i32>(group, 8)
        store<i32>(SKIPPED, (flags & FLAG_NEEDS_TEXT) == 0 ? skipped + stop - start : skipped)
        store<i32>(GROUP_COUNT, 0)
        row = load<i32>(record)
        pos++
        continue
      }
      if (shape >= SHAPE_PUSH) {
        const slides = shape >= SHAPE_SLIDE_PUSH
        const pushes = shape == SHAPE_PUSH || shape == SHAPE_SLIDE_PUSH
        let groups: usize = cb(GROUPS)
        if (slides) groups += <usize>load<i32>(record + (pushes ? 28 : 16)) * GROUP_BYTES
        const bound = pos + 1 - load<i32>(groups) + cb(EDGE_COUNT) - load<i32>(groups, 4)
        const limit = cb(LIMIT)
        if (bound <= limit) {
          const count = load<i32>(record + (pushes ? 24 : 12))
          if (slides) groups = slideTo(groups, pushes ? count - 1 : count)
          if (pushes) {
            const group = groups + <usize>(count - 1) * GROUP_BYTES
            store<i32>(group, pos + 1 - load<i32>(record, 12))
            store<i32>(group, cb(EDGE_COUNT), 4)
            store<i32>(group, cb(SKIPPED), 8)
            store<i32>(group, load<i32>(record, 16), 12)
          }
          store<i32>(GROUP_COUNT, count)
          store<i32>(CHECK_AT, pos + 1 + (limit - bound))
          row = load<i32>(record)
          pos++
          continue
        }
      }
    }
    store<i32>(POS, pos)
    store<i32>(ROW, <i32>row)
    if (cell == -1 || (load<i32>(~cell + 4) & DECIDE_FLAG) != 0) {
      store<i32>(DETAIL, <i32>load<u8>(classMap + <usize>load<u8>(bias + pos)))
      return cell == -1 ? EXIT_UNKNOWN : EXIT_DECIDE
    }
    const exit = apply(~cell, pos + 1, 1)
    if (exit != EXIT_DONE) return exit
    pos++
    row = cb(ROW)
  }
  store<i32>(POS, pos)
  store<i32>(ROW, <i32>row)
  store<i32>(HELD, heldOrBound())
  settle()
  return EXIT_DONE
}

/** Lets the groups begin at an address, where `count` of them live on; returns where they are then. */
// @ts-ignore: decorator
@inline
function slideTo(groups: usize, count: i32): usize {
  if (groups > <usize>cb(GROUPS_LAST)) {
    const first: usize = cb(GROUPS_FIRST)
    copyEntries(first, groups, count)
    groups = first
  }
  store<i32>(GROUPS, <i32>groups)
  return groups
}

/**
 * What a place without live threads comes to when only literals can begin there: takes the match of the earliest rule,
 * and returns its length; 1 when nothing begins there; 0 when the automaton has to decide; -1 when the spine is full.
 */
function takeLiteral(literals: usize, bias: i32, pos: i32, end: i32): i32 {
  if (end - pos < 4) return 0
  const place: usize = bias + pos
  const hash = (load<i32>(place) * <i32>0x9e3779b1) >>> load<i32>(literals)
  let entry: usize = load<i32>(literals + 4 + (<usize>hash << 2))
  if (entry <= 1) return entry == 0 ? 1 : 0
  // In order of rules: next entry, rule, length, flags of the match, text.
  while (entry != 0) {
    const length = load<i32>(entry, 8)
    if (length > end - pos) return 0
    if (isText(entry + 16, place, length)) {
      const count = cb(EDGE_COUNT)
      if (count - cb(EDGE_BASE) + MAX_NEW_EDGES > cb(EDGE_CAPACITY)) return -1
      const flags = load<i32>(entry, 12)
      const edge = edgeAddress(count)
      store<i32>(edge, pos)
      store<i32>(edge, pos + length, 4)
      store<i32>(edge, load<i32>(entry, 4), 8)
      store<i32>(edge, flags, 12)
      store<i32>(EDGE_COUNT, count + 1)
      if ((flags & FLAG_NEEDS_TEXT) == 0) store<i32>(SKIPPED, cb(SKIPPED) + length)
      return length
    }
    entry = load<i32>(entry)
  }
  return 1
}

/** Whether `length` bytes, at least four, are the same in two places. */
// @ts-ignore: decorator
@inline
function isText(text: usize, place: usize, length: i32): bool {
  const last = <usize>length - 4
  let at: usize = 0
  while (at + 12 <= last) {
    if (v128.any_true(v128.xor(v128.load(text + at), v128.load(place + at)))) return false
    at += 16
  }
  while (at < last && load<u32>(text + at) == load<u32>(place + at)) at += 4
  return at >= last && load<u32>(text + last) == load<u32>(place + last)
}

/** The context at `candidate`, from the bytes before it as far as they matter. */
function contextAt(context: i32, bias: i32, pos: i32, candidate: i32): i32 {
  const depth = cb(CONTEXT_DEPTH)
  if (depth == 0) return context
  const next: usize = cb(CONTEXT_NEXT)
  let p = candidate - depth
  if (p <= pos) p = pos
  else context = <i32>load<u16>(<usize>cb(CONTEXT_RESTING) + (<usize>context << 1))
  while (p < candidate) {
    context = <i32>load<u16>(next + (((<usize>context << 8) + <usize>load<u8>(bias + p)) << 1))
    p++
  }
  return context
}

/** Held bytes (and pending matches) in the state of `row` at `pos`; exact, see `State.firstTextGroup`. */
function held(row: usize, pos: i32): i32 {
  return heldWith(row, pos, cb(GROUPS), load<i32>(row - ROW_GROUPS), cb(EDGE_COUNT), cb(SKIPPED), 0, 0)
}

function heldWith(
  row: usize,
  pos: i32,
  groups: usize,
  groupCount: i32,
  edgeCount: i32,
  skipped: i32,
  scratchBase: i32,
  scratchEdges: usize,
): i32 {
  if (groupCount == 0) return 0
  const firstPos = load<i32>(groups)
  const firstDepth = load<i32>(groups + 4)
  const firstSkipped = load<i32>(groups + 8)
  let text = load<i32>(row - ROW_FIRST_TEXT_GROUP)
  if (text == TEXT_GROUP_UNKNOWN) text = textGroupOf(<i32>row)
  let bytes: i32
  if (text >= 0) {
    const group = groups + <usize>text * GROUP_BYTES
    bytes = load<i32>(group) - load<i32>(group + 8) - (firstPos - firstSkipped) + (pos - load<i32>(group))
  } else {
    bytes = pos - skipped - (firstPos - firstSkipped)
  }
  if (text < 0 && load<i32>(row - ROW_LAST_BYTE) != 0) {
    // It counts already unless the spine covers it with a match whose text nobody needs.
    for (let e = edgeCount - 1; e >= firstDepth; e--) {
      const edge: usize =
        scratchEdges != 0 && e >= scratchBase ? scratchEdges + <usize>(e - scratchBase) * EDGE_BYTES : edgeAddress(e)
      if (load<i32>(edge) == pos) continue
      if (load<i32>(edge, 4) == pos && (load<i32>(edge, 12) & FLAG_NEEDS_TEXT) == 0) bytes++
      break
    }
  }
  // Bytes before the first place that is still open are copied in every continuation.
  bytes -= barrierWith(row, pos, groups, groupCount, edgeCount, scratchBase, scratchEdges) - firstPos
  return cb(LIMIT_HELD_ONLY) != 0 ? bytes : bytes + (edgeCount - firstDepth)
}

/** First position whose treatment is still open. */
function barrierWith(
  row: usize,
  pos: i32,
  groups: usize,
  groupCount: i32,
  edgeCount: i32,
  scratchBase: i32,
  scratchEdges: usize,
): i32 {
  if (groupCount == 0) return pos
  const firstRule = load<i32>(row - ROW_FIRST_RULE_GROUP)
  if (firstRule == 0) return load<i32>(groups)
  const depth = load<i32>(groups + 4)
  if (edgeCount > depth) {
    return scratchEdges != 0 && depth >= scratchBase
      ? load<i32>(scratchEdges + <usize>(depth - scratchBase) * EDGE_BYTES)
      : load<i32>(edgeAddress(depth))
  }
  return firstRule < groupCount ? load<i32>(groups + <usize>firstRule * GROUP_BYTES) : pos
}

// @ts-ignore: decorator
@inline
function edgeAddress(index: i32): usize {
  return <usize>cb(EDGES) + <usize>(index - cb(EDGE_BASE)) * EDGE_BYTES
}

/** `heldBytes`, or where that takes a look at what can follow, the complement of a number that is no less. */
function heldOrBound(): i32 {
  const row: usize = cb(ROW)
  return mayLookAhead(row) ? ~bytesFromBarrier(row, cb(POS)) : heldBytes()
}

/** Whether `held` would have to look at all that can follow. */
function mayLookAhead(row: usize): bool {
  return load<i32>(row - ROW_GROUPS) != 0 && load<i32>(row - ROW_FIRST_TEXT_GROUP) == TEXT_GROUP_UNKNOWN
}

/** No less than `held`, without a look at what can follow. */
function heldAtMost(row: usize, pos: i32): i32 {
  if (!mayLookAhead(row)) return held(row, pos)
  const bytes = bytesFromBarrier(row, pos)
  return cb(LIMIT_HELD_ONLY) != 0 ? bytes : bytes + (cb(EDGE_COUNT) - load<i32>(cb(GROUPS), 4))
}

/** All bytes whose treatment is open, whether or not somebody needs them. */
function bytesFromBarrier(row: usize, pos: i32): i32 {
  return pos - barrierWith(row, pos, cb(GROUPS), load<i32>(row - ROW_GROUPS), cb(EDGE_COUNT), 0, 0)
}

/** `heldBytes` alone, for the host. */
export function heldBytes(): i32 {
  const only = cb(LIMIT_HELD_ONLY)
  store<i32>(LIMIT_HELD_ONLY, 1)
  const bytes = held(cb(ROW), cb(POS))
  store<i32>(LIMIT_HELD_ONLY, only)
  return bytes
}

/**
 * Applies a record. With `checked`, nothing happens and `EXIT_LIMIT` is returned when more would be held afterwards
 * than the limit allows.
 */
export function apply(record: usize, newPos: i32, checked: i32): i32 {
  const target: usize = load<i32>(record)
  const length = load<i32>(record + 4) & LENGTH_MASK
  const ops = record + 8
  const groups: usize = cb(GROUPS)
  const edgeCapacity = cb(EDGE_CAPACITY)
  let edgeCount = cb(EDGE_COUNT)
  if (edgeCount - cb(EDGE_BASE) + MAX_NEW_EDGES > edgeCapacity) return EXIT_SPINE_FULL
  let skipped = cb(SKIPPED)
  let created = cb(GROUP_COUNT)
  const scratch: usize = cb(SCRATCH)
  const newEdges: usize = cb(NEW_EDGES)
  // The spine after this step: old entries below `base`, then those in `newEdges`.
  let base = edgeCount
  let groupCount = 0
  for (let i = 0; i < length; ) {
    const op = load<i32>(ops + (<usize>i << 2))
    const a = load<i32>(ops + (<usize>i << 2), 4)
    const b = load<i32>(ops + (<usize>i << 2), 8)
    if (op == OP_GROUP) {
      const group = groups + <usize>created * GROUP_BYTES
      store<i32>(group, newPos - a)
      store<i32>(group, edgeCount, 4)
      store<i32>(group, skipped, 8)
      store<i32>(group, b, 12)
      created++
      i += 3
    } else if (op == OP_MATCH) {
      const group = groups + <usize>a * GROUP_BYTES
      const back = load<i32>(ops + (<usize>i << 2), 12)
      const flags = load<i32>(ops + (<usize>i << 2), 16)
      edgeCount = load<i32>(group + 4)
      if (edgeCount < base) base = edgeCount
      const edge = newEdges + <usize>(edgeCount - base) * EDGE_BYTES
      const start = load<i32>(group)
      store<i32>(edge, start)
      store<i32>(edge, newPos - back, 4)
      store<i32>(edge, b, 8)
      store<i32>(edge, flags | (load<i32>(group + 12) << 8), 12)
      edgeCount++
      skipped = load<i32>(group + 8)
      if ((flags & FLAG_NEEDS_TEXT) == 0) skipped += newPos - back - start
      i += 5
    } else if (op == OP_EMPTY) {
      const edge = newEdges + <usize>(edgeCount - base) * EDGE_BYTES
      store<i32>(edge, newPos - b)
      store<i32>(edge, newPos - b, 4)
      store<i32>(edge, a, 8)
      // The kind of the byte before comes with the flags of an empty match.
      store<i32>(edge, load<i32>(ops + (<usize>i << 2), 12), 12)
      edgeCount++
      i += 4
    } else if (op == OP_COPY) {
      const group = groups + <usize>a * GROUP_BYTES
      edgeCount = load<i32>(group + 4)
      if (edgeCount < base) base = edgeCount
      skipped = load<i32>(group + 8)
      i += 2
    } else {
      groupCount = a
      for (let g = 0; g < groupCount; g++) {
        const source = groups + <usize>load<i32>(ops + (<usize>(i + 2 + g) << 2)) * GROUP_BYTES
        v128.store(scratch + <usize>g * GROUP_BYTES, v128.load(source))
      }
      break
    }
  }
  if (length == 0) {
    groupCount = created
    copyEntries(scratch, groups, groupCount)
  }
  const limit = cb(LIMIT)
  let checkAt: i32 = i32.MAX_VALUE
  if (groupCount > 0) {
    // Held bytes are at most what was read since the first node; exact only when that is not enough.
    let bound = newPos - load<i32>(scratch) + (edgeCount - load<i32>(scratch + 4))
    if (bound > limit && checked != 0) {
      bound = heldWith(target, newPos, scratch, groupCount, edgeCount, skipped, base, newEdges)
      if (bound > limit) return EXIT_LIMIT
    }
    checkAt = newPos + (limit - bound)
  }
  const counters: usize = cb(COUNTERS)
  if (counters != 0) {
    for (let e = base; e < cb(EDGE_COUNT); e++) {
      const counter = counters + (<usize>load<i32>(edgeAddress(e), 8) << 2)
      store<i32>(counter, load<i32>(counter) - 1)
    }
    for (let e = 0; e < edgeCount - base; e++) {
      const counter = counters + (<usize>load<i32>(newEdges + <usize>e * EDGE_BYTES, 8) << 2)
      store<i32>(counter, load<i32>(counter) + 1)
    }
  }
  if (edgeCount > base) copyEntries(edgeAddress(base), newEdges, edgeCount - base)
  copyEntries(groups, scratch, groupCount)
  store<i32>(EDGE_COUNT, edgeCount)
  store<i32>(GROUP_COUNT, groupCount)
  store<i32>(SKIPPED, skipped)
  store<i32>(ROW, <i32>target)
  store<i32>(POS, newPos)
  store<i32>(CHECK_AT, checkAt)
  return EXIT_DONE
}

/** Groups and spine entries are 16 bytes each; a call to `memory.copy` costs more than a few of them. */
function copyEntries(to: usize, from: usize, count: i32): void {
  for (let i = 0; i < count; i++) v128.store(to + (<usize>i << 4), v128.load(from + (<usize>i << 4)))
}

/** Texts up to this size are copied in line, up to 15 bytes too far. */
const MAX_INLINE_COPY: i32 = 256

/** Copies text into the output, whose end has room to spare. */
// @ts-ignore: decorator
@inline
function copyOut(to: usize, from: usize, count: i32): void {
  if (count > MAX_INLINE_COPY) {
    memory.copy(to, from, count)
    return
  }
  for (let i = 0; i < count; i += 16) v128.store(to + <usize>i, v128.load(from + <usize>i))
}

/**
 * Reads bytes with the threads themselves: for states that are worth no row, since hardly one is met twice. Costs a few
 * nanoseconds per thread and byte. Only for rule sets without assertions, limits and empty matches, with the first
 * match winning. Exits at the end of the piece, when no thread is live (`EXIT_IDLE`), and before a byte that may hold too
 * much (`EXIT_LIMIT`): the host then steps in its own way. To come here and back costs as much as some hundred bytes, so
 * the first places where no thread is live are passed.
 */
export function simulate(): i32 {
  const end = cb(END)
  const bias = cb(BIAS)
  const classMap: usize = cb(CLASS_MAP)
  const groups: usize = cb(GROUPS)
  const starts: usize = cb(SIM_STARTS)
  const flagsOf: usize = cb(SIM_FLAGS)
  const program: usize = cb(SIM_PROGRAM)
  const operands: usize = cb(SIM_OPERANDS)
  const visited: usize = cb(SIM_VISITED)
  const limit = cb(LIMIT)
  let threads: usize = cb(SIM_THREADS)
  let others: usize = cb(SIM_NEXT_THREADS)
  let count = cb(SIM_COUNT)
  let groupCount = cb(GROUP_COUNT)
  let pos = cb(POS)
  const idleFrom = pos + SIMULATED_AT_LEAST
  let exit = EXIT_DONE
  while (pos < end) {
    if (cb(EDGE_COUNT) - cb(EDGE_BASE) + MAX_NEW_EDGES > cb(EDGE_CAPACITY)) {
      exit = EXIT_SPINE_FULL
      break
    }
    const byte = <i32>load<u8>(bias + pos)
    const step = cb(SIM_STEP) + 1
    store<i32>(SIM_STEP, step)
    let to = others
    let rule = -1
    let winner = -1
    for (let i = 0; i < count; i++) {
      const thread = threads + (<usize>i << 3)
      const target = targetOf(program, operands, load<i32>(thread), byte)
      if (target < 0) continue
      const group = load<i32>(thread, 4)
      if (load<i32>(program + (<usize>target << 4)) <= SIM_ARCS) {
        const mark = visited + (<usize>target << 2)
        if (load<i32>(mark) == step) continue
        store<i32>(mark, step)
        store<i32>(to, target)
        store<i32>(to, group, 4)
        to += 8
        continue
      }
      to = reachFrom(target, group, to)
      rule = cb(DETAIL)
      if (rule >= 0) {
        winner = group
        break
      }
    }
    if (winner < 0) {
      const list = starts + (<usize>load<u8>(classMap + <usize>byte) << 3)
      const first: usize = load<i32>(list)
      for (let i = 0; i < load<i32>(list, 4); i++) {
        to = reachFrom(targetOf(program, operands, load<i32>(first + (<usize>i << 2)), byte), groupCount, to)
        rule = cb(DETAIL)
        if (rule >= 0) {
          winner = groupCount
          break
        }
      }
      const begun = groups + <usize>groupCount * GROUP_BYTES
      store<i32>(begun, pos)
      store<i32>(begun, cb(EDGE_COUNT), 4)
      store<i32>(begun, cb(SKIPPED), 8)
      store<i32>(begun, 0, 12)
    }
    const won = groups + <usize>winner * GROUP_BYTES
    if (to != others) {
      const first = groups + <usize>load<i32>(others, 4) * GROUP_BYTES
      const edges = winner < 0 ? cb(EDGE_COUNT) : load<i32>(won, 4) + 1
      if (pos + 1 - load<i32>(first) + edges - load<i32>(first, 4) > limit) {
        exit = EXIT_LIMIT
        break
      }
    }
    pos++
    if (winner >= 0) {
      const start = load<i32>(won)
      const depth = load<i32>(won, 4)
      const flags = load<i32>(flagsOf + (<usize>rule << 2))
      const edge = edgeAddress(depth)
      store<i32>(edge, start)
      store<i32>(edge, pos, 4)
      store<i32>(edge, rule, 8)
      store<i32>(edge, flags | (load<i32>(won, 12) << 8), 12)
      store<i32>(EDGE_COUNT, depth + 1)
      const skipped = load<i32>(won, 8)
      store<i32>(SKIPPED, (flags & FLAG_NEEDS_TEXT) == 0 ? skipped + pos - start : skipped)
    }
    // Groups without a thread go; those that stay keep their order.
    let kept = 0
    let last = -1
    for (let thread = others; thread < to; thread += 8) {
      const group = load<i32>(thread, 4)
      if (group != last) {
        last = group
        if (group != kept) {
          v128.store(groups + <usize>kept * GROUP_BYTES, v128.load(groups + <usize>group * GROUP_BYTES))
        }
        kept++
      }
      store<i32>(thread, kept - 1, 4)
    }
    groupCount = kept
    count = <i32>(to - others) >> 3
    const swapped = threads
    threads = others
    others = swapped
    if (count == 0 && pos >= idleFrom) {
      exit = EXIT_IDLE
      break
    }
  }
  store<i32>(POS, pos)
  store<i32>(SIM_THREADS, <i32>threads)
  store<i32>(SIM_NEXT_THREADS, <i32>others)
  store<i32>(SIM_COUNT, count)
  store<i32>(GROUP_COUNT, groupCount)
  return exit
}

/** Where a consuming instruction goes on a byte, or -1. */
// @ts-ignore: decorator
@inline
function targetOf(program: usize, operands: usize, pc: i32, byte: i32): i32 {
  const instruction = program + (<usize>pc << 4)
  if (load<i32>(instruction) == SIM_RANGE) {
    return byte >= load<i32>(instruction, 4) && byte <= load<i32>(instruction, 8) ? load<i32>(instruction, 12) : -1
  }
  let arc = operands + (<usize>load<i32>(instruction, 4) << 2)
  for (let left = load<i32>(instruction, 8); left > 0; left--) {
    if (byte >= load<i32>(arc) && byte <= load<i32>(arc, 4)) return load<i32>(arc, 8)
    arc += 12
  }
  return -1
}

/**
 * Puts the consuming instructions that are reached from one on the list that ends at `to`, but those that a thread before
 * has reached; returns its new end. The detail word is the rule whose end is reached, -1 for none.
 */
function reachFrom(entry: i32, group: i32, to: usize): usize {
  const program: usize = cb(SIM_PROGRAM)
  const visited: usize = cb(SIM_VISITED)
  const operands: usize = cb(SIM_OPERANDS)
  const step = cb(SIM_STEP)
  const stack: usize = cb(SIM_STACK)
  let top = stack
  let pc = entry
  let isMore = true
  store<i32>(DETAIL, -1)
  while (isMore) {
    const mark = visited + (<usize>pc << 2)
    const instruction = program + (<usize>pc << 4)
    const kind = load<i32>(instruction)
    if (kind == SIM_MATCH) {
      store<i32>(DETAIL, load<i32>(instruction, 4))
      return to
    }
    if (load<i32>(mark) != step) {
      store<i32>(mark, step)
      if (kind == SIM_SPLIT) {
        const next = operands + (<usize>load<i32>(instruction, 4) << 2)
        for (let i = load<i32>(instruction, 8) - 1; i >= 0; i--) {
          store<i32>(top, load<i32>(next + (<usize>i << 2)))
          top += 4
        }
      } else {
        store<i32>(to, pc)
        store<i32>(to, group, 4)
        to += 8
      }
    }
    isMore = top != stack
    if (isMore) {
      top -= 4
      pc = load<i32>(top)
    }
  }
  return to
}

/** Works out what is settled now; to be called before `drain`. */
export function settle(): void {
  const row: usize = cb(ROW)
  const groups: usize = cb(GROUPS)
  const groupCount = cb(GROUP_COUNT)
  store<i32>(SETTLED, groupCount == 0 ? cb(EDGE_COUNT) : load<i32>(groups + 4))
  store<i32>(BARRIER, barrierWith(row, cb(POS), groups, groupCount, cb(EDGE_COUNT), 0, 0))
}

/**
 * Emits what is settled: the bytes between matches, and replacements that are fixed. Exits when the output is full,
 * when the host has to make a replacement (`EXIT_REPLACE`) or has to bring text that is not in the window
 * (`EXIT_TEXT`: from the emitted position up to `DETAIL`).
 */
export function drain(): i32 {
  const bias = cb(BIAS)
  const out: usize = cb(OUT)
  const capacity = cb(OUT_CAPACITY)
  const windowStart = cb(WINDOW_START)
  const settled = cb(SETTLED)
  const replacements: usize = cb(REPLACEMENTS)
  const hits: usize = cb(HITS)
  let length = cb(OUT_LENGTH)
  let emitted = cb(EMITTED)
  let head = cb(EDGE_HEAD)
  let exit = EXIT_DONE
  for (;;) {
    const edge = edgeAddress(head)
    const last = head >= settled
    let upTo = last ? cb(BARRIER) : load<i32>(edge)
    const keeps = !last && (load<i32>(edge, 12) & FLAG_KEEPS_TEXT) != 0
    if (keeps) upTo = load<i32>(edge, 4)
    if (upTo > emitted) {
      if (emitted < windowStart) {
        store<i32>(DETAIL, upTo < windowStart ? upTo : windowStart)
        exit = EXIT_TEXT
        break
      }
      let count = upTo - emitted
      if (count > capacity - length) count = capacity - length
      copyOut(out + length, bias + emitted, count)
      length += count
      emitted += count
      if (emitted < upTo) {
        exit = EXIT_OUT_FULL
        break
      }
    }
    if (last) break
    if (!keeps) {
      const rule = load<i32>(edge, 8)
      let size = load<i32>(replacements + (<usize>rule << 3), 4)
      if (size == -2) {
        size = follow(load<i32>(replacements + (<usize>rule << 3)), edge, length)
        if (size >= 0) {
          length += size
          const hit = hits + (<usize>rule << 2)
          store<i32>(hit, load<i32>(hit) + 1)
          emitted = load<i32>(edge, 4)
          head++
          continue
        }
      }
      if (size < 0) {
        exit = EXIT_REPLACE
        break
      }
      if (size > capacity - length) {
        exit = EXIT_OUT_FULL
        break
      }
      copyOut(out + length, load<i32>(replacements + (<usize>rule << 3)), size)
      length += size
      const hit = hits + (<usize>rule << 2)
      store<i32>(hit, load<i32>(hit) + 1)
      emitted = load<i32>(edge, 4)
    }
    head++
  }
  store<i32>(OUT_LENGTH, length)
  store<i32>(EMITTED, emitted)
  store<i32>(EDGE_HEAD, head)
  return exit
}

/**
 * Writes what a recipe makes of a match into the output and returns its length; -1 when there is no room for it or the
 * text is not in the window.
 */
function follow(recipe: usize, edge: usize, length: i32): i32 {
  const start = load<i32>(edge)
  const end = load<i32>(edge, 4)
  if (start < cb(WINDOW_START)) return -1
  const bias = cb(BIAS)
  const out: usize = cb(OUT)
  const capacity = cb(OUT_CAPACITY)
  const pieces = load<i32>(recipe)
  let written = length
  let piece = recipe + 4
  for (let i = 0; i < pieces; i++) {
    const flags = load<i32>(piece)
    let from = load<i32>(piece, 4)
    let size = load<i32>(piece, 8)
    if ((flags & PIECE_SLICE) != 0) {
      from = (flags & PIECE_BEGIN_FROM_END) != 0 ? end - from : start + from
      size = ((flags & PIECE_END_FROM_END) != 0 ? end - size : start + size) - from
      from += bias
    }
    if (size > capacity - written) return -1
    copyOut(out + written, from, size)
    written += size
    piece += PIECE_BYTES
  }
  return written - length
}

/**
 * Address of the first place in [from, to) where a rule may begin, or `to`. A prefilter block (prefilter.ts): at 0 the
 * kind, at 4 the bytes that have to be there, at 8 numbers, at 32 a flag per first byte, at 288 tables.
 */
function skip(prefilter: usize, from: i32, to: i32): i32 {
  let p = from
  const kind = load<i32>(prefilter)
  if (kind == 1) {
    const low = v128.load(prefilter, 288)
    const high = v128.load(prefilter, 304)
    const bits = v128.load(prefilter, 320)
    const keep = i8x16.splat(<i8>0x8f)
    const flip = i8x16.splat(<i8>0x80)
    const seven = i8x16.splat(7)
    while (p + 16 <= to) {
      const text = v128.load(p)
      const sets = v128.or(
        i8x16.swizzle(low, v128.and(text, keep)),
        i8x16.swizzle(high, v128.and(v128.xor(text, flip), keep)),
      )
      const hit = v128.and(sets, i8x16.swizzle(bits, v128.and(i8x16.shr_u(text, 4), seven)))
      if (v128.any_true(hit)) return p + ctz<i32>(i8x16.bitmask(i8x16.ne(hit, i8x16.splat(0))))
      p += 16
    }
  } else if (kind == 2) {
    const stride = load<i32>(prefilter, 28)
    const byTwo = load<i32>(prefilter, 24) == 2
    // Matches often stand close to each other: a stride that ends in sight of its start costs more than it saves.
    let sight = FIRST_SIGHT_BYTES
    for (;;) {
      const near = stride == 0 || to - p < sight + STRIDE_NEEDS ? to : p + sight
      p = byTwo ? skipByTwo(prefilter, p, near, to) : skipByFour(prefilter, p, near, to)
      if (p < 0) return ~p
      if (near == to) break
      p = skipByStride(prefilter, prefilter + <usize>stride, p, to)
      sight = SIGHT_BYTES
    }
  } else {
    const last = to - load<i32>(prefilter, 4)
    const gramAt = load<i32>(prefilter, 8)
    const mask = load<i32>(prefilter, 12)
    const bits = load<i32>(prefilter, 16)
    const heads = prefilter + 288
    const table = heads + 65536
    // Most grams allow the longest move: where the next one would end is looked up beside it.
    const most = load<i32>(prefilter, 20)
    while (p <= last - most) {
      const gram = load<i32>(p + gramAt) & mask
      const after = load<i32>(p + most + gramAt) & mask
      const shift = <i32>load<u8>(table + <usize>((gram * <i32>0x9e3779b1) >>> bits))
      const next = <i32>load<u8>(table + <usize>((after * <i32>0x9e3779b1) >>> bits))
      if (shift == most) {
        p += most + next
        if (next != 0) continue
      } else if (shift != 0) {
        p += shift
        continue
      }
      if (load<u8>(heads + <usize>((load<i32>(p) * <i32>0x9e3779b1) >>> 16)) != 0) return p
      p++
    }
    while (p <= last) {
      const gram = load<i32>(p + gramAt) & mask
      const shift = <i32>load<u8>(table + <usize>((gram * <i32>0x9e3779b1) >>> bits))
      if (shift != 0) {
        p += shift
        continue
      }
      if (load<u8>(heads + <usize>((load<i32>(p) * <i32>0x9e3779b1) >>> 16)) != 0) return p
      p++
    }
  }
  while (p < to && load<u8>(prefilter + 32 + <usize>load<u8>(p)) == 0) p++
  return p
}

/** Where a vector of hits is looked at byte by byte, and the beginnings that a hit may be of; offsets in the block. */
const HITS_AT: usize = 416
const BUCKETS_AT: usize = 432

/** Buckets, as bits, in whose fingerprints the sixteen bytes have a place. */
// @ts-ignore: decorator
@inline
function lookUp(low: v128, high: v128, text: v128): v128 {
  const nibble = i8x16.splat(0x0f)
  return v128.and(
    i8x16.swizzle(low, v128.and(text, nibble)),
    i8x16.swizzle(high, v128.and(i16x8.shr_u(text, 4), nibble)),
  )
}

/** Bytes that are looked at place by place before the first stride, and after one that found a beginning. */
const FIRST_SIGHT_BYTES: i32 = 512
/** More than the step of the stride that found it and the bytes before that at which it may begin. */
const SIGHT_BYTES: i32 = 192
const STRIDE_BYTES: i32 = 128
/** A beginning that a step finds is compared as a whole. */
const STRIDE_NEEDS: i32 = 144
/** In the block of a stride: per bucket, where its grams are and how many. */
const GRAMS_AT: usize = 272

/**
 * The complement of the first place where a beginning may stand; or where the search has to go on: a place from `near`
 * on, or where fewer bytes are left than have to be there.
 */
function skipByTwo(prefilter: usize, from: i32, near: i32, to: i32): i32 {
  let p = from
  const low0 = v128.load(prefilter, 288)
  const high0 = v128.load(prefilter, 304)
  const low1 = v128.load(prefilter, 320)
  const high1 = v128.load(prefilter, 336)
  const at0 = load<i32>(prefilter, 8)
  const at1 = load<i32>(prefilter, 12)
  const last = min(near - 1, to - load<i32>(prefilter, 4))
  while (p <= last - 16) {
    const hit0 = v128.and(lookUp(low0, high0, v128.load(p + at0)), lookUp(low1, high1, v128.load(p + at1)))
    const hit1 = v128.and(lookUp(low0, high0, v128.load(p + at0, 16)), lookUp(low1, high1, v128.load(p + at1, 16)))
    if (v128.any_true(v128.or(hit0, hit1))) {
      let place = confirm(prefilter, p, hit0)
      if (place >= 0) return ~place
      place = confirm(prefilter, p + 16, hit1)
      if (place >= 0) return ~place
    }
    p += 32
  }
  while (p <= last) {
    const hit = v128.and(lookUp(low0, high0, v128.load(p + at0)), lookUp(low1, high1, v128.load(p + at1)))
    const place = v128.any_true(hit) ? confirm(prefilter, p, hit) : -1
    if (place >= 0) return ~place
    p += 16
  }
  return p
}

function skipByFour(prefilter: usize, from: i32, near: i32, to: i32): i32 {
  let p = from
  const low0 = v128.load(prefilter, 288)
  const high0 = v128.load(prefilter, 304)
  const low1 = v128.load(prefilter, 320)
  const high1 = v128.load(prefilter, 336)
  const low2 = v128.load(prefilter, 352)
  const high2 = v128.load(prefilter, 368)
  const low3 = v128.load(prefilter, 384)
  const high3 = v128.load(prefilter, 400)
  const at0 = load<i32>(prefilter, 8)
  const at1 = load<i32>(prefilter, 12)
  const at2 = load<i32>(prefilter, 16)
  const at3 = load<i32>(prefilter, 20)
  const last = min(near - 1, to - load<i32>(prefilter, 4))
  while (p <= last) {
    const hit = v128.and(
      v128.and(lookUp(low0, high0, v128.load(p + at0)), lookUp(low1, high1, v128.load(p + at1))),
      v128.and(lookUp(low2, high2, v128.load(p + at2)), lookUp(low3, high3, v128.load(p + at3))),
    )
    const place = v128.any_true(hit) ? confirm(prefilter, p, hit) : -1
    if (place >= 0) return ~place
    p += 16
  }
  return p
}

/**
 * Where the search has to go on place by place: no beginning stands in between. Of four places one is looked at, as four
 * bytes from there: each beginning long enough has such a gram at one of them, wherever it begins. At `stride`: how many
 * bytes of a beginning can lie before its gram; then the buckets of the grams, as `lookUp` reads them, and of what follows them.
 */
function skipByStride(prefilter: usize, stride: usize, from: i32, to: i32): i32 {
  const low0 = v128.load(stride, 16)
  const high0 = v128.load(stride, 32)
  const low1 = v128.load(stride, 48)
  const high1 = v128.load(stride, 64)
  const low2 = v128.load(stride, 80)
  const high2 = v128.load(stride, 96)
  const low3 = v128.load(stride, 112)
  const high3 = v128.load(stride, 128)
  let p = from
  const last = to - STRIDE_NEEDS
  while (p <= last) {
    const hit0 = gramsAt(p, low0, high0, low1, high1, low2, high2, low3, high3)
    const hit1 = gramsAt(p + 64, low0, high0, low1, high1, low2, high2, low3, high3)
    if (
      v128.any_true(v128.or(hit0, hit1)) &&
      (confirmGrams(prefilter, stride, p, hit0) || confirmGrams(prefilter, stride, p + 64, hit1))
    ) {
      break
    }
    p += STRIDE_BYTES
  }
  return max(from, p - load<i32>(stride))
}

/** For each fourth of 64 places, the buckets, as bits, that have the four bytes from there. */
// @ts-ignore: decorator
@inline
function gramsAt(
  p: i32,
  low0: v128,
  high0: v128,
  low1: v128,
  high1: v128,
  low2: v128,
  high2: v128,
  low3: v128,
  high3: v128,
): v128 {
  const even = i16x8.splat(0x00ff)
  const text0 = v128.load(p)
  const text1 = v128.load(p, 16)
  const text2 = v128.load(p, 32)
  const text3 = v128.load(p, 48)
  const evens0 = i8x16.narrow_i16x8_u(v128.and(text0, even), v128.and(text1, even))
  const evens1 = i8x16.narrow_i16x8_u(v128.and(text2, even), v128.and(text3, even))
  const odds0 = i8x16.narrow_i16x8_u(i16x8.shr_u(text0, 8), i16x8.shr_u(text1, 8))
  const odds1 = i8x16.narrow_i16x8_u(i16x8.shr_u(text2, 8), i16x8.shr_u(text3, 8))
  return v128.and(
    v128.and(
      lookUp(low0, high0, i8x16.narrow_i16x8_u(v128.and(evens0, even), v128.and(evens1, even))),
      lookUp(low1, high1, i8x16.narrow_i16x8_u(v128.and(odds0, even), v128.and(odds1, even))),
    ),
    v128.and(
      lookUp(low2, high2, i8x16.narrow_i16x8_u(i16x8.shr_u(evens0, 8), i16x8.shr_u(evens1, 8))),
      lookUp(low3, high3, i8x16.narrow_i16x8_u(i16x8.shr_u(odds0, 8), i16x8.shr_u(odds1, 8))),
    ),
  )
}

/** Whether some beginning stands where a gram of its bucket was hit. */
function confirmGrams(prefilter: usize, stride: usize, p: i32, grams: v128): bool {
  if (!v128.any_true(grams)) return false
  const following = gramsAt(
    p + 4,
    v128.load(stride, 144),
    v128.load(stride, 160),
    v128.load(stride, 176),
    v128.load(stride, 192),
    v128.load(stride, 208),
    v128.load(stride, 224),
    v128.load(stride, 240),
    v128.load(stride, 256),
  )
  const hit = v128.and(grams, following)
  if (!v128.any_true(hit)) return false
  let places = i8x16.bitmask(i8x16.ne(hit, i8x16.splat(0)))
  v128.store(prefilter, hit, HITS_AT)
  while (places != 0) {
    const lane = ctz<i32>(places)
    places &= places - 1
    let buckets = <i32>load<u8>(prefilter + <usize>lane, HITS_AT)
    while (buckets != 0) {
      const bucket = stride + (<usize>ctz<i32>(buckets) << 3)
      buckets &= buckets - 1
      // A gram: where the beginning stands, counted from it, and where that is to be found.
      let gram = prefilter + <usize>load<i32>(bucket, GRAMS_AT)
      for (let left = load<i32>(bucket, GRAMS_AT + 4); left > 0; left--) {
        const entry = prefilter + <usize>load<i32>(gram, 4)
        const text = v128.load(p + (lane << 2) - load<i32>(gram))
        if (!v128.any_true(v128.and(v128.xor(text, v128.load(entry)), v128.load(entry, 16)))) return true
        gram += 8
      }
    }
  }
  return false
}

/** The first place from `p` on that was hit and where some beginning of its buckets stands, or -1. */
function confirm(prefilter: usize, p: i32, hit: v128): i32 {
  let places = i8x16.bitmask(i8x16.ne(hit, i8x16.splat(0)))
  v128.store(prefilter, hit, HITS_AT)
  while (places != 0) {
    const place = ctz<i32>(places)
    places &= places - 1
    const text = v128.load(p + place)
    let buckets = <i32>load<u8>(prefilter + <usize>place, HITS_AT)
    while (buckets != 0) {
      const bucket = prefilter + (<usize>ctz<i32>(buckets) << 3)
      buckets &= buckets - 1
      let entry = prefilter + <usize>load<i32>(bucket, BUCKETS_AT)
      for (let left = load<i32>(bucket, BUCKETS_AT + 4); left > 0; left--) {
        // A beginning: sixteen bytes, and the bits of them that it has to have.
        const differs = v128.and(v128.xor(text, v128.load(entry)), v128.load(entry, 16))
        if (!v128.any_true(differs)) return p + place
        entry += 32
      }
    }
  }
  return -1
}

/** The levels of an nginx configuration (http, server, location) and what is inherited from one to the next. */
import type { NginxDirective } from './nginx-syntax.ts'

/** Directives of one level, without those of the levels inside it. */
export interface NginxScope {
  readonly directives: readonly NginxDirective[]
  readonly parent: NginxScope | undefined
}

/**
 * The directives of that name that are in force: all of the nearest level that has any. nginx merges lists like
 * `proxy_set_header` and `sub_filter` so, too: one of them at a level, and none from outside holds there.
 */
export function inForce(scope: NginxScope, name: string): readonly NginxDirective[] {
  for (let level: NginxScope | undefined = scope; level !== undefined; level = level.parent) {
    const own = level.directives.filter((directive) => directive.name === name)
    if (own.length > 0) return own
  }
  return []
}

/** The one of that name that is in force; where it stands twice, nginx would have refused the file. */
export function oneInForce(scope: NginxScope, name: string): NginxDirective | undefined {
  return inForce(scope, name).at(-1)
}

/** A directive of the level itself: `proxy_pass` and `return` are not inherited. */
export function ownDirective(scope: NginxScope, name: string): NginxDirective | undefined {
  return scope.directives.find((directive) => directive.name === name)
}

/** What the import tells of a directive. */
export interface NginxNote {
  /**
   * `missing`: it is not carried over. `differs`: it is, and may behave otherwise in some cases. `needless`: prexy has
   * nothing for it and behaves as it says, or it is about the process that nginx was.
   */
  readonly kind: 'missing' | 'differs' | 'needless'
  readonly file: string
  readonly line: number
  readonly directive: string
  readonly reason: string
}

/** Notes in the order of files and lines; one that several servers and locations inherit is told once. */
export class NginxNotes {
  readonly #notes = new Map<string, NginxNote>()

  add(kind: NginxNote['kind'], { file, line, name }: NginxDirective, reason: string): void {
    this.#notes.set(`${file}\n${line}\n${name}\n${reason}`, { kind, file, line, directive: name, reason })
  }

  get all(): readonly NginxNote[] {
    return [...this.#notes.values()].toSorted((a, b) =>
      a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1,
    )
  }
}

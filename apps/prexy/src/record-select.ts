/** Which recordings and which events of them a command is about. */
import { stat } from 'node:fs/promises'
import type { RecordedEvent } from '@prexy/events/recorded-event'
import { Redactor } from '@prexy/events/redact'
import { findEvent, openRecordings, openSegment, readEvents, RecordingError } from '@prexy/record/segment-reader'
import type { SegmentSummary } from '@prexy/record/segment-reader'
import { readSessions, type Session } from '@prexy/record/sessions'
import { CommandError } from './exit-codes.ts'
import { fileErrorReason } from './file-error.ts'
import type { SelectFlags } from './record-words.ts'

export interface OpenedRecordings {
  readonly segments: readonly SegmentSummary[]
  readonly sessions: readonly Session[]
}

/** The segments at a path, a directory or one file. What cannot be read is told on standard error. */
export async function openPath(path: string, session: string | undefined): Promise<OpenedRecordings> {
  try {
    if (!(await stat(path)).isDirectory()) return { segments: [await openSegment(path)], sessions: [] }
    const [{ segments, unreadable }, sessions] = await Promise.all([openRecordings(path), readSessions(path)])
    for (const { reason } of unreadable) process.stderr.write(`prexy: ${reason}\n`)
    if (session === undefined) return { segments, sessions }
    const wanted = sessions.filter(({ id, name, tags }) => [id, name, ...tags].includes(session)).map(({ id }) => id)
    if (wanted.length === 0) throw new CommandError(`${path} has no session with the id, name or tag ${session}`)
    return { segments: segments.filter(({ header }) => wanted.includes(header.session)), sessions }
  } catch (error) {
    throw asCommandError(error)
  }
}

/** The selected events, without secrets unless they are asked for. Damage is told on standard error. */
export async function* selectEvents(path: string, flags: SelectFlags): AsyncGenerator<RecordedEvent, void, undefined> {
  const { segments } = await openPath(path, flags.session)
  const redactor = flags.secrets === true ? undefined : new Redactor()
  let left = flags.limit ?? Number.POSITIVE_INFINITY
  const filter = {
    ...(flags.from === undefined ? {} : { fromMs: flags.from }),
    ...(flags.to === undefined ? {} : { toMs: flags.to }),
  }
  for (const segment of segments) {
    for await (const read of readEvents(segment, filter)) {
      if (read.kind === 'damage') {
        // A segment that is being written may end within a frame at any time.
        const where = `${segment.path}: byte ${read.offset}`
        process.stderr.write(`prexy: ${where}: ${read.bytes} bytes cannot be read (${read.reason}); the rest is\n`)
        continue
      }
      if (!isSelected(read.event, flags)) continue
      if (left-- <= 0) return
      yield redactor === undefined ? read.event : redactor.event(read.event)
    }
  }
}

function isSelected(event: RecordedEvent, { status, host, route }: SelectFlags): boolean {
  if (status === undefined && host === undefined && route === undefined) return true
  if (event.kind === 'gap' || event.kind === 'application') return false
  const code = event.status ?? 0
  if (status !== undefined && (code < status.least || code > status.most)) return false
  if (host !== undefined && event.host?.replace(/:\d+$/, '').toLowerCase() !== host.toLowerCase()) return false
  return route === undefined || event.route === route
}

/** The event with that name, without secrets unless they are asked for. */
export async function namedEvent(path: string, name: string, secrets: boolean): Promise<RecordedEvent> {
  const parts = /^([0-9a-f]{8})-(\d{1,15})$/.exec(name)
  if (parts === null) throw new CommandError(`${name} is no name of an event; prexy record show ${path} lists them`)
  const [, run, sequence] = parts
  let event: RecordedEvent | undefined
  try {
    event = await findEvent(path, run, Number(sequence))
  } catch (error) {
    throw asCommandError(error)
  }
  if (event === undefined) throw new CommandError(`${path} has no event ${name}`)
  return secrets ? event : new Redactor().event(event)
}

export function asCommandError(error: unknown): unknown {
  if (error instanceof CommandError) return error
  if (error instanceof RecordingError) return new CommandError(error.message)
  if (error instanceof Error && 'code' in error && 'syscall' in error) {
    const reason = fileErrorReason(error)
    return new CommandError('path' in error && typeof error.path === 'string' ? `${error.path}: ${reason}` : reason)
  }
  return error
}

/** What the admin API tells of recordings. */
import { openRecordings, readFrames, type SegmentSummary } from '@prexy/record/segment-reader'
import { readSessions, type Session } from '@prexy/record/sessions'

export interface RecordedSession extends Session {
  readonly segments: number
  readonly bytes: number
  readonly events: number
}

/** Newest first. */
export async function recordingList(directory: string): Promise<readonly RecordedSession[]> {
  const [sessions, { segments }] = await Promise.all([readSessions(directory), openRecordings(directory)])
  return sessions
    .map((session) => {
      const own = segments.filter(({ header }) => header.session === session.id)
      return {
        ...session,
        segments: own.length,
        bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
        events: own.reduce((sum, segment) => sum + eventsIn(segment), 0),
      }
    })
    .reverse()
}

function eventsIn({ entries }: SegmentSummary): number {
  return entries.reduce((sum, { count }) => sum + count, 0)
}

/** The events of a session as they were written, without headers and checksums; undefined if there is no such session. */
export async function recordingOctets(directory: string, id: string): Promise<AsyncIterable<Uint8Array> | undefined> {
  const [sessions, { segments }] = await Promise.all([readSessions(directory), openRecordings(directory)])
  if (!sessions.some((session) => session.id === id)) return undefined
  return octetsOf(segments.filter(({ header }) => header.session === id))
}

async function* octetsOf(segments: readonly SegmentSummary[]): AsyncGenerator<Uint8Array> {
  for (const { path } of segments) {
    for await (const frame of readFrames(path)) if (frame.kind === 'events') yield frame.payload.slice()
  }
}

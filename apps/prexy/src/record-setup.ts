/** From the `record` part of a configuration to a recorder with its disk and its live feed. */
import type { RecordSettings } from '@prexy/config/config'
import { Redactor } from '@prexy/events/redact'
import { LiveFeed, type LiveFeedLimits } from '@prexy/record/live-feed'
import { type BodyLimits, newRun, Recorder } from '@prexy/record/recorder'
import { makeDirectory, SegmentWriter, type WriterLimits } from '@prexy/record/segment-writer'
import { newSession, type Session, writeSession } from '@prexy/record/sessions'

export interface RunningRecording {
  readonly recorder: Recorder
  readonly feed: LiveFeed
  readonly session: Session
  readonly redactor: Redactor | undefined
  /** Writes what is left and ends the session. */
  stop(): Promise<void>
}

/**
 * Starts what `settings` say. A directory that cannot be used stops the recording, not the proxy: `say` is told.
 * `session`: that of another process which this one is a worker of; it writes its file. `onWatched`: see `LiveFeed`.
 */
export async function startRecording(
  settings: RecordSettings,
  say: (line: string) => void,
  session?: Session,
  onWatched?: (isWatched: boolean) => void,
): Promise<RunningRecording> {
  const { directory, redact = true, secretNames, bodies, samplePercent, routes, tags = [] } = settings
  const own = session ?? newSession(settings.session, tags, Date.now())
  const run = newRun()
  const redactor = redact ? new Redactor(secretNames === undefined ? {} : { names: secretNames }) : undefined
  const feed = new LiveFeed(feedLimits(settings), onWatched)
  if (!redact) say('recordings hold passwords, cookies and tokens as they are: record.redact is false')
  let isStored = false
  if (directory !== undefined && session === undefined) {
    try {
      await makeDirectory(directory, say)
      await writeSession(directory, own)
      isStored = true
    } catch (error) {
      say(`the session cannot be written to ${directory}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const writer =
    directory === undefined
      ? undefined
      : new SegmentWriter({
          directory,
          run,
          session: own.id,
          limits: writerLimits(settings),
          retention: retentionOf(settings),
          onStopped: say,
          onWarning: say,
        })
  const recorder = new Recorder({
    run,
    feed,
    ...(writer === undefined ? {} : { writer }),
    ...(redactor === undefined ? {} : { redactor }),
    ...(bodies === undefined ? {} : { bodies: bodyLimits(bodies) }),
    ...(samplePercent === undefined ? {} : { sample: samplePercent / 100 }),
    ...(routes === undefined ? {} : { routes }),
  })
  return {
    recorder,
    feed,
    session: own,
    redactor,
    async stop() {
      recorder.enabled = false
      await writer?.stop()
      if (recorder.dropped > 0) say(`${recorder.dropped} events were not recorded`)
      if (isStored && directory !== undefined) {
        await writeSession(directory, { ...own, endedAtMs: Date.now() }).catch(() => {})
      }
    },
  }
}

function bodyLimits(bodies: NonNullable<RecordSettings['bodies']>): Partial<BodyLimits> {
  const { maxBodyBytes, maxBytesByType, samplePercent, maxBodyMemoryBytes } = bodies
  return {
    ...(maxBodyBytes === undefined ? {} : { maxBodyBytes }),
    ...(maxBytesByType === undefined ? {} : { maxBytesByType: Object.entries(maxBytesByType) }),
    ...(samplePercent === undefined ? {} : { sample: samplePercent / 100 }),
    ...(maxBodyMemoryBytes === undefined ? {} : { maxBodyMemoryBytes }),
  }
}

function writerLimits(settings: RecordSettings): Partial<WriterLimits> {
  const { maxSegmentBytes, maxSegmentMs, flushMs, syncMs, maxQueuedBytes } = settings
  return {
    ...(maxSegmentBytes === undefined ? {} : { maxSegmentBytes }),
    ...(maxSegmentMs === undefined ? {} : { maxSegmentMs }),
    ...(flushMs === undefined ? {} : { flushMs }),
    ...(syncMs === undefined ? {} : { syncMs }),
    ...(maxQueuedBytes === undefined ? {} : { maxQueuedBytes }),
  }
}

function retentionOf({ maxTotalBytes, maxAgeMs }: RecordSettings): { maxTotalBytes?: number; maxAgeMs?: number } {
  return {
    ...(maxTotalBytes === undefined ? {} : { maxTotalBytes }),
    ...(maxAgeMs === undefined ? {} : { maxAgeMs }),
  }
}

function feedLimits({ maxLiveEvents, maxLiveBytes, maxViewers }: RecordSettings): Partial<LiveFeedLimits> {
  return {
    ...(maxLiveEvents === undefined ? {} : { maxEvents: maxLiveEvents }),
    ...(maxLiveBytes === undefined ? {} : { maxBytes: maxLiveBytes }),
    ...(maxViewers === undefined ? {} : { maxViewers }),
  }
}

/** What a file may cost, whatever it claims. Each limit is met by counting the record it stopped, never by an exception. */
export interface EvtxLimits {
  /** Elements inside each other in one record, through all templates and fragments. Default 256. */
  readonly maxElementDepth: number
  /** Fragments and templates inside each other in one record. Default 32. */
  readonly maxFragmentDepth: number
  /** Characters and nodes that one record may render to; a template can repeat a long value. Default 1,048,576. */
  readonly maxRenderedUnits: number
  /** Fields of one record. Default 16,384. */
  readonly maxFields: number
  /** Bytes of template definitions parsed in one chunk; no honest chunk holds more than itself. Default 262,144. */
  readonly maxTemplateBytesPerChunk: number
  /** Bytes of template definitions kept from chunk to chunk. Beyond, all are forgotten. Default 4,194,304. */
  readonly maxKeptTemplateBytes: number
  /** Fields of all shapes that are kept. Beyond, all shapes are forgotten and get new numbers. Default 262,144. */
  readonly maxKeptFields: number
  /** Problems kept with their reasons; all are counted. Default 1,000. */
  readonly maxProblems: number
  /** Carved records remembered to leave out their copies. Beyond, copies are given. Default 1,000,000. */
  readonly maxRememberedRecords: number
}

export const DEFAULT_LIMITS: EvtxLimits = {
  maxElementDepth: 256,
  maxFragmentDepth: 32,
  maxRenderedUnits: 1_048_576,
  maxFields: 16_384,
  maxTemplateBytesPerChunk: 262_144,
  maxKeptTemplateBytes: 4_194_304,
  maxKeptFields: 262_144,
  maxProblems: 1_000,
  maxRememberedRecords: 1_000_000,
}

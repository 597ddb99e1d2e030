/** The input has nothing of an event log: no file header and no chunk. The only error that this package throws. */
export class EvtxError extends Error {
  override readonly name: string = 'EvtxError'
  readonly code = 'not-evtx'
}

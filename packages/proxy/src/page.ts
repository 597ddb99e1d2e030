/** A body that an operator wrote. */
export interface Page {
  readonly body: Uint8Array
  /** Its Content-Type. */
  readonly type: string
}

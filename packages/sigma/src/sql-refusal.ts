/** Why a part of a rule has no SQL that is true of the same events. */
export class SqlRefusal extends Error {
  override readonly name: string = 'SqlRefusal'
}

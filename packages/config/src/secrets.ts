/** Variables of the environment, which stand for secrets in the fields that may hold some. */

export type Environment = Readonly<Record<string, string | undefined>>

export interface SecretFault {
  /** Octet offset into the field's UTF-8 form. */
  readonly at: number
  readonly message: string
  readonly hint: string
}

const REFERENCE = /\$\{env:([^}]*)\}?/g

/**
 * `text` with each `${env:NAME}` replaced by the value of that variable, as `escape` writes it. A variable that is not
 * set, or is empty, is a fault: a secret that is missing must not look like one that is there.
 */
export function expandSecrets(
  text: string,
  environment: Environment,
  escape: (value: string) => string = (value) => value,
): { readonly text: string; readonly faults: readonly SecretFault[] } {
  const faults: SecretFault[] = []
  const expanded = text.replace(REFERENCE, (reference: string, name: string, index: number) => {
    const at = new TextEncoder().encode(text.slice(0, index)).length
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || !reference.endsWith('}')) {
      faults.push({ at, message: `${reference} names no variable`, hint: 'write it like ${env:SHOP_PASSWORD}' })
      return ''
    }
    const value = environment[name]
    if (value === undefined || value === '') {
      const state = value === undefined ? 'not set' : 'empty'
      faults.push({
        at,
        message: `the variable ${name} of the environment is ${state}`,
        hint: 'set it where prexy starts',
      })
      return ''
    }
    return escape(value)
  })
  return { text: expanded, faults }
}

/** What may be shown of a field that may hold a secret: the names of variables. */
export function maskedSecret(text: string): string {
  const names = [...text.matchAll(REFERENCE)].map(([reference]) => reference)
  if (names.length === 1 && names[0] === text) return text
  return names.length === 0 ? '***' : `*** ${names.join(' ')}`
}

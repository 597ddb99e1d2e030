/** Which names are those of secrets: header fields, query parameters, form fields, keys of JSON. Pure. */

/** Where a name stands: in a query `key` and `code` are secrets, in a document they are mostly something else. */
export type NamePlace = 'query' | 'body' | 'field'

/** Words that make a name a secret's, wherever in it: `user_pin`, `X-Session`, `csrfKey`. */
const WORDS = new Set(
  (
    'assertion auth authorization bearer cookie credential credentials csrf cvc cvv dpop hmac iban jwt otp pass passcode ' +
    'passphrase passwd password pin pw pwd secret session sid sig signature ssn ticket token totp xsrf'
  ).split(' '),
)

/** Parts of names written without a break, in lower case: `userpassword`, `AWSAccessKeyId`. */
const PARTS = (
  'accesskey accesstoken apikey authcode authkey authtoken cardnumber clientcert clientprincipal contrasena credential ' +
  'encryptionkey idtoken kennwort masterkey motdepasse passphrase passwd password passwort privatekey pwd refreshtoken samlresponse secret securitycode sessid sessionid ' +
  'sharedkey signature signingkey sslcert xcert'
).split(' ')

/** Whole names in queries and forms. */
const IN_QUERIES = new Set('code codeverifier key nonce oauth'.split(' '))

/** What a text is searched for to find names: every name that is a secret's has one of these in it. */
const HINTS = (
  'accesskey|assert|auth|bearer|card|cert|code|contrasena|cookie|cred|csrf|cvc|cvv|dpop|hmac|iban|jwt|kennwort|key|' +
  'motdepasse|nonce|otp|pass|pin|principal|pw|saml|secret|securit|sess|sid|sig|ssn|ticket|token|xsrf'
).split('|')

/** Header fields that only sound like secrets. */
const HARMLESS_FIELDS = /^(?:access-control-|sec-|www-authenticate$|proxy-authenticate$)/
/** Header fields whose name ends so are keys of an API, … */
const KEY_FIELDS = /(?:^|-)key$/
/** … but for these. */
const HARMLESS_KEYS = /(?:^|-)(?:cache|idempotency|partition|public|routing|sort|surrogate)-key$/

const MAX_REMEMBERED = 4_096
const MAX_NAME_UNITS = 100

/** Decides about names, and remembers what it decided: the same ones come again and again. */
export class SecretNames {
  readonly #own: ReadonlySet<string>
  readonly #ownWords: readonly string[]
  /** @internal Finds in a text where such a name may be; whoever uses it sets `lastIndex`. */
  readonly hints: RegExp
  readonly #decided: Readonly<Record<NamePlace, Map<string, boolean>>> = {
    query: new Map(),
    body: new Map(),
    field: new Map(),
  }

  /** `own`: further names, ignoring case and what is no letter or digit; `*` at the end stands for anything. */
  constructor(own: readonly string[] = []) {
    this.#own = new Set(own.filter((name) => !name.endsWith('*')).map(joined))
    const ownHints = own.map((name) => /[A-Za-z0-9]+/.exec(name)?.[0] ?? '').filter((hint) => hint !== '')
    this.hints = new RegExp([...HINTS, ...ownHints].join('|'), 'gi')
    this.#ownWords = own.filter((name) => name.endsWith('*')).map((name) => joined(name.slice(0, -1)))
  }

  has(name: string, place: NamePlace): boolean {
    if (name.length > MAX_NAME_UNITS) return this.#decide(name.slice(-MAX_NAME_UNITS), place)
    const decided = this.#decided[place]
    const known = decided.get(name)
    if (known !== undefined) return known
    const isSecret = this.#decide(name, place)
    if (decided.size >= MAX_REMEMBERED) decided.clear()
    decided.set(name, isSecret)
    return isSecret
  }

  #decide(name: string, place: NamePlace): boolean {
    const whole = joined(name)
    if (this.#own.has(whole) || this.#ownWords.some((word) => whole.startsWith(word))) return true
    if (place === 'field') {
      const lower = name.toLowerCase()
      if (HARMLESS_FIELDS.test(lower)) return false
      if (KEY_FIELDS.test(lower) && !HARMLESS_KEYS.test(lower)) return true
    }
    if (whole.endsWith('token') || PARTS.some((part) => whole.includes(part))) return true
    if (place === 'query' && IN_QUERIES.has(whole)) return true
    return wordsOf(name).some((word) => WORDS.has(word))
  }
}

/** Letters and digits, in lower case. */
function joined(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase()
}

/** `X-CsrfKey2` is x, csrf, key. */
function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z]+/)
    .map((word) => word.toLowerCase())
}

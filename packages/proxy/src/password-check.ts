/** Names and passwords of HTTP's basic authentication (RFC 7617), against hashes that are slow to try. */
import { createHmac, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

/** What a password is compared with. */
interface PasswordHash {
  /** The binary logarithm of scrypt's cost. */
  readonly logCost: number
  readonly blockSize: number
  readonly parallel: number
  readonly salt: Buffer
  readonly hash: Buffer
}

/** Passwords that are hashed at one time; each takes a thread of the runtime's pool and some memory. */
const MAX_HASHING = 2
/** Checks that may wait for that; one more is refused. */
const MAX_WAITING = 32
/** Name and password pairs that were right and are known to be, so that they need no hashing. */
const MAX_REMEMBERED = 1_024

const HASH_BYTES = 32
const SALT_BYTES = 16
const DEFAULT_LOG_COST = 15
const DEFAULT_BLOCK_SIZE = 8

export type Verdict = 'right' | 'wrong' | 'busy'

/** `$scrypt$ln=15,r=8,p=1$SALT$HASH`, both in base64 without padding; undefined for anything else. */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const match = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(text)
  if (match === null) return undefined
  const [logCost, blockSize, parallel] = match.slice(1, 4).map(Number)
  const [salt, hash] = match.slice(4).map((part) => Buffer.from(part, 'base64'))
  const isSane = logCost >= 10 && logCost <= 17 && blockSize >= 1 && blockSize <= 16 && parallel >= 1 && parallel <= 4
  if (!isSane || salt.length < 8 || salt.length > 64 || hash.length < 16 || hash.length > 64) return undefined
  return { logCost, blockSize, parallel, salt, hash }
}

/** A line that {@link parsePasswordHash} reads, with a salt of its own. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const settings = { logCost: DEFAULT_LOG_COST, blockSize: DEFAULT_BLOCK_SIZE, parallel: 1, salt }
  const hash = await derive(password, { ...settings, hash: Buffer.alloc(HASH_BYTES) })
  const text = (octets: Buffer): string => octets.toString('base64').replace(/=+$/, '')
  return `$scrypt$ln=${DEFAULT_LOG_COST},r=${DEFAULT_BLOCK_SIZE},p=1$${text(salt)}$${text(hash)}`
}

function derive(password: string, { logCost, blockSize, parallel, salt, hash }: PasswordHash): Promise<Buffer> {
  const cost = 2 ** logCost
  const maxmem = 256 * cost * blockSize
  return new Promise((resolve, reject) => {
    scrypt(password, salt, hash.length, { N: cost, r: blockSize, p: parallel, maxmem }, (error, derived) => {
      // Bun says undefined where Node says null.
      if (error instanceof Error) reject(error)
      else resolve(derived)
    })
  })
}

/**
 * Checks names and passwords. What was right once is remembered by a keyed hash; what is wrong always costs a hashing,
 * as long for a name that there is as for one that there is not.
 */
export class PasswordCheck {
  readonly realm: string
  readonly #users: ReadonlyMap<string, PasswordHash>
  /** Of a name that there is not. */
  readonly #decoy: PasswordHash
  readonly #key = randomBytes(32)
  readonly #right = new Set<string>()
  #hashing = 0
  readonly #waiting: (() => void)[] = []

  /** `users`: hashes by name. Throws for one that is no hash. */
  constructor(realm: string, users: Readonly<Record<string, string>>) {
    this.realm = realm
    const parsed = Object.entries(users).map(([name, text]): [string, PasswordHash] => {
      const hash = parsePasswordHash(text)
      if (hash === undefined) throw new Error(`the password of ${name} is no line that prexy password printed`)
      return [name, hash]
    })
    this.#users = new Map(parsed)
    this.#decoy = parsed[0]?.[1] ?? {
      logCost: DEFAULT_LOG_COST,
      blockSize: DEFAULT_BLOCK_SIZE,
      parallel: 1,
      salt: randomBytes(SALT_BYTES),
      hash: randomBytes(HASH_BYTES),
    }
  }

  /** `authorization`: the value of the field, one octet per character; undefined if there is none. */
  check(authorization: string | undefined): Verdict | Promise<Verdict> {
    const pair = credentialsOf(authorization)
    if (pair === undefined) return 'wrong'
    const mark = createHmac('sha256', this.#key).update(`${pair.name}\0${pair.password}`).digest('base64')
    if (this.#right.has(mark)) return 'right'
    if (this.#hashing >= MAX_HASHING && this.#waiting.length >= MAX_WAITING) return 'busy'
    return this.#hash(pair, mark)
  }

  async #hash({ name, password }: Credentials, mark: string): Promise<Verdict> {
    if (this.#hashing >= MAX_HASHING) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#hashing++
    try {
      const wanted = this.#users.get(name)
      const derived = await derive(password, wanted ?? this.#decoy)
      const isEqual = timingSafeEqual(derived, (wanted ?? this.#decoy).hash)
      if (!isEqual || wanted === undefined) return 'wrong'
      if (this.#right.size >= MAX_REMEMBERED) this.#right.clear()
      this.#right.add(mark)
      return 'right'
    } finally {
      this.#hashing--
      this.#waiting.shift()?.()
    }
  }
}

interface Credentials {
  readonly name: string
  readonly password: string
}

/** RFC 7617 §2: `Basic` and base64 of name, colon, password; §2.1: in UTF-8. */
function credentialsOf(authorization: string | undefined): Credentials | undefined {
  const match = /^basic +([A-Za-z0-9+/_-]{1,2000}={0,2}) *$/i.exec(authorization ?? '')
  if (match === null) return undefined
  const text = Buffer.from(match[1], 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? undefined : { name: text.slice(0, colon), password: text.slice(colon + 1) }
}

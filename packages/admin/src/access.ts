/**
 * Who may speak to the admin listener. It is reached by browsers that also open foreign pages, so a token alone is not
 * enough: the Host has to be ours (a name that was bound anew to our address is not), and so has the Origin of whatever
 * changes something or opens a WebSocket.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'

/** How long a browser stays signed in. */
export const SESSION_MS: number = 12 * 60 * 60 * 1_000
/** Browsers signed in at one time; the one that signed in first is signed out. */
export const MAX_BROWSER_SESSIONS = 100
/** Of the cookie that names a browser's session; cookies do not tell ports apart, so the port is part of it. */
const COOKIE_PREFIX = 'prexy-admin-'

export interface AccessInit {
  readonly token: string
  /** Host names that browsers may call the listener by, beside addresses and `localhost`. */
  readonly hosts: readonly string[]
}

/** What a request says of itself. */
export interface AccessRequest {
  readonly method: string
  readonly host: string | undefined
  readonly origin: string | undefined
  readonly authorization: string | undefined
  readonly cookie: string | undefined
  /** True for what changes something, or goes on for long: a WebSocket. */
  readonly isAction: boolean
}

export interface Refusal {
  readonly status: 401 | 403 | 421
  readonly reason: string
}

export class Access {
  readonly #digest: Buffer
  readonly #hosts: ReadonlySet<string>
  /** Digest of a session's secret to when it ends; oldest first. */
  readonly #sessions = new Map<string, number>()

  constructor({ token, hosts }: AccessInit) {
    this.#digest = digest(token)
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()))
  }

  /** Why the host that a request is for is none of ours. */
  checkHost({ host }: AccessRequest): Refusal | undefined {
    if (host !== undefined && this.#isOwnHost(host)) return undefined
    const reason = 'this host name is not one of the admin listener; add it to admin.hosts if it is yours'
    return { status: 421, reason }
  }

  /** Why a request does not come from whom it should; its token is another matter. */
  checkSender(request: AccessRequest): Refusal | undefined {
    const foreign = this.checkHost(request)
    if (foreign !== undefined) return foreign
    const { method, host = '', origin, isAction } = request
    const changes = isAction || (method !== 'GET' && method !== 'HEAD')
    if (changes && origin !== undefined && !isSameOrigin(origin, host)) {
      return { status: 403, reason: 'requests of other sites are not answered' }
    }
    return undefined
  }

  /** Why a request lacks what signs it in. */
  checkToken(request: AccessRequest, nowMs: number): Refusal | undefined {
    const bearer = this.bearerOf(request)
    if (bearer !== undefined) {
      return this.isToken(bearer) ? undefined : { status: 401, reason: 'this is not the token' }
    }
    if (!this.#isSignedIn(request, nowMs)) {
      return { status: 401, reason: 'send the token: Authorization: Bearer TOKEN' }
    }
    // Browsers send Origin with all that is not a plain GET; without it the cookie may come from anywhere.
    const isPlain = !request.isAction && (request.method === 'GET' || request.method === 'HEAD')
    if (!isPlain && request.origin === undefined) {
      return { status: 403, reason: 'a browser has to say where the request comes from' }
    }
    return undefined
  }

  /** The token that a request carries itself. */
  bearerOf({ authorization }: AccessRequest): string | undefined {
    return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  }

  isToken(given: string): boolean {
    return timingSafeEqual(digest(given), this.#digest)
  }

  /** Whether a token may send events: the one that may do nothing else, if there is one, or that of the listener. */
  mayIngest(given: string, ingestToken: string | undefined): boolean {
    if (ingestToken !== undefined && timingSafeEqual(digest(given), digest(ingestToken))) return true
    return this.isToken(given)
  }

  /** Signs a browser in: the value of Set-Cookie. */
  signIn(port: number, nowMs: number): string {
    const secret = randomBytes(32).toString('base64url')
    this.#sessions.set(digest(secret).toString('hex'), nowMs + SESSION_MS)
    for (const [key, endsMs] of this.#sessions) {
      if (this.#sessions.size <= MAX_BROWSER_SESSIONS && endsMs > nowMs) break
      this.#sessions.delete(key)
    }
    return `${COOKIE_PREFIX}${port}=${secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${SESSION_MS / 1_000}`
  }

  signOut(cookie: string | undefined, port: number): string {
    for (const secret of secretsIn(cookie)) this.#sessions.delete(digest(secret).toString('hex'))
    return `${COOKIE_PREFIX}${port}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`
  }

  #isSignedIn({ cookie }: AccessRequest, nowMs: number): boolean {
    return secretsIn(cookie).some((secret) => {
      const endsMs = this.#sessions.get(digest(secret).toString('hex'))
      return endsMs !== undefined && endsMs > nowMs
    })
  }

  #isOwnHost(host: string): boolean {
    const name = hostName(host)
    return name !== undefined && (name === 'localhost' || isIP(name) !== 0 || this.#hosts.has(name))
  }
}

/** A token nobody can guess. */
export function newToken(): string {
  return randomBytes(24).toString('base64url')
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Of `host[:port]`, in lower case, an IPv6 address without brackets. */
function hostName(host: string): string | undefined {
  const parts = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(host)
  return (parts?.[1] ?? parts?.[2])?.toLowerCase()
}

export function isSameOrigin(origin: string, host: string): boolean {
  const lower = origin.toLowerCase()
  return lower === `http://${host.toLowerCase()}` || lower === `https://${host.toLowerCase()}`
}

function secretsIn(cookie: string | undefined): string[] {
  return (cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(COOKIE_PREFIX))
    .map((pair) => pair.slice(pair.indexOf('=') + 1))
}

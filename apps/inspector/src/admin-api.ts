/** What the page asks the proxy itself. */
import type { Rule, RuleSetOptions } from '@prexy/rewrite/rules'

/** As the admin API tells it; rules as the engine takes them. */
export interface Route {
  readonly name: string
  readonly target: string
  readonly rules: readonly Rule[]
  readonly options: RuleSetOptions
}

export interface Recording {
  readonly id: string
  readonly events: number
  readonly startedAtMs?: number
  readonly name?: string
}

export class SignedOut extends Error {}

export async function askRoutes(): Promise<readonly Route[]> {
  const answer = await ask('/api/routes')
  return Array.isArray(answer) ? answer.filter(isRoute) : []
}

export async function askRecordings(): Promise<readonly Recording[]> {
  const answer = await ask('/api/recordings')
  return Array.isArray(answer) ? answer.filter(isRecording) : []
}

export async function isSignedIn(): Promise<boolean> {
  const answer = await ask('/api/session')
  return isMap(answer) && answer.signedIn === true
}

/** Undefined if it worked; else why not. */
export async function signIn(token: string): Promise<string | undefined> {
  const response = await fetch('/api/session', { method: 'POST', body: token })
  if (response.ok) return undefined
  const answer: unknown = await response.json()
  return isMap(answer) && typeof answer.error === 'string' ? answer.error : `the proxy answered ${response.status}`
}

export async function signOut(): Promise<void> {
  await fetch('/api/session', { method: 'DELETE' })
}

/** Undefined for what is not there. */
async function ask(path: string): Promise<unknown> {
  const response = await fetch(path)
  if (response.status === 401) throw new SignedOut('sign in again')
  if (!response.ok) return undefined
  const answer: unknown = await response.json()
  return answer
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** Whether the rules are any is found out by the engine. */
function isRoute(value: unknown): value is Route {
  return isMap(value) && typeof value.name === 'string' && Array.isArray(value.rules) && isMap(value.options)
}

function isRecording(value: unknown): value is Recording {
  return isMap(value) && typeof value.id === 'string' && typeof value.events === 'number'
}

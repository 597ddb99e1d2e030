/** Who logged on, from where, and who failed to: events of Windows, and names that requests were authenticated with. */
import type { FieldValue } from '@prexy/sigma/event'
import type { HuntEvent } from './hunt-event.ts'
import type { SumTable } from './sums.ts'

/** Positions behind the number of events. */
export const LOGON_COUNTS = { succeeded: 1, failed: 2 } as const

const LOGON_TYPES: ReadonlyMap<string, string> = new Map([
  ['0', '0 system'],
  ['2', '2 interactive'],
  ['3', '3 network'],
  ['4', '4 batch'],
  ['5', '5 service'],
  ['7', '7 unlock'],
  ['8', '8 network cleartext'],
  ['9', '9 new credentials'],
  ['10', '10 remote interactive'],
  ['11', '11 cached interactive'],
  ['12', '12 cached remote interactive'],
  ['13', '13 cached unlock'],
])

interface Logon {
  readonly type: string
  readonly ok: boolean
}

/** Of the Security channel: success and failure of logons, explicit credentials, Kerberos and NTLM. */
const WINDOWS_LOGONS: ReadonlyMap<number, (event: HuntEvent) => Logon> = new Map<number, (event: HuntEvent) => Logon>([
  [4624, (event) => ({ type: logonType(event), ok: true })],
  [4625, (event) => ({ type: logonType(event), ok: false })],
  [4648, () => ({ type: 'explicit credentials', ok: true })],
  [4768, (event) => ({ type: 'Kerberos TGT', ok: isZero(event.get('Status')) })],
  [4771, () => ({ type: 'Kerberos pre-authentication', ok: false })],
  [4776, (event) => ({ type: 'NTLM', ok: isZero(event.get('Status')) })],
])

export function countLogon(event: HuntEvent, sums: SumTable): void {
  if (event.kind === 'web') {
    const user = text(event.get('cs-username'))
    const status = Number(event.get('sc-status') ?? NaN)
    if (user === '-' || user === '') return
    const outcome = status === 401 || status === 403 ? LOGON_COUNTS.failed : LOGON_COUNTS.succeeded
    sums.add(['logons', user, event.host, text(event.get('c-ip')), 'HTTP'], event.time, [outcome])
    return
  }
  if (event.kind !== 'windows' || event.channel.toLowerCase() !== 'security' || event.eventId === undefined) return
  const read = WINDOWS_LOGONS.get(event.eventId)
  if (read === undefined) return
  const { type, ok } = read(event)
  const domain = text(event.get('TargetDomainName'))
  const name = text(event.get('TargetUserName'))
  const user = domain === '' || domain === '-' ? name : `${domain}\\${name}`
  const address = text(event.get('IpAddress'))
  const from =
    address === '' || address === '-' ? text(event.get('WorkstationName') ?? event.get('Workstation')) : address
  sums.add(['logons', user, event.host, from, type], event.time, [ok ? LOGON_COUNTS.succeeded : LOGON_COUNTS.failed])
}

function logonType(event: HuntEvent): string {
  const type = text(event.get('LogonType'))
  return LOGON_TYPES.get(type) ?? type
}

function isZero(value: FieldValue | undefined): boolean {
  return Number(text(value)) === 0
}

function text(value: FieldValue | undefined): string {
  if (typeof value === 'string') return value.trim()
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''
}

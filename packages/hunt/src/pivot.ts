/** What to look for next: users, addresses, hosts and programs that hits are about. */
import { valuesOf } from '@prexy/sigma/event'
import type { HuntEvent } from './hunt-event.ts'
import type { SumTable } from './sums.ts'

export const PIVOTS = ['users', 'addresses', 'hosts', 'programs', 'agents', 'hashes'] as const
export type Pivot = (typeof PIVOTS)[number]

const FIELDS: Readonly<Record<Pivot, readonly string[]>> = {
  users: [
    'User',
    'SubjectUserName',
    'TargetUserName',
    'SourceUser',
    'TargetUser',
    'AccountName',
    'cs-username',
    'userIdentity.userName',
  ],
  addresses: [
    'c-ip',
    'IpAddress',
    'SourceIp',
    'DestinationIp',
    'SourceAddress',
    'DestAddress',
    'ClientAddress',
    'sourceIPAddress',
  ],
  hosts: ['Computer', 'WorkstationName', 'Workstation', 'DestinationHostname', 'r-dns', 'QueryName'],
  programs: [
    'Image',
    'NewProcessName',
    'ParentImage',
    'ParentProcessName',
    'SourceImage',
    'TargetImage',
    'ProcessName',
  ],
  agents: ['cs-user-agent', 'userAgent'],
  hashes: ['Hashes', 'MD5', 'SHA1', 'SHA256', 'Imphash'],
}

/** Values that say nothing. */
const NOTHING: ReadonlySet<string> = new Set(['', '-', 'n/a', 'N/A', '::1', '127.0.0.1', 'localhost', 'LOCAL'])

const MAX_VALUE_CHARACTERS = 500

export function pivotOf(event: HuntEvent, sums: SumTable): void {
  const seen = new Set<string>()
  for (const kind of PIVOTS) {
    for (const field of FIELDS[kind]) {
      for (const value of valuesOf(event.get(field))) {
        const text = String(value ?? '')
          .trim()
          .slice(0, MAX_VALUE_CHARACTERS)
        const key = `${kind} ${text}`
        if (NOTHING.has(text) || seen.has(key)) continue
        seen.add(key)
        sums.add([kind, text], event.time)
      }
    }
  }
}

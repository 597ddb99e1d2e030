/** Records as Windows writes them, generated: the same every time for the same seed. */
import {
  evtxValue,
  filetimeOf,
  type EvtxAny,
  type EvtxElement,
  type EvtxNode,
  type EvtxTemplate,
} from './evtx-values.ts'
import type { EvtxRecordInput } from './evtx-writer.ts'

const NAMESPACE = 'http://schemas.microsoft.com/win/2004/08/events/event'

/** Slots of {@link systemTemplate}, by what they hold. */
export const SYSTEM_SLOTS = {
  level: 0,
  task: 1,
  opcode: 2,
  eventId: 3,
  qualifiers: 4,
  keywords: 5,
  time: 6,
  activityId: 7,
  processId: 8,
  threadId: 9,
  recordId: 10,
  version: 11,
  userId: 12,
  content: 13,
} as const

/** What is around the data of every event of a provider. */
export function systemTemplate(guid: string, provider: string, channel: string, computer: string): EvtxTemplate {
  const slot = (index: number, type: number, optional = true): EvtxNode => ({ slot: index, type, optional })
  const leaf = (element: string, child: EvtxNode): EvtxElement => ({ element, children: [child] })
  const S = SYSTEM_SLOTS
  return {
    guid,
    root: {
      element: 'Event',
      attributes: [['xmlns', NAMESPACE]],
      children: [
        {
          element: 'System',
          children: [
            {
              element: 'Provider',
              attributes: [
                ['Name', provider],
                ['Guid', guid.toLowerCase()],
              ],
            },
            {
              element: 'EventID',
              attributes: [['Qualifiers', slot(S.qualifiers, 0x06)]],
              children: [slot(S.eventId, 0x06)],
            },
            leaf('Version', slot(S.version, 0x04)),
            leaf('Level', slot(S.level, 0x04)),
            leaf('Task', slot(S.task, 0x06)),
            leaf('Opcode', slot(S.opcode, 0x04)),
            leaf('Keywords', slot(S.keywords, 0x15)),
            { element: 'TimeCreated', attributes: [['SystemTime', slot(S.time, 0x11)]] },
            leaf('EventRecordID', slot(S.recordId, 0x0a)),
            { element: 'Correlation', attributes: [['ActivityID', slot(S.activityId, 0x0f)]] },
            {
              element: 'Execution',
              attributes: [
                ['ProcessID', slot(S.processId, 0x08)],
                ['ThreadID', slot(S.threadId, 0x08)],
              ],
            },
            leaf('Channel', channel),
            leaf('Computer', computer),
            { element: 'Security', attributes: [['UserID', slot(S.userId, 0x13)]] },
          ],
        },
        slot(S.content, 0x21),
      ],
    },
  }
}

/** `EventData` with named values. */
export function dataTemplate(guid: string, names: readonly string[]): EvtxTemplate {
  return {
    guid,
    root: {
      element: 'EventData',
      children: names.map((name, i) => ({ element: 'Data', attributes: [['Name', name]], children: [{ slot: i }] })),
    },
  }
}

/** `EventData` as old providers write it: one array of strings, and bytes. */
export const CLASSIC_DATA: EvtxTemplate = {
  guid: '{5BBCA4A8-B209-48DC-A8C7-B23D3E5216FB}',
  root: {
    element: 'EventData',
    children: [
      { element: 'Data', children: [{ slot: 0, type: 0x81, optional: true }] },
      { element: 'Binary', children: [{ slot: 1, type: 0x0e, optional: true }] },
    ],
  },
}

const SECURITY = systemTemplate(
  '{54849625-5478-4994-A5BA-3E3B0328C30D}',
  'Microsoft-Windows-Security-Auditing',
  'Security',
  'WS-0142.corp.example',
)
const SYSMON = systemTemplate(
  '{5770385F-C22A-43E0-BF4C-06F5698FFBD9}',
  'Microsoft-Windows-Sysmon',
  'Microsoft-Windows-Sysmon/Operational',
  'WS-0142.corp.example',
)
const CLASSIC = systemTemplate(
  '{FC65DDD8-D6EF-4962-83D5-6E5CFE9CE148}',
  'Service Control Manager',
  'System',
  'WS-0142.corp.example',
)
const PROCESS_4688 = dataTemplate('{AD6B7E4C-0A1F-4C0A-9F0E-6F5F2C4D4688}', [
  'SubjectUserSid',
  'SubjectUserName',
  'SubjectDomainName',
  'SubjectLogonId',
  'NewProcessId',
  'NewProcessName',
  'TokenElevationType',
  'ProcessId',
  'CommandLine',
  'TargetUserSid',
  'TargetUserName',
  'TargetDomainName',
  'TargetLogonId',
  'ParentProcessName',
  'MandatoryLabel',
])
const LOGON_4624 = dataTemplate('{1C2F9D03-77A2-4B16-8E0D-2A9B6C3E4624}', [
  'SubjectUserSid',
  'SubjectUserName',
  'SubjectDomainName',
  'SubjectLogonId',
  'TargetUserSid',
  'TargetUserName',
  'TargetDomainName',
  'TargetLogonId',
  'LogonType',
  'LogonProcessName',
  'AuthenticationPackageName',
  'WorkstationName',
  'LogonGuid',
  'TransmittedServices',
  'LmPackageName',
  'KeyLength',
  'ProcessId',
  'ProcessName',
  'IpAddress',
  'IpPort',
])
const SYSMON_1 = dataTemplate('{7B91E5A8-3D44-4F02-B7C1-95D0E8F20001}', [
  'RuleName',
  'UtcTime',
  'ProcessGuid',
  'ProcessId',
  'Image',
  'FileVersion',
  'Description',
  'Product',
  'Company',
  'OriginalFileName',
  'CommandLine',
  'CurrentDirectory',
  'User',
  'LogonGuid',
  'LogonId',
  'TerminalSessionId',
  'IntegrityLevel',
  'Hashes',
  'ParentProcessGuid',
  'ParentProcessId',
  'ParentImage',
  'ParentCommandLine',
])

const USERS = ['alice', 'bob', 'carol', 'svc_backup', 'SYSTEM', 'LOCAL SERVICE']
const PROGRAMS = [
  'cmd.exe',
  'powershell.exe',
  'svchost.exe',
  'rundll32.exe',
  'chrome.exe',
  'conhost.exe',
  'wmiprvse.exe',
]

/** Numbers from 0 below `bound`, the same for the same seed. */
function makeRandom(seed: number): (bound: number) => number {
  let state = seed >>> 0
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 4_294_967_296) * bound)
  }
}

/**
 * `count` events of process starts, logons and services, a second apart; one in twenty without a template, as hosts write
 * that forward events.
 */
export function generateEvents(count: number, seed: number): EvtxRecordInput[] {
  const random = makeRandom(seed)
  const start = filetimeOf('2026-03-01T00:00:00.1234567Z')
  return Array.from({ length: count }, (_, i) => {
    const id = i + 1
    const time = start + BigInt(i) * 10_000_000n + BigInt(random(10_000_000))
    const kind = random(20)
    if (kind === 0) return { id, time, content: forwardedEvent(id, random) }
    const [template, eventId, content] =
      kind < 8 ? process4688(random) : kind < 12 ? logon4624(random) : kind < 18 ? sysmon1(random, id) : classic(random)
    return { id, time, content: { template, values: systemValues(id, time, eventId, content, random) } }
  })
}

type Random = (bound: number) => number
type Event = readonly [system: EvtxTemplate, eventId: number, content: EvtxAny]

function systemValues(id: number, time: bigint, eventId: number, content: EvtxAny, random: Random): readonly EvtxAny[] {
  const v = evtxValue
  return [
    v.uint8(random(5)),
    v.uint16(eventId % 16_000),
    v.uint8(0),
    v.uint16(eventId),
    eventId === 7_036 ? v.uint16(16_384) : v.none(),
    v.hex64(0x8020_0000_0000_0000n),
    v.filetime(time),
    random(3) === 0 ? v.guid(guidOf(id)) : v.none(),
    v.uint32(4 * random(4_000)),
    v.uint32(4 * random(9_000)),
    v.uint64(BigInt(id)),
    v.uint8(random(3)),
    random(2) === 0 ? v.sid('S-1-5-18') : v.none(),
    content,
  ]
}

function guidOf(number: number): string {
  return `{00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}}`
}

function commandLine(random: Random): string {
  const program = PROGRAMS[random(PROGRAMS.length)]
  const more = Array.from({ length: random(9) }, () => `/${random(1e9).toString(36)}`).join(' ')
  return `"C:\\Windows\\System32\\${program}" ${more}`
}

function process4688(random: Random): Event {
  const v = evtxValue
  const user = USERS[random(USERS.length)]
  const values = [
    v.sid(`S-1-5-21-1223297778-3299746493-1462173606-${1_000 + random(50)}`),
    v.string(user),
    v.string('CORP'),
    v.hex64(BigInt(random(1_000_000))),
    v.hex64(BigInt(random(30_000))),
    v.string(`C:\\Windows\\System32\\${PROGRAMS[random(PROGRAMS.length)]}`),
    v.string('%%1936'),
    v.hex64(BigInt(random(30_000))),
    v.string(commandLine(random)),
    v.sid('S-1-0-0'),
    v.string('-'),
    v.string('-'),
    v.hex64(0n),
    v.string('C:\\Windows\\explorer.exe'),
    v.sid('S-1-16-8192'),
  ]
  return [SECURITY, 4_688, v.nested({ template: PROCESS_4688, values })]
}

function logon4624(random: Random): Event {
  const v = evtxValue
  const values = [
    v.sid('S-1-5-18'),
    v.string('WS-0142$'),
    v.string('CORP'),
    v.hex64(999n),
    v.sid('S-1-5-18'),
    v.string(USERS[random(USERS.length)]),
    v.string('NT AUTHORITY'),
    v.hex64(BigInt(random(1_000_000))),
    v.uint32(2 + random(9)),
    v.string('Advapi  '),
    v.string('Negotiate'),
    v.string(''),
    v.guid(guidOf(0)),
    v.string('-'),
    v.string('-'),
    v.uint32(0),
    v.hex64(BigInt(random(30_000))),
    v.string('C:\\Windows\\System32\\services.exe'),
    v.string(`10.0.${random(256)}.${random(256)}`),
    v.string(String(random(65_536))),
  ]
  return [SECURITY, 4_624, v.nested({ template: LOGON_4624, values })]
}

function sysmon1(random: Random, id: number): Event {
  const v = evtxValue
  const hash = Array.from({ length: 8 }, () => random(4_294_967_296).toString(16).padStart(8, '0')).join('')
  const values = [
    v.string('-'),
    v.string('2026-03-01 10:11:12.131'),
    v.guid(guidOf(id)),
    v.uint32(random(30_000)),
    v.string(`C:\\Windows\\System32\\${PROGRAMS[random(PROGRAMS.length)]}`),
    v.string('10.0.19041.1 (WinBuild.160101.0800)'),
    v.string('Windows Command Processor'),
    v.string('Microsoft® Windows® Operating System'),
    v.string('Microsoft Corporation'),
    v.string('Cmd.Exe'),
    v.string(commandLine(random)),
    v.string('C:\\Users\\alice\\'),
    v.string(`CORP\\${USERS[random(USERS.length)]}`),
    v.guid(guidOf(id + 7)),
    v.hex64(BigInt(random(1_000_000))),
    v.uint32(1),
    v.string('Medium'),
    v.string(`SHA256=${hash.toUpperCase()}`),
    v.guid(guidOf(id + 1)),
    v.uint32(random(30_000)),
    v.string('C:\\Windows\\explorer.exe'),
    v.string(commandLine(random)),
  ]
  return [SYSMON, 1, v.nested({ template: SYSMON_1, values })]
}

function classic(random: Random): Event {
  const v = evtxValue
  const values = [
    v.strings(`Service ${random(90)}`, random(2) === 0 ? 'running' : 'stopped'),
    v.binary(random(256), 0, 1),
  ]
  return [CLASSIC, 7_036, v.nested({ template: CLASSIC_DATA, values })]
}

/** An event whose XML was parsed and written as it is: all values are text. */
function forwardedEvent(id: number, random: Random): EvtxElement {
  const leaf = (element: string, text: string): EvtxElement => ({ element, children: [text] })
  return {
    element: 'Event',
    attributes: [['xmlns', NAMESPACE]],
    children: [
      {
        element: 'System',
        children: [
          { element: 'Provider', attributes: [['Name', 'Microsoft-Windows-Security-Auditing']] },
          leaf('EventID', '4625'),
          leaf('Level', '0'),
          leaf('EventRecordID', String(id)),
          leaf('Channel', 'Security'),
          leaf('Computer', 'DC-1.corp.example'),
        ],
      },
      {
        element: 'EventData',
        children: [
          { element: 'Data', attributes: [['Name', 'TargetUserName']], children: [USERS[random(USERS.length)]] },
          { element: 'Data', attributes: [['Name', 'IpAddress']], children: [`192.0.2.${random(256)}`] },
        ],
      },
    ],
  }
}

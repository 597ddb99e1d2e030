/**
 * Log sources and field names of Windows events, by channel and event id, as the public rules use them: the taxonomy
 * appendix of the specification and the log source guides beside the public rule set.
 */
import type { LogSource } from './event.ts'

const SERVICES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Application: 'application',
    Security: 'security',
    System: 'system',
    'Windows PowerShell': 'powershell-classic',
    'DNS Server': 'dns-server',
    'MSExchange Management': 'msexchange-management',
    'OpenSSH/Operational': 'openssh',
    'PowerShellCore/Operational': 'powershell',
    'Microsoft-IIS-Configuration/Operational': 'iis-configuration',
    'Microsoft-ServiceBus-Client/Admin': 'microsoft-servicebus-client',
    'Microsoft-ServiceBus-Client/Operational': 'microsoft-servicebus-client',
    'Microsoft-Windows-AppLocker/EXE and DLL': 'applocker',
    'Microsoft-Windows-AppLocker/MSI and Script': 'applocker',
    'Microsoft-Windows-AppLocker/Packaged app-Deployment': 'applocker',
    'Microsoft-Windows-AppLocker/Packaged app-Execution': 'applocker',
    'Microsoft-Windows-AppModel-Runtime/Admin': 'appmodel-runtime',
    'Microsoft-Windows-Application-Experience/Program-Compatibility-Assistant': 'application-experience',
    'Microsoft-Windows-Application-Experience/Program-Telemetry': 'application-experience',
    'Microsoft-Windows-AppXDeploymentServer/Operational': 'appxdeployment-server',
    'Microsoft-Windows-AppxPackaging/Operational': 'appxpackaging-om',
    'Microsoft-Windows-BitLocker/BitLocker Management': 'bitlocker',
    'Microsoft-Windows-Bits-Client/Operational': 'bits-client',
    'Microsoft-Windows-CAPI2/Operational': 'capi2',
    'Microsoft-Windows-CertificateServicesClient-Lifecycle-System/Operational':
      'certificateservicesclient-lifecycle-system',
    'Microsoft-Windows-CodeIntegrity/Operational': 'codeintegrity-operational',
    'Microsoft-Windows-DHCP-Server/Operational': 'dhcp',
    'Microsoft-Windows-DNS Client Events/Operational': 'dns-client',
    'Microsoft-Windows-DNSServer/Analytical': 'dns-server-analytic',
    'Microsoft-Windows-DNSServer/Audit': 'dns-server-audit',
    'Microsoft-Windows-Diagnosis-Scripted/Operational': 'diagnosis-scripted',
    'Microsoft-Windows-DriverFrameworks-UserMode/Operational': 'driver-framework',
    'Microsoft-Windows-Kernel-ShimEngine/Diagnostic': 'kernel-shimengine',
    'Microsoft-Windows-Kernel-ShimEngine/Operational': 'kernel-shimengine',
    'Microsoft-Windows-LDAP-Client/Debug': 'ldap',
    'Microsoft-Windows-LSA/Operational': 'lsa-server',
    'Microsoft-Windows-NTLM/Operational': 'ntlm',
    'Microsoft-Windows-Ntfs/Operational': 'ntfs',
    'Microsoft-Windows-PowerShell/Operational': 'powershell',
    'Microsoft-Windows-PrintService/Admin': 'printservice-admin',
    'Microsoft-Windows-PrintService/Operational': 'printservice-operational',
    'Microsoft-Windows-SENSE/Operational': 'sense',
    'Microsoft-Windows-SMBServer/Connectivity': 'smbserver-connectivity',
    'Microsoft-Windows-Security-Mitigations/Kernel Mode': 'security-mitigations',
    'Microsoft-Windows-Security-Mitigations/User Mode': 'security-mitigations',
    'Microsoft-Windows-Shell-Core/Operational': 'shell-core',
    'Microsoft-Windows-SmbClient/Connectivity': 'smbclient-connectivity',
    'Microsoft-Windows-SmbClient/Security': 'smbclient-security',
    'Microsoft-Windows-Sysmon/Operational': 'sysmon',
    'Microsoft-Windows-TaskScheduler/Operational': 'taskscheduler',
    'Microsoft-Windows-TerminalServices-LocalSessionManager/Operational': 'terminalservices-localsessionmanager',
    'Microsoft-Windows-VHDMP/Operational': 'vhdmp',
    'Microsoft-Windows-WMI-Activity/Operational': 'wmi',
    'Microsoft-Windows-Windows Defender/Operational': 'windefend',
    'Microsoft-Windows-Windows Firewall With Advanced Security/Firewall': 'firewall-as',
  }).map(([channel, service]) => [channel.toLowerCase(), service]),
)

/** Categories by service and event id. */
const CATEGORIES: ReadonlyMap<string, ReadonlyMap<number, readonly string[]>> = new Map([
  [
    'sysmon',
    new Map<number, readonly string[]>([
      [1, ['process_creation']],
      [2, ['file_change']],
      [3, ['network_connection']],
      [4, ['sysmon_status']],
      [5, ['process_termination']],
      [6, ['driver_load']],
      [7, ['image_load']],
      [8, ['create_remote_thread']],
      [9, ['raw_access_thread']],
      [10, ['process_access']],
      [11, ['file_event']],
      // Which of the two an event is, only its EventType tells.
      [12, ['registry_event', 'registry_add', 'registry_delete']],
      [13, ['registry_event', 'registry_set']],
      [14, ['registry_event', 'registry_rename']],
      [15, ['create_stream_hash']],
      [16, ['sysmon_status']],
      [17, ['pipe_created']],
      [18, ['pipe_created']],
      [19, ['wmi_event']],
      [20, ['wmi_event']],
      [21, ['wmi_event']],
      [22, ['dns_query']],
      [23, ['file_delete']],
      [24, ['clipboard_change']],
      [25, ['process_tampering']],
      [26, ['file_delete_detected', 'file_delete']],
      [27, ['file_block_executable']],
      [28, ['file_block_shredding']],
      [29, ['file_executable_detected']],
      [255, ['sysmon_error']],
    ]),
  ],
  ['security', new Map([[4688, ['process_creation']]])],
  ['powershell', new Map([...[4103].map(withCategory('ps_module')), ...[4104].map(withCategory('ps_script'))])],
  [
    'powershell-classic',
    new Map([
      ...[400].map(withCategory('ps_classic_start')),
      ...[600].map(withCategory('ps_classic_provider_start')),
      ...[800].map(withCategory('ps_classic_script')),
    ]),
  ],
])

function withCategory(category: string): (id: number) => [number, readonly string[]] {
  return (id) => [id, [category]]
}

/** Registry events of Sysmon whose EventType is known have one category of the two. */
const REGISTRY_TYPES: ReadonlyMap<string, string> = new Map([
  ['CreateKey', 'registry_add'],
  ['DeleteKey', 'registry_delete'],
  ['DeleteValue', 'registry_delete'],
])

const OTHER_CHANNELS: readonly LogSource[] = [{ product: 'windows' }]
const known = new Map<string, readonly LogSource[]>()

/**
 * The log sources of an event; `eventType` is the field of that name of Sysmon's registry events. The same array for
 * the same kind of event.
 */
export function windowsSources(channel: string, eventId: number, eventType?: string): readonly LogSource[] {
  const service = SERVICES.get(channel.toLowerCase())
  if (service === undefined) return OTHER_CHANNELS
  const categories = CATEGORIES.get(service)?.get(eventId)
  const registryType = service === 'sysmon' && eventId === 12 ? REGISTRY_TYPES.get(eventType ?? '') : undefined
  const key = `${service} ${categories === undefined ? 0 : eventId} ${registryType ?? ''}`
  const found = known.get(key)
  if (found !== undefined) return found
  const chosen = registryType === undefined ? (categories ?? []) : ['registry_event', registryType]
  const sources = [
    { product: 'windows', service },
    ...chosen.map((category): LogSource => ({ category, product: 'windows', service })),
  ]
  known.set(key, sources)
  return sources
}

const NO_ALIASES: ReadonlyMap<string, string> = new Map()

const AUDITED_PROCESS: ReadonlyMap<string, string> = new Map([
  ['Image', 'NewProcessName'],
  ['ParentImage', 'ParentProcessName'],
  ['User', 'SubjectUserName'],
  ['LogonId', 'SubjectLogonId'],
  ['ProcessId', 'NewProcessId'],
  ['ParentProcessId', 'ProcessId'],
])

/** Which field of an event is meant by a field of the rules' taxonomy, where the two are called differently. */
export function windowsAliases(channel: string, eventId: number): ReadonlyMap<string, string> {
  return eventId === 4688 && channel.toLowerCase() === 'security' ? AUDITED_PROCESS : NO_ALIASES
}

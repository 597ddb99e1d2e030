import { expect, test } from 'vitest'
import { windowsAliases, windowsSources } from '../src/windows-sources.ts'

const windows = (service: string, ...categories: readonly string[]): unknown => [
  { product: 'windows', service },
  ...categories.map((category) => ({ category, product: 'windows', service })),
]

test.each([
  ['Security', 4624, undefined, windows('security')],
  ['security', 4688, undefined, windows('security', 'process_creation')],
  ['Microsoft-Windows-Sysmon/Operational', 1, undefined, windows('sysmon', 'process_creation')],
  ['Microsoft-Windows-Sysmon/Operational', 12, 'CreateKey', windows('sysmon', 'registry_event', 'registry_add')],
  ['Microsoft-Windows-Sysmon/Operational', 12, 'DeleteValue', windows('sysmon', 'registry_event', 'registry_delete')],
  [
    'Microsoft-Windows-Sysmon/Operational',
    12,
    undefined,
    windows('sysmon', 'registry_event', 'registry_add', 'registry_delete'),
  ],
  ['Microsoft-Windows-PowerShell/Operational', 4104, undefined, windows('powershell', 'ps_script')],
  ['Windows PowerShell', 400, undefined, windows('powershell-classic', 'ps_classic_start')],
  ['Some-Other/Channel', 1, undefined, [{ product: 'windows' }]],
])('%s %i %s', (channel, id, type, expected) => {
  expect(windowsSources(channel, id, type)).toEqual(expected)
  expect(windowsSources(channel, id, type)).toBe(windowsSources(channel, id, type))
})

test('the audit of process creation calls its fields differently', () => {
  expect(windowsAliases('Security', 4688).get('Image')).toBe('NewProcessName')
  expect(windowsAliases('Security', 4624).size).toBe(0)
  expect(windowsAliases('Microsoft-Windows-Sysmon/Operational', 1).size).toBe(0)
})

import { crc32 } from '@prexy/bytes/crc32.hot'
import { expect, test } from 'vitest'

test('CRC-32 has its check value, in one piece and in two', () => {
  const digits = Uint8Array.from('123456789', (digit) => digit.charCodeAt(0))
  expect(crc32(digits, 0, 9)).toBe(0xcbf43926)
  expect(crc32(digits, 4, 9, crc32(digits, 0, 4))).toBe(0xcbf43926)
  const more = Uint8Array.from({ length: 300 }, (_, i) => i * 7)
  for (let cut = 0; cut < 40; cut++) expect(crc32(more, cut, 300, crc32(more, 0, cut))).toBe(crc32(more, 0, 300))
})

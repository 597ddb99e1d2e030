/** The value types of binary XML, [MS-EVEN6] §2.2.12. */
export const NULL_TYPE = 0x00
export const STRING_TYPE = 0x01
export const ANSI_TYPE = 0x02
export const INT8_TYPE = 0x03
export const UINT8_TYPE = 0x04
export const INT16_TYPE = 0x05
export const UINT16_TYPE = 0x06
export const INT32_TYPE = 0x07
export const UINT32_TYPE = 0x08
export const INT64_TYPE = 0x09
export const UINT64_TYPE = 0x0a
export const REAL32_TYPE = 0x0b
export const REAL64_TYPE = 0x0c
export const BOOL_TYPE = 0x0d
export const BINARY_TYPE = 0x0e
export const GUID_TYPE = 0x0f
export const SIZE_TYPE = 0x10
export const FILETIME_TYPE = 0x11
export const SYSTEMTIME_TYPE = 0x12
export const SID_TYPE = 0x13
export const HEX32_TYPE = 0x14
export const HEX64_TYPE = 0x15
export const HANDLE_TYPE = 0x20
export const BINXML_TYPE = 0x21
export const XML_TYPE = 0x23
/** Set for an array of the type that the other bits name. */
export const ARRAY_FLAG = 0x80

/** Bytes of one value, by type; 0 where the value's size says how many. */
const FIXED_SIZES: readonly number[] = [0, 0, 0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 4, 0, 16, 0, 8, 16, 0, 4, 8]

export function fixedSize(type: number): number {
  return type < FIXED_SIZES.length ? FIXED_SIZES[type] : 0
}

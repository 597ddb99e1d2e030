/** The part of the WHATWG Encoding API that is used here; every runtime has it. */
declare class TextDecoder {
  decode(input: Uint8Array): string
}
declare class TextEncoder {
  encode(input: string): Uint8Array
  encodeInto(input: string, octets: Uint8Array): { readonly read: number; readonly written: number }
}

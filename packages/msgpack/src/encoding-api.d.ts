/** The part of the WHATWG Encoding API that is used here; every runtime has it. */
declare class TextDecoder {
  constructor(label: 'utf-8', options: { readonly ignoreBOM: boolean })
  decode(input: Uint8Array): string
}
declare class TextEncoder {
  encodeInto(source: string, destination: Uint8Array): { readonly read: number; readonly written: number }
}

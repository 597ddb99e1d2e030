/** The part of the WHATWG Encoding API that is used here; every runtime has it. */
declare class TextDecoder {
  constructor(label: 'utf-16le', options: { readonly ignoreBOM: boolean })
  decode(input: Uint8Array): string
}

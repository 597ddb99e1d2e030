/** The part of the WHATWG Encoding API that tables of encodings are read from; a runtime may lack encodings. */
declare class TextDecoder {
  constructor(label?: string)
  decode(input: Uint8Array): string
}

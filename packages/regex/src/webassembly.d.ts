/** The part of the WebAssembly JavaScript API that is used here; every runtime has it. */
declare namespace WebAssembly {
  interface Memory {
    readonly buffer: ArrayBuffer
    grow(pages: number): number
  }
  class Module {
    constructor(bytes: Uint8Array<ArrayBuffer>)
  }
  class Instance {
    constructor(module: Module, imports?: Readonly<Record<string, Readonly<Record<string, (value: number) => number>>>>)
    readonly exports: Readonly<Record<string, unknown>>
  }
}

import type { FieldList } from './fields.ts'

/** Thrown where a head would carry an octet that could end it early: a value reached us without a check. */
export declare class UnsafeHeadError extends Error {}

/** `METHOD target HTTP/1.1` and the fields as given, with the empty line. The caller owns the array. */
export declare function encodeRequestHead(method: string, target: string, fields: FieldList): Uint8Array

/** `HTTP/1.1 status phrase` with our own phrase, and the fields as given, with the empty line. */
export declare function encodeResponseHead(status: number, fields: FieldList): Uint8Array

/** Size line of a chunk of `bytes` > 0 octets. After the data comes {@link CRLF}. */
export declare function encodeChunkHead(bytes: number): Uint8Array

/** A whole chunk in one array; copies the data, so for small chunks. `data` is not empty. */
export declare function encodeChunk(data: Uint8Array): Uint8Array

/** The end of a chunked body, with trailers if any. */
export declare function encodeLastChunk(trailers: FieldList): Uint8Array

/** Ends the data of a chunk. Shared: do not write to it. */
export declare const CRLF: Uint8Array

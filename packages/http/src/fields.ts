/**
 * Header or trailer lines as they came: `[name, value, name, value, ...]`, one entry per line, in order, names in
 * their case, values without surrounding white space, one octet per character. Lookups ignore case.
 */
export type FieldList = readonly string[]

/** Value of the first line of that name. `lowerName` is in lower case here and below. */
export declare function fieldValue(fields: FieldList, lowerName: string): string | undefined

/** Values of all lines of that name, in order; Set-Cookie and the like stay separate. */
export declare function fieldValues(fields: FieldList, lowerName: string): string[]

/** All lines of that name joined as one list value (RFC 9110 §5.3); undefined if there is none. */
export declare function joinedValue(fields: FieldList, lowerName: string): string | undefined

/** A copy without the lines of these names. */
export declare function withoutFields(fields: FieldList, lowerNames: ReadonlySet<string>): string[]

/** Replaces the first line of that name, removes the others, or appends one. Changes `fields`. */
export declare function setField(fields: string[], name: string, value: string): void

/** Removes every line of that name. Changes `fields`. */
export declare function removeField(fields: string[], lowerName: string): void

/**
 * A copy of what may travel on: without Connection, every field it names, Keep-Alive, Proxy-Connection, TE, Trailer,
 * Transfer-Encoding, Upgrade, Content-Length, Proxy-Authorization and Proxy-Authenticate (RFC 9110 §7.6.1). Strip
 * first, then add our own.
 *
 * SECURITY: Connection cannot name end-to-end essentials away (Host, Authorization, Cookie, X-Forwarded-*, ...).
 */
export declare function endToEndFields(fields: FieldList): string[]

/** What may travel on of a trailer section: no framing, routing, authentication, caching or cookie fields. */
export declare function endToEndTrailers(trailers: FieldList): string[]

/** Elements of a comma separated list (RFC 9110 §5.6.1), trimmed, empty ones skipped, commas in quotes respected. */
export declare function listElements(value: string): string[]

/** Whether a list of tokens holds this one, ignoring case. */
export declare function listHasToken(value: string, lowerToken: string): boolean

/** A token (RFC 9110 §5.6.2). */
export declare function isToken(text: string): boolean

/** A value safe to write: no CR, LF, NUL or other control but HTAB, nothing above U+00FF, no white space around. */
export declare function isFieldValue(text: string): boolean

export interface MediaType {
  /** `type/subtype` in lower case, without parameters. */
  readonly essence: string
  /** The charset parameter in lower case, unquoted. */
  readonly charset: string | undefined
}

/** Undefined if the value is no media type. */
export declare function parseMediaType(value: string): MediaType | undefined

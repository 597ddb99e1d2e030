/** `host[:port]` taken apart. */
export interface Authority {
  /** In lower case, an IPv6 address with its brackets. */
  readonly host: string
  readonly port: number | undefined
}

/** RFC 9110 §7.2, RFC 3986 §3.2.2; undefined for anything else: userinfo, lists, paths, a port above 65,535. */
export declare function parseAuthority(text: string): Authority | undefined

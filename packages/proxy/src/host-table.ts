/**
 * What belongs to a host name, found in a time that does not depend on how many names there are: an exact name goes
 * before a pattern, and of patterns the longest wins, as in nginx (`server_name`).
 */
export class HostTable<T> {
  readonly #exact = new Map<string, T>()
  /** By what follows the star: `.example.org`. */
  readonly #below = new Map<string, T>()

  /** `pattern`: a name, or `*.example.org` for every name below; ignoring case. Throws when it has something already. */
  add(pattern: string, value: T): void {
    const name = pattern.toLowerCase()
    const [map, key] = name.startsWith('*.') ? [this.#below, name.slice(1)] : [this.#exact, name]
    if (map.has(key)) throw new Error(`the host ${pattern} belongs to two sites`)
    map.set(key, value)
  }

  /** `host`: in lower case, without port. */
  find(host: string): T | undefined {
    const exact = this.#exact.get(host)
    if (exact !== undefined || this.#below.size === 0) return exact
    for (let dot = host.indexOf('.', 1); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const found = this.#below.get(host.slice(dot))
      if (found !== undefined) return found
    }
    return undefined
  }
}

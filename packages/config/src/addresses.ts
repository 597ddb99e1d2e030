/** Addresses as files write them, once the schema has let them through. */
import type { ListenAddress } from './config.ts'
import type { RawListen } from './listen-schema.ts'

export function isSocketAddress(address: string | number): boolean {
  return typeof address === 'string' && address.startsWith('unix:/')
}

/** What stands for the address in an entry of `listen`. */
export function addressOf(entry: string | number | RawListen): string | number {
  return typeof entry === 'object' ? entry.address : entry
}

/** `8080`, `:8080`, `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/prexy.sock`, which is a host of its own with port 0. */
export function listenAddressOf(address: string | number): Pick<ListenAddress, 'host' | 'port'> {
  if (typeof address === 'number') return { host: undefined, port: address }
  if (isSocketAddress(address)) return { host: address, port: 0 }
  const colon = address.lastIndexOf(':')
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '')
  return { host: host === '' || host === '*' ? undefined : host, port: Number(address.slice(colon + 1)) }
}

import { UNIX_PREFIX } from '@prexy/net/unix-socket'

/** An address that can be opened in a browser on this machine; a socket as the configuration has it. */
export function addressUrl(scheme: 'http' | 'https', host: string, port: number): string {
  if (host.startsWith(UNIX_PREFIX)) return host
  const open = host === '::' || host === '0.0.0.0' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  const everywhere = host === '::' || host === '0.0.0.0' ? ' (every address of this machine)' : ''
  return `${scheme}://${open}:${port}/${everywhere}`
}

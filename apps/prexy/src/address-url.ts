/** An address that can be opened in a browser on this machine. */
export function addressUrl(scheme: 'http' | 'https', host: string, port: number): string {
  const open = host === '::' || host === '0.0.0.0' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  const everywhere = host === '::' || host === '0.0.0.0' ? ' (every address of this machine)' : ''
  return `${scheme}://${open}:${port}/${everywhere}`
}

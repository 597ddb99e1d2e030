import { UNIX_PREFIX } from '@prexy/net/unix-socket'
import { CommandError } from './exit-codes.ts'

/** What went wrong with an address, for a person; other errors as they are. */
export function listenError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  // Bun says no more than this when a name is not found.
  const unknown = /^Failed to listen at (\S+)$/.exec(error.message)?.[1]
  if (unknown !== undefined) return unknownHost(unknown, 'there is no host of that name')
  if (!('code' in error) || !('syscall' in error)) return error
  if (error.syscall === 'getaddrinfo') {
    const host = 'hostname' in error ? String(error.hostname) : 'the address'
    return unknownHost(host, error.code === 'ENOTFOUND' ? 'there is no host of that name' : error.message)
  }
  // A worker of several binds by way of another process.
  if (error.syscall !== 'listen' && error.syscall !== 'bind') return error
  const address = 'address' in error ? String(error.address) : undefined
  const isSocket = address?.startsWith('/') === true
  const socket = isSocket ? `${UNIX_PREFIX}${address.replace(/\.new$/, '')}` : undefined
  const where =
    socket ?? (address !== undefined && 'port' in error ? `${address}:${String(error.port)}` : 'the address')
  switch (error.code) {
    case 'EADDRINUSE':
      return new CommandError(
        `cannot listen on ${where}: something else does; choose another with --listen, 0 takes a free one`,
      )
    case 'ENOENT':
      return new CommandError(`cannot listen on ${where}: there is no such folder`)
    case 'EACCES':
      if (isSocket) return new CommandError(`cannot listen on ${where}: its folder cannot be written to`)
      return new CommandError(`cannot listen on ${where}: permission denied; ports below 1024 need privileges`)
    case 'EADDRNOTAVAIL':
      return new CommandError(`cannot listen on ${where}: this machine has no such address`)
    default:
      return new CommandError(`cannot listen on ${where}: ${error.message}`)
  }
}

function unknownHost(host: string, reason: string): CommandError {
  return new CommandError(`cannot listen on ${host}: ${reason}; name an address of this machine, like 127.0.0.1:8080`)
}

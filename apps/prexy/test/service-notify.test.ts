import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { serviceManager } from '../src/service-notify.ts'
import { waitFor } from './run-prexy.ts'

/** Node has no datagrams on Unix sockets, in either direction. */
const RECEIVER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True: print(' '.join(s.recv(4096).decode().split()), flush=True)
`

function isThere(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined
}
const missing = ['systemd-notify', 'python3'].filter((program) => !isThere(program))
if (missing.length > 0) process.stderr.write(`service-notify: skipped, there is no ${missing.join(', no ')}\n`)

test.skipIf(missing.length > 0)('a service manager is told, in order', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'prexy-notify-'))
  const socket = join(folder, 'notify')
  const receiver = spawn('python3', ['-c', RECEIVER, socket])
  const told: string[] = []
  const before = process.env.NOTIFY_SOCKET
  try {
    await waitFor(receiver.stdout, /bound/)
    process.env.NOTIFY_SOCKET = socket
    const manager = serviceManager({ NOTIFY_SOCKET: socket, WATCHDOG_USEC: '200000' }, (line) => expect.fail(line))
    const alive = waitFor(receiver.stdout, /WATCHDOG=1/)
    const stopped = waitFor(receiver.stdout, /STOPPING=1/)
    receiver.stdout.on('data', (chunk: Buffer) => told.push(chunk.toString()))
    manager.ready()
    await alive
    manager.close()
    manager.reloading()
    manager.ready()
    manager.stopping()
    await stopped
    const states = told.join('').match(/\b(?:READY|RELOADING|STOPPING)=1/g)
    expect(states).toEqual(['READY=1', 'RELOADING=1', 'READY=1', 'STOPPING=1'])
  } finally {
    if (before === undefined) delete process.env.NOTIFY_SOCKET
    else process.env.NOTIFY_SOCKET = before
    receiver.kill('SIGKILL')
    await once(receiver, 'exit')
    rmSync(folder, { recursive: true })
  }
})

test('nobody is told without a socket', () => {
  const manager = serviceManager({}, (line) => expect.fail(line))
  manager.ready()
  manager.close()
})

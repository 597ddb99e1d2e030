/** What a page and its workers hold, as Chromium's DevTools protocol tells. */
import type { CDPSession, Page } from 'playwright-core'

interface HeapUsage {
  readonly usedSize: number
  /** Of objects outside of JavaScript: the document. */
  readonly embedderHeapUsedSize?: number
  /** Of array buffers. */
  readonly backingStorageSize?: number
}

/** Bytes of JavaScript heaps, documents and array buffers, after a collection. */
export async function heldBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  const workers: string[] = []
  session.on('Target.attachedToTarget', ({ sessionId }) => workers.push(sessionId))
  await session.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: false })
  let bytes = held(await collected((method) => session.send(method as 'Runtime.getHeapUsage')))
  for (const worker of workers) bytes += held(await collected((method) => sendTo(session, worker, method)))
  await session.detach()
  return bytes
}

async function collected(send: (method: string) => Promise<unknown>): Promise<HeapUsage> {
  await send('HeapProfiler.collectGarbage')
  await send('HeapProfiler.collectGarbage')
  return (await send('Runtime.getHeapUsage')) as HeapUsage
}

function held({ usedSize, embedderHeapUsedSize = 0, backingStorageSize = 0 }: HeapUsage): number {
  return usedSize + embedderHeapUsedSize + backingStorageSize
}

let lastId = 0

/** A command to a target that is reached through the session of its page. */
async function sendTo(session: CDPSession, target: string, method: string): Promise<unknown> {
  const id = ++lastId
  const answered = new Promise<unknown>((resolve) => {
    const take = ({ message }: { message: string }): void => {
      const answer = JSON.parse(message) as { readonly id?: number; readonly result?: unknown }
      if (answer.id !== id) return
      session.off('Target.receivedMessageFromTarget', take)
      resolve(answer.result)
    }
    session.on('Target.receivedMessageFromTarget', take)
  })
  await session.send('Target.sendMessageToTarget', { sessionId: target, message: JSON.stringify({ id, method }) })
  return await answered
}

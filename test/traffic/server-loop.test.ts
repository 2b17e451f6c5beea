/** The loop of a server. */
import { expect, it } from 'vitest'
import type { Control } from '../../src/traffic/run/control.ts'
import type { Idle } from '../../src/traffic/run/idle.ts'
import type { Link } from '../../src/traffic/run/link.ts'
import { ServerLoop } from '../../src/traffic/run/server-loop.ts'
import type { CompletionQueue, WorkCompletion } from '../../src/verbs/index.ts'

it('counts what came before the client said that it is done, also if the loop was away meanwhile', () => {
  // All of it happens between the look at the queue and the look at the order to stop.
  let waiting = 0
  const idle = {
    busy: () => undefined,
    wait: () => {
      waiting = 3
      return true
    },
  }
  const receives = {
    poll: (wcs: WorkCompletion[]) => {
      const n = waiting > 0 ? 1 : 0
      waiting = Math.max(0, waiting - 1)
      Object.assign(wcs[0]!, { status: 0, wrId: 0, byteLen: 100 })
      return n
    },
  }
  const sends = { poll: () => 0 }
  const link = { channels: [], controlIndex: 1, received: () => undefined }
  const loop = new ServerLoop(
    link as unknown as Link,
    sends as unknown as CompletionQueue,
    receives as unknown as CompletionQueue,
    2,
    { stopped: true } as Control,
    idle as unknown as Idle,
  )
  loop.run()
  expect(loop.counts).toEqual({ requests: 0, bytes: 300, messages: 3 })
})

/** Threads that share a capture, when one of them fails. */
import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import { type ShareData, type ShareReply, watchShares } from '../../../src/monitor/host/shares.ts'
import { encodeWindow, MonitorError, monitorConfig, Window } from '../../../src/monitor/index.ts'

/** A thread that reads until it is told to stop. */
class Thread extends EventEmitter {
  readonly told: ShareReply[] = []
  terminated = 0

  postMessage(reply: ShareReply): void {
    this.told.push(reply)
    if (reply === 'stop') this.emit('message', { kind: 'end', format: 'pcap', damage: [], damageCount: 0 })
  }

  async terminate(): Promise<number> {
    this.terminated++
    return 0
  }
}

const config = monitorConfig({ seed: 1, memoryBytes: 2 ** 20 })
const good = encodeWindow(new Window(config, 0))

function watched(): { threads: Thread[]; taken: number[]; ended: number[]; outcome: Promise<unknown> } {
  const threads = [new Thread(), new Thread(), new Thread()]
  const [taken, ended]: number[][] = [[], []]
  const outcome = watchShares(
    {
      ...{ file: 'x', agent: 'a', shares: 3, signal: new AbortController().signal, config: () => config },
      onWindow: async (share) => void taken!.push(share),
      onEnd: (share) => void ended!.push(share),
    },
    ({ share }: ShareData) => threads[share]!,
  )
  return { threads, taken: taken!, ended: ended!, outcome }
}

it('a window that is none, or a thread that fails, ends all of them, with its reason', async () => {
  for (const [message, reason] of [
    [{ kind: 'window', bytes: good.subarray(0, 100) }, MonitorError],
    [{ kind: 'failed', message: 'the disk is gone' }, 'the disk is gone'],
  ] as const) {
    const { threads, taken, ended, outcome } = watched()
    threads[0]!.emit('message', { kind: 'window', bytes: good })
    threads[1]!.emit('message', message)
    await expect(outcome).rejects.toThrow(reason)
    expect(taken).toEqual([0])
    expect([threads[0]!.told.at(-1), threads[2]!.told.at(-1)]).toEqual(['stop', 'stop'])
    expect(ended.sort()).toEqual([0, 1, 2])
    expect(threads.map(({ terminated }) => terminated)).toEqual([1, 1, 1])
  }
})

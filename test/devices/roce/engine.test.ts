/** Who drives the adapter: a thread answers peers while the program computes, and an idle program costs nothing. */
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { connectQp, endpointOf, nativeAvailable, openDevice, type QpEndpoint } from '../../../src/index.ts'
import { startThread } from '../../../src/memory/index.ts'
import { loopbackDevice } from '../../loopback.ts'
import { access, makeEnd } from '../shm/rig.ts'
import type { RemoteData, Target } from './remote.worker.ts'

const rounds = 30

describe.skipIf(!nativeAvailable).each(['poster', 'thread'] as const)("roce with engine '%s'", (engine) => {
  it('serves WRITE and READ while the program computes', async () => {
    const context = openDevice(loopbackDevice(1), { engine })
    const end = makeEnd(context)
    const words = new Int32Array(new SharedArrayBuffer(12))
    words[1] = rounds
    const data: RemoteData = { device: loopbackDevice(2), words }
    const remote = startThread(new URL('./remote.worker.ts', import.meta.url), { workerData: data })
    const [endpoint] = (await once(remote, 'message')) as [QpEndpoint]
    const local = endpointOf(end.qp)
    connectQp(end.qp, local, endpoint, { accessFlags: access, timeout: 16, retryCnt: 7 })
    remote.postMessage({ endpoint: local, addr: end.mr.addr, rkey: end.mr.rkey } satisfies Target)
    await once(remote, 'message')
    // From here on this thread calls no verb, for 300 ms at least, and until the peer is done.
    const started = performance.now()
    Atomics.store(words, 0, 1)
    Atomics.notify(words, 0)
    let sum = 0
    for (let elapsed = 0; elapsed < 300 || (words[2]! < rounds && elapsed < 20_000); ) {
      for (let i = 0; i < 10_000; i++) sum += Math.sqrt(i)
      elapsed = performance.now() - started
    }
    expect(sum).toBeGreaterThan(0)
    expect(Atomics.load(words, 2)).toBe(rounds)
    expect(end.buffer[0]).toBe(rounds)
    expect(await once(remote, 'message')).toEqual(['done'])
    end.close()
    context.close()
  })

  it('leaves the processor alone while a program waits for an event', async () => {
    const context = openDevice(loopbackDevice(1), { engine })
    const channel = context.createCompChannel()
    const cq = context.createCq(4, { channel })
    cq.reqNotify()
    const waiting = channel[Symbol.asyncIterator]().next()
    await new Promise((resolve) => setTimeout(resolve, 300))
    const before = process.cpuUsage()
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const { user, system } = process.cpuUsage(before)
    // One thread that spins would use a second; what this process does besides is small.
    expect((user + system) / 1000).toBeLessThan(300)
    cq.close()
    channel.close()
    expect((await waiting).done).toBe(true)
    context.close()
  })

  it('gives its port back when it closes, also while nothing moves', async () => {
    for (let i = 0; i < 5; i++) {
      const context = openDevice(loopbackDevice(3), { engine })
      // Long enough for the thread to wait in the kernel, which holds the sockets that it waits on.
      await new Promise((resolve) => setTimeout(resolve, 20))
      context.close()
    }
  })
})

/** What a connection costs: counted in objects and calls of the verbs, not in time. */
import { queryObjects } from 'node:v8'
import { expect, test, vi } from 'vitest'
import { AF_INET, type Context, openDevice, POLLIN, rsocket, SOCK_NONBLOCK, SOCK_STREAM } from '../../../src/index.ts'
import { CmService } from '../../../src/rsocket/runtime/cm-service.ts'
import { IoContext, keepMs, processHeld, watchMs } from '../../../src/rsocket/runtime/io-context.ts'
import { everySeconds } from '../../../src/rsocket/runtime/keepalive.ts'
import { SpinWaiter } from '../../../src/rsocket/runtime/spin-waiter.ts'
import type { Stream } from '../../../src/rsocket/runtime/stream.ts'
import type { StreamSocket } from '../../../src/rsocket/sockets/socket.ts'
import { ProtectionDomainObject } from '../../../src/verbs/api/protection-domain.ts'
import { QueuePairObject } from '../../../src/verbs/api/queue-pair.ts'
import { QpState, RecvWorkRequest, SendWorkRequest, WorkCompletion } from '../../../src/verbs/provider/index.ts'

const device = 'shm0'

function stream(): StreamSocket {
  return rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, { device }) as StreamSocket
}

async function withListener(use: (connect: () => Promise<StreamSocket[]>) => Promise<void>): Promise<void> {
  const listener = stream()
  expect(listener.bind({ address: '127.0.0.1', port: 0 })).toBe(0)
  expect(listener.listen()).toBe(0)
  const { port } = listener.getsockname() as { port: number }
  await use(async () => {
    const client = stream()
    const accepting = listener.acceptAsync()
    await client.connectAsync({ address: '127.0.0.1', port })
    return [client, await accepting]
  })
  expect(listener.close()).toBe(0)
}

test('connections share the objects that only one of them uses at a time', async () => {
  await withListener(async (connect) => {
    const open = await connect()
    const count = (): number[] => {
      open[0]!.io!.spare?.close()
      return [WorkCompletion, RecvWorkRequest, SendWorkRequest].map((kind) => queryObjects(kind, { format: 'count' }))
    }
    const [completions, receives, sends] = count() as [number, number, number]
    const { queues } = open[0]!.io!
    const pairs = queues.pairs.length
    for (let i = 0; i < 7; i++) open.push(...(await connect()))
    // Each completion queue has one of its own: 16 streams, and perhaps a spare one, have 5 pairs, for 1, 1, 2, 4 and 8 streams, or a sixth.
    expect(queues.pairs.length).toBeGreaterThanOrEqual(5)
    expect(queues.pairs.length).toBeLessThanOrEqual(6)
    expect(count()).toEqual([completions + 2 * (queues.pairs.length - pairs), receives, sends])
    for (const socket of open) socket.close()
  })
})

test('what all connections share is made once for many that come and go, and closed when none has come for a while', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const context = openDevice(device)
  const methods = Object.getPrototypeOf(context) as Context
  const domains = vi.spyOn(methods, 'allocPd')
  const channels = vi.spyOn(methods, 'createCompChannel')
  try {
    await withListener(async (connect) => {
      const [first, other] = await connect()
      const { io } = first!
      first!.close()
      other!.close()
      const made = [domains.mock.calls.length, channels.mock.calls.length]
      for (let i = 0; i < 3; i++) for (const socket of await connect()) socket.close()
      expect([domains.mock.calls.length, channels.mock.calls.length]).toEqual(made)
      expect(io!.channel.closed).toBe(false)
      vi.advanceTimersByTime(keepMs)
      expect(io!.channel.closed).toBe(true)
      const again = IoContext.acquire(io!.context)
      expect(again).not.toBe(io)
      again.release()
    })
  } finally {
    vi.useRealTimers()
    vi.restoreAllMocks()
  }
  IoContext.closeUnused()
  context.close()
})

test('the next stream is made while this one waits for its peer, all new, and closed when none is wanted for a while', async () => {
  // Streams that are wanted within a second are wanted often, however long this takes.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const made = vi.spyOn(ProtectionDomainObject.prototype, 'createQp')
  const ended = vi.spyOn(QueuePairObject.prototype, 'discard')
  try {
    await withListener(async (connect) => {
      const seen = new Set<number>()
      for (let i = 0; i < 3; i++) {
        const pair = await connect()
        for (const socket of pair) {
          const { qp, memory } = (socket as unknown as { own: Stream }).own.connection
          expect(seen).not.toContain(qp.qpNum)
          expect(seen).not.toContain(memory.remote.rkey)
          seen.add(qp.qpNum).add(memory.remote.rkey)
          // What earlier connections left in the buffers is never read, and nothing of it is an entry.
          const entries = memory.targetSgl - memory.base
          expect(memory.u8.subarray(entries, memory.receiveBuffer - memory.base).every((byte) => byte === 0)).toBe(true)
        }
        expect(pair[0]!.send(new Uint8Array(1 << 16).fill(0xa5))).toBe(1 << 16)
        for (const socket of pair) socket.close()
      }
      await new Promise(setImmediate)
      // The next connection has its queue pair ready, and one is spare when it is made.
      const before = made.mock.calls.length
      const client = stream()
      client.connect({ address: '127.0.0.1', port: 9 })
      expect(made.mock.calls.length).toBe(before)
      client.close()
      await new Promise(setImmediate)
      const open = (): number => made.mock.calls.length - ended.mock.calls.length
      expect(open()).toBe(1)
      vi.advanceTimersByTime(keepMs)
      expect(open()).toBe(0)
    })
  } finally {
    vi.useRealTimers()
    vi.restoreAllMocks()
  }
})

test('closing takes the queue pair away as it is: nothing is flushed that nobody will poll', async () => {
  const moved = vi.spyOn(QueuePairObject.prototype, 'modify')
  await withListener(async (connect) => {
    const open = await connect()
    moved.mockClear()
    for (const socket of open) socket.close()
    expect(moved.mock.calls.filter(([attr]) => (attr as { state?: number }).state === QpState.Err)).toEqual([])
  })
  vi.restoreAllMocks()
})

test('an idle connection is followed by the event loop while the process lives on, and no longer', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    await withListener(async (connect) => {
      const [client, server] = await connect()
      const pump = vi.spyOn(CmService.prototype, 'pump')
      // Nothing keeps the process alive: the channel is polled, twenty times a second.
      vi.advanceTimersByTime(1000)
      expect(pump).toHaveBeenCalledTimes(20)
      // A socket waits for data: the channel's events come by themselves.
      const watch = client!.watch(POLLIN, () => {})
      await vi.waitFor(() => expect(processHeld()).toBe(true), 20_000)
      vi.advanceTimersByTime(1000)
      pump.mockClear()
      vi.advanceTimersByTime(60_000)
      expect(pump).not.toHaveBeenCalled()
      // The peer's end is an event.
      server!.close()
      await vi.waitFor(() => expect(pump).toHaveBeenCalled(), 20_000)
      watch()
      await vi.waitFor(() => expect(processHeld()).toBe(false), 20_000)
      pump.mockClear()
      vi.advanceTimersByTime(1000)
      expect(pump).toHaveBeenCalledTimes(20)
      client!.close()
    })
  } finally {
    vi.useRealTimers()
    vi.restoreAllMocks()
  }
})

test('of idle connections, one in eight is probed each second, and each that waits for its peer', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const context = openDevice(device)
  const io = IoContext.acquire(context)
  try {
    const streams = Array.from({ length: 16 }, (_, i) => ({ waits: i === 3, probe: vi.fn() }))
    for (const one of streams) io.keep(one)
    vi.advanceTimersByTime(8 * watchMs)
    expect(streams.map(({ probe }) => probe.mock.calls.length)).toEqual(streams.map(({ waits }) => (waits ? 8 : 1)))
  } finally {
    io.release()
    IoContext.closeUnused()
    vi.useRealTimers()
    context.close()
  }
})

test('keepalives of many sockets are sent by one timer', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  try {
    const began = vi.getTimerCount()
    const sent = [0, 0, 0]
    const stops = [15, 15, 2].map((seconds, i) =>
      everySeconds(seconds, () => {
        sent[i]!++
      }),
    )
    expect(vi.getTimerCount()).toBe(began + 1)
    vi.advanceTimersByTime(14_000)
    expect(sent).toEqual([0, 0, 7])
    vi.advanceTimersByTime(16_000)
    expect(sent).toEqual([2, 2, 15])
    for (const stop of stops) stop()
    expect(vi.getTimerCount()).toBe(began)
  } finally {
    vi.useRealTimers()
  }
})

test('who only polls, and never returns to its event loop, says so to the device, and leaves nothing behind in the loop', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const leavesLoop = vi.fn()
    const pump = vi.fn(() => false)
    const waiter = new SpinWaiter(
      { io: { context: { device: { leavesLoop } } } } as never,
      { pump } as never,
      {} as never,
    )
    const immediates = (): number =>
      process.getActiveResourcesInfo().filter((resource) => resource === 'Immediate').length
    const before = immediates()
    const attend = (times: number): void => {
      for (let i = 0; i < times; i++) {
        vi.advanceTimersByTime(60)
        waiter.attend()
      }
    }
    attend(1)
    expect(leavesLoop).not.toHaveBeenCalled()
    attend(5)
    expect(leavesLoop).toHaveBeenCalledTimes(5)
    expect(immediates()).toBeLessThanOrEqual(before + 1)
    // The loop has turned.
    await new Promise((resolve) => setImmediate(resolve))
    leavesLoop.mockClear()
    attend(1)
    expect(leavesLoop).not.toHaveBeenCalled()
    expect(pump).toHaveBeenCalledTimes(7)
  } finally {
    vi.useRealTimers()
  }
})

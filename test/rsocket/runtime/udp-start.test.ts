/** How the thread that has the UDP sockets of datagram rsockets starts, and what happens if it does not. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterEach, expect, test, vi } from 'vitest'
import { createSocket } from '../../../src/dgram.ts'
import { AF_INET, Errno, rsocket, SOCK_DGRAM } from '../../../src/index.ts'
import { UdpService } from '../../../src/rsocket/runtime/udp-service.ts'

/** What starts in place of the thread, if anything. */
const instead: { start: (() => Worker) | undefined } = vi.hoisted(() => ({ start: undefined }))

vi.mock('../../../src/memory/threads.ts', async (original) => {
  const threads = await original<typeof import('../../../src/memory/threads.ts')>()
  const startThread: typeof threads.startThread = (entry, options) =>
    entry.pathname.includes('udp-service') && instead.start !== undefined
      ? instead.start()
      : threads.startThread(entry, options)
  return { ...threads, startThread }
})

const script = (text: string) => (): Worker => new Worker(text, { eval: true })

afterEach(() => {
  instead.start = undefined
  vi.restoreAllMocks()
})

// The order matters: what starts is kept.

test('one that cannot be started is an error number, not an exception', () => {
  instead.start = () => {
    throw new Error('Access to this API has been restricted')
  }
  const s = rsocket(AF_INET, SOCK_DGRAM, 0, { device: 'shm0' })
  expect(s.bind({ address: '127.0.0.1', port: 0 })).toBe(-Errno.EAGAIN)
  expect(s.reason).toContain('restricted')
  s.close()
})

test('one that fails is told by bind of verbena/dgram as an error event', async () => {
  instead.start = script('throw new Error("no thread today")')
  const socket = createSocket({ type: 'udp4', device: 'shm0' }).bind(0, '127.0.0.1')
  const [error] = await once(socket, 'error')
  expect(error).toMatchObject({ code: 'EIO', syscall: 'bind' })
  expect(String(error.cause?.message ?? error.cause)).toContain('no thread today')
  socket.close()
})

test('verbena/dgram waits for the next one in the event loop, so that bind does not block', async () => {
  const running: boolean[] = []
  const { bind } = UdpService.prototype
  vi.spyOn(UdpService.prototype, 'bind').mockImplementation(function (this: UdpService, ...args) {
    running.push(this.running)
    return bind.apply(this, args)
  })
  const socket = createSocket({ type: 'udp4', device: 'shm0' }).bind(0, '127.0.0.1')
  await once(socket, 'listening')
  expect(running).toEqual([true])
  socket.close()
})

test('a bind that blocks for one that does not answer ends after twenty seconds', async () => {
  let thread: Worker | undefined
  instead.start = () => {
    thread = script('setInterval(() => {}, 1000)')()
    return thread
  }
  const service = new UdpService()
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  vi.spyOn(Atomics, 'wait').mockImplementation((_array, _index, _value, ms) => {
    now += Math.min(ms ?? 0, 1000)
    return 'timed-out'
  })
  const owner = { udpData: vi.fn(), udpDropped: vi.fn() }
  const bound = service.bind(owner, 4, '127.0.0.1', 0, { reuse: false, v6Only: false }, 1000)
  vi.restoreAllMocks()
  expect(bound).toEqual({ errno: Errno.ETIMEDOUT, text: 'the thread of the UDP sockets has not answered for 20 s' })
  expect(now).toBe(20_000)
  await thread!.terminate()
})

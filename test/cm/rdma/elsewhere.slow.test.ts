/** The RDMA CM between threads and between processes: blocking calls there, the event loop here; and peers that die. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type CmEvent,
  CmEventType,
  createEventChannel,
  type EventChannel,
  nativeAvailable,
  Opcode,
  openDevice,
  PortSpace,
  SendFlag,
  WcStatus,
} from '../../../src/index.ts'
import { startThread } from '../../../src/memory/index.ts'
import { startable } from '../../entries.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'
import type { Part } from './part.ts'
import { End, talk } from './rig.ts'

const T = CmEventType
const segment = `cm-${process.pid}`

interface Scene {
  name: string
  kind: 'thread' | 'process'
  there: string
  here: string
  address: string
}

const scenes: Scene[] = [
  { name: 'threads on shm', kind: 'thread', there: 'shm0', here: 'shm0', address: '127.0.0.1' },
  {
    name: 'threads on roce',
    kind: 'thread',
    there: loopbackDevice(1),
    here: loopbackDevice(2),
    address: loopbackAddress(1),
  },
  ...(nativeAvailable
    ? ([
        {
          name: 'processes on shm',
          kind: 'process',
          there: `shm:${segment}`,
          here: `shm:${segment}`,
          address: '127.0.0.1',
        },
        {
          name: 'processes on roce',
          kind: 'process',
          there: loopbackDevice(3),
          here: loopbackDevice(4),
          address: loopbackAddress(3),
        },
      ] as const)
    : []),
]

/** The other side: what it says, in order. */
class Elsewhere {
  readonly #heard: unknown[] = []
  readonly child: ChildProcess | undefined
  readonly #thread: Worker | undefined
  #failure: unknown

  constructor(kind: Scene['kind'], part: Part) {
    const hear = (message: unknown): void => {
      if (message === 'ready') this.child!.send(part)
      else this.#heard.push(message)
    }
    if (kind === 'thread') {
      this.#thread = startThread(new URL('./part.worker.ts', import.meta.url), { workerData: part })
      this.#thread.on('message', hear)
      this.#thread.on('error', (error) => {
        this.#failure = error
      })
    } else {
      const { file, execArgv } = startable(new URL('./part.process.ts', import.meta.url))
      this.child = fork(file, { execArgv })
      this.child.on('message', hear)
      this.child.on('exit', (status) => {
        if (status !== 0) this.#failure = new Error(`the other process ended with ${status}`)
      })
    }
    all.push(this)
  }

  async next<V>(): Promise<V> {
    const end = performance.now() + 20_000
    while (this.#heard.length === 0) {
      if (this.#failure !== undefined) throw this.#failure
      if (performance.now() > end) throw new Error('the other side says nothing')
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    return this.#heard.shift() as V
  }

  async kill(): Promise<void> {
    if (this.#thread !== undefined) await this.#thread.terminate()
    else if (this.child!.exitCode === null && this.child!.signalCode === null) {
      const exit = once(this.child!, 'exit')
      this.child!.kill('SIGKILL')
      await exit
    }
  }
}

const all: Elsewhere[] = []
const channels: EventChannel[] = []
const ends: End[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) end.close()
  for (const channel of channels.splice(0)) channel.close()
  for (const one of all.splice(0)) await one.kill()
})

function channelOn(device: string): EventChannel {
  const channel = createEventChannel({ device })
  channels.push(channel)
  return channel
}

/** The next event, with which the event loop goes on meanwhile. */
async function event(channel: EventChannel, type: CmEventType): Promise<CmEvent> {
  for await (const one of channel) {
    expect(`${one.name} ${one.status}`).toContain(
      Object.keys(T)
        [type]!.replace(/(?<=[a-z])(?=[A-Z])/g, '_')
        .toUpperCase(),
    )
    return one
  }
  throw new Error('the channel closed')
}

/** `brief`: gives up soon, where the peer is going to die. */
async function connectTo(channel: EventChannel, address: string, port: number, brief = false): Promise<End> {
  const id = channel.createId(PortSpace.Tcp)
  if (brief) {
    id.setOption('responseTimeout', 16)
    id.setOption('maxRetries', 2)
    id.setOption('ackTimeout', 14)
  }
  id.resolveAddr(undefined, { address, port })
  await event(channel, T.AddrResolved)
  id.resolveRoute()
  await event(channel, T.RouteResolved)
  const end = new End(id)
  ends.push(end)
  id.connect({ privateData: Buffer.from('from here'), retryCount: brief ? 2 : 7 })
  return end
}

describe.each(scenes)('$name', ({ kind, there, here, address }) => {
  it('a server there, which blocks', async () => {
    const other = new Elsewhere(kind, { role: 'server', device: there, address, port: 0 })
    const { port } = await other.next<{ port: number }>()
    const channel = channelOn(here)
    const end = await connectTo(channel, address, port)
    const { param } = await event(channel, T.Established)
    expect(Buffer.from(param.privateData).toString()).toMatch(/^welcome\0/)
    expect(await other.next()).toEqual({ asked: 'from here' })
    for (let i = 0; i < 3; i++) {
      end.recv()
      end.send(String.fromCharCode(10 * i + 1))
      expect((await end.text()).charCodeAt(0)).toBe(10 * i + 2)
      await end.completion('send')
    }
    expect(await other.next()).toEqual({ got: [1, 11, 21] })
    await event(channel, T.Disconnected)
    end.id.disconnect()
    expect(await other.next()).toBe('done')
  })

  it('a client there, which blocks', async () => {
    const channel = channelOn(here)
    const listener = channel.createId(PortSpace.Tcp)
    const own = here.startsWith('roce:') ? here.slice(5) : address
    listener.bindAddr({ address: own })
    listener.listen()
    const { port } = listener.localAddress
    const other = new Elsewhere(kind, { role: 'client', device: there, address: own, port })
    const request = await event(channel, T.ConnectRequest)
    expect(Buffer.from(request.param.privateData).toString()).toMatch(/^from elsewhere\0/)
    const end = new End(request.id)
    ends.push(end)
    end.recv()
    request.id.accept({ privateData: Buffer.from('come in') })
    expect(await other.next()).toEqual({ reply: 'come in' })
    await event(channel, T.Established)
    for (let i = 0; i < 3; i++) {
      expect((await end.text()).charCodeAt(0)).toBe(10 * i + 1)
      end.recv()
      end.send(String.fromCharCode(10 * i + 2).padEnd(64))
      await end.completion('send')
    }
    expect(await other.next()).toEqual({ got: [2, 12, 22] })
    await event(channel, T.Disconnected)
    end.id.disconnect()
    expect(await other.next()).toBe('done')
  })

  it('a server there that waits for events', async () => {
    const other = new Elsewhere(kind, { role: 'channel server', device: there, address, port: 0 })
    const { port } = await other.next<{ port: number }>()
    const channel = channelOn(here)
    const end = await connectTo(channel, address, port)
    await event(channel, T.Established)
    end.id.disconnect()
    await event(channel, T.Disconnected)
    for (const name of ['CONNECT_REQUEST', 'ESTABLISHED', 'DISCONNECTED'])
      expect(await other.next()).toEqual({ event: `RDMA_CM_EVENT_${name}` })
    expect(await other.next()).toBe('done')
  })
})

describe.skipIf(!nativeAvailable).each(scenes.filter(({ kind }) => kind === 'process'))('$name, killed', (scene) => {
  const { kind, there, here, address } = scene

  it('a connected peer: in a segment that is a disconnection; on a network requests and a DREQ find no answer', async () => {
    const other = new Elsewhere(kind, { role: 'channel server', device: there, address, port: 0 })
    const { port } = await other.next<{ port: number }>()
    const channel = channelOn(here)
    const end = await connectTo(channel, address, port, true)
    await event(channel, T.Established)
    await other.kill()
    if (there.startsWith('shm')) {
      expect((await event(channel, T.Disconnected)).status).toBe(0)
      end.id.disconnect()
      expect((await event(channel, T.TimewaitExit)).status).toBe(0)
      return
    }
    end.qp.postSend({ opcode: Opcode.Write, sendFlags: SendFlag.Signaled, remoteAddr: 0, rkey: 0, sgList: [] })
    expect((await end.completion('send')).status).toBe(WcStatus.RetryExcErr)
    end.id.disconnect()
    expect((await event(channel, T.Disconnected)).status).toBe(-110)
  })

  it('before it answers: unreachable, or rejected by who is left; afterwards its port is free', async () => {
    const other = new Elsewhere(kind, { role: 'idle server', device: there, address, port: 0 })
    const { port } = await other.next<{ port: number }>()
    const channel = channelOn(here)
    await connectTo(channel, address, port, true)
    expect(await other.next()).toEqual({ event: 'RDMA_CM_EVENT_CONNECT_REQUEST' })
    await other.kill()
    if (there.startsWith('shm')) expect((await event(channel, T.Rejected)).status).toBe(8)
    else expect((await event(channel, T.Unreachable)).status).toBe(-110)
    const listener = channel.createId(PortSpace.Tcp)
    if (here.startsWith('roce:')) return
    const reaped = openDevice(here)
    for (let i = 0; i < 200; i++) {
      try {
        listener.bindAddr({ address, port })
        break
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
    reaped.close()
    listener.listen()
    const end = await connectTo(channel, address, port)
    const { id } = await event(channel, T.ConnectRequest)
    const b = new End(id)
    ends.push(b)
    id.accept()
    for (let established = 0; established < 2; established++) await event(channel, T.Established)
    await talk(end, b)
  })
})

it('a thread that ends without closing leaves neither port nor service', async () => {
  const address = '127.0.0.1'
  const channel = channelOn('shm0')
  const other = new Elsewhere('thread', { role: 'idle server', device: 'shm0', address, port: 0 })
  const { port } = await other.next<{ port: number }>()
  const listener = channel.createId(PortSpace.Tcp)
  expect(() => listener.bindAddr({ address, port })).toThrow(/in use/)
  await other.kill()
  listener.bindAddr({ address, port })
  listener.listen()
  await connectTo(channel, address, port)
  expect((await event(channel, T.ConnectRequest)).listenId === listener).toBe(true)
})

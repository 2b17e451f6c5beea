/** How programs take events: in their own asynchronous context, awaiting, and without keeping the process alive. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { spawnSync } from 'node:child_process'
import { afterEach, describe, expect, it } from 'vitest'
import { type CmEvent, CmEventType, createEventChannel, type EventChannel, PortSpace } from '../../../src/index.ts'
import { Pair, places } from './rig.ts'

const T = CmEventType
const channels: EventChannel[] = []
afterEach(() => {
  for (const channel of channels.splice(0)) if (!channel.closed) channel.close()
})

function channelOn(device = 'shm0'): EventChannel {
  const channel = createEventChannel({ device })
  channels.push(channel)
  return channel
}

describe('asynchronous context', () => {
  const als = new AsyncLocalStorage<string>()

  it('a reader runs in the context in which it was registered, whoever made the event', async () => {
    const [a, b] = [channelOn(), channelOn()]
    const seen: string[] = []
    const done = new Promise<void>((resolve) => {
      const reader = (name: string, channel: EventChannel) => () => {
        while (channel.tryGetEvent() !== undefined) seen.push(`${name} in ${als.getStore()}`)
        if (seen.length === 2) resolve()
      }
      als.run('context of a', () => a.onReadable(reader('a', a)))
      als.run('context of b', () => b.onReadable(reader('b', b)))
    })
    als.run('context of a third', () => {
      for (const channel of [a, b]) channel.createId(PortSpace.Tcp).resolveAddr(null, { address: '127.0.0.1', port: 1 })
    })
    await done
    expect(seen.sort()).toEqual(['a in context of a', 'b in context of b'])
  })

  it.each(places)('and so when a message of the peer makes it: $name', async (place) => {
    const t = new Pair(place)
    try {
      const listener = als.run('first', () => t.listen())
      const asked = new Promise<string | undefined>((resolve) => {
        als.run('server', () =>
          t.server.onReadable(() => {
            if (t.server.tryGetEvent()?.type === T.ConnectRequest) resolve(als.getStore())
          }),
        )
      })
      const { port } = listener.localAddress
      await als.run('client', async () => {
        const id = await t.resolved({ address: place.address, port })
        t.end(id)
        id.connect()
      })
      expect(await asked).toBe('server')
    } finally {
      t.close()
    }
  })
})

describe('nextEvent', () => {
  it('awaits an event, a time, or the end of the channel', async () => {
    const channel = channelOn()
    expect(await channel.nextEvent(1)).toBeUndefined()
    const id = channel.createId(PortSpace.Tcp)
    const next = channel.nextEvent()
    id.resolveAddr(null, { address: '127.0.0.1', port: 1 })
    expect((await next)?.type).toBe(T.AddrResolved)
    const never = channel.nextEvent()
    channel.close()
    expect(await never).toBeUndefined()
    await expect(channel.nextEvent()).rejects.toThrow(/EBADF/)
  })

  it.each(places)('makes a whole connection: $name', async (place) => {
    const t = new Pair(place)
    try {
      const listener = t.listen()
      const id = t.client.createId(PortSpace.Tcp)
      id.resolveAddr(null, { address: place.address, port: listener.localAddress.port })
      expect((await t.client.nextEvent())?.type).toBe(T.AddrResolved)
      id.resolveRoute()
      expect((await t.client.nextEvent())?.type).toBe(T.RouteResolved)
      t.end(id)
      id.connect()
      const request = (await t.server.nextEvent()) as CmEvent
      t.end(request.id)
      request.id.accept()
      expect((await t.client.nextEvent())?.type).toBe(T.Established)
      expect((await t.server.nextEvent())?.type).toBe(T.Established)
    } finally {
      t.close()
    }
  })
})

it('a channel that is closed lets the process end, also when an iterator was driven by hand', () => {
  const program = `
    import { createEventChannel, PortSpace } from ${JSON.stringify(new URL('../../../dist/index.js', import.meta.url).href)}
    const channel = createEventChannel({ device: 'shm0' })
    const events = channel[Symbol.asyncIterator]()
    channel.createId(PortSpace.Tcp).resolveAddr(undefined, { address: '127.0.0.1', port: 1 })
    console.log((await events.next()).value.name)
    channel.close()
    console.log('closed')`
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 30_000 })
  expect(String(stdout)).toBe('RDMA_CM_EVENT_ADDR_RESOLVED\nclosed\n')
  expect(status).toBe(0)
})

describe('why not', () => {
  it('a rejection says so in words, with a hint where an address is the adapter itself', async () => {
    const t = new Pair(places[0]!)
    try {
      const id = await t.resolved({ address: '127.0.0.1', port: 9 })
      t.end(id)
      id.connect()
      const event = await t.event(t.client, T.Rejected)
      expect(event.statusText).toBe(
        'reason 8, invalid service id: nobody listens on this adapter, shm0, to which all addresses of the host lead; ' +
          'another one of the segment is reached by its GID, written as an IPv6 address',
      )
    } finally {
      t.close()
    }
  })

  it('elsewhere: reason, success, errno', async () => {
    const t = new Pair(places[2]!)
    try {
      // So there is a connection manager on that device.
      t.listen()
      const id = await t.resolved({ address: places[2]!.address, port: 9 })
      t.end(id)
      id.connect()
      const event = await t.event(t.client, T.Rejected)
      expect(event.statusText).toBe('reason 8, invalid service id: nobody listens there')
    } finally {
      t.close()
    }
  })
})

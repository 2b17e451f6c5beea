/** Limits of the communication manager, as programs on the RDMA CM set them. */
import { afterEach, describe, expect, it } from 'vitest'
import { parseAddress } from '../../../src/cm/rdma/address.ts'
import {
  CmEventType,
  createEventChannel,
  createId,
  type EventChannel,
  type EventChannelOptions,
  openDevice,
  PortSpace,
} from '../../../src/index.ts'
import { layout } from '../../../src/verbs/provider/index.ts'

const channels: EventChannel[] = []
afterEach(() => {
  for (const channel of channels.splice(0)) if (!channel.closed) channel.close()
  delete process.env.VERBENA_CM_LIMITS
})

function channelWith(options: EventChannelOptions): EventChannel {
  const channel = createEventChannel({ device: 'shm0', ...options })
  channels.push(channel)
  return channel
}

async function until(holds: () => boolean, channel: EventChannel): Promise<void> {
  const end = performance.now() + 10_000
  while (!holds()) {
    if (performance.now() > end) throw new Error('that did not happen within ten seconds')
    channel.tryGetEvent()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Two connections are asked for on `channel`, where one is room for: what is counted for the other. */
async function expectRoomForOne(channel: EventChannel): Promise<void> {
  const listener = channel.createId(PortSpace.Tcp)
  listener.bindAddr({ address: '127.0.0.1' })
  listener.listen()
  const context = openDevice('shm0')
  const dropped = (): number => context.counters().cm_drops_limit!
  const before = dropped()
  try {
    for (let i = 0; i < 2; i++) {
      const id = channel.createId(PortSpace.Tcp)
      const event = async (type: number): Promise<void> => expect((await channel.nextEvent(10_000))?.type).toBe(type)
      id.resolveAddr(null, { address: '127.0.0.1', port: listener.localAddress.port })
      await event(CmEventType.AddrResolved)
      id.resolveRoute()
      await event(CmEventType.RouteResolved)
      id.connect({ qpNum: 100 + i })
      if (i === 0) await event(CmEventType.ConnectRequest)
    }
    await until(() => dropped() === before + 1, channel)
  } finally {
    context.close()
  }
}

describe('limits', () => {
  it('are given with the channel', () => expectRoomForOne(channelWith({ limits: { halfOpen: 1 } })))

  it('or in the environment', () => {
    process.env.VERBENA_CM_LIMITS = 'halfOpen=1, rtuNs=5e8'
    return expectRoomForOne(channelWith({}))
  })

  it('and those of the channel come first', () => {
    process.env.VERBENA_CM_LIMITS = 'halfOpen=50'
    return expectRoomForOne(channelWith({ limits: { halfOpen: 1 } }))
  })

  it('are decided on by the first that uses the device in this thread', () => {
    const first = channelWith({ limits: { halfOpen: 100 } })
    first.createId(PortSpace.Tcp).bindAddr({ address: '127.0.0.1' })
    channelWith({}).createId(PortSpace.Tcp).bindAddr({ address: '127.0.0.1' })
    channelWith({ limits: { halfOpen: 100 } })
      .createId(PortSpace.Tcp)
      .bindAddr({ address: '127.0.0.1' })
    const bind = (limits: object): void =>
      channelWith({ limits }).createId(PortSpace.Tcp).bindAddr({ address: '127.0.0.1' })
    expect(() => bind({ halfOpen: 200 })).toThrow(
      /shm0 is in use in this thread with the limit halfOpen 100, not 200: .* \(EBUSY\)/,
    )
    expect(() => bind({ answers: 7 })).toThrow(/the limit answers 4096, not 7/)
    for (const channel of channels.splice(0)) channel.close()
    bind({ halfOpen: 200 })
  })

  it('that are none are said at once', () => {
    for (const [limits, message] of [
      [5, /limits must be an object such as \{ halfOpen: 1000 \} \(EINVAL\)/],
      [{ half: 5 }, /there is no limit "half", but connections, halfOpen, .* \(EINVAL\)/],
      [{ halfOpen: 0 }, /the limit halfOpen is a whole number from 1, not 0 \(EINVAL\)/],
      [{ waitNs: '5s' }, /the limit waitNs is a whole number from 1, not 5s/],
    ] as const) {
      expect(() => createEventChannel({ device: 'shm0', limits: limits as never })).toThrow(message)
      expect(() => createId(PortSpace.Tcp, { device: 'shm0', limits: limits as never })).toThrow(message)
    }
    process.env.VERBENA_CM_LIMITS = 'halfOpen'
    expect(() => channelWith({}).createId(PortSpace.Tcp).bindAddr({ address: '127.0.0.1' })).toThrow(
      /VERBENA_CM_LIMITS: the limit halfOpen is a whole number from 1, not NaN \(EINVAL\)/,
    )
  })
})

it('a device without a free address handle drops what the communication manager says, and throws nothing', async () => {
  const channel = channelWith({})
  const id = channel.createId(PortSpace.Tcp)
  id.resolveAddr(null, { address: '127.0.0.1', port: 9 })
  id.resolveRoute()
  const { host, index, attr } = id.verbs!.device
  const used = host.deviceWord(index) + layout.Dev.ahs
  const dropped = (): number => id.verbs!.counters().cm_sends_dropped!
  const before = dropped()
  Atomics.add(host.i32, used, attr.maxAh)
  try {
    id.connect({ qpNum: 100 })
  } finally {
    Atomics.sub(host.i32, used, attr.maxAh)
  }
  expect(dropped()).toBe(before + 1)
})

it('an address that is none is quoted, and a port that is text', () => {
  const refusal = (text: string) => expect.objectContaining({ code: 'EINVAL', message: expect.stringContaining(text) })
  const parsed = (address: object) => () => parseAddress('bindAddr', 'address', address as never)
  expect(parsed({ address: '127.0.0.1', port: '5' })).toThrow(refusal("from 0 to 65535, not '5'"))
  expect(parsed({ address: 'localhost', port: 5 })).toThrow(refusal("not 'localhost'; look names up"))
  expect(parsed({ address: 7, port: 5 })).toThrow(refusal('not 7; look names up'))
})

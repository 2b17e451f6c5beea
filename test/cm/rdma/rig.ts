/** What the tests of the RDMA CM stand on: two event channels on every kind of device, and queue pairs that carry data. */
import { expect } from 'vitest'
import {
  Access,
  type CmAddress,
  type CmEvent,
  CmEventType,
  type CmId,
  type ConnParam,
  createEventChannel,
  type EventChannel,
  eventText,
  type MemoryRegion,
  Opcode,
  openDevice,
  PortSpace,
  type QpType,
  type QueuePair,
  SendFlag,
  WcStatus,
  workCompletions,
} from '../../../src/index.ts'
import { formatIp } from '../../../src/wire/index.ts'
import { loopbackAddress, loopbackDevice } from '../../loopback.ts'

export interface Place {
  name: string
  server: string
  client: string
  /** By which the client reaches the server. */
  address: string
  kind: 'shm' | 'roce'
}

function gidOf(device: string): string {
  const context = openDevice(device)
  const text = formatIp(context.queryGid(1, 0))
  context.close()
  return text
}

export const places: Place[] = [
  { name: 'shm', server: 'shm0', client: 'shm0', address: '127.0.0.1', kind: 'shm' },
  { name: 'shm, two adapters', server: 'shm1', client: 'shm0', address: gidOf('shm1'), kind: 'shm' },
  { name: 'roce', server: loopbackDevice(1), client: loopbackDevice(2), address: loopbackAddress(1), kind: 'roce' },
  {
    name: 'roce to itself',
    server: loopbackDevice(3),
    client: loopbackDevice(3),
    address: loopbackAddress(3),
    kind: 'roce',
  },
]

const patienceMs = 10_000

/** Two channels, and what was made with them: closed when the test ends. */
export class Pair {
  readonly place: Place
  readonly server: EventChannel
  readonly client: EventChannel
  readonly #ends: End[] = []

  constructor(place: Place) {
    this.place = place
    this.server = createEventChannel({ device: place.server })
    this.client = createEventChannel({ device: place.client })
  }

  /** The next event of a channel, which must be of this type. */
  async event(channel: EventChannel, type: CmEventType): Promise<CmEvent> {
    const end = performance.now() + patienceMs
    for (;;) {
      const event = channel.tryGetEvent()
      if (event !== undefined) {
        expect(`${event.name} ${event.status}`).toMatch(new RegExp(`^${eventText(type)} `))
        return event
      }
      if (performance.now() > end) throw new Error(`no ${eventText(type)} within ${patienceMs} ms`)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** For a while the channels have no events. */
  async quiet(...channels: EventChannel[]): Promise<void> {
    const end = performance.now() + 40
    while (performance.now() < end) {
      for (const channel of channels) expect(channel.tryGetEvent()?.name).toBeUndefined()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  listen(
    portSpace: PortSpace = PortSpace.Tcp,
    options: { qpType?: QpType; port?: number; backlog?: number } = {},
  ): CmId {
    const id = this.server.createId(portSpace, options.qpType === undefined ? {} : { qpType: options.qpType })
    id.bindAddr({ address: this.place.address, port: options.port ?? 0 })
    id.listen(options.backlog)
    return id
  }

  /** An id that has resolved where `to` is. */
  async resolved(to: CmAddress, portSpace: PortSpace = PortSpace.Tcp, qpType?: QpType): Promise<CmId> {
    const id = this.client.createId(portSpace, qpType === undefined ? {} : { qpType })
    id.resolveAddr(undefined, to, 2000)
    expect((await this.event(this.client, CmEventType.AddrResolved)).id === id).toBe(true)
    id.resolveRoute(2000)
    await this.event(this.client, CmEventType.RouteResolved)
    return id
  }

  /** A queue pair of the id with a buffer. */
  end(id: CmId): End {
    const end = new End(id)
    this.#ends.push(end)
    return end
  }

  /** Both sides up to Established. */
  async connected(
    options: { portSpace?: PortSpace; qpType?: QpType; param?: ConnParam; answer?: ConnParam } = {},
  ): Promise<{ a: End; b: End; listener: CmId; request: CmEvent; reply: CmEvent }> {
    const { portSpace = PortSpace.Tcp, qpType } = options
    const listener = this.listen(portSpace, qpType === undefined ? {} : { qpType })
    const id = await this.resolved({ address: this.place.address, port: listener.localAddress.port }, portSpace, qpType)
    const a = this.end(id)
    id.connect(options.param ?? {})
    const request = await this.event(this.server, CmEventType.ConnectRequest)
    const b = this.end(request.id)
    request.id.accept(options.answer ?? {})
    const reply = await this.event(this.client, CmEventType.Established)
    await this.event(this.server, CmEventType.Established)
    return { a, b, listener, request, reply }
  }

  close(): void {
    for (const end of this.#ends) end.close()
    for (const channel of [this.server, this.client]) if (!channel.closed) channel.close()
  }
}

const bufferBytes = 4096
const grh = 40

export class End {
  readonly id: CmId
  readonly qp: QueuePair
  readonly buffer: Uint8Array
  readonly mr: MemoryRegion
  readonly #wc = workCompletions(1)
  #closed = false

  constructor(id: CmId) {
    this.id = id
    this.qp = id.createQp({ cap: { maxSendWr: 8, maxRecvWr: 8 } })
    this.buffer = id.verbs!.alloc(bufferBytes)
    this.mr = id.pd!.regMr(this.buffer, Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead)
  }

  recv(): void {
    this.qp.postRecv({ wrId: 7, sgList: [{ addr: this.mr.addr + 1024, length: 1024, lkey: this.mr.lkey }] })
  }

  send(text: string, more: object = {}): void {
    const bytes = Buffer.from(text)
    this.buffer.set(bytes)
    const sgList = [{ addr: this.mr.addr, length: bytes.length, lkey: this.mr.lkey }]
    this.qp.postSend({ wrId: 8, opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList, ...more } as never)
  }

  /** The text of the next message. */
  async text(): Promise<string> {
    const wc = await this.completion('recv')
    expect(wc.statusText).toBe('success')
    const from = 1024 + ((wc.wcFlags & 1) !== 0 || this.id.qpType === 4 ? grh : 0)
    return Buffer.from(this.buffer.subarray(from, 1024 + wc.byteLen)).toString()
  }

  async completion(which: 'send' | 'recv') {
    const cq = which === 'send' ? this.qp.sendCq : this.qp.recvCq
    const end = performance.now() + patienceMs
    while (cq.poll(this.#wc, 1) === 0) {
      if (performance.now() > end) throw new Error(`no completion within ${patienceMs} ms`)
      await new Promise((resolve) => setImmediate(resolve))
    }
    return this.#wc[0]!
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    const { verbs } = this.id
    this.id.close()
    this.mr.close()
    verbs!.free(this.buffer)
  }
}

/** A message each way. */
export async function talk(a: End, b: End): Promise<void> {
  for (const [from, to, text] of [
    [a, b, 'there'],
    [b, a, 'and back'],
  ] as const) {
    to.recv()
    from.send(text)
    expect(await to.text()).toBe(text)
    expect((await from.completion('send')).status).toBe(WcStatus.Success)
  }
}

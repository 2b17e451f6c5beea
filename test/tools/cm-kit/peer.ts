/** A peer in this thread that does what no program would. */
import {
  Access,
  CmEventType,
  type CmId,
  type ConnParam,
  createEventChannel,
  type EventChannel,
  Opcode,
  PortSpace,
  type QueuePair,
  SendFlag,
} from '../../../src/index.ts'

export class StrangePeer {
  readonly channel: EventChannel
  readonly id: CmId
  qp!: QueuePair
  #bytes!: Uint8Array
  #mr!: { addr: number; lkey: number; close(): void }

  constructor(device: string, portSpace: PortSpace = PortSpace.Tcp) {
    this.channel = createEventChannel({ device })
    this.id = this.channel.createId(portSpace)
  }

  async event(wanted: CmEventType): Promise<void> {
    for (;;) {
      const event = this.channel.tryGetEvent()
      if (event?.type === wanted) return
      if (event !== undefined && event.type >= CmEventType.ConnectError)
        throw new Error(`${event.name} ${event.status}`)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }

  /** Tries again while nobody listens. */
  static async connected(device: string, address: string, port: number, param: ConnParam = {}): Promise<StrangePeer> {
    for (;;) {
      const peer = new StrangePeer(device)
      const { id } = peer
      id.resolveAddr(undefined, { address, port })
      await peer.event(CmEventType.AddrResolved)
      id.setOption('responseTimeout', 15)
      id.resolveRoute()
      await peer.event(CmEventType.RouteResolved)
      peer.qp = id.createQp({ cap: { maxSendWr: 16, maxRecvWr: 16, maxSendSge: 1, maxRecvSge: 1 } })
      peer.#bytes = id.verbs!.alloc(4096)
      peer.#mr = id.pd!.regMr(peer.#bytes, Access.LocalWrite)
      const { addr, lkey } = peer.#mr
      for (let i = 0; i < 16; i++) peer.qp.postRecv({ sgList: [{ addr, lkey, length: 4096 }] })
      id.connect(param)
      try {
        await peer.event(CmEventType.Established)
        return peer
      } catch (error) {
        peer.close()
        if (!/REJECTED 8|UNREACHABLE/.test((error as Error).message)) throw error
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }

  send(bytes: Uint8Array): void {
    this.#bytes.set(bytes)
    const { addr, lkey } = this.#mr
    const sgList = [{ addr, length: bytes.length, lkey }]
    this.qp.postSend({ opcode: Opcode.Send, sendFlags: SendFlag.Signaled, sgList })
  }

  /** Answers a disconnection while the program ends, which waits for that. */
  async until<T>(ended: Promise<T>): Promise<T> {
    const timer = setInterval(() => {
      if (this.channel.tryGetEvent()?.type === CmEventType.Disconnected) this.id.disconnect()
    }, 5)
    return await ended.finally(() => clearInterval(timer))
  }

  close(): void {
    this.id.destroyQp()
    this.#mr.close()
    this.id.close()
    this.channel.close()
  }
}

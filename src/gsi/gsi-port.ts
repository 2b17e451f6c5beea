/**
 * A queue pair of type GSI with its rings of buffers and address handles. Its owner sends MADs through it, polls its CQ and passes on the
 * received MADs: a communication manager, or programs that manage (run/umad).
 */
import {
  type AddressHandle,
  type AhAttr,
  type CompletionQueue,
  type Context,
  connectQp,
  type GidEntry,
  grhLength,
  type MemoryRegion,
  Opcode,
  type ProtectionDomain,
  QpType,
  type QueuePair,
  RecvWorkRequest,
  ScatterGather,
  SendFlag,
  VerbsError,
} from '../verbs/index.ts'
import { commIdOf, gsiQkey, gsiQpn, takeMads } from '../verbs/provider/index.ts'
import { gidOfIp, Mad, sameBytes } from '../wire/index.ts'

/** Source or destination of MADs. `key` is the same for the same address, `source` for the same peer. */
export interface MadAddress {
  /** GID of the peer. */
  readonly gid: Uint8Array
  readonly lid: number
  /** Index of the own GID that is the source. */
  readonly sgidIndex: number
  readonly key: string
  readonly source: string
  /** Path of a MAD, if it is not sent with a GRH that has these GIDs. */
  readonly path?: AhAttr
  /** QP number and Q_Key of the destination, if it is not QP 1. */
  readonly qpn?: number
  readonly qkey?: number
}

export function madAddress(gid: Uint8Array, lid: number, sgidIndex: number): MadAddress {
  const source = Buffer.from(gid.buffer, gid.byteOffset, gid.length).toString('hex')
  return { gid, lid, sgidIndex, key: `${source}/${sgidIndex}`, source }
}

export interface GsiOptions {
  /** Maximum number of messages that can arrive before they are polled, a multiple of 16; and of messages that can be in flight. */
  readonly receives: number
  readonly sends: number
  /** Flag: takes MADs of all classes but that of the communication manager, which are then not received. */
  readonly takesMads: boolean
}

const usual: GsiOptions = { receives: 1024, sends: 256, takesMads: false }
const receiveBytes = 320
const sendBytes = Mad.totalLength
/** Receives that are posted together. */
const receiveBatch = 16
/** Paths to peers that are kept. */
const maxHandles = 1024

export class GsiPort {
  readonly qp: QueuePair<typeof QpType.GSI>
  readonly #context: Context
  readonly #pd: ProtectionDomain
  readonly #buffer: Uint8Array
  readonly #mr: MemoryRegion
  readonly #handles = new Map<string, AddressHandle>()
  readonly #sends: number
  readonly #sendsAt: number
  #gids: readonly GidEntry[] = []
  readonly #random: () => number
  #posted = 0
  #completed = 0
  /** Linked, and how many of them, the last ones, are to be posted. */
  readonly #requests: readonly RecvWorkRequest[]
  #released = 0

  /** `random`: for communication IDs, from 0 to 1. */
  constructor(
    pd: ProtectionDomain,
    cq: CompletionQueue,
    random: () => number,
    { receives, sends, takesMads: takes }: GsiOptions = usual,
  ) {
    const { context } = pd
    this.#sends = sends
    this.#sendsAt = receives * receiveBytes
    this.#context = context
    this.#pd = pd
    this.#buffer = context.alloc(this.#sendsAt + sends * sendBytes)
    this.#mr = pd.regMr(this.#buffer, 1)
    const cap = { maxSendWr: sends, maxRecvWr: receives, maxSendSge: 1, maxRecvSge: 1, maxInlineData: 0 }
    this.qp = pd.createQp({ type: QpType.GSI, sendCq: cq, recvCq: cq, cap })
    if (takes) takeMads(this.qp)
    connectQp(this.qp as unknown as QueuePair, { psn: 0 }, null)
    this.#random = random
    const bytes = grhLength + Mad.totalLength
    const requests = Array.from(
      { length: receiveBatch },
      () => new RecvWorkRequest(0, [new ScatterGather(0, bytes, this.#mr.lkey)]),
    )
    for (let i = 1; i < receiveBatch; i++) requests[i - 1]!.next = requests[i]!
    this.#requests = requests
    for (let i = 0; i < receives; i++) this.release(i)
  }

  /** Completions that a port with the usual options can have at once. */
  static readonly completions: number = usual.receives + usual.sends

  /** A communication ID whose answers come here. A peer that has seen some cannot guess the others. */
  commId(): number {
    return commIdOf(this.qp, Math.floor(this.#random() * 2 ** 22))
  }

  /** Sends a MAD; false if it was dropped, since too many are on their way, or there is no memory for its path. */
  send(mad: Uint8Array, to: MadAddress): boolean {
    const ah = this.full ? undefined : this.#handle(to)
    if (ah === undefined) return false
    const slot = this.#posted % this.#sends
    const at = this.#sendsAt + slot * sendBytes
    this.#buffer.set(mad, at)
    this.#posted++
    this.qp.postSend({
      wrId: slot,
      opcode: Opcode.Send,
      sendFlags: SendFlag.Signaled,
      sgList: [{ addr: this.#mr.addr + at, length: mad.length, lkey: this.#mr.lkey }],
      ah,
      remoteQpn: to.qpn ?? gsiQpn,
      remoteQkey: to.qkey ?? gsiQkey,
    })
    return true
  }

  /** True if one more message would be dropped. */
  get full(): boolean {
    return this.#posted - this.#completed >= this.#sends
  }

  get sending(): boolean {
    return this.#posted !== this.#completed
  }

  sent(): void {
    this.#completed++
  }

  /** The MAD in receive `i`, a view that is good until `release(i)`, and its GRH. */
  received(i: number): { grh: Uint8Array; mad: Uint8Array } {
    const at = i * receiveBytes
    const grh = this.#buffer.subarray(at, at + grhLength)
    return { grh, mad: this.#buffer.subarray(at + grhLength, at + grhLength + Mad.totalLength) }
  }

  release(i: number): void {
    const request = this.#requests[this.#released++]!
    request.wrId = i
    request.sgList[0]!.addr = this.#mr.addr + i * receiveBytes
    if (this.#released < receiveBatch) return
    this.#released = 0
    this.qp.postRecv(this.#requests[0]!)
  }

  /** The path back to the sender of a message with this GRH. */
  senderOf(grh: Uint8Array, lid: number): MadAddress {
    const ipv6 = grh[0]! >> 4 === 6
    const source = ipv6 ? grh.slice(8, 24) : gidOfIp(grh.subarray(32, 36))
    const own = ipv6 ? grh.subarray(24, 40) : gidOfIp(grh.subarray(36, 40))
    return madAddress(source, lid, Math.max(0, this.#indexOf(own)))
  }

  /** An answer must leave from the address that was asked: the peer accepts it from no other. −1 if that is gone. */
  #indexOf(gid: Uint8Array): number {
    const known = this.#gids.find((one) => sameBytes(one.gid, gid))
    if (known !== undefined) return known.gidIndex
    // The host has got an address since.
    this.#gids = this.#context.queryGidTable()
    return this.#gids.find((one) => sameBytes(one.gid, gid))?.gidIndex ?? -1
  }

  /** Undefined while programs have all address handles of the device: what a peer asked must not throw for that. */
  #handle(to: MadAddress): AddressHandle | undefined {
    const known = this.#handles.get(to.key)
    if (known !== undefined) return known
    if (this.#handles.size >= maxHandles) {
      const [key, oldest] = this.#handles.entries().next().value!
      this.#handles.delete(key)
      oldest.close()
    }
    const grh = { dgid: to.gid, sgidIndex: to.sgidIndex, hopLimit: 64 }
    const attr: AhAttr = to.path ?? { dlid: to.lid, portNum: 1, grh }
    try {
      const made = this.#pd.createAh(attr)
      this.#handles.set(to.key, made)
      return made
    } catch (error) {
      if (error instanceof VerbsError && error.code === 'ENOMEM') return undefined
      throw error
    }
  }

  close(): void {
    this.qp.close()
    for (const handle of this.#handles.values()) handle.close()
    this.#mr.close()
    this.#context.free(this.#buffer)
  }
}

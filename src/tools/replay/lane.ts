/**
 * One end of a connection that is replayed: its queue pair, the messages it has to send, and those it expects.
 *
 * Memory of an end: one source of zeros and one sink for all its connections, and for each a region that the peer writes and reads:
 *
 *     0         8                                  bytes − 8       bytes
 *     | atomics | READ, WRITE with immediate, …              |    c    |
 *                        | a WRITE ends with the region, in its count c |
 *
 * A WRITE without immediate makes no completion at its target. To make it visible there, its last four bytes are the number of such WRITEs
 * of this connection so far, and all of them end at the same address.
 */
import {
  type AddressHandle,
  connectQp,
  defaultQkey,
  Opcode,
  type PathMtu,
  type QueuePair,
  type RecvWorkRequest,
  ScatterGather,
  SendFlag,
  SendWorkRequest,
} from '../../index.ts'
import { isSeen, isSend, type MessageOp, notifies } from '../../replay/index.ts'
import { addressVector, type LocalPort } from '../kit/index.ts'
import type { PlannedConnection, PlannedMessage } from './plan.ts'

/** Data about one connection that an end sends to the other. */
export interface Endpoint {
  qpn: number
  psn: number
  lid: number
  /** GID of 16 bytes. */
  gid: Uint8Array
  addr: number
  rkey: number
}

const head = 8
const counterBytes = 4
export const slotBytes = 8

const opcodes: Record<Exclude<MessageOp, 'flush'>, Opcode> = {
  send: Opcode.Send,
  send_with_imm: Opcode.SendWithImm,
  // In the capture the message invalidates a key; here it would be that of a region which is still needed.
  send_with_inv: Opcode.Send,
  write: Opcode.Write,
  write_with_imm: Opcode.WriteWithImm,
  read: Opcode.Read,
  fetch_add: Opcode.AtomicFetchAndAdd,
  compare_swap: Opcode.AtomicCmpAndSwp,
  atomic_write: Opcode.AtomicWrite,
}

/** Returns the bytes of the region that these messages need at their target: a multiple of 8. */
export function regionBytesOf(messages: readonly PlannedMessage[]): number {
  const most = messages.reduce((max, { op, bytes }) => (isSend(op) ? max : Math.max(max, bytes)), 0)
  return head + Math.ceil(most / 8) * 8 + 8
}

/** Layout of the memory of the end: device addresses, and offsets of the counters in its bytes. */
export interface LaneMemory {
  lkey: number
  source: number
  /** Address of the sink, for READs and atomics. */
  sink: number
  region: number
  /** Words of the whole memory, and the index of the region's last one. */
  words: Int32Array
  counterWord: number
  /** Location of the counts of outstanding WRITEs: device address, and word. */
  slots: number
  slotWord: number
}

export class Lane {
  readonly type: PlannedConnection['type']
  readonly qp: QueuePair
  readonly psn: number
  /** Messages that this end sends, in order, and the numbers of posted and outstanding ones. */
  readonly outgoing: readonly PlannedMessage[]
  posted = 0
  outstanding = 0
  /** Messages that make a completion here, in order, and the number that has arrived or been skipped. */
  readonly incoming: readonly PlannedMessage[]
  arrived = 0
  /** WRITEs without immediate that are seen here. */
  readonly writes: readonly PlannedMessage[]
  seen = 0
  /** True if the peer or this end has failed: no more messages are posted. */
  failed = false
  readonly receive: RecvWorkRequest
  readonly #memory: LaneMemory
  readonly #depth: number
  #remote: Endpoint | null = null
  #remoteBytes = 0
  #ah: AddressHandle | null = null
  #visible = 0

  constructor(
    type: PlannedConnection['type'],
    qp: QueuePair,
    psn: number,
    sent: readonly PlannedMessage[],
    expected: readonly PlannedMessage[],
    memory: LaneMemory,
    receive: RecvWorkRequest,
    depth: number,
  ) {
    this.type = type
    this.qp = qp
    this.psn = psn
    this.outgoing = sent
    this.incoming = expected.filter(({ op }) => notifies(op))
    this.writes = expected.filter((message) => isSeen(message) && !notifies(message.op))
    this.#remoteBytes = regionBytesOf(sent)
    this.#memory = memory
    this.receive = receive
    this.#depth = depth
  }

  /** True if all messages have been sent and completed, and all expected ones have arrived. */
  get complete(): boolean {
    const sent = this.failed || this.posted === this.outgoing.length
    return sent && this.outstanding === 0 && (this.failed || this.allArrived)
  }

  get allArrived(): boolean {
    return this.arrived === this.incoming.length && this.seen === this.writes.length
  }

  get hasRoom(): boolean {
    return !this.failed && this.posted < this.outgoing.length && this.outstanding < this.#depth
  }

  /** Moves the queue pair to RTS. */
  connect(local: LocalPort, remote: Endpoint, mtu: PathMtu): void {
    const ah = addressVector(local, remote, 0)
    this.#remote = remote
    connectQp(this.qp, this, this.type === 'UD' ? null : remote, { ah, pathMtu: mtu })
    if (this.type === 'UD') this.#ah = this.qp.pd.createAh(ah)
  }

  /** Posts the next message. */
  post(): PlannedMessage {
    const message = this.outgoing[this.posted]!
    this.posted++
    this.outstanding++
    this.qp.postSend(this.#request(message))
    return message
  }

  /** Returns the number of incoming WRITEs that have been seen by now. */
  look(): number {
    if (this.writes.length === 0) return 0
    const { words, counterWord } = this.#memory
    return Math.min(this.writes.length, Atomics.load(words, counterWord))
  }

  close(): void {
    this.qp.close()
    this.#ah?.close()
  }

  #request(message: PlannedMessage): SendWorkRequest {
    const { id, op, bytes } = message
    const { lkey, source, sink } = this.#memory
    const remote = this.#remote!
    const local = op === 'read' || op === 'fetch_add' || op === 'compare_swap' ? sink : source
    const wr = new SendWorkRequest(id, opcodes[op as keyof typeof opcodes], SendFlag.Signaled, [])
    if (bytes > 0) wr.sgList.push(new ScatterGather(local, bytes, lkey))
    wr.rkey = remote.rkey
    wr.remoteAddr = remote.addr + (op === 'fetch_add' || op === 'compare_swap' ? 0 : head)
    if (op === 'write' && isSeen(message)) this.#countWrite(wr, bytes)
    if (this.type === 'UD') {
      wr.ah = this.#ah
      wr.remoteQpn = remote.qpn
      wr.remoteQkey = defaultQkey
    }
    return wr
  }

  #countWrite(wr: SendWorkRequest, bytes: number): void {
    const { lkey, source, slots, slotWord, words } = this.#memory
    const slot = this.#visible++ % this.#depth
    words[slotWord + (slot * slotBytes) / 4] = this.#visible
    const count = new ScatterGather(slots + slot * slotBytes, counterBytes, lkey)
    const rest = bytes - counterBytes
    wr.sgList = rest === 0 ? [count] : [new ScatterGather(source, rest, lkey), count]
    wr.remoteAddr = this.#remote!.addr + this.#remoteBytes - bytes
  }
}

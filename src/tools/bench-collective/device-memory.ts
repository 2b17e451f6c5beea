/**
 * The memory of a rank on a device: one message to send, a slot for a message of each peer, and the lines of the gate. A slot has room for
 * the header that precedes a datagram.
 */
import { Access, type Context, type MemoryRegion, type ProtectionDomain } from '../../index.ts'
import { strideOf } from '../bench-thread/index.ts'

/** Bytes of the GRH that precedes a datagram in its buffer. */
export const grhBytes = 40
export const lineBytes = 64

/** Addresses and keys that a peer needs. */
export interface RemoteMemory {
  sendAddr: number
  sendKey: number
  /** Address of the slot for that peer. */
  slotAddr: number
  slotKey: number
  /** Address of the gate line for that peer. */
  gateAddr: number
  gateKey: number
}

export class DeviceMemory {
  readonly send: Uint8Array
  readonly slots: Uint8Array
  /** Lines of the gate: one for each peer to write, then one for each to write from. */
  readonly gate: Uint8Array
  readonly slotBytes: number
  readonly sendMr: MemoryRegion
  readonly slotsMr: MemoryRegion
  readonly gateMr: MemoryRegion
  readonly #context: Context

  constructor(context: Context, pd: ProtectionDomain, peers: number, memSize: number) {
    this.#context = context
    this.slotBytes = strideOf(memSize + grhBytes)
    this.send = context.alloc(strideOf(memSize))
    this.slots = context.alloc(peers * this.slotBytes)
    this.gate = context.alloc(2 * peers * lineBytes)
    const rights = Access.LocalWrite | Access.RemoteWrite | Access.RemoteRead
    this.sendMr = pd.regMr(this.send, rights)
    this.slotsMr = pd.regMr(this.slots, rights)
    this.gateMr = pd.regMr(this.gate, rights)
  }

  slotAddr(peer: number): number {
    return this.slotsMr.addr + peer * this.slotBytes
  }

  forPeer(peer: number): RemoteMemory {
    return {
      ...{ sendAddr: this.sendMr.addr, sendKey: this.sendMr.rkey },
      ...{ slotAddr: this.slotAddr(peer), slotKey: this.slotsMr.rkey },
      ...{ gateAddr: this.gateMr.addr + peer * lineBytes, gateKey: this.gateMr.rkey },
    }
  }

  close(): void {
    for (const mr of [this.sendMr, this.slotsMr, this.gateMr]) mr.close()
    for (const buffer of [this.send, this.slots, this.gate]) this.#context.free(buffer)
  }
}

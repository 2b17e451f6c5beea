/**
 * Tables of the sockets of a device, for all threads that use it, and of the descriptors that a process has of them. The first table is
 * where the device is: in the segment that processes share, or in that of the process. Descriptors are numbers of one process, so the
 * second is in the segment of the process. The serial of a device's entry distinguishes it from earlier ones in its place, and a process
 * has the socket if its own entry has the same serial.
 */
import type { Host } from '../../verbs/provider/index.ts'
import { RoceDev } from './layout.ts'

/**
 * Words of one entry. For the device: the purpose of the socket, the index of its local GID, how many queue pairs are attached to its
 * group, the GID of that, the kernel's drops reported so far, the state of a socket of node:dgram (`datagramState`), and its serial, 0 if
 * there is none. For a process: descriptor plus one, and the serial; in the first entry, the descriptor plus one of a socket that is
 * being opened or closed.
 */
export const Slot = {
  words: 16,
  fd: 0,
  kind: 1,
  local: 2,
  refs: 3,
  gid: 4,
  drops: 8,
  state: 9,
  changing: 10,
  serial: 11,
} as const
export const slotKind = { none: 0, unicast: 1, group: 2 } as const
export const maxSlots = 128

/** Location of the record of a device: segment and index. */
export interface RecordPlace {
  readonly host: Host
  readonly index: number
}

export class SocketTable {
  readonly i32: Int32Array
  /** First word of the device's record and of its table. */
  readonly dev: number
  readonly table: number
  /** Segment, record and table of the process: its own segment, which is the same one where processes do not share the device. */
  readonly ownI32: Int32Array
  readonly ownDev: number
  readonly own: number

  constructor(device: RecordPlace, own: RecordPlace) {
    this.i32 = device.host.i32
    this.dev = device.host.deviceWord(device.index)
    this.table = this.i32[this.dev + RoceDev.sockets]!
    this.ownI32 = own.host.i32
    this.ownDev = own.host.deviceWord(own.index)
    this.own = this.ownI32[this.ownDev + RoceDev.sockets]!
  }

  /** True if the device is in another segment than that of the process. */
  get isShared(): boolean {
    return this.i32 !== this.ownI32
  }

  /** Number that changes whenever a socket is opened or closed, here or for all. */
  get generation(): number {
    const shared = Atomics.load(this.i32, this.dev + RoceDev.generation)
    return !this.isShared ? shared : (shared + Atomics.load(this.ownI32, this.ownDev + RoceDev.generation)) | 0
  }

  /** Marks a socket as changed, for all processes (`device`) or here. */
  changed(device: boolean): void {
    if (device) Atomics.add(this.i32, this.dev + RoceDev.generation, 1)
    else Atomics.add(this.ownI32, this.ownDev + RoceDev.generation, 1)
  }

  /** Returns the first word of an entry of the device; `ownWord`: of the process. */
  word(slot: number): number {
    return this.table + slot * Slot.words
  }
  ownWord(slot: number): number {
    return this.own + slot * Slot.words
  }

  isUsed(slot: number): boolean {
    return this.i32[this.word(slot) + Slot.serial] !== 0
  }

  /** Returns the descriptor with which this process has the socket; −1 if it has none, or there is no such socket. */
  fd(slot: number): number {
    const serial = this.i32[this.word(slot) + Slot.serial]!
    const own = this.ownWord(slot)
    return serial !== 0 && this.ownI32[own + Slot.serial] === serial ? this.ownI32[own + Slot.fd]! - 1 : -1
  }

  /** Returns all descriptors that this process has. */
  descriptors(): number[] {
    const fds: number[] = []
    for (let slot = 0; slot < maxSlots; slot++) if (this.fd(slot) >= 0) fds.push(this.fd(slot))
    return fds
  }

  /** Returns the GID of a socket for a multicast group, else null. */
  group(slot: number): Uint8Array | null {
    const word = this.word(slot)
    if (this.i32[word + Slot.kind] !== slotKind.group) return null
    return new Uint8Array(this.i32.buffer, (word + Slot.gid) * 4, 16).slice()
  }

  /** Returns the entry of the socket of the address with this index, −1 if there is none. */
  slotOfAddress(local: number): number {
    for (let slot = 0; slot < maxSlots; slot++) {
      const word = this.word(slot)
      const isOfAddress = this.i32[word + Slot.kind] === slotKind.unicast && this.i32[word + Slot.local] === local
      if (isOfAddress && this.isUsed(slot)) return slot
    }
    return -1
  }

  /** Returns the entry of the socket of a multicast group, −1 if there is none. */
  slotOfGroup(gid: Uint8Array): number {
    for (let slot = 0; slot < maxSlots; slot++)
      if (this.isUsed(slot) && this.group(slot)?.every((byte, i) => byte === gid[i])) return slot
    return -1
  }

  /** Returns the sockets of the device of which this process has no descriptor. */
  missing(): number[] {
    const missing: number[] = []
    for (let slot = 0; slot < maxSlots; slot++) if (this.isUsed(slot) && this.fd(slot) < 0) missing.push(slot)
    return missing
  }
}

/**
 * Opens and closes the sockets of a device: one for each address, and one for each multicast group. Their descriptors belong to the
 * process and are stored in its table in its segment, so that all threads use the same ones. Where processes share a device, each has its
 * own descriptors of the same sockets: the first opens them, and gives them to the other processes (sharing.ts). All this is under the
 * control lock of the device's segment.
 */
import {
  closeFd,
  errnoName,
  type HostNetwork,
  hostNetwork,
  NativeError,
  nativeAvailable,
  nativeReason,
  UdpSocket,
} from '../../memory/index.ts'
import { type Host, VerbsError, type VerbsErrorCode } from '../../verbs/provider/index.ts'
import { ipOfGid, rocePort } from '../../wire/index.ts'
import type { HostAddress } from './addresses.ts'
import { advice } from './datagram-socket.ts'
import { datagramState } from './datagram-table.ts'
import { RoceDev } from './layout.ts'
import { groupAddress } from './paths.ts'
import { portInUse } from './port-in-use.ts'
import { awaitService } from './service-handle.ts'
import { maxSlots, Slot, type SocketTable, slotKind } from './socket-table.ts'

/** Sockets that this thread opened. */
const owned = new Map<number, UdpSocket>()

/** Device that owns the sockets. */
export interface SocketOwner {
  readonly name: string
  /** Addresses by index of the GID; the list grows while the device is open. */
  readonly addresses: readonly HostAddress[]
  /** Prepares the device for its first user: the GID table becomes the current addresses of the host. */
  begin(): void
  /** Wakes the thread that drives devices. */
  wakeService(): void
  /** Returns when no thread waits in the kernel for packets of a socket that is to be closed: that would keep it, and its port. */
  awaitSleeper(): void
}

/** Descriptor that another process has given to this one, and the serial of its socket. */
export interface GivenDescriptor {
  readonly fd: number
  readonly tag: number
}

export class OpenSockets {
  readonly #host: Host
  readonly #i32: Int32Array
  readonly #owner: SocketOwner
  readonly #table: SocketTable

  constructor(host: Host, table: SocketTable, owner: SocketOwner) {
    this.#host = host
    this.#i32 = host.i32
    this.#owner = owner
    this.#table = table
  }

  /** Opens a socket for each address; if any cannot be opened, none is. Returns the address whose port is in use, null if there is none. */
  openAll(): HostAddress | null {
    for (const [local, address] of this.#owner.addresses.entries()) {
      try {
        this.#open(local, address, slotKind.unicast, null)
      } catch (error) {
        this.closeAll()
        const failed = asVerbsError(error, this.#owner.name, 'openDevice')
        if (failed instanceof VerbsError && failed.reason === 'device-in-use') return address
        throw failed
      }
    }
    return null
  }

  /** Opens the socket of an address that the host has now, while the device is in use; false if it cannot be opened. */
  openAnother(local: number): boolean {
    // Without system calls this thread cannot wait for itself to open a socket.
    if (!nativeAvailable) return false
    try {
      this.#open(local, this.#owner.addresses[local]!, slotKind.unicast, null)
      return true
    } catch {
      return false
    }
  }

  /** Returns the error for a port of `address` that is in use. It reads much of /proc. */
  portInUse(address: HostAddress): VerbsError {
    const { name } = this.#owner
    const isWrapped = this.#i32[this.#table.dev + RoceDev.wrapsBytes]! > 0
    const why = portInUse({ name, isShared: this.#table.isShared, isWrapped }, address)
    return openError(name, 'openDevice', 'EADDRINUSE', why)
  }

  /** Opens a socket and stores its descriptor in the table. */
  #open(local: number, address: HostAddress, kind: number, group: Uint8Array | null): void {
    this.#closeAbandoned()
    const table = this.#table
    let slot = 0
    while (table.isUsed(slot))
      if (++slot === maxSlots)
        throw new VerbsError('ENOMEM', verbOf(kind), `a device has ${maxSlots} addresses and groups at most`)
    if (!nativeAvailable) {
      this.#askForSocket(slot, local, address, kind, group)
      return
    }
    const serial = this.#bind(slot, address, group)
    this.#enter(slot, local, kind, group, serial)
    this.#opened()
  }

  /**
   * Binds a socket, and writes the entry of this process. Returns its serial: other processes find it, and then request it, from when the
   * device's entry has that. `#opened` follows.
   */
  #bind(slot: number, address: HostAddress, group: Uint8Array | null): number {
    const family = address.address.length === 4 ? 4 : 6
    const bound = group === null ? address.address : groupAddress(group, family)
    this.#closeStale(slot)
    const options = { address: bound, port: rocePort, scopeId: address.scopeId || (group ? address.ifindex : 0) }
    const opened = (fd: number): void => this.#changing(fd)
    const socket = UdpSocket.open(this.#host.segment.buffer, { ...options, reuseAddress: group !== null, opened })
    if (group !== null) {
      try {
        socket.joinGroup(bound, address.ifindex)
      } catch (error) {
        opened(-1)
        socket.close()
        throw error
      }
    }
    const serial = this.#host.platform.randomInt(1, 2 ** 31 - 1)
    this.#keep(slot, socket.fd, serial)
    owned.set(socket.fd, socket)
    return serial
  }

  /** Notes that the entry of the device is written. */
  #opened(): void {
    this.#changing(-1)
    this.#table.changed(true)
  }

  /** Writes the entry of the device. */
  #enter(slot: number, local: number, kind: number, group: Uint8Array | null, serial: number): void {
    const i32 = this.#i32
    const word = this.#table.word(slot)
    i32[word + Slot.kind] = kind
    i32[word + Slot.local] = local
    i32[word + Slot.refs] = 1
    if (group !== null) new Uint8Array(i32.buffer, (word + Slot.gid) * 4, 16).set(group)
    this.#number(slot, serial)
  }

  /** Writes the serial of a socket that is new in its entry of the device. */
  #number(slot: number, serial: number): void {
    const word = this.#table.word(slot)
    this.#i32[word + Slot.drops] = 0
    Atomics.store(this.#i32, word + Slot.serial, serial)
  }

  /** Writes the entry of this process. */
  #keep(slot: number, fd: number, serial: number): void {
    const { ownI32 } = this.#table
    const word = this.#table.ownWord(slot)
    ownI32[word + Slot.fd] = fd + 1
    if (this.#table.isShared) Atomics.store(ownI32, word + Slot.serial, serial)
  }

  /** Records a descriptor beyond the end of this thread, which may come at any moment; −1: none any more. */
  #changing(fd: number): void {
    this.#table.ownI32[this.#table.own + Slot.changing] = fd + 1
  }

  /** Has the thread that drives devices open a socket of node:dgram, and waits for it. */
  #askForSocket(slot: number, local: number, address: HostAddress, kind: number, group: Uint8Array | null): void {
    const i32 = this.#i32
    const word = this.#table.word(slot)
    i32[word + Slot.state] = datagramState.asked
    this.#keep(slot, slot, 1)
    this.#enter(slot, local, kind, group, 1)
    this.#table.changed(true)
    const state = this.#awaitState(word, datagramState.asked)
    if (state === datagramState.bound) {
      warnOfIdentification(address)
      return
    }
    this.#drop(slot)
    i32[word + Slot.fd] = 0
    this.#table.changed(true)
    const code = state < 0 ? errnoName(-state) : 'ETIMEDOUT'
    const message = 'the thread that drives devices does not respond'
    throw openError(
      this.#owner.name,
      verbOf(kind),
      code,
      state < 0 ? advice({ code, message: code }, address.text, rocePort) : message,
    )
  }

  /** Waits until the state of a socket of node:dgram has changed, at most 10 s; returns the new state. */
  #awaitState(word: number, from: number): number {
    const isOther = (state: number): boolean => {
      if (state !== from) return true
      this.#owner.wakeService()
      return false
    }
    this.#host.segment.waitUntil(word + Slot.state, isOther, 10_000, 5)
    return Atomics.load(this.#i32, word + Slot.state)
  }

  /** Removes the socket from the table of the device. */
  #drop(slot: number): void {
    this.#i32[this.#table.word(slot) + Slot.serial] = 0
  }

  /** Closes all open sockets, for all processes, once the device has no users. */
  closeAll(): void {
    this.#closeAbandoned()
    for (let slot = 0; slot < maxSlots; slot++) this.closeSlot(slot)
  }

  /** Closes a socket for all; other processes that have it close theirs when they notice. */
  closeSlot(slot: number): void {
    const table = this.#table
    const word = table.word(slot)
    if (nativeAvailable) {
      const fd = table.ownI32[table.ownWord(slot) + Slot.fd]! - 1
      if (fd >= 0) this.#changing(fd)
      if (table.isUsed(slot)) {
        this.#drop(slot)
        table.changed(true)
      }
      if (fd >= 0) this.#closeOwn(slot, fd)
    } else if (table.isUsed(slot)) {
      this.#drop(slot)
      table.ownI32[table.ownWord(slot) + Slot.fd] = 0
      table.changed(true)
      this.#awaitState(word, datagramState.bound)
    }
  }

  #closeOwn(slot: number, fd: number): void {
    const { ownI32 } = this.#table
    const own = this.#table.ownWord(slot)
    this.#changing(fd)
    ownI32[own + Slot.fd] = 0
    if (this.#table.isShared) ownI32[own + Slot.serial] = 0
    this.#giveBack(fd)
  }

  /** Closes the socket that a thread was opening or closing when it ended, which holds the port. Under the control lock. */
  #closeAbandoned(): void {
    const { ownI32, own } = this.#table
    const fd = ownI32[own + Slot.changing]! - 1
    if (fd < 0) return
    // It may be in the table already, or be still there.
    for (let slot = 0; slot < maxSlots; slot++) {
      const word = this.#table.ownWord(slot)
      if (ownI32[word + Slot.fd] !== fd + 1) continue
      if (this.#table.fd(slot) === fd) return
      ownI32[word + Slot.fd] = 0
    }
    this.#giveBack(fd)
  }

  #giveBack(fd: number): void {
    this.#table.changed(false)
    // A thread that sends or receives with it finishes before the descriptor is closed.
    this.#host.segment.quiesce()
    awaitService()
    this.#owner.awaitSleeper()
    const socket = owned.get(fd)
    owned.delete(fd)
    this.#changing(-1)
    if (socket) socket.close()
    else closeFd(fd)
  }

  /** Opens the socket of a multicast group, in the network of the address `local`, or in that of the host's route if `local` is −1. */
  openGroup(gid: Uint8Array, local: number): void {
    const { addresses } = this.#owner
    const known = addresses[local] === undefined ? localOfGroup(addresses, gid) : local
    try {
      this.#open(known, addresses[known]!, slotKind.group, gid)
    } catch (error) {
      throw asVerbsError(error, this.#owner.name, 'attachMcast')
    }
  }

  // --- what processes share ----------------------------------------------------------------------------------------

  /** Takes the descriptors that another process has given if they are missing here, and closes the rest; true if none is missing now. */
  adopt(given: readonly GivenDescriptor[]): boolean {
    this.#closeAbandoned()
    const table = this.#table
    const missing = table.missing()
    for (const { fd, tag } of given) {
      const slot = missing.find((each) => this.#i32[table.word(each) + Slot.serial] === tag && table.fd(each) < 0)
      if (slot === undefined) closeFd(fd)
      else {
        this.#closeStale(slot)
        this.#keep(slot, fd, tag)
        table.changed(false)
      }
    }
    return table.missing().length === 0
  }

  /**
   * Opens the sockets again that this process lacks, since no process has them any more. One that cannot be opened now, because another
   * process does have its port, or for want of descriptors, is still missing after that. One whose address the host has lost is closed.
   * Returns true if anything has changed.
   */
  reopenMissing(): boolean {
    this.#closeAbandoned()
    let changed = false
    for (const slot of this.#table.missing()) {
      // Unknown to this process until it follows the change of the host that added it.
      const address = this.#owner.addresses[this.#i32[this.#table.word(slot) + Slot.local]!]
      if (address === undefined) continue
      const group = this.#table.group(slot)
      try {
        this.#number(slot, this.#bind(slot, address, group))
        this.#opened()
        changed = true
      } catch (error) {
        if (!(error instanceof NativeError)) throw error
        // An address that comes back gets another socket.
        if (error.code !== 'EADDRNOTAVAIL' || group !== null) continue
        this.closeSlot(slot)
        changed = true
      }
    }
    return changed
  }

  /** Closes this process's descriptors of sockets that the device no longer has; all of them if the process no longer uses the device. */
  closeOwn(all: boolean): void {
    this.#closeAbandoned()
    for (let slot = 0; slot < maxSlots; slot++) if (all || this.#table.fd(slot) < 0) this.#closeStale(slot)
  }

  #closeStale(slot: number): void {
    const fd = this.#table.ownI32[this.#table.ownWord(slot) + Slot.fd]! - 1
    if (fd >= 0) this.#closeOwn(slot, fd)
  }
}

/**
 * Selects the address of a device that joins a group if the program has chosen none: one of the group's own family if there is one, and
 * among several that of the interface to which the host's routes lead, as for the kernel's own sockets.
 */
export function localOfGroup(
  addresses: readonly HostAddress[],
  gid: Uint8Array,
  network: HostNetwork = hostNetwork,
): number {
  const group = ipOfGid(gid)
  const own = addresses.filter(({ address }) => address.length === group.length)
  if (own.length <= 1) return Math.max(0, addresses.indexOf(own[0]!))
  const route = network.route(group)
  const found = typeof route === 'string' ? undefined : own.find(({ ifindex }) => ifindex === route.ifindex)
  return addresses.indexOf(found ?? own[0]!)
}

let warned = false
/**
 * IBA CA17-22 deviation: with `node:dgram` the ICRC of packets over IPv4 is that of identification 0: the one that the kernel assigns is
 * not known in advance, and Node has no option to make it 0. Verbena accepts these packets, other implementations do not; a warning
 * reports this once per process.
 */
function warnOfIdentification(address: HostAddress): void {
  if (warned || address.loopback || address.address.length !== 4) return
  warned = true
  process.emitWarning(
    `roce uses node:dgram (${nativeReason}): over IPv4 only Verbena accepts its packets, because their ICRC does not match ` +
      'the identification that the kernel gives them. Adapters and Soft-RoCE can be reached over IPv6, or with koffi installed.',
    { code: 'VERBENA_ROCE_DGRAM' },
  )
}

function verbOf(kind: number): string {
  return kind === slotKind.group ? 'attachMcast' : 'openDevice'
}

function asVerbsError(error: unknown, name: string, verb: string): unknown {
  return error instanceof NativeError ? openError(name, verb, error.code, error.message) : error
}

const openErrorCodes: readonly string[] = ['EADDRINUSE', 'EACCES', 'ENOMEM', 'EINVAL', 'EOPNOTSUPP', 'ETIMEDOUT']

export function openError(name: string, verb: string, code: string, message: string): VerbsError {
  const known = (openErrorCodes.includes(code) ? code : 'ENODEV') as VerbsErrorCode
  const error = new VerbsError(known, verb, `${name}: ${message}`)
  if (known === 'EADDRINUSE' && verb === 'openDevice') error.reason = 'device-in-use'
  return error
}

/**
 * Opens and closes the sockets of a device: one for each address, and one for each multicast group. Their descriptors belong to
 * the process and are stored in the table in the segment, so that all threads use the same ones. All this is under the control lock.
 */
import { closeFd, errnoName, NativeError, nativeAvailable, nativeReason, UdpSocket } from '../../memory/index.ts'
import { type Host, layout, VerbsError, type VerbsErrorCode } from '../../verbs/provider/index.ts'
import { rocePort } from '../../wire/index.ts'
import type { HostAddress } from './addresses.ts'
import { advice } from './datagram-socket.ts'
import { datagramState } from './datagram-table.ts'
import { groupAddress } from './paths.ts'
import { awaitService } from './service-handle.ts'
import { maxSlots, Slot, slotKind } from './socket-table.ts'

const { Dev } = layout

/** Sockets that this thread opened. */
const owned = new Map<number, UdpSocket>()

/** The device whose sockets they are. */
export interface SocketOwner {
  readonly name: string
  readonly addresses: readonly HostAddress[]
  /** Wakes the thread that drives devices. */
  wakeService(): void
  /** Returns when no thread waits in the kernel for packets of a socket that is to be closed: that would keep it, and its port. */
  awaitSleeper(): void
}

export class OpenSockets {
  readonly #host: Host
  readonly #i32: Int32Array
  readonly #owner: SocketOwner
  readonly #dev: number
  readonly #table: number

  /** `dev` and `table` are the first words of the device's record and of its table of sockets. */
  constructor(host: Host, dev: number, table: number, owner: SocketOwner) {
    this.#host = host
    this.#i32 = host.i32
    this.#owner = owner
    this.#dev = dev
    this.#table = table
  }

  /** Opens one for each address; if any cannot be opened, none is. */
  openAll(): void {
    for (const [local, address] of this.#owner.addresses.entries()) {
      try {
        this.#open(local, address, slotKind.unicast, null)
      } catch (error) {
        this.closeAll()
        throw asVerbsError(error, this.#owner.name, 'openDevice')
      }
    }
  }

  /** Opens a socket whose descriptor goes into the table. */
  #open(local: number, address: HostAddress, kind: number, group: Uint8Array | null): void {
    const i32 = this.#i32
    this.#closeAbandoned()
    let word = this.#table
    for (let slot = 0; i32[word + Slot.fd] !== 0; slot++, word += Slot.words)
      if (slot === maxSlots - 1)
        throw new VerbsError('ENOMEM', verbOf(kind), `a device has ${maxSlots} addresses and groups at most`)
    if (!nativeAvailable) {
      this.#askForSocket(slotOf(word, this.#table), local, address, kind, group)
      return
    }
    const family = address.address.length === 4 ? 4 : 6
    const bound = group === null ? address.address : groupAddress(group, family)
    const options = { address: bound, port: rocePort, scopeId: address.scopeId || (group ? address.ifindex : 0) }
    const opened = (fd: number): void => {
      i32[this.#table + Slot.changing] = fd + 1
    }
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
    i32[word + Slot.kind] = kind
    i32[word + Slot.local] = local
    i32[word + Slot.refs] = 1
    i32[word + Slot.drops] = 0
    if (group !== null) new Uint8Array(i32.buffer, (word + Slot.gid) * 4, 16).set(group)
    i32[word + Slot.fd] = socket.fd + 1
    opened(-1)
    owned.set(socket.fd, socket)
    Atomics.add(i32, this.#dev + Dev.generation, 1)
  }

  /** Has the thread that drives devices open a socket of node:dgram, and waits for it. */
  #askForSocket(slot: number, local: number, address: HostAddress, kind: number, group: Uint8Array | null): void {
    const i32 = this.#i32
    const word = this.#table + slot * Slot.words
    i32[word + Slot.kind] = kind
    i32[word + Slot.local] = local
    i32[word + Slot.refs] = 1
    i32[word + Slot.drops] = 0
    if (group !== null) new Uint8Array(i32.buffer, (word + Slot.gid) * 4, 16).set(group)
    i32[word + Slot.state] = datagramState.asked
    i32[word + Slot.fd] = slot + 1
    Atomics.add(i32, this.#dev + Dev.generation, 1)
    const state = this.#awaitState(word, datagramState.asked)
    if (state === datagramState.bound) {
      warnOfIdentification(address)
      return
    }
    i32[word + Slot.fd] = 0
    Atomics.add(i32, this.#dev + Dev.generation, 1)
    const code = state < 0 ? errnoName(-state) : 'ETIMEDOUT'
    const message = 'the thread that drives devices does not respond'
    throw openError(
      this.#owner.name,
      verbOf(kind),
      code,
      state < 0 ? advice({ code, message: code }, address.text, rocePort) : message,
    )
  }

  /** Waits until the state of a socket of node:dgram is another one, at most 10 s; what it is then. */
  #awaitState(word: number, from: number): number {
    const i32 = this.#i32
    const { segment } = this.#host
    for (let waited = 0; waited < 2000 && Atomics.load(i32, word + Slot.state) === from; waited++) {
      this.#owner.wakeService()
      segment.wait(word + Slot.state, from, 5)
    }
    return Atomics.load(i32, word + Slot.state)
  }

  /** Closes all that are open. */
  closeAll(): void {
    this.#closeAbandoned()
    for (let slot = 0; slot < maxSlots; slot++) this.closeSlot(this.#table + slot * Slot.words)
  }

  /** Closes the one in this entry, if there is one. */
  closeSlot(word: number): void {
    const i32 = this.#i32
    const fd = i32[word + Slot.fd]! - 1
    if (fd < 0) return
    if (nativeAvailable) {
      i32[this.#table + Slot.changing] = fd + 1
      i32[word + Slot.fd] = 0
      this.#giveBack(fd)
      return
    }
    i32[word + Slot.fd] = 0
    Atomics.add(i32, this.#dev + Dev.generation, 1)
    this.#awaitState(word, datagramState.bound)
  }

  /** Closes the socket that a thread was opening or closing when it ended, which holds the port. Under the control lock. */
  #closeAbandoned(): void {
    const fd = this.#i32[this.#table + Slot.changing]! - 1
    if (fd < 0) return
    // It may be in the table already, or still.
    for (let slot = 0; slot < maxSlots; slot++)
      if (this.#i32[this.#table + slot * Slot.words + Slot.fd] === fd + 1) return
    this.#giveBack(fd)
  }

  #giveBack(fd: number): void {
    Atomics.add(this.#i32, this.#dev + Dev.generation, 1)
    // A thread that sends or receives with it finishes before the descriptor is given back.
    this.#host.segment.quiesce()
    awaitService(this.#host)
    this.#owner.awaitSleeper()
    const socket = owned.get(fd)
    owned.delete(fd)
    this.#i32[this.#table + Slot.changing] = 0
    if (socket) socket.close()
    else closeFd(fd)
  }

  /** The entry of the socket of a multicast group, −1 if there is none. */
  groupSlot(gid: Uint8Array): number {
    const i32 = this.#i32
    for (let slot = 0; slot < maxSlots; slot++) {
      const word = this.#table + slot * Slot.words
      if (i32[word + Slot.fd] === 0 || i32[word + Slot.kind] !== slotKind.group) continue
      if (new Uint8Array(i32.buffer, (word + Slot.gid) * 4, 16).every((byte, i) => byte === gid[i])) return word
    }
    return -1
  }

  /** Opens the socket of a multicast group. */
  openGroup(gid: Uint8Array): void {
    try {
      this.#open(0, this.#owner.addresses[0]!, slotKind.group, gid)
    } catch (error) {
      throw asVerbsError(error, this.#owner.name, 'attachMcast')
    }
  }
}

function slotOf(word: number, table: number): number {
  return (word - table) / Slot.words
}

let warned = false
/** Without system calls the identification of IPv4 packets is the kernel's, and goes into their ICRC. */
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

function openError(name: string, verb: string, code: string, message: string): VerbsError {
  const known = (openErrorCodes.includes(code) ? code : 'ENODEV') as VerbsErrorCode
  const error = new VerbsError(known, verb, `${name}: ${message}`)
  if (known === 'EADDRINUSE' && verb === 'openDevice') error.reason = 'device-in-use'
  return error
}

/**
 * The GID table of a device, and the state of its port, in its segment: the same for all threads and processes. An address that the host
 * has lost keeps its entry, which is no longer valid; an added address gets a new entry, or its old one again. So an index means the same
 * address as long as the device is open. Written under the control lock.
 *
 *     generation, count, state, MTU                     then for each address
 *     valid, index of the interface, scope, MTU of the interface, GID (4 words), loopback, name of the interface (4 words)
 */
import { type Host, layout, type PortState } from '../../verbs/provider/index.ts'
import { formatIp, gidOfIp, ipOfGid } from '../../wire/index.ts'
import { type HostAddress, isLinkLocal, type RoceMtu, roceMtuOf } from './addresses.ts'
import { addressesAt, maxAddresses } from './holders.ts'
import { RoceDev } from './layout.ts'

const Head = { words: 16, generation: 0, count: 1, portState: 2, physState: 3, mtu: 4 } as const
const Entry = { words: 16, valid: 0, ifindex: 1, scopeId: 2, mtuBytes: 3, gid: 4, loopback: 8, name: 9 } as const
const nameBytes = 16

/** Physical state of the port for an interface that is up, has no carrier, or is down. */
export const physState = { linkUp: 5, polling: 2, disabled: 3 } as const
type PhysState = (typeof physState)[keyof typeof physState]

export interface TableEntry {
  readonly address: HostAddress
  readonly valid: boolean
}

export interface PortNow {
  readonly state: PortState
  readonly physState: PhysState
  readonly activeMtu: RoceMtu
}

export class AddressTable {
  readonly #host: Host
  readonly #i32: Int32Array
  readonly #at: number

  constructor(host: Host, index: number) {
    this.#host = host
    this.#i32 = host.i32
    this.#at = host.i32[host.deviceWord(index) + RoceDev.sockets]! + addressesAt
  }

  /** Number that changes with each write; 0 before the first. */
  get generation(): number {
    return Atomics.load(this.#i32, this.#at + Head.generation)
  }

  get port(): PortNow {
    const at = this.#at
    return {
      state: this.#i32[at + Head.portState] as PortState,
      physState: this.#i32[at + Head.physState] as PhysState,
      activeMtu: this.#i32[at + Head.mtu] as RoceMtu,
    }
  }

  read(): TableEntry[] {
    const i32 = this.#i32
    return Array.from({ length: i32[this.#at + Head.count]! }, (_, i) => {
      const word = this.#at + Head.words + i * Entry.words
      const address = ipOfGid(new Uint8Array(i32.buffer, (word + Entry.gid) * 4, 16))
      const name = Buffer.from(i32.buffer, (word + Entry.name) * 4, nameBytes)
        .toString('utf8')
        .split('\0')[0]!
      const mtuBytes = i32[word + Entry.mtuBytes]!
      return {
        valid: i32[word + Entry.valid] === 1,
        address: {
          address,
          text: formatIp(address) + (isLinkLocal(address) ? `%${name}` : ''),
          interface: name,
          ifindex: i32[word + Entry.ifindex]!,
          scopeId: i32[word + Entry.scopeId]!,
          loopback: i32[word + Entry.loopback] === 1,
          mac: '',
          mtuBytes,
          roceMtu: roceMtuOf(mtuBytes, address.length === 4 ? 4 : 6),
        },
      }
    })
  }

  /** Replaces the whole table, with at most `maxAddresses` entries. */
  write(entries: readonly TableEntry[], port: PortNow): void {
    const i32 = this.#i32
    const at = this.#at
    const written = entries.slice(0, maxAddresses)
    for (const [i, { address, valid }] of written.entries()) {
      const word = at + Head.words + i * Entry.words
      i32[word + Entry.ifindex] = address.ifindex
      i32[word + Entry.scopeId] = address.scopeId
      i32[word + Entry.mtuBytes] = address.mtuBytes
      i32[word + Entry.loopback] = address.loopback ? 1 : 0
      new Uint8Array(i32.buffer, (word + Entry.gid) * 4, 16).set(gidOfIp(address.address))
      const name = new Uint8Array(i32.buffer, (word + Entry.name) * 4, nameBytes).fill(0)
      name.set(Buffer.from(address.interface).subarray(0, nameBytes - 1))
      i32[word + Entry.valid] = valid ? 1 : 0
    }
    i32[at + Head.portState] = port.state
    i32[at + Head.physState] = port.physState
    i32[at + Head.mtu] = port.activeMtu
    i32[at + Head.count] = written.length
    Atomics.add(i32, at + Head.generation, 1)
  }

  /** Raises an event of the port for contexts that use the device `index`. */
  raise(index: number, type: Parameters<Host['portEvent']>[1]): void {
    const host = this.#host
    const { Ctx } = layout
    for (let context = 0; context < host.i32[host.at.meta + layout.Meta.contextsUsed]!; context++) {
      const c = host.ctxWord(context)
      if (host.i32[c + Ctx.uses] === 1 && host.i32[c + Ctx.device] === index) host.portEvent(context, type)
    }
  }
}

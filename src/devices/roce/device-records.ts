/**
 * The records of this kind of device in a segment: which adapter each is for, by the address or addresses that identify it.
 * All threads of the process find the same record by the same name. A device that processes share has two: in its own segment, and
 * one for the process, which has the descriptors, in the segment of the process.
 */
import { hostNetwork } from '../../memory/index.ts'
import { processHost } from '../../verbs/index.ts'
import { type Host, layout, VerbsError } from '../../verbs/provider/index.ts'
import { formatIp, gidOfIp, ipOfGid } from '../../wire/index.ts'
import { AddressTable } from './address-table.ts'
import { findAddress, type HostAddress, hostAddresses, stateOfAddress } from './addresses.ts'
import { tableBytes } from './holders.ts'
import { RoceDev } from './layout.ts'
import { firstIndex, roceKind } from './service-handle.ts'

const { Dev, maxDevices } = layout

/** Addresses of the device with this canonical name. */
export function addressesOf(name: string): HostAddress[] {
  if (name === 'roce') {
    // A duplicate address can never be bound.
    const all = hostAddresses().filter((address) => stateOfAddress(address) !== 'duplicate')
    const outside = all.filter(({ loopback }) => !loopback)
    return outside.length > 0 ? outside : all
  }
  const address = findAddress(name.slice('roce:'.length))
  return address ? [address] : []
}

/** Returns the record of a device in the segment, making it if there is none: the same one in all threads. */
export function recordOf(host: Host, addresses: readonly HostAddress[], all: boolean): number {
  const { i32 } = host
  const identity = new Int32Array(5)
  const bytes = new Uint8Array(identity.buffer)
  if (!all) bytes.set(gidOfIp(addresses[0]!.address))
  identity[4] = all ? -1 : addresses[0]!.scopeId
  const find = (): number => {
    for (let index = firstIndex; index < maxDevices; index++) {
      const dev = host.deviceWord(index)
      if (i32[dev + Dev.state] === roceKind && identity.every((word, i) => i32[dev + RoceDev.identity + i] === word))
        return index
    }
    return -1
  }
  // First without the lock: its holder may be waiting for the thread that drives devices, which also comes here.
  const known = find()
  if (known >= 0) return known
  return host.control(() => {
    const made = find()
    if (made >= 0) return made
    let free = -1
    for (let index = maxDevices - 1; index >= firstIndex; index--)
      if (i32[host.deviceWord(index) + Dev.state] === 0) free = index
    if (free < 0) throw new VerbsError('ENOMEM', 'openDevice', `all ${maxDevices} devices of the process are in use`)
    const dev = host.deviceWord(free)
    i32.set(identity, dev + RoceDev.identity)
    i32[dev + RoceDev.sockets] = host.allocate(tableBytes, 'openDevice', 0) / 4
    i32[dev + Dev.state] = roceKind
    return free
  })
}

/** Returns the name of the device with this record, made from its identity. */
export function nameOf(host: Host, dev: number): string {
  if (host.i32[dev + RoceDev.identity + 4] === -1) return 'roce'
  const gid = new Uint8Array(host.i32.buffer, (dev + RoceDev.identity) * 4, 16)
  const scope = host.i32[dev + RoceDev.identity + 4]!
  const known = hostAddresses().find(
    ({ address, scopeId }) => scopeId === scope && gidOfIp(address).every((byte, i) => byte === gid[i]),
  )
  if (known) return `roce:${known.text}`
  // The host does not list it, as with addresses of 127/8, or no longer has it.
  const zone = scope === 0 ? '' : `%${hostNetwork.interfaceName(scope) ?? scope}`
  return `roce:${formatIp(ipOfGid(gid))}${zone}`
}

/** Returns the addresses of a device from its record; none before its first user. */
export function addressesOfRecord(host: Host, index: number): HostAddress[] {
  return new AddressTable(host, index).read().map(({ address }) => address)
}

/** Returns record, table of sockets and addresses of each open device from their records, without making objects of the devices. */
export function openTables(): { dev: number; table: number; addresses: readonly HostAddress[] }[] {
  const host = processHost()
  const found: { dev: number; table: number; addresses: readonly HostAddress[] }[] = []
  for (let index = firstIndex; index < maxDevices; index++) {
    const dev = host.deviceWord(index)
    if (host.i32[dev + Dev.state] !== roceKind) continue
    found.push({ dev, table: host.i32[dev + RoceDev.sockets]!, addresses: addressesOfRecord(host, index) })
  }
  return found
}

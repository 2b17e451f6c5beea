/** RoCE devices by name: `roce` and `roce:ADDRESS`. */
import { nativeAvailable, whenWorkerEnds } from '../../memory/index.ts'
import { processHost, reapDead } from '../../verbs/index.ts'
import {
  type DeviceDriver,
  type DeviceInfo,
  type Host,
  layout,
  type OpenOptions,
  VerbsError,
} from '../../verbs/provider/index.ts'
import { guidOf, type HostAddress, hostAddresses } from './addresses.ts'
import { RoceDevice } from './device.ts'
import { addressesOf, addressesOfRecord, nameOf, recordOf } from './device-records.ts'
import { RoceDev } from './layout.ts'
import { wrapsWanted } from './middleware-relay.ts'
import { ending, roceKind, tellOpenDevices, usedRecords } from './service-handle.ts'
import { sharedHost } from './shared-hosts.ts'

const { Dev } = layout

/** Devices by name: those in the segment of this process, and those that processes share. */
const devices = { alone: new Map<string, RoceDevice>(), shared: new Map<string, RoceDevice>() }

/** Returns all devices that are open in this process, as this thread's own objects. */
export function openDevices(): RoceDevice[] {
  const host = processHost()
  const open: RoceDevice[] = []
  for (const index of usedRecords(host)) {
    const dev = host.deviceWord(index)
    const device = find(
      nameOf(host, dev),
      () => host.i32[dev + RoceDev.shared] === 1,
      () => addressesOfRecord(host, index),
    )
    if (device) open.push(device)
  }
  return open
}

/** Addresses by requested name. */
const addressesKnown = new Map<string, readonly HostAddress[]>()

/** Finds a device by name; `recorded` are the addresses of an open device, which the host need not have any more. */
function find(
  name: string,
  isShared: (addresses: readonly HostAddress[]) => boolean,
  recorded: () => readonly HostAddress[] = () => [],
): RoceDevice | null {
  let addresses = addressesKnown.get(name) ?? addressesOf(name)
  if (addresses.length === 0) addresses = recorded()
  if (addresses.length === 0) return null
  addressesKnown.set(name, addresses)
  const canonical = name === 'roce' ? name : `roce:${addresses[0]!.text}`
  const host = isShared(addresses) ? sharedHost(canonical) : null
  const known = host === null ? devices.alone : devices.shared
  const device = known.get(canonical) ?? new RoceDevice(host ?? processHost(), canonical, addresses)
  known.set(canonical, device)
  return device
}

tellOpenDevices(openDevices)

/** Returns the open devices; none if they cannot be determined, as when there is no descriptor left to list the host's addresses with. */
function known(): RoceDevice[] {
  try {
    return openDevices()
  } catch {
    return []
  }
}

// A thread that was terminated has cleaned nothing up, and the service thread that it had started has ended with it: the thread that
// started it cleans up, even if it has not used the device itself.
whenWorkerEnds(() => {
  for (const device of ending ? [] : known()) {
    if (!device.shared) continue
    reapDead(device.host)
    device.closeUnused()
  }
})

/** True if the device is opened as the one that processes share: as it is open in this process, or unless it has to be alone. */
function mayShare(addresses: readonly HostAddress[], all: boolean, options: OpenOptions): boolean {
  if (!nativeAvailable || process.env.VERBENA_ROCE_SHARED === '0') return false
  const host = processHost()
  const dev = host.deviceWord(recordOf(host, addresses, all))
  return host.i32[dev + RoceDev.users]! > 0 ? host.i32[dev + RoceDev.shared] === 1 : wrapsWanted(options).length === 0
}

function open(name: string, options: OpenOptions): RoceDevice | null {
  if (name !== 'roce' && !name.startsWith('roce:')) return null
  const device = find(name, (addresses) => mayShare(addresses, name === 'roce', options))
  if (device) return device
  const all = hostAddresses().map(({ text }) => text)
  throw new VerbsError(
    'ENODEV',
    'openDevice',
    `'${name}': this host has no such address; it has ${all.join(', ') || 'none'} and 127.x.y.z`,
  )
}

function list(): DeviceInfo[] {
  const all = hostAddresses()
  const one = (name: string, address: HostAddress): DeviceInfo => ({ name, guid: guidOf(address), kind: 'roce' })
  const found = all.map((address) => one(`roce:${address.text}`, address))
  // Loopback has more addresses than the system lists: those of open devices are added.
  for (const { name, attr } of openDevices())
    if (name !== 'roce' && !found.some((info) => info.name === name))
      found.push({ name, guid: attr.nodeGuid, kind: 'roce' })
  return all.length > 0 ? [one('roce', all[0]!), ...found] : []
}

/** Returns the device; null while the process ends: its resources go with it. */
function at(host: Host, index: number): RoceDevice | null {
  if (ending) return null
  for (const known of [devices.alone, devices.shared])
    for (const device of known.values()) if (device.host === host && device.index === index) return device
  const dev = host.deviceWord(index)
  if (host !== processHost() || host.i32[dev + Dev.state] !== roceKind || host.i32[dev + RoceDev.shared] === 1)
    return null
  return find(
    nameOf(host, dev),
    () => false,
    () => addressesOfRecord(host, index),
  )
}

export const roceDriver: DeviceDriver = { kind: 'roce', list, open, at }

/** RoCE devices by name: `roce` and `roce:ADDRESS`. */
import { processHost } from '../../verbs/index.ts'
import { type DeviceDriver, type DeviceInfo, type Host, layout, VerbsError } from '../../verbs/provider/index.ts'
import { guidOf, type HostAddress, hostAddresses } from './addresses.ts'
import { RoceDevice } from './device.ts'
import { addressesOf, nameOf } from './device-records.ts'
import { ending, roceKind, usedRecords } from './service-handle.ts'

const { Dev } = layout

const devices = new Map<string, RoceDevice>()

/** All devices that are open in this process, in this thread's own objects. */
export function openDevices(): RoceDevice[] {
  const host = processHost()
  const open: RoceDevice[] = []
  for (const index of usedRecords(host)) {
    const name = nameOf(host, host.deviceWord(index))
    const device = name === null ? null : find(name)
    if (device) open.push(device)
  }
  return open
}

function find(name: string): RoceDevice | null {
  const known = devices.get(name)
  if (known) return known
  const addresses = addressesOf(name)
  if (addresses.length === 0) return null
  const canonical = name === 'roce' ? name : `roce:${addresses[0]!.text}`
  const device = devices.get(canonical) ?? new RoceDevice(processHost(), canonical, addresses)
  devices.set(canonical, device)
  devices.set(name, device)
  return device
}

function open(name: string): RoceDevice | null {
  if (name !== 'roce' && !name.startsWith('roce:')) return null
  const device = find(name)
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
  // Loopback has more addresses than it lists: those that are open are listed too.
  for (const { name, attr } of openDevices())
    if (name !== 'roce' && !found.some((info) => info.name === name))
      found.push({ name, guid: attr.nodeGuid, kind: 'roce' })
  return all.length > 0 ? [one('roce', all[0]!), ...found] : []
}

/** What a process that ends has goes with it. */
function at(host: Host, index: number): RoceDevice | null {
  if (ending || host !== processHost() || host.i32[host.deviceWord(index) + Dev.state] !== roceKind) return null
  const name = nameOf(host, host.deviceWord(index))
  return name === null ? null : find(name)
}

export const roceDriver: DeviceDriver = { kind: 'roce', list, open, at }

/**
 * Effect of a change of the host's links and addresses on a device: its GID table, and the state and MTU of its port. Pure functions.
 *
 *     `roce:ADDRESS`    the state and MTU of the interface of its address
 *     `roce`            active while an interface of one of its addresses is; the MTU of the first address that is there
 */
import type { HostLink } from '../../memory/index.ts'
import { PortState } from '../../verbs/provider/index.ts'
import { sameBytes } from '../../wire/index.ts'
import { type PortNow, physState, type TableEntry } from './address-table.ts'
import { type HostAddress, roceMtuOf } from './addresses.ts'

export interface HostNow {
  readonly links: readonly HostLink[]
  /** Addresses of interfaces that are up. */
  readonly addresses: readonly HostAddress[]
}

export interface Followed {
  readonly entries: readonly TableEntry[]
  readonly port: PortNow
  /** Indexes of addresses that had no entry yet; they follow the existing ones. */
  readonly added: readonly number[]
  /** True if an entry became valid or invalid. */
  readonly gidsChanged: boolean
}

/** Returns the table of a device for the current state of the host; `all`: the device has a GID for each address that is added. */
export function followed(before: readonly TableEntry[], now: HostNow, all: boolean): Followed {
  const entries = before.map(({ address }): TableEntry => {
    const mtuBytes = linkOf(address, now)?.mtuBytes ?? address.mtuBytes
    const roceMtu = roceMtuOf(mtuBytes, address.address.length === 4 ? 4 : 6)
    return { address: { ...address, mtuBytes, roceMtu }, valid: isThere(address, now) }
  })
  const added: number[] = []
  for (const address of all ? now.addresses : []) {
    if (address.loopback || before.some((entry) => isSame(entry.address, address))) continue
    added.push(entries.push({ address, valid: true }) - 1)
  }
  return { entries, port: portOf(entries, now), added, gidsChanged: haveChanged(before, entries) }
}

/** Returns the same for a device that cannot have sockets of all these addresses: entries without one are not valid. */
export function served(
  before: readonly TableEntry[],
  { entries: all, added }: Followed,
  now: HostNow,
  hasSocket: (local: number) => boolean,
): Followed {
  const entries = all.map((entry, local) => (entry.valid && !hasSocket(local) ? { ...entry, valid: false } : entry))
  return { entries, port: portOf(entries, now), added, gidsChanged: haveChanged(before, entries) }
}

/** True if an entry became valid or invalid, or one was added that is valid. */
function haveChanged(before: readonly TableEntry[], entries: readonly TableEntry[]): boolean {
  return entries.some(({ valid }, i) => valid !== (before[i]?.valid ?? false))
}

function portOf(entries: readonly TableEntry[], now: HostNow): PortNow {
  const links = entries.map(({ address }) => linkOf(address, now))
  const running = links.some((link) => link?.running)
  const up = links.some((link) => link?.up)
  const first = entries.find(({ valid }) => valid) ?? entries[0]
  return {
    state: running ? PortState.Active : PortState.Down,
    physState: running ? physState.linkUp : up ? physState.polling : physState.disabled,
    activeMtu: first?.address.roceMtu ?? 1024,
  }
}

function linkOf({ ifindex, interface: name }: HostAddress, { links }: HostNow): HostLink | undefined {
  return links.find((link) => (ifindex === 0 ? link.name === name : link.ifindex === ifindex))
}

function isThere(address: HostAddress, now: HostNow): boolean {
  if (now.addresses.some((one) => isSame(one, address))) return true
  // Loopback has all of 127/8 without listing it.
  const { address: bytes } = address
  return bytes.length === 4 && bytes[0] === 127 && now.links.some((link) => link.loopback && link.up)
}

function isSame(a: HostAddress, b: HostAddress): boolean {
  return a.scopeId === b.scopeId && sameBytes(a.address, b.address)
}

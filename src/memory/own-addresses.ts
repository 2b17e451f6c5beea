/** The addresses of this host. */
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

let interfaces: readonly NetworkInterfaceInfo[] = []
let interfacesAt = Number.NEGATIVE_INFINITY

/** Looked up again after a second. */
function hostInterfaces(): readonly NetworkInterfaceInfo[] {
  const now = performance.now()
  if (now - interfacesAt >= 1000) {
    interfacesAt = now
    try {
      interfaces = Object.values(networkInterfaces()).flatMap((infos) => infos ?? [])
    } catch {
      // Out of descriptors: what was known is better than to fail.
    }
  }
  return interfaces
}

/** Returns true for an address of this host: of the loopback network, or of an interface. Without the interface's name. */
export function isOwnAddress(address: string): boolean {
  return address.startsWith('127.') || address === '::1' || hostInterfaces().some((one) => one.address === address)
}
